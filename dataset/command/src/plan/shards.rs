//! The shards of all streams, numbered one after another.

use lockstep_partition::{EpochRecipe, ShuffleUnits};

/// Finds the shard of a stored sample.
pub(super) struct Shards<'a> {
    /// Each stream's shards, its first sample and its first shard.
    streams: Vec<(&'a ShuffleUnits, u64, u64)>,
}

impl<'a> Shards<'a> {
    pub(super) fn new(recipe: &'a EpochRecipe) -> Self {
        let (mut first_sample, mut first_shard) = (0, 0);
        let mut streams = Vec::new();
        for stream in &recipe.streams {
            streams.push((&stream.shards, first_sample, first_shard));
            first_sample += stream.shards.num_samples();
            first_shard += stream.shards.len();
        }
        Self { streams }
    }

    /// The number of the shard that a sample is in.
    pub(super) fn of(&self, id: u64) -> u64 {
        let after = self.streams.partition_point(|(_, first_sample, _)| *first_sample <= id);
        let (units, first_sample, first_shard) = self.streams[after.saturating_sub(1)];
        first_shard + units.locate(id - first_sample).map_or(0, |located| located.unit)
    }

    /// Shards that have samples.
    pub(super) fn occupied(&self) -> u64 {
        let runs = self.streams.iter().flat_map(|(units, ..)| units.runs());
        runs.filter(|(size, _)| *size > 0).map(|(_, count)| count).sum()
    }
}
