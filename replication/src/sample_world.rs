//! The sample world.

use lockstep_world::World;

/// Whose samples a process reads: the *sample world*.
///
/// It has the numbers of a [`World`] in which every group of ranks is a single *sample rank*, and nodes are logical nodes. It
/// says which part of the samples to read, and nothing else: the processes of a group share it, so that whatever must be done
/// by one process, or named for one process, goes by the [`World`]. Hence it is another type, has no leader, and there is
/// no way back.
///
/// Only an [`Assignment`](crate::Assignment) makes one.
///
/// # Example
///
/// ```
/// use lockstep_replication::{Assignment, Placement, Replication, SampleWorld};
/// use lockstep_world::World;
///
/// fn creates_the_segment(process: &World) -> bool {
///     process.is_local_leader()
/// }
///
/// fn first_batch(sample: &SampleWorld, batch_size: u64) -> u64 {
///     sample.worker() * batch_size
/// }
///
/// let process = World::of_rank(1, 4, 1)?;
/// let assignment = Assignment::new(1, 4, &Replication::adjacent(2), Placement::NodeLocal)?;
/// let sample = assignment.sample_world(&process).expect("every rank reads");
/// // Ranks 0 and 1 both are the first to read; only rank 0 is the leader.
/// assert_eq!(first_batch(&sample, 8), 0);
/// assert!(!creates_the_segment(&process));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Example: coordination takes no sample world
///
/// ```compile_fail,E0308
/// use lockstep_replication::SampleWorld;
/// use lockstep_world::World;
///
/// fn creates_the_segment(process: &World) -> bool {
///     process.is_local_leader()
/// }
///
/// fn two_leaders(sample: &SampleWorld) -> bool {
///     creates_the_segment(sample)
/// }
/// ```
///
/// ```compile_fail,E0599
/// fn two_leaders(sample: &lockstep_replication::SampleWorld) -> bool {
///     sample.is_local_leader()
/// }
/// ```
///
/// # Example: there is no way back
///
/// ```compile_fail,E0277
/// use lockstep_replication::SampleWorld;
/// use lockstep_world::World;
///
/// fn back(sample: SampleWorld) -> World {
///     sample.into()
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleWorld {
    num_nodes: u64,
    ranks_per_node: u64,
    workers_per_rank: u64,
    worker: u64,
}

impl SampleWorld {
    /// What the workers of `process` read if its rank reads as sample rank `rank` of this grid.
    pub(crate) fn new((num_nodes, ranks_per_node): (u64, u64), rank: u64, process: &World) -> Self {
        debug_assert!(rank < num_nodes * ranks_per_node && num_nodes * ranks_per_node <= process.num_ranks());
        // There are no more sample ranks than ranks: what fits there, fits here.
        let workers_per_rank = process.workers_per_rank();
        let worker = rank * workers_per_rank + process.worker_of_rank();
        Self { num_nodes, ranks_per_node, workers_per_rank, worker }
    }

    /// The logical node, from 0 to `num_nodes() - 1`.
    #[must_use]
    pub const fn node(&self) -> u64 {
        self.worker / self.workers_per_node()
    }

    /// The number of logical nodes.
    #[must_use]
    pub const fn num_nodes(&self) -> u64 {
        self.num_nodes
    }

    /// The sample rank.
    #[must_use]
    pub const fn rank(&self) -> u64 {
        self.worker / self.workers_per_rank
    }

    /// The number of sample ranks, which is the number of groups.
    #[must_use]
    pub const fn num_ranks(&self) -> u64 {
        self.num_nodes * self.ranks_per_node
    }

    /// The sample rank among those of its logical node.
    #[must_use]
    pub const fn rank_of_node(&self) -> u64 {
        self.rank() % self.ranks_per_node
    }

    /// The number of sample ranks of each logical node.
    #[must_use]
    pub const fn ranks_per_node(&self) -> u64 {
        self.ranks_per_node
    }

    /// The worker among the workers of all sample ranks.
    #[must_use]
    pub const fn worker(&self) -> u64 {
        self.worker
    }

    /// The number of workers of all sample ranks.
    #[must_use]
    pub const fn num_workers(&self) -> u64 {
        self.num_ranks() * self.workers_per_rank
    }

    /// The worker among the workers of its sample rank, which is also the one among those of its process's rank.
    #[must_use]
    pub const fn worker_of_rank(&self) -> u64 {
        self.worker % self.workers_per_rank
    }

    /// The number of workers of each sample rank.
    #[must_use]
    pub const fn workers_per_rank(&self) -> u64 {
        self.workers_per_rank
    }

    /// The worker among the workers of its logical node.
    #[must_use]
    pub const fn worker_of_node(&self) -> u64 {
        self.worker % self.workers_per_node()
    }

    /// The number of workers of each logical node.
    #[must_use]
    pub const fn workers_per_node(&self) -> u64 {
        self.ranks_per_node * self.workers_per_rank
    }
}
