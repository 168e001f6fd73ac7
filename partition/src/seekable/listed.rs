//! Shards of any sizes, arranged by a list of their parts.

use std::{collections::TryReserveError, sync::OnceLock};

use super::{Keys, Purpose, keys::spread};
use crate::{ShuffleUnits, shuffle::CanonicalCut};

/// The parts of shards in the order of an epoch.
#[derive(Debug)]
pub(super) struct Listed {
    /// Where each part begins.
    places: Vec<u64>,
    /// The first sample of each part.
    ids: Vec<u64>,
    /// The part that holds every `2^shift`-th place: a place's part is found among few.
    index: Vec<usize>,
    shift: u32,
    /// Parts by their samples, once they have been asked for.
    by_id: OnceLock<Vec<usize>>,
}

impl Listed {
    pub(super) fn new(
        units: &ShuffleUnits,
        cut: &CanonicalCut,
        seed: u64,
        epoch: u64,
    ) -> Result<Self, TryReserveError> {
        let mut parts = RunParts::new(units, seed)?;
        let epoch_keys = Keys::new(seed, epoch, Purpose::Parts);
        // Each bound between canonical nodes can cut one shard in two.
        let most = parts.shards.len() + usize::try_from(cut.nodes().min(cut.samples())).unwrap_or(usize::MAX);
        let (mut places, mut ids) = (Vec::new(), Vec::new());
        places.try_reserve_exact(most)?;
        ids.try_reserve_exact(most)?;
        let (mut place, mut node_parts) = (0, Vec::new());
        for node in 0..cut.nodes() {
            parts.take(cut.start(node + 1) - place, &mut node_parts);
            let count = node_parts.len() as u64;
            for slot in 0..count {
                let (id, len) = node_parts[index(epoch_keys.permute(count, spread(node), slot))];
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
        let (first, last) = (self.index[bucket], self.index[bucket + 1]);
        let part = first + self.places[first + 1..=last].partition_point(|&start| start <= place);
        self.ids[part] + (place - self.places[part])
    }

    pub(super) fn place_of(&self, id: u64) -> u64 {
        let by_id = self.by_id.get_or_init(|| {
            let mut by_id: Vec<usize> = (0..self.ids.len()).collect();
            by_id.sort_unstable_by_key(|&part| self.ids[part]);
            by_id
        });
        let part = by_id[by_id.partition_point(|&part| self.ids[part] <= id) - 1];
        self.places[part] + (id - self.ids[part])
    }
}

fn build_index(places: &[u64], samples: u64) -> Result<(Vec<usize>, u32), TryReserveError> {
    let shift = (samples / (places.len() as u64).max(1)).checked_ilog2().unwrap_or(0);
    let buckets = index(samples.saturating_sub(1) >> shift) + 1;
    let mut list = Vec::new();
    list.try_reserve_exact(buckets + 1)?;
    let mut part = 0;
    for bucket in 0..buckets as u64 {
        while places.get(part + 1).is_some_and(|&start| start <= bucket << shift) {
            part += 1;
        }
        list.push(part);
    }
    list.push(places.len().saturating_sub(1));
    Ok((list, shift))
}

/// Reads off the parts of shards in the order of a run.
struct RunParts {
    /// `(first id, size)` of each shard that is not empty, as stored.
    shards: Vec<(u64, u64)>,
    keys: Keys,
    /// The next place in the order of the run, and how much of the shard there is used.
    slot: u64,
    used: u64,
}

impl RunParts {
    fn new(units: &ShuffleUnits, seed: u64) -> Result<Self, TryReserveError> {
        let mut shards = Vec::new();
        let count: u64 = units.runs().filter(|&(size, _)| size > 0).map(|(_, count)| count).sum();
        shards.try_reserve_exact(usize::try_from(count).unwrap_or(usize::MAX))?;
        let mut id = 0;
        for size in units.sizes().filter(|&size| size > 0) {
            shards.push((id, size));
            id += size;
        }
        Ok(Self { shards, keys: Keys::new(seed, 0, Purpose::Shards), slot: 0, used: 0 })
    }

    /// The `(first id, size)` parts of the next `samples`.
    fn take(&mut self, mut samples: u64, parts: &mut Vec<(u64, u64)>) {
        parts.clear();
        while samples > 0 {
            let shard = self.keys.permute(self.shards.len() as u64, 0, self.slot);
            let (id, size) = self.shards[index(shard)];
            let len = (size - self.used).min(samples);
            parts.push((id + self.used, len));
            samples -= len;
            self.used += len;
            if self.used == size {
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
