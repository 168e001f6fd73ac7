//! How groups become the ranks and nodes of the sample world.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::explicit::{Explicit, index};
use crate::radix::Radix;

/// How groups become the ranks and nodes of the sample world.
///
/// Displays and parses as `node-local` (also `node_local`) and `mosaic`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Placement {
    /// Merges inside the nodes first, and across nodes only where a group spans them: a logical node is as few nodes as
    /// possible, and each node is of one logical node only, so that it downloads the shards of one part and no more. The
    /// default.
    ///
    /// In general, a logical node is a connected component of the nodes, linked by the groups that span them. For groups of
    /// `k` neighbours on nodes of `P` ranks that is `lcm(P, k)` ranks. Logical nodes are numbered by their first rank.
    ///
    /// For groups of neighbours, no other way to merge groups into equal logical nodes downloads less in all (if the number of
    /// nodes is a multiple of that of logical nodes, as canonical nodes want it). Where groups cut across nodes, say
    /// `rep=2,dp=3` over `rep` on 3 nodes of 2 ranks, another way might: there every node is linked to every other.
    ///
    /// # Irregular groups
    ///
    /// Explicit groups, and ranks that read nothing, can make components with unequal numbers of groups, while all logical
    /// nodes must have the same number. Then components are joined into as many logical nodes of equal size as is found
    /// possible without splitting any: for each number of logical nodes that divides the number of groups, the largest first,
    /// components are put, the largest first, where they leave the least room. A single logical node always works. Nodes without
    /// any group are of none.
    #[default]
    NodeLocal,
    /// What mosaicml-streaming 0.13 computes: as many ranks per node as there are, and fewer nodes, if that divides; otherwise
    /// a single node. Several logical nodes may then share a node, which downloads the parts of all of them. For runs that
    /// began there.
    Mosaic,
}

/// A text that names no [`Placement`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not a placement: use node-local or mosaic")]
pub struct UnknownPlacement {
    /// The text.
    pub text: String,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NodeLocal => "node-local",
            Self::Mosaic => "mosaic",
        })
    }
}

impl FromStr for Placement {
    type Err = UnknownPlacement;

    fn from_str(text: &str) -> Result<Self, UnknownPlacement> {
        match text {
            "node-local" | "node_local" => Ok(Self::NodeLocal),
            "mosaic" => Ok(Self::Mosaic),
            _ => Err(UnknownPlacement { text: text.to_owned() }),
        }
    }
}

/// The sample world's nodes and ranks, and which group is which sample rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) num_nodes: u64,
    pub(crate) ranks_per_node: u64,
    /// Sample ranks by group, and groups by sample rank, where they are not the same.
    pub(crate) numbering: Option<Numbering>,
}

/// A permutation and its inverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbering {
    pub(crate) rank_of_group: Box<[u64]>,
    pub(crate) group_of_rank: Box<[u64]>,
}

impl Grid {
    /// What mosaicml-streaming computes.
    pub(crate) fn mosaic(num_groups: u64, ranks_per_node: u64) -> Self {
        let num_nodes = if num_groups.is_multiple_of(ranks_per_node) { num_groups / ranks_per_node } else { 1 };
        Self { num_nodes, ranks_per_node: num_groups / num_nodes, numbering: None }
    }

    /// Logical nodes that are runs of neighbouring nodes and their copies. Groups are numbered by the runs already.
    pub(crate) fn node_local(radix: &Radix, ranks_per_node: u64) -> Self {
        let run = radix.run_of_nodes(ranks_per_node);
        let groups_of_node = radix.groups_of_run(run);
        Self { num_nodes: radix.num_groups() / groups_of_node, ranks_per_node: groups_of_node, numbering: None }
    }

    /// Logical nodes that are connected components, or several of them.
    pub(crate) fn node_local_explicit(groups: &Explicit, ranks_per_node: u64) -> Self {
        let components = components(groups, ranks_per_node);
        let num_groups = groups.num_groups();
        let mut nodes = (1..=components.len())
            .rev()
            .filter(|&num_nodes| num_groups.is_multiple_of(num_nodes as u64))
            .find_map(|num_nodes| pack(&components, num_nodes, num_groups / num_nodes as u64))
            .expect("everything fits a single logical node");
        nodes.sort_unstable_by_key(|node| node.first_rank);
        let group_of_rank: Box<[u64]> = nodes
            .iter_mut()
            .flat_map(|node| {
                node.groups.sort_unstable();
                node.groups.iter().copied()
            })
            .collect();
        let mut rank_of_group = vec![0; group_of_rank.len()];
        for (rank, &group) in (0u64..).zip(&group_of_rank) {
            rank_of_group[index(group)] = rank;
        }
        let num_nodes = nodes.len() as u64;
        let numbering = Numbering { rank_of_group: rank_of_group.into(), group_of_rank };
        Self { num_nodes, ranks_per_node: num_groups / num_nodes, numbering: Some(numbering) }
    }
}

/// Groups that belong together.
#[derive(Debug, Clone)]
struct Part {
    /// The smallest rank in any of its groups.
    first_rank: u64,
    groups: Vec<u64>,
}

/// The connected components of the nodes that have a group, linked by the groups that span them; by their first rank.
fn components(groups: &Explicit, ranks_per_node: u64) -> Vec<Part> {
    let mut nodes = Forest::default();
    for ranks in groups.groups() {
        for rank in ranks {
            nodes.join(ranks[0] / ranks_per_node, rank / ranks_per_node);
        }
    }
    let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
    for (group, ranks) in (0u64..).zip(groups.groups()) {
        let root = nodes.root(ranks[0] / ranks_per_node);
        let part = parts.entry(root).or_insert(Part { first_rank: u64::MAX, groups: Vec::new() });
        part.first_rank = ranks.iter().copied().fold(part.first_rank, u64::min);
        part.groups.push(group);
    }
    let mut parts: Vec<_> = parts.into_values().collect();
    parts.sort_unstable_by_key(|part| part.first_rank);
    parts
}

/// Joins the components into `num_nodes` parts of `size` groups each, or finds no way to: the largest first, each where it
/// leaves the least room.
fn pack(components: &[Part], num_nodes: usize, size: u64) -> Option<Vec<Part>> {
    let mut nodes = vec![Part { first_rank: u64::MAX, groups: Vec::new() }; num_nodes];
    let mut room: BTreeSet<(u64, usize)> = (0..num_nodes).map(|node| (size, node)).collect();
    let mut largest_first: Vec<_> = components.iter().collect();
    largest_first.sort_by_key(|component| Reverse(component.groups.len()));
    for component in largest_first {
        let needed = component.groups.len() as u64;
        let &(left, node) = room.range((needed, 0)..).next()?;
        room.remove(&(left, node));
        room.insert((left - needed, node));
        nodes[node].first_rank = nodes[node].first_rank.min(component.first_rank);
        nodes[node].groups.extend(&component.groups);
    }
    Some(nodes)
}

/// Disjoint sets of numbers (union-find with path halving).
#[derive(Debug, Default)]
struct Forest {
    parent: BTreeMap<u64, u64>,
}

impl Forest {
    fn root(&mut self, mut number: u64) -> u64 {
        loop {
            let parent = *self.parent.entry(number).or_insert(number);
            if parent == number {
                return number;
            }
            let grandparent = *self.parent.entry(parent).or_insert(parent);
            self.parent.insert(number, grandparent);
            number = grandparent;
        }
    }

    fn join(&mut self, a: u64, b: u64) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent.insert(a.max(b), a.min(b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for placement in [Placement::NodeLocal, Placement::Mosaic] {
            assert_eq!(placement.to_string().parse(), Ok(placement));
        }
        assert_eq!("node_local".parse(), Ok(Placement::NodeLocal));
        assert_eq!(
            "local".parse::<Placement>().expect_err("no such").to_string(),
            "\"local\" is not a placement: use node-local or mosaic"
        );
    }

    /// Parts of the given numbers of groups.
    fn parts(sizes: &[u64]) -> Vec<Part> {
        let mut groups = 0u64..;
        (0u64..)
            .zip(sizes)
            .map(|(first_rank, &size)| Part { first_rank, groups: (0..size).filter_map(|_| groups.next()).collect() })
            .collect()
    }

    #[test]
    fn components_are_packed_whole_or_not_at_all() {
        let sizes =
            |packed: Option<Vec<Part>>| packed.map(|nodes| nodes.iter().map(|n| n.groups.len()).collect::<Vec<_>>());
        assert_eq!(sizes(pack(&parts(&[1, 3, 2, 2]), 2, 4)), Some(vec![4, 4]));
        assert_eq!(sizes(pack(&parts(&[1, 3, 2, 2]), 4, 2)), None, "one has three");
        assert_eq!(sizes(pack(&parts(&[3, 3]), 2, 3)), Some(vec![3, 3]));
        assert_eq!(sizes(pack(&parts(&[5, 1]), 1, 6)), Some(vec![6]));
    }
}
