//! The shape of a job as the arithmetic sees it, and a place in its reading.

/// Who reads: counts of nodes, of ranks on each, of workers of each rank, and the size of a rank's batch.
///
/// These are numbers of the *sample world*: ranks that read the same samples count once. A rank that reads without
/// workers counts as one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topology {
    /// Nodes that read samples of their own.
    pub nodes: u64,
    /// Ranks on each node.
    pub ranks_per_node: u64,
    /// Loading workers of each rank, at least one.
    pub workers_per_rank: u64,
    /// Samples in a batch of one rank.
    pub batch_size: u64,
}

impl Topology {
    /// All ranks, or `None` where they cannot be counted in 64 bits.
    #[must_use]
    pub const fn num_ranks(&self) -> Option<u64> {
        self.nodes.checked_mul(self.ranks_per_node)
    }

    /// The samples of one batch of every rank, or `None` where they cannot be counted in 64 bits.
    #[must_use]
    pub const fn global_batch_size(&self) -> Option<u64> {
        match self.num_ranks() {
            Some(ranks) => ranks.checked_mul(self.batch_size),
            None => None,
        }
    }

    /// The name of a count that is zero, if one is.
    pub(crate) fn zero(&self) -> Option<&'static str> {
        [
            (self.nodes, "nodes"),
            (self.ranks_per_node, "ranks per node"),
            (self.workers_per_rank, "workers per rank"),
            (self.batch_size, "batch size"),
        ]
        .into_iter()
        .find_map(|(count, name)| (count == 0).then_some(name))
    }

    /// Whether there is such a worker.
    pub(crate) const fn has_worker(&self, node: u64, rank: u64, worker: u64) -> bool {
        node < self.nodes && rank < self.ranks_per_node && worker < self.workers_per_rank
    }
}

/// A place in an epoch's reading: who, and which of their samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coordinate {
    /// Node, of all nodes.
    pub node: u64,
    /// Rank, of the ranks of that node.
    pub rank: u64,
    /// Worker, of the workers of that rank.
    pub worker: u64,
    /// Batch, of the batches of that worker. The rank takes its workers' batches in turn.
    pub batch: u64,
    /// Place in the batch.
    pub slot: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_do_not_fit_are_none() {
        let topology = Topology { nodes: 1 << 32, ranks_per_node: 1 << 31, workers_per_rank: 1, batch_size: 2 };
        assert_eq!(topology.num_ranks(), Some(1 << 63));
        assert_eq!(topology.global_batch_size(), None);
        assert_eq!(Topology { nodes: u64::MAX, ..topology }.global_batch_size(), None);
    }

    #[test]
    fn the_first_zero_is_named() {
        let topology = Topology { nodes: 1, ranks_per_node: 1, workers_per_rank: 0, batch_size: 0 };
        assert_eq!(topology.zero(), Some("workers per rank"));
        assert_eq!(Topology { workers_per_rank: 3, batch_size: 1, ..topology }.zero(), None);
    }
}
