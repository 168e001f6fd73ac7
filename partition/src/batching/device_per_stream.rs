//! `device_per_stream`: every rank's batch is of one stream.

use super::{Source, Turns};
use crate::divisor::Divisor;
use crate::partition::Partition;
use crate::topology::Topology;

/// Which rank gets which of the batches that the nodes make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handing {
    /// As the original: the nodes' batches, one of each node in turn, go to the ranks in turn. A rank can get batches of
    /// another node's samples, and the last global batch can leave some ranks without.
    InTurn,
    /// A node's batches go to its own ranks, and a last batch that not all ranks would get is left out.
    ToOwnRanks,
}

/// The streams, dealt to the canonical nodes, and in which turn the batches of each node come.
#[derive(Debug)]
pub(crate) struct DevicePerStream {
    streams: Vec<(Partition, Source)>,
    /// For each node whose batches are asked for.
    turns: Vec<Option<Turns>>,
    topology: Topology,
    handing: Handing,
    canonical_per_node: u64,
    /// Steps of all canonical nodes of a node that are read side by side.
    width: Divisor,
    ranks: Divisor,
    /// Batches of one rank that a node makes, of all streams together.
    batches_per_node: u64,
    global_batches: u64,
}

impl DevicePerStream {
    /// Batches of these streams, `batches_per_node` on each node. `None` where numbers do not fit into 64 bits.
    pub(crate) fn new(
        streams: Vec<(Partition, Source)>,
        turns: Vec<Option<Turns>>,
        topology: Topology,
        canonical_per_node: u64,
        batches_per_node: u64,
        handing: Handing,
    ) -> Option<Self> {
        let width = Divisor::new(canonical_per_node.checked_mul(topology.ranks_per_node)?)?;
        let ranks = topology.num_ranks()?;
        // Steps and device batches are counted over all nodes below.
        batches_per_node.checked_add(ranks)?.checked_mul(topology.nodes)?.checked_mul(topology.batch_size)?;
        let global_batches = match handing {
            // Padded to a multiple of all ranks, by at least one.
            Handing::InTurn => (batches_per_node + ranks - batches_per_node % ranks) / topology.ranks_per_node,
            Handing::ToOwnRanks => batches_per_node / topology.ranks_per_node,
        };
        let ranks = Divisor::new(topology.ranks_per_node)?;
        Some(Self {
            streams,
            turns,
            topology,
            handing,
            canonical_per_node,
            width,
            ranks,
            batches_per_node,
            global_batches,
        })
    }

    /// How many batches of one rank a node can make of a stream.
    pub(crate) fn batches_of_stream(partition: &Partition, canonical_per_node: u64, batch_size: u64) -> Option<u64> {
        Some(partition.steps_per_node().checked_mul(canonical_per_node)? / batch_size)
    }

    /// The nodes whose batches the ranks of a node read.
    pub(crate) fn reads_from(node: u64, topology: &Topology, handing: Handing) -> impl Fn(u64) -> bool + use<> {
        let Topology { nodes, ranks_per_node, .. } = *topology;
        move |origin| match handing {
            Handing::ToOwnRanks => origin == node,
            Handing::InTurn => {
                let first = u128::from(node) * u128::from(ranks_per_node);
                let distance = u128::from(origin) + u128::from(nodes) - first % u128::from(nodes);
                distance % u128::from(nodes) < u128::from(ranks_per_node)
            }
        }
    }

    pub(super) const fn global_batches(&self) -> u64 {
        self.global_batches
    }

    /// All batches of single ranks that are read.
    pub(super) const fn device_batches(&self) -> u64 {
        match self.handing {
            Handing::InTurn => self.batches_per_node * self.topology.nodes,
            Handing::ToOwnRanks => self.global_batches * self.topology.nodes * self.topology.ranks_per_node,
        }
    }

    /// The global batch after the last in which a rank has samples.
    pub(super) const fn batches_of_rank(&self, node: u64, rank: u64) -> u64 {
        let ranks = self.topology.nodes * self.topology.ranks_per_node;
        let own = node * self.topology.ranks_per_node + rank;
        self.device_batches().saturating_sub(own).div_ceil(ranks)
    }

    pub(super) fn get(&self, batch: u64, node: u64, rank: u64, slot: u64) -> Option<u64> {
        let Topology { nodes, ranks_per_node, batch_size, .. } = self.topology;
        let (origin, turn) = match self.handing {
            Handing::ToOwnRanks => (node, batch * ranks_per_node + rank),
            Handing::InTurn => {
                let handed = (batch * nodes + node) * ranks_per_node + rank;
                (handed % nodes, handed / nodes)
            }
        };
        if turn >= self.batches_per_node {
            return None;
        }
        let turns = self.turns.get(usize::try_from(origin).ok()?)?.as_ref();
        let (stream, nth) = turns.expect("the batches of this node were asked for").at(turn);
        let (partition, source) = &self.streams[stream];
        let (step, within) = self.width.divide(nth * batch_size + slot);
        let (canonical, rank) = self.ranks.divide(within);
        let position = partition.dealt(origin * self.canonical_per_node + canonical, step * ranks_per_node + rank)?;
        Some(source.id(position))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.streams.iter().map(|(_, source)| source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_reads_from_the_nodes_its_ranks_are_handed_batches_of() {
        for (nodes, ranks_per_node) in [(1, 1), (3, 2), (2, 3), (8, 3), (3, 8), (5, 5)] {
            let topology = Topology { nodes, ranks_per_node, workers_per_rank: 1, batch_size: 1 };
            for node in 0..nodes {
                let expected: Vec<bool> = (0..nodes)
                    .map(|origin| (0..ranks_per_node).any(|rank| (node * ranks_per_node + rank) % nodes == origin))
                    .collect();
                let reads = DevicePerStream::reads_from(node, &topology, Handing::InTurn);
                assert_eq!((0..nodes).map(reads).collect::<Vec<_>>(), expected, "node {node} of {topology:?}");
            }
        }
    }
}
