//! How a topology that does not fit the canonical nodes reads what one that does would have read.

use super::PartitionError;
use crate::divisor::Divisor;
use crate::topology::{Coordinate, Topology};

/// Cuts the global batches of the nodes that a run began with into batches of the ranks there are now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regroup {
    topology: Topology,
    initial_nodes: u64,
    /// Samples of a batch of one rank, and of one node, at the start of the run.
    initial_batch_size: Divisor,
    initial_node_batch: Divisor,
}

impl Regroup {
    pub(super) fn new(topology: &Topology, initial_nodes: u64) -> Result<Self, PartitionError> {
        let global_batch = topology.global_batch_size().ok_or(PartitionError::TooLarge)?;
        let ranks = initial_nodes.checked_mul(topology.ranks_per_node).ok_or(PartitionError::TooLarge)?;
        if global_batch % ranks != 0 {
            return Err(PartitionError::GlobalBatch { global_batch, initial_nodes, ranks });
        }
        let divisor = |size| Divisor::new(size).ok_or(PartitionError::TooLarge);
        Ok(Self {
            topology: *topology,
            initial_nodes,
            initial_batch_size: divisor(global_batch / ranks)?,
            initial_node_batch: divisor(global_batch / initial_nodes)?,
        })
    }

    /// The topology at the start of the run, with the ranks per node of now.
    pub(super) const fn initial_topology(&self) -> Topology {
        Topology { nodes: self.initial_nodes, batch_size: self.initial_batch_size.get(), ..self.topology }
    }

    /// The place at the start of the run for a place of now.
    #[inline]
    pub(super) const fn initial(&self, place: Coordinate) -> Coordinate {
        let (node, of_node) = self.initial_node_batch.divide(self.place_in_batch(place.node, place.rank) + place.slot);
        let (rank, slot) = self.initial_batch_size.divide(of_node);
        Coordinate { node, rank, slot, ..place }
    }

    /// The nodes of the start, first and count, whose places a node has now.
    pub(super) const fn initial_nodes_of(&self, node: u64) -> (u64, u64) {
        if node >= self.topology.nodes {
            return (0, 0);
        }
        let node_batch = self.topology.ranks_per_node * self.topology.batch_size;
        let first = self.initial_node_batch.quotient(node * node_batch);
        let last = self.initial_node_batch.quotient((node + 1) * node_batch - 1);
        (first, last - first + 1)
    }

    /// How many samples of a global batch a rank gets, in which each rank of the start has `filled`.
    pub(super) fn share_of(&self, node: u64, rank: u64, filled: u64) -> u64 {
        let before = |place: u64| {
            let (rank, slot) = self.initial_batch_size.divide(place);
            rank * filled + slot.min(filled)
        };
        let first = self.place_in_batch(node, rank);
        before(first + self.topology.batch_size) - before(first)
    }

    /// The most samples of such a global batch that any rank gets.
    pub(super) fn most_in(&self, filled: u64) -> u64 {
        // Filled places come first in each batch of the start, so no stretch holds more than one that begins with it.
        self.share_of(0, 0, filled)
    }

    /// The first place of a rank in the global batch.
    const fn place_in_batch(&self, node: u64, rank: u64) -> u64 {
        (node * self.topology.ranks_per_node + rank) * self.topology.batch_size
    }
}
