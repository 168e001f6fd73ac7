//! Which rank reads whose samples, for a whole job.

use std::sync::Arc;

use lockstep_world::World;

use crate::explicit::{Explicit, index};
use crate::placement::Grid;
use crate::radix::Radix;
use crate::replication::Pattern;
use crate::{AssignmentError, Members, Placement, Replication, SampleWorld};

/// Which rank of a job reads whose samples: a [`Replication`] that fits the world, and its [`Placement`].
///
/// It is the same on every process and cheap to clone. All numbers count from zero. There are four kinds of them:
///
/// - a *rank* is a process of the job, on a *node*;
/// - a *group* is the ranks that read the same samples, numbered as the replication says;
/// - a *sample rank* is a group as a reader, numbered by logical node: the grid (logical node, rank of logical node),
///   row-major. It is the same number as the group's, unless the groups are explicit;
/// - a *logical node* is a part of the sample ranks.
///
/// # Example
///
/// ```
/// use lockstep_replication::{Assignment, Placement, Replication};
///
/// // Nodes of 6 ranks and groups of 4: every second group spans two nodes, which read as one.
/// let assignment = Assignment::new(4, 6, &Replication::adjacent(4), Placement::NodeLocal)?;
/// assert_eq!(assignment.shape(), (2, 3));
/// assert_eq!(assignment.logical_nodes_on(1), [0]);
/// assert_eq!(assignment.nodes_of(0), [0, 1]);
///
/// // mosaicml-streaming makes a single node of them.
/// let mosaic = Assignment::new(4, 6, &Replication::adjacent(4), Placement::Mosaic)?;
/// assert_eq!(mosaic.shape(), (1, 6));
/// # Ok::<(), lockstep_replication::AssignmentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    num_nodes: u64,
    ranks_per_node: u64,
    groups: Groups,
    placement: Placement,
    grid: Arc<Grid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Groups {
    Regular(Radix),
    Explicit(Arc<Explicit>),
}

impl Assignment {
    /// The assignment for `num_nodes` nodes of `ranks_per_node` ranks.
    ///
    /// # Errors
    ///
    /// If the world is empty or has more than 2^64 - 1 ranks, or if the replication does not fit it: see [`AssignmentError`].
    pub fn new(
        num_nodes: u64,
        ranks_per_node: u64,
        replication: &Replication,
        placement: Placement,
    ) -> Result<Self, AssignmentError> {
        let num_ranks = num_ranks(num_nodes, ranks_per_node)?;
        let groups = match &replication.0 {
            &Pattern::Adjacent(0) => return Err(AssignmentError::Zero),
            &Pattern::Adjacent(replication) if !num_ranks.is_multiple_of(replication) => {
                return Err(AssignmentError::DoesNotDivide { replication, num_ranks });
            }
            &Pattern::Adjacent(replication) => {
                Groups::Regular(Radix::new([(replication, true), (num_ranks / replication, false)]))
            }
            Pattern::Mesh { mesh, .. } if mesh.num_ranks() != num_ranks => {
                let (mesh, product) = (mesh.to_string(), mesh.num_ranks());
                return Err(AssignmentError::OtherSize { mesh, product, num_ranks, num_nodes, ranks_per_node });
            }
            Pattern::Mesh { mesh, is_replicated } => {
                let axes = mesh.axes().zip(is_replicated);
                Groups::Regular(Radix::new(axes.map(|((_, size), &is_replicated)| (size, is_replicated)).rev()))
            }
            Pattern::Explicit { groups, idle } => Groups::Explicit(Arc::new(Explicit::new(groups, idle, num_ranks)?)),
        };
        let grid = match (placement, &groups) {
            (Placement::Mosaic, _) => Grid::mosaic(groups.len(), ranks_per_node),
            (Placement::NodeLocal, Groups::Regular(radix)) => Grid::node_local(radix, ranks_per_node),
            (Placement::NodeLocal, Groups::Explicit(groups)) => Grid::node_local_explicit(groups, ranks_per_node),
        };
        Ok(Self { num_nodes, ranks_per_node, groups, placement, grid: Arc::new(grid) })
    }

    /// The assignment for the world that `world` is of.
    ///
    /// # Errors
    ///
    /// If the replication does not fit it: see [`AssignmentError`].
    pub fn for_world(world: &World, replication: &Replication, placement: Placement) -> Result<Self, AssignmentError> {
        Self::new(world.num_nodes(), world.ranks_per_node(), replication, placement)
    }

    /// Whose samples a process reads; `None` if its rank reads nothing.
    ///
    /// # Panics
    ///
    /// If `world` has other numbers of nodes or of ranks per node than this assignment.
    #[must_use]
    #[track_caller]
    pub fn sample_world(&self, world: &World) -> Option<SampleWorld> {
        assert_eq!(
            (world.num_nodes(), world.ranks_per_node()),
            (self.num_nodes, self.ranks_per_node),
            "a process and its assignment are of the same world (nodes, ranks per node)"
        );
        Some(SampleWorld::new(self.shape(), self.sample_rank_of(world.rank())?, world))
    }

    /// The numbers of logical nodes and of sample ranks on each of them.
    #[must_use]
    pub fn shape(&self) -> (u64, u64) {
        (self.grid.num_nodes, self.grid.ranks_per_node)
    }

    /// How groups became sample ranks.
    #[must_use]
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// The number of nodes.
    #[must_use]
    pub const fn num_nodes(&self) -> u64 {
        self.num_nodes
    }

    /// The number of ranks of each node.
    #[must_use]
    pub const fn ranks_per_node(&self) -> u64 {
        self.ranks_per_node
    }

    /// The number of ranks.
    #[must_use]
    pub const fn num_ranks(&self) -> u64 {
        self.num_nodes * self.ranks_per_node
    }

    /// The number of groups, which is the number of sample ranks.
    #[must_use]
    pub fn num_groups(&self) -> u64 {
        self.groups.len()
    }

    /// The number of ranks in each group.
    #[must_use]
    pub fn group_size(&self) -> u64 {
        match &self.groups {
            Groups::Regular(radix) => radix.group_size(),
            Groups::Explicit(groups) => groups.group_size(),
        }
    }

    /// The group of a rank; `None` if it reads nothing.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[must_use]
    #[track_caller]
    pub fn group_of(&self, rank: u64) -> Option<u64> {
        self.group_and_place(rank).map(|(group, _)| group)
    }

    /// The place of a rank among the [`members`](Self::members) of its group; `None` if it reads nothing.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[must_use]
    #[track_caller]
    pub fn place_of(&self, rank: u64) -> Option<u64> {
        self.group_and_place(rank).map(|(_, place)| place)
    }

    /// The ranks of a group: ascending, or in the order given if the groups are explicit.
    ///
    /// # Panics
    ///
    /// If there is no such group.
    #[must_use]
    #[track_caller]
    pub fn members(&self, group: u64) -> Members<'_> {
        check("group", group, self.num_groups());
        Members { assignment: self, group, places: 0..self.group_size() }
    }

    /// The sample rank that a rank reads as; `None` if it reads nothing.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[must_use]
    #[track_caller]
    pub fn sample_rank_of(&self, rank: u64) -> Option<u64> {
        self.group_of(rank).map(|group| self.sample_rank_of_group(group))
    }

    /// The group that is a sample rank.
    ///
    /// # Panics
    ///
    /// If there is no such sample rank.
    #[must_use]
    #[track_caller]
    pub fn group_of_sample_rank(&self, sample_rank: u64) -> u64 {
        check("sample rank", sample_rank, self.num_groups());
        match &self.grid.numbering {
            Some(numbering) => numbering.group_of_rank[index(sample_rank)],
            None => sample_rank,
        }
    }

    /// The logical node of a rank; `None` if it reads nothing.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[must_use]
    #[track_caller]
    pub fn logical_node_of(&self, rank: u64) -> Option<u64> {
        self.sample_rank_of(rank).map(|sample_rank| sample_rank / self.grid.ranks_per_node)
    }

    /// The logical nodes that ranks on a node belong to, ascending: whose parts of the shards this node downloads.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    #[must_use]
    #[track_caller]
    pub fn logical_nodes_on(&self, node: u64) -> Vec<u64> {
        check("node", node, self.num_nodes);
        let first = node * self.ranks_per_node;
        let last = first + (self.ranks_per_node - 1);
        if let Groups::Regular(radix) = &self.groups {
            let (from, to) = match self.placement {
                Placement::NodeLocal => (first, first),
                Placement::Mosaic if radix.is_ascending() => (first, last),
                Placement::Mosaic => return self.logical_nodes_of(first..=last),
            };
            let logical_node = |rank| self.logical_node_of(rank).expect("every rank of a regular replication reads");
            return (logical_node(from)..=logical_node(to)).collect();
        }
        self.logical_nodes_of(first..=last)
    }

    /// The nodes that have ranks of a logical node, ascending.
    ///
    /// # Panics
    ///
    /// If there is no such logical node.
    #[must_use]
    #[track_caller]
    pub fn nodes_of(&self, logical_node: u64) -> Vec<u64> {
        check("logical node", logical_node, self.grid.num_nodes);
        (0..self.num_nodes).filter(|&node| self.logical_nodes_on(node).binary_search(&logical_node).is_ok()).collect()
    }

    /// The number of canonical nodes to begin a new run with: the number of nodes, so that it does not depend on the
    /// replication, and the order of samples does not either. Where irregular explicit groups make a number of logical nodes
    /// that does not divide it, their least common multiple.
    #[must_use]
    pub fn default_canonical_nodes(&self) -> u64 {
        let (num_nodes, logical_nodes) = (self.num_nodes, self.grid.num_nodes);
        let common = (1..=logical_nodes).find(|times| (num_nodes * times).is_multiple_of(logical_nodes));
        num_nodes * common.expect("the number of logical nodes itself does")
    }

    /// The rank at a place of a group.
    pub(crate) fn rank_at(&self, group: u64, place: u64) -> u64 {
        match &self.groups {
            Groups::Regular(radix) => radix.rank(group, place),
            Groups::Explicit(groups) => groups.rank(group, place),
        }
    }

    #[track_caller]
    fn group_and_place(&self, rank: u64) -> Option<(u64, u64)> {
        check("rank", rank, self.num_ranks());
        match &self.groups {
            Groups::Regular(radix) => Some(radix.group_and_place(rank)),
            Groups::Explicit(groups) => groups.group_and_place(rank),
        }
    }

    fn sample_rank_of_group(&self, group: u64) -> u64 {
        match &self.grid.numbering {
            Some(numbering) => numbering.rank_of_group[index(group)],
            None => group,
        }
    }

    /// The logical nodes of some ranks, each once, ascending.
    fn logical_nodes_of(&self, ranks: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut logical_nodes: Vec<_> = ranks.filter_map(|rank| self.logical_node_of(rank)).collect();
        logical_nodes.sort_unstable();
        logical_nodes.dedup();
        logical_nodes
    }
}

impl Groups {
    fn len(&self) -> u64 {
        match self {
            Self::Regular(radix) => radix.num_groups(),
            Self::Explicit(groups) => groups.num_groups(),
        }
    }
}

fn num_ranks(num_nodes: u64, ranks_per_node: u64) -> Result<u64, AssignmentError> {
    if num_nodes == 0 {
        return Err(AssignmentError::ZeroWorld { count: "num_nodes" });
    }
    if ranks_per_node == 0 {
        return Err(AssignmentError::ZeroWorld { count: "ranks_per_node" });
    }
    num_nodes.checked_mul(ranks_per_node).ok_or(AssignmentError::TooLarge { num_nodes, ranks_per_node })
}

#[track_caller]
fn check(what: &str, value: u64, count: u64) {
    assert!(value < count, "{what} {value} is out of range: there are {count}");
}
