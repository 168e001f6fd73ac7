//! The logical samples of a stream of which each shard comes as often as was drawn.

use super::draw::{Draw, Source};
use super::selection::{Selection, SelectionBuilder};
use crate::sampling::SamplingError;
use crate::seekable::{Domain, Keys, spread};
use crate::units::{Located, ShuffleUnits};

/// How often each shard comes, and which of its samples do where it comes in part.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The logical samples before each shard, and those of all.
    starts: Vec<u64>,
    partial: Partial,
}

/// The samples of the last, partial repeat of shards.
#[derive(Clone, Debug)]
enum Partial {
    /// The stored samples that were drawn, in their own order.
    Drawn(Selection),
    /// The beginnings of keyed permutations, one for each shard.
    Keyed { keys: Keys, stream: u64 },
}

impl Parts {
    /// No samples at all.
    pub(super) fn none(stored: &ShuffleUnits) -> Self {
        let starts = stored.sizes().map(|_| 0).chain([0]).collect();
        Self { starts, partial: Partial::Drawn(SelectionBuilder::default().build()) }
    }

    /// Draws `choose` samples of a stream.
    pub(super) fn new(stored: &ShuffleUnits, stream: u64, choose: u64, draw: &mut Draw) -> Result<Self, SamplingError> {
        let chosen = draw.per_shard(stored, stream, choose)?;
        let partial = match &mut draw.source {
            Source::Keyed { samples, .. } => Partial::Keyed { keys: *samples, stream },
            Source::Numpy { samples, .. } => {
                let out_of_memory = SamplingError::OutOfMemory { picks: choose };
                let mut selection = Selection::builder(stored.num_samples()).ok_or(out_of_memory)?;
                let mut start = 0;
                for (size, chosen) in stored.sizes().zip(&chosen) {
                    let part = chosen.checked_rem(size).unwrap_or(0);
                    if part > 0 {
                        for sample in samples.choice(size, part) {
                            selection.insert(start + sample);
                        }
                    }
                    start += size;
                }
                Partial::Drawn(selection.build())
            }
        };
        let mut before = 0;
        let mut starts = Vec::with_capacity(chosen.len() + 1);
        starts.push(0);
        starts.extend(chosen.into_iter().map(|count| {
            before += count;
            before
        }));
        Ok(Self { starts, partial })
    }

    pub(super) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// For each shard, its whole repeats and the partial one.
    pub(super) fn runs<'a>(&'a self, stored: &'a ShuffleUnits) -> impl Iterator<Item = (u64, u64)> + 'a {
        stored.sizes().zip(self.starts.windows(2)).filter(|&(size, _)| size > 0).flat_map(|(size, bounds)| {
            let chosen = bounds[1] - bounds[0];
            [(size, chosen / size), (chosen % size, u64::from(chosen % size > 0))]
        })
    }

    /// The shard of a logical sample.
    pub(super) fn shard_of(&self, logical: u64) -> u64 {
        (self.starts.partition_point(|&start| start <= logical) - 1) as u64
    }

    /// The stored sample of the stream behind a logical one.
    pub(super) fn stored_id(&self, stored: &ShuffleUnits, logical: u64) -> u64 {
        let index = self.starts.partition_point(|&start| start <= logical) - 1;
        let shard = stored.get(index as u64).expect("the shard of a logical sample");
        let within = logical - self.starts[index];
        let chosen = self.starts[index + 1] - self.starts[index];
        let whole = chosen - chosen % shard.size;
        if within < whole {
            return shard.start + within % shard.size;
        }
        self.partial.stored_id(shard, within - whole)
    }
}

impl Partial {
    /// The stored sample behind number `index` of the partial repeat of a shard.
    fn stored_id(&self, shard: Located, index: u64) -> u64 {
        match self {
            Self::Drawn(selection) => selection.select(selection.rank(shard.start) + index),
            Self::Keyed { keys, stream } => {
                let tweak = spread(spread(*stream) ^ shard.unit);
                shard.start + keys.permute(Domain::new(shard.size), tweak, index)
            }
        }
    }
}
