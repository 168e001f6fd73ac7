//! What can be wrong with a replication.

use thiserror::Error;

/// Why a text, or a list of axes, is not a mesh that can be replicated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MeshError {
    /// There are no axes.
    #[error("a mesh needs at least one axis: write it as \"pp=2,dp=4,tp=2\"")]
    Empty,
    /// A part of the text is not an axis.
    #[error("{text:?} is not an axis: write a mesh as \"pp=2,dp=4,tp=2\"")]
    NotAnAxis {
        /// The part.
        text: String,
    },
    /// A name is empty, or has other characters than letters, digits, `_` and `.`.
    #[error("{name:?} is not a name for an axis: use letters, digits, \"_\" and \".\"")]
    BadName {
        /// The name.
        name: String,
    },
    /// An axis has no ranks.
    #[error("axis {axis:?} has size 0: an axis has at least 1 rank")]
    Zero {
        /// The name of the axis.
        axis: String,
    },
    /// An axis is there more than once.
    #[error("axis {axis:?} is there twice: name each axis once")]
    Duplicate {
        /// The name of the axis.
        axis: String,
    },
    /// An axis that the mesh does not have.
    #[error("there is no axis {axis:?}: the mesh has {axes}")]
    Unknown {
        /// The name of the axis.
        axis: String,
        /// The axes of the mesh.
        axes: String,
    },
    /// The number of ranks does not fit 64 bits.
    #[error("mesh {mesh} has more than 2^64 - 1 ranks: check its sizes")]
    TooLarge {
        /// The mesh.
        mesh: String,
    },
}

/// Why a replication does not fit a world.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AssignmentError {
    /// The world has no nodes or no ranks.
    #[error("{count} is 0: a world has at least 1 node and 1 rank per node")]
    ZeroWorld {
        /// The count that is zero.
        count: &'static str,
    },
    /// The number of ranks does not fit 64 bits.
    #[error("{num_nodes} nodes of {ranks_per_node} ranks are more than 2^64 - 1 ranks: check the counts")]
    TooLarge {
        /// The number of nodes.
        num_nodes: u64,
        /// The number of ranks on each node.
        ranks_per_node: u64,
    },
    /// Groups of no ranks.
    #[error("replication is 0: it is the number of ranks in a group, 1 for none")]
    Zero,
    /// Groups of this size do not fit the number of ranks.
    #[error("replication {replication} does not divide the {num_ranks} ranks: use a number that does")]
    DoesNotDivide {
        /// The number of ranks in a group.
        replication: u64,
        /// The number of ranks of the job.
        num_ranks: u64,
    },
    /// The mesh has another number of ranks than the world.
    #[error(
        "mesh {mesh} has {product} ranks, but the world has {num_ranks} ({num_nodes} nodes of {ranks_per_node}): \
         make them the same"
    )]
    OtherSize {
        /// The mesh.
        mesh: String,
        /// The product of its sizes.
        product: u64,
        /// The number of ranks of the job.
        num_ranks: u64,
        /// The number of nodes.
        num_nodes: u64,
        /// The number of ranks on each node.
        ranks_per_node: u64,
    },
    /// There are no groups, so that nobody would read anything.
    #[error("there are no groups: nobody would read anything")]
    NoGroups,
    /// A group has no ranks.
    #[error("group {group} has no ranks: leave it out")]
    EmptyGroup {
        /// The group, counted from 0.
        group: usize,
    },
    /// Groups have different sizes.
    #[error("group {group} has {size} ranks, but group 0 has {first}: groups must have equal sizes")]
    UnequalGroups {
        /// The first group of another size than group 0.
        group: usize,
        /// The number of its ranks.
        size: usize,
        /// The number of ranks of group 0.
        first: usize,
    },
    /// A rank that the world does not have.
    #[error("rank {rank} in {place} is out of range: the world has ranks 0 to {last}")]
    OutOfRange {
        /// The rank.
        rank: u64,
        /// The group, or the list of idle ranks, that has it.
        place: String,
        /// The last rank of the world.
        last: u64,
    },
    /// A rank is listed more than once.
    #[error("rank {rank} is both in {first} and in {second}: list each rank once")]
    Overlap {
        /// The rank.
        rank: u64,
        /// The group, or the list of idle ranks, that has it.
        first: String,
        /// The other one.
        second: String,
    },
    /// A rank is not listed.
    #[error("rank {rank} is in no group{}: put it into one, or declare that it reads nothing", and_more(*.more))]
    Missing {
        /// The first such rank.
        rank: u64,
        /// How many more there are.
        more: u64,
    },
}

fn and_more(more: u64) -> String {
    if more == 0 { String::new() } else { format!(" (nor are {more} more)") }
}
