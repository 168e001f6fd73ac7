//! Epochs whose global batches are put together one by one.

use super::{DevicePerStream, PerStream, Source, Stratified};
use crate::topology::{Coordinate, Topology};

/// Global batches of one of the methods that know of streams, from where reading begins.
#[derive(Debug)]
pub(crate) struct Composed {
    topology: Topology,
    /// The first global batch to be read, and the one after the last, padded ones included.
    first: u64,
    end: u64,
    batches_per_worker: u64,
    num_slots: u64,
    mix: Mix,
}

/// What is in the global batches.
#[derive(Debug)]
pub(crate) enum Mix {
    Stratified(Stratified),
    PerStream(PerStream),
    DevicePerStream(DevicePerStream),
}

impl Composed {
    /// The epoch from global batch `first` on. `None` where its places do not fit into 64 bits.
    pub(crate) fn new(topology: Topology, first: u64, mix: Mix) -> Option<Self> {
        let end = match &mix {
            Mix::Stratified(mix) => mix.global_batches(),
            Mix::PerStream(mix) => mix.global_batches(),
            Mix::DevicePerStream(mix) => mix.global_batches(),
        };
        // So that no position in the epoch overflows.
        end.checked_mul(topology.global_batch_size()?)?;
        let first = first.min(end);
        let batches_per_worker = (end - first).div_ceil(topology.workers_per_rank);
        let per_worker = batches_per_worker.checked_mul(topology.batch_size)?;
        let num_slots = per_worker.checked_mul(topology.workers_per_rank)?.checked_mul(topology.num_ranks()?)?;
        Some(Self { topology, first, end, batches_per_worker, num_slots, mix })
    }

    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    pub(crate) const fn batches_per_worker(&self) -> u64 {
        self.batches_per_worker
    }

    pub(crate) const fn num_slots(&self) -> u64 {
        self.num_slots
    }

    /// The stored sample at a place of the topology.
    #[inline]
    pub(crate) fn get(&self, place: Coordinate) -> Option<u64> {
        let Topology { ranks_per_node, workers_per_rank, batch_size, .. } = self.topology;
        let inside = self.topology.has_worker(place.node, place.rank, place.worker)
            && place.batch < self.batches_per_worker
            && place.slot < batch_size;
        let batch = self.first + if inside { place.batch * workers_per_rank + place.worker } else { return None };
        if batch >= self.end {
            return None;
        }
        match &self.mix {
            Mix::Stratified(mix) => {
                mix.get(batch, (place.node * ranks_per_node + place.rank) * batch_size + place.slot)
            }
            Mix::PerStream(mix) => mix.get(batch, place),
            Mix::DevicePerStream(mix) => mix.get(batch, place.node, place.rank, place.slot),
        }
    }

    /// How many batches a rank reads, all of them full.
    pub(crate) fn batches_of_rank(&self, node: u64, rank: u64) -> u64 {
        let end = match &self.mix {
            Mix::DevicePerStream(mix) => mix.batches_of_rank(node, rank),
            Mix::Stratified(_) | Mix::PerStream(_) => self.end,
        };
        end.saturating_sub(self.first)
    }

    /// Samples read by all ranks together.
    pub(crate) fn num_yielded(&self) -> u64 {
        let Topology { nodes, ranks_per_node, batch_size, .. } = self.topology;
        let ranks = nodes * ranks_per_node;
        let device_batches = match &self.mix {
            Mix::DevicePerStream(mix) => mix.device_batches().saturating_sub(self.first * ranks),
            Mix::Stratified(_) | Mix::PerStream(_) => (self.end - self.first) * ranks,
        };
        device_batches * batch_size
    }

    /// The sources of all streams, in order.
    pub(crate) fn sources(&self) -> Vec<&Source> {
        match &self.mix {
            Mix::Stratified(mix) => mix.sources().collect(),
            Mix::PerStream(mix) => mix.sources().collect(),
            Mix::DevicePerStream(mix) => mix.sources().collect(),
        }
    }
}
