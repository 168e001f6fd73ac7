//! The process world.

use thiserror::Error;

use crate::{LAUNCHER_VARIABLE, Launcher, Variable, WORKER_OF_RANK_VARIABLE, WORKERS_PER_RANK_VARIABLE};

/// Who a process is in a job: the *process world*.
///
/// Four integers from which everything else follows. Counts are global unless their name says otherwise, and everything
/// is numbered from zero, node by node and rank by rank. A rank that has no workers counts as its own single worker.
///
/// # Example
///
/// ```
/// use lockstep_world::World;
///
/// // 2 nodes of 4 ranks of 3 workers; the last worker of the last rank.
/// let world = World::new(2, 4, 3, 23)?;
/// assert_eq!((world.node(), world.rank(), world.worker_of_rank()), (1, 7, 2));
/// assert_eq!((world.num_ranks(), world.num_workers()), (8, 24));
/// # Ok::<(), lockstep_world::WorldError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    num_nodes: u64,
    ranks_per_node: u64,
    workers_per_rank: u64,
    worker: u64,
}

/// Four integers that are not a [`World`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A count is zero.
    #[error("{count} is 0: a world has at least 1 node, 1 rank per node and 1 worker per rank")]
    Zero {
        /// The count that is zero, as its accessor is called.
        count: &'static str,
    },
    /// The number of workers does not fit 64 bits.
    #[error(
        "{num_nodes} nodes of {ranks_per_node} ranks of {workers_per_rank} workers are more than 2^64 - 1 workers: \
         check the counts"
    )]
    TooLarge {
        /// The number of nodes.
        num_nodes: u64,
        /// The number of ranks on each node.
        ranks_per_node: u64,
        /// The number of workers of each rank.
        workers_per_rank: u64,
    },
    /// An index is not below its count.
    #[error("{index} {value} is out of range: it counts from 0 and must be below {count} ({limit})")]
    OutOfRange {
        /// The index, as its accessor is called.
        index: &'static str,
        /// Its value.
        value: u64,
        /// The count it must be below, as its accessor is called.
        count: &'static str,
        /// The value of that count.
        limit: u64,
    },
}

impl World {
    /// The world of global worker `worker` among `num_nodes` nodes of `ranks_per_node` ranks of `workers_per_rank` workers.
    ///
    /// # Errors
    ///
    /// If a count is zero, if the number of workers does not fit 64 bits, or if `worker` is not below it.
    pub const fn new(
        num_nodes: u64,
        ranks_per_node: u64,
        workers_per_rank: u64,
        worker: u64,
    ) -> Result<Self, WorldError> {
        let num_workers = match num_workers(num_nodes, ranks_per_node, workers_per_rank) {
            Ok(num_workers) => num_workers,
            Err(error) => return Err(error),
        };
        if worker >= num_workers {
            return Err(WorldError::OutOfRange {
                index: "worker",
                value: worker,
                count: "num_workers",
                limit: num_workers,
            });
        }
        Ok(Self { num_nodes, ranks_per_node, workers_per_rank, worker })
    }

    /// The world of global rank `rank`, which has no workers (and so is its own single one).
    ///
    /// # Errors
    ///
    /// As for [`World::new`].
    pub const fn of_rank(num_nodes: u64, ranks_per_node: u64, rank: u64) -> Result<Self, WorldError> {
        match Self::new(num_nodes, ranks_per_node, 1, rank) {
            Err(WorldError::OutOfRange { value, limit, .. }) => {
                Err(WorldError::OutOfRange { index: "rank", value, count: "num_ranks", limit })
            }
            other => other,
        }
    }

    /// The world of a process that is alone: one node, one rank, one worker.
    #[must_use]
    pub const fn alone() -> Self {
        Self { num_nodes: 1, ranks_per_node: 1, workers_per_rank: 1, worker: 0 }
    }

    /// This rank's world as its worker number `worker_of_rank` of `workers_per_rank` sees it.
    ///
    /// Only the rank is taken from `self`: workers it may have had before are forgotten.
    ///
    /// # Errors
    ///
    /// If `workers_per_rank` is zero, if the number of workers does not fit 64 bits, or if `worker_of_rank` is not below
    /// `workers_per_rank`.
    pub const fn with_workers(self, workers_per_rank: u64, worker_of_rank: u64) -> Result<Self, WorldError> {
        if let Err(error) = num_workers(self.num_nodes, self.ranks_per_node, workers_per_rank) {
            return Err(error);
        }
        if worker_of_rank >= workers_per_rank {
            return Err(WorldError::OutOfRange {
                index: "worker_of_rank",
                value: worker_of_rank,
                count: "workers_per_rank",
                limit: workers_per_rank,
            });
        }
        let worker = self.rank() * workers_per_rank + worker_of_rank;
        Ok(Self { workers_per_rank, worker, ..self })
    }

    /// The node, from 0 to `num_nodes() - 1`.
    #[must_use]
    pub const fn node(&self) -> u64 {
        self.worker / self.workers_per_node()
    }

    /// The number of nodes of the job.
    #[must_use]
    pub const fn num_nodes(&self) -> u64 {
        self.num_nodes
    }

    /// The rank among all ranks of the job.
    #[must_use]
    pub const fn rank(&self) -> u64 {
        self.worker / self.workers_per_rank
    }

    /// The number of ranks of the job.
    #[must_use]
    pub const fn num_ranks(&self) -> u64 {
        self.num_nodes * self.ranks_per_node
    }

    /// The rank among the ranks of its node.
    #[must_use]
    pub const fn rank_of_node(&self) -> u64 {
        self.rank() % self.ranks_per_node
    }

    /// The number of ranks of each node.
    #[must_use]
    pub const fn ranks_per_node(&self) -> u64 {
        self.ranks_per_node
    }

    /// The worker among all workers of the job.
    #[must_use]
    pub const fn worker(&self) -> u64 {
        self.worker
    }

    /// The number of workers of the job.
    #[must_use]
    pub const fn num_workers(&self) -> u64 {
        self.num_ranks() * self.workers_per_rank
    }

    /// The worker among the workers of its rank.
    #[must_use]
    pub const fn worker_of_rank(&self) -> u64 {
        self.worker % self.workers_per_rank
    }

    /// The number of workers of each rank.
    #[must_use]
    pub const fn workers_per_rank(&self) -> u64 {
        self.workers_per_rank
    }

    /// The worker among the workers of its node.
    #[must_use]
    pub const fn worker_of_node(&self) -> u64 {
        self.worker % self.workers_per_node()
    }

    /// The number of workers of each node.
    #[must_use]
    pub const fn workers_per_node(&self) -> u64 {
        self.ranks_per_node * self.workers_per_rank
    }

    /// Whether this is the first worker of the job.
    #[must_use]
    pub const fn is_leader(&self) -> bool {
        self.worker == 0
    }

    /// Whether this is the first worker of its node.
    #[must_use]
    pub const fn is_local_leader(&self) -> bool {
        self.worker_of_node() == 0
    }

    /// Whether the job has more than one node.
    #[must_use]
    pub const fn is_multinode(&self) -> bool {
        self.num_nodes > 1
    }

    /// The variables with which torchrun would start this rank, for whoever starts ranks by hand, and the one of ours that
    /// says that these are to be believed.
    ///
    /// [`detect`](crate::detect()) reads the same world back from them, whatever else is in the environment. Ranks that are not
    /// all started by the same process need a `LOCKSTEP_JOB_ID` as well: see [`JobId`](crate::JobId).
    #[must_use]
    pub fn rank_variables(&self) -> [Variable; 7] {
        [
            Variable::new(LAUNCHER_VARIABLE, Launcher::Torchrun),
            Variable::new("RANK", self.rank()),
            Variable::new("WORLD_SIZE", self.num_ranks()),
            Variable::new("LOCAL_RANK", self.rank_of_node()),
            Variable::new("LOCAL_WORLD_SIZE", self.ranks_per_node()),
            Variable::new("GROUP_RANK", self.node()),
            Variable::new("GROUP_WORLD_SIZE", self.num_nodes()),
        ]
    }

    /// The variables by which a process started by its rank knows that it is one of the rank's workers, besides
    /// [`rank_variables`](Self::rank_variables).
    #[must_use]
    pub fn worker_variables(&self) -> [Variable; 2] {
        [
            Variable::new(WORKERS_PER_RANK_VARIABLE, self.workers_per_rank()),
            Variable::new(WORKER_OF_RANK_VARIABLE, self.worker_of_rank()),
        ]
    }
}

/// The number of workers of a job, which bounds every other number of it.
const fn num_workers(num_nodes: u64, ranks_per_node: u64, workers_per_rank: u64) -> Result<u64, WorldError> {
    if num_nodes == 0 {
        return Err(WorldError::Zero { count: "num_nodes" });
    }
    if ranks_per_node == 0 {
        return Err(WorldError::Zero { count: "ranks_per_node" });
    }
    if workers_per_rank == 0 {
        return Err(WorldError::Zero { count: "workers_per_rank" });
    }
    if let Some(num_ranks) = num_nodes.checked_mul(ranks_per_node)
        && let Some(num_workers) = num_ranks.checked_mul(workers_per_rank)
    {
        return Ok(num_workers);
    }
    Err(WorldError::TooLarge { num_nodes, ranks_per_node, workers_per_rank })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MapEnvironment, detect};

    /// A small world, as its four integers.
    fn small() -> impl Strategy<Value = World> {
        (1..20u64, 1..20u64, 1..20u64).prop_flat_map(|(num_nodes, ranks_per_node, workers_per_rank)| {
            (0..num_nodes * ranks_per_node * workers_per_rank).prop_map(move |worker| {
                World::new(num_nodes, ranks_per_node, workers_per_rank, worker).expect("in range")
            })
        })
    }

    proptest! {
        #[test]
        fn every_number_follows_from_the_coordinates(world in small()) {
            let rank = world.node() * world.ranks_per_node() + world.rank_of_node();
            prop_assert_eq!(world.rank(), rank);
            prop_assert_eq!(world.worker(), rank * world.workers_per_rank() + world.worker_of_rank());
            prop_assert_eq!(world.worker(), world.node() * world.workers_per_node() + world.worker_of_node());
            prop_assert!(world.node() < world.num_nodes());
            prop_assert!(world.rank_of_node() < world.ranks_per_node());
            prop_assert!(world.worker_of_rank() < world.workers_per_rank());
            prop_assert_eq!(world.is_local_leader(), world.rank_of_node() == 0 && world.worker_of_rank() == 0);
            prop_assert_eq!(world.is_leader(), world.is_local_leader() && world.node() == 0);
        }

        #[test]
        fn workers_keep_their_rank(world in small(), workers in 1..9u64, worker in 0..9u64) {
            match world.with_workers(workers, worker) {
                Ok(other) => {
                    prop_assert!(worker < workers);
                    prop_assert_eq!((other.node(), other.rank()), (world.node(), world.rank()));
                    prop_assert_eq!((other.worker_of_rank(), other.workers_per_rank()), (worker, workers));
                }
                Err(_) => prop_assert!(worker >= workers),
            }
        }

        #[test]
        fn no_arguments_panic(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) {
            if let Ok(world) = World::new(a, b, c, d) {
                prop_assert_eq!(u128::from(world.num_workers()), u128::from(a) * u128::from(b) * u128::from(c));
                let _ = world.with_workers(e, f);
            }
        }

        #[test]
        fn large_worlds_do_not_overflow(shift in 0..64u32, below in 0..4u64) {
            let world = World::new(u64::MAX >> shift, 1, 1, (u64::MAX >> shift) - 1).expect("in range");
            prop_assert_eq!(world.node() + 1, world.num_nodes());
            prop_assert_eq!(world.with_workers(2, below).is_ok(), shift > 0 && below < 2);
        }

        #[test]
        fn detect_reads_back_what_a_rank_is_started_with(world in small()) {
            let variables = world.rank_variables().into_iter().chain(world.worker_variables());
            let environment: MapEnvironment = variables.map(|v| (v.name().to_owned(), v.value().to_owned())).collect();
            prop_assert_eq!(detect(&environment).expect("consistent").world, world);
        }
    }

    #[test]
    fn bad_arguments_have_their_own_error() {
        let text = |result: Result<World, WorldError>| result.expect_err("bad").to_string();
        assert_eq!(
            text(World::new(0, 8, 1, 0)),
            "num_nodes is 0: a world has at least 1 node, 1 rank per node and 1 worker per rank"
        );
        assert_eq!(
            text(World::new(1, 0, 1, 0)),
            "ranks_per_node is 0: a world has at least 1 node, 1 rank per node and 1 worker per rank"
        );
        assert_eq!(
            text(World::new(1, 8, 0, 0)),
            "workers_per_rank is 0: a world has at least 1 node, 1 rank per node and 1 worker per rank"
        );
        assert_eq!(
            text(World::new(2, 4, 3, 24)),
            "worker 24 is out of range: it counts from 0 and must be below num_workers (24)"
        );
        assert_eq!(
            text(World::of_rank(2, 4, 8)),
            "rank 8 is out of range: it counts from 0 and must be below num_ranks (8)"
        );
        assert_eq!(
            text(World::alone().with_workers(2, 2)),
            "worker_of_rank 2 is out of range: it counts from 0 and must be below workers_per_rank (2)"
        );
        assert_eq!(
            text(World::new(1 << 32, 1 << 31, 2, 0)),
            "4294967296 nodes of 2147483648 ranks of 2 workers are more than 2^64 - 1 workers: check the counts"
        );
    }
}
