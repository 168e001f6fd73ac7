//! Shards of any sizes, arranged by a list of their parts.

use std::sync::OnceLock;

use super::{
    Keys, Purpose,
    arrangement::{OutOfMemory, reserve},
    keys::spread,
    permutation::Domain,
};
use crate::{ShuffleUnits, shuffle::CanonicalCut};

/// The parts of shards in the order of an epoch.
#[derive(Debug)]
pub(super) struct Listed {
    /// Where each part begins.
    places: Vec<u64>,
    /// The first sample of each part.
    ids: Vec<u64>,
    /// The part that holds every `2^shift`-th place: a place's part is found among few.
    index: Vec<u32>,
    shift: u32,
    /// Parts by their samples, once they have been asked for.
    by_id: OnceLock<Vec<u32>>,
}

impl Listed {
    pub(super) fn new(units: &ShuffleUnits, cut: &CanonicalCut, seed: u64, epoch: u64) -> Result<Self, OutOfMemory> {
        let mut parts = RunParts::new(units, seed)?;
        let epoch_keys = Keys::new(seed, epoch, Purpose::Parts);
        // Each bound between canonical nodes can cut one shard in two.
        let most = parts.shards.len() + cut.nodes().min(cut.samples());
        if most > u32::MAX.into() {
            return Err(OutOfMemory);
        }
        let (mut places, mut ids) = (reserve(most)?, reserve(most)?);
        let (mut place, mut node_parts) = (0, Vec::new());
        for node in 0..cut.nodes() {
            parts.take(cut.start(node + 1) - place, &mut node_parts);
            let domain = Domain::new(node_parts.len() as u64);
            for slot in 0..domain.len() {
                let (id, len) = node_parts[index(epoch_keys.permute(domain, spread(node), slot))];
                places.push(place);
                ids.push(id);
                place += len;
            }
        }
        let (index, shift) = build_index(&places, cut.samples())?;
        Ok(Self { places, ids, index, shift, by_id: OnceLock::new() })
    }

    #[inline]
    pub(super) fn id_at(&self, place: u64) -> u64 {
        let bucket = index(place >> self.shift);
        let (first, last) = (self.index[bucket] as usize, self.index[bucket + 1] as usize);
        let part = first + self.places[first + 1..=last].partition_point(|&start| start <= place);
        self.ids[part] + (place - self.places[part])
    }

    pub(super) fn place_of(&self, id: u64) -> u64 {
        let by_id = self.by_id.get_or_init(|| {
            let mut by_id: Vec<u32> = (0..).take(self.ids.len()).collect();
            by_id.sort_unstable_by_key(|&part| self.ids[part as usize]);
            by_id
        });
        let part = by_id[by_id.partition_point(|&part| self.ids[part as usize] <= id) - 1] as usize;
        self.places[part] + (id - self.ids[part])
    }
}

/// Fewer parts than `2^32` are listed.
fn build_index(places: &[u64], samples: u64) -> Result<(Vec<u32>, u32), OutOfMemory> {
    // Two to four places for each part, so that most hold no start of a part and need no search.
    let shift = (samples / (places.len() as u64).max(1)).checked_ilog2().unwrap_or(0).saturating_sub(1);
    let buckets = (samples.saturating_sub(1) >> shift) + 1;
    let mut list = reserve(buckets + 1)?;
    let mut starts = (0_u32..).zip(places).peekable();
    let mut part = 0;
    for bucket in 0..buckets {
        while let Some((next, _)) = starts.next_if(|&(_, &start)| start <= bucket << shift) {
            part = next;
        }
        list.push(part);
    }
    list.push(starts.last().map_or(part, |(last, _)| last));
    Ok((list, shift))
}

/// Reads off the parts of shards in the order of a run.
struct RunParts {
    /// Where the shards that are not empty begin, as stored, and where the last one ends.
    starts: Vec<u64>,
    shards: Domain,
    keys: Keys,
    /// The next place in the order of the run, and how much of the shard there is used.
    slot: u64,
    used: u64,
}

impl RunParts {
    fn new(units: &ShuffleUnits, seed: u64) -> Result<Self, OutOfMemory> {
        let shards: u64 = units.runs().filter(|&(size, _)| size > 0).map(|(_, count)| count).sum();
        let mut starts = reserve(shards + 1)?;
        let mut id = 0;
        for size in units.sizes().filter(|&size| size > 0) {
            starts.push(id);
            id += size;
        }
        starts.push(id);
        let keys = Keys::new(seed, 0, Purpose::Shards);
        Ok(Self { starts, shards: Domain::new(shards), keys, slot: 0, used: 0 })
    }

    /// The `(first id, size)` parts of the next `samples`.
    fn take(&mut self, mut samples: u64, parts: &mut Vec<(u64, u64)>) {
        parts.clear();
        while samples > 0 {
            let shard = index(self.keys.permute(self.shards, 0, self.slot));
            let (id, end) = (self.starts[shard] + self.used, self.starts[shard + 1]);
            let len = (end - id).min(samples);
            parts.push((id, len));
            samples -= len;
            self.used += len;
            if id + len == end {
                self.slot += 1;
                self.used = 0;
            }
        }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "an index of a list in memory")]
const fn index(number: u64) -> usize {
    number as usize
}
