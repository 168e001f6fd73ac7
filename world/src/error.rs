//! What can be wrong with an environment.

use thiserror::Error;

use crate::{Launcher, UnknownLauncher, Variable, WorldError};

/// Why an environment does not say who this process is. Each names the variables, their values and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DetectError {
    /// Some of a launcher's variables are set, and one that is needed is not. (An empty variable counts as not set.)
    #[error(
        "{variable}, which {launcher} sets, is missing (found {found}): set it to {meaning}, or set LOCKSTEP_LAUNCHER to \
         what started this process ({})",
        Launcher::names()
    )]
    Missing {
        /// The launcher whose variables these are.
        launcher: Launcher,
        /// The variable that is missing.
        variable: &'static str,
        /// What it should be set to.
        meaning: &'static str,
        /// What is set of the same launcher's.
        found: String,
    },
    /// A value that should be a number is not one.
    #[error("{variable} is not a whole number from 0 to 2^64 - 1: correct it or unset it")]
    NotANumber {
        /// The variable and its value.
        variable: Variable,
    },
    /// A count is zero.
    #[error("{variable} is a count and must be at least 1: correct it or unset it")]
    Zero {
        /// The variable and its value.
        variable: Variable,
    },
    /// An index is not below its count.
    #[error("{index} is out of range for {count}: it counts from 0 and must be below that")]
    OutOfRange {
        /// The index.
        index: Variable,
        /// Its count.
        count: Variable,
    },
    /// The number of ranks is not a multiple of the number of ranks on this node.
    #[error("{num_ranks} is not a multiple of {ranks_per_node}: start the same number of ranks on every node")]
    NotAMultiple {
        /// The number of ranks of the job.
        num_ranks: Variable,
        /// The number of ranks on this node.
        ranks_per_node: Variable,
    },
    /// The nodes have different numbers of ranks.
    #[error(
        "{num_nodes} nodes of {ranks_per_node} ranks are not {num_ranks} ranks: start the same number of ranks on every node"
    )]
    UnequalNodes {
        /// The number of nodes of the job.
        num_nodes: Variable,
        /// The number of ranks on this node.
        ranks_per_node: Variable,
        /// The number of ranks of the job.
        num_ranks: Variable,
    },
    /// The ranks are not numbered node by node.
    #[error(
        "{rank} has {rank_of_node} where it should have {expected} with {ranks_per_node}: number the ranks node by node, \
         not round-robin over the nodes ({})",
        launcher.block_placement()
    )]
    NotNodeByNode {
        /// The launcher that placed the ranks.
        launcher: Launcher,
        /// The rank of the job.
        rank: Variable,
        /// The rank on this node, as given.
        rank_of_node: Variable,
        /// The rank on this node, as it follows from the rank.
        expected: u64,
        /// The number of ranks on this node.
        ranks_per_node: Variable,
    },
    /// The node's number is not the one that follows from the rank.
    #[error(
        "{rank} with {ranks_per_node} is on node {expected}, but {node}: start the same number of ranks on every node, \
         numbered node by node"
    )]
    OtherNode {
        /// The rank of the job.
        rank: Variable,
        /// The number of ranks on this node.
        ranks_per_node: Variable,
        /// The node's number, as given.
        node: Variable,
        /// The node's number, as it follows from the rank.
        expected: u64,
    },
    /// Slurm's list of tasks per node is not one.
    #[error("{variable} is not a list of tasks per node such as \"8\", \"8(x2)\" or \"8,4\": correct it or unset it")]
    MalformedTasksPerNode {
        /// The variable and its value.
        variable: Variable,
    },
    /// Slurm placed different numbers of tasks on the nodes.
    #[error("{variable} gives nodes different numbers of tasks: start as many on each, say with --ntasks-per-node")]
    UnequalTasksPerNode {
        /// The variable and its value.
        variable: Variable,
    },
    /// Slurm's list of tasks per node does not add up to the number of tasks.
    #[error("{variable} adds up to {sum} tasks, but {num_ranks}: correct one of them")]
    TasksDoNotAddUp {
        /// The list of tasks per node.
        variable: Variable,
        /// Its sum.
        sum: u64,
        /// The number of tasks.
        num_ranks: Variable,
    },
    /// One of the two variables that make a process a worker is set, the other is not.
    #[error("{found} is set without {missing}: a worker needs both, and a rank neither")]
    HalfAWorker {
        /// The one that is set.
        found: Variable,
        /// The one that is not.
        missing: &'static str,
    },
    /// `LOCKSTEP_LAUNCHER` names none.
    #[error("{variable}: {source}")]
    UnknownLauncher {
        /// The variable and its value.
        variable: Variable,
        /// Which there are.
        source: UnknownLauncher,
    },
    /// The job has no number or name that its processes on this node could agree on.
    #[error(
        "nothing tells this job from others on this node: set LOCKSTEP_JOB_ID to a text that is the same in all its \
         processes and differs between jobs"
    )]
    NoJobId,
    /// The numbers do not make a world.
    #[error(transparent)]
    World(#[from] WorldError),
}
