//! `per_stream`: every global batch is of one stream.

use super::{Source, Turns};
use crate::divisor::Divisor;
use crate::partition::Partition;
use crate::topology::Coordinate;

/// The streams, and in which turn their global batches come.
#[derive(Debug)]
pub(crate) struct PerStream {
    streams: Vec<(Partition, Source)>,
    turns: Turns,
    workers: Divisor,
    global_batches: u64,
}

impl PerStream {
    /// Batches of these streams, `global_batches` in all, for workers of this number.
    pub(crate) const fn new(
        streams: Vec<(Partition, Source)>,
        turns: Turns,
        workers: Divisor,
        global_batches: u64,
    ) -> Self {
        Self { streams, turns, workers, global_batches }
    }

    pub(super) const fn global_batches(&self) -> u64 {
        self.global_batches
    }

    pub(super) fn get(&self, batch: u64, place: Coordinate) -> Option<u64> {
        let (stream, nth) = self.turns.at(batch);
        let (partition, source) = &self.streams[stream];
        let (batch, worker) = self.workers.divide(nth);
        let position = partition.get(Coordinate { batch, worker, ..place })?;
        Some(source.id(position))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.streams.iter().map(|(_, source)| source)
    }
}
