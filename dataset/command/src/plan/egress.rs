//! How many times over the dataset is downloaded: the shards that each physical node touches, added up.

use std::collections::BTreeSet;

use lockstep_partition::{Egress, EpochPlan, EpochRecipe, ShardSet};
use lockstep_replication::Assignment;

use crate::plan::shards::Shards;

/// Above so many places they are not visited one by one, and a part of a logical node counts as all of it.
const MOST_VISITED: u64 = 1 << 28;

/// What each physical node downloads, and how many shards there are.
pub(super) fn of_nodes(plan: &EpochPlan, recipe: &EpochRecipe, assignment: &Assignment) -> Egress {
    let nodes = 0..assignment.num_nodes();
    if is_apart(assignment) || plan.num_slots() > MOST_VISITED {
        return plan.egress(nodes.map(|node| assignment.logical_nodes_on(node)));
    }
    let shards = Shards::new(recipe);
    let per_machine = nodes.map(|node| touched(plan, &shards, assignment, node)).collect();
    Egress { per_machine, shards: shards.occupied() }
}

/// Whether every logical node is on one physical node, whose ranks then read all of it: whether none is counted twice.
fn is_apart(assignment: &Assignment) -> bool {
    let (logical_nodes, _) = assignment.shape();
    let places = (0..assignment.num_nodes()).map(|node| assignment.logical_nodes_on(node).len() as u64);
    places.sum::<u64>() == logical_nodes
}

/// The shards that the ranks on a physical node read of.
fn touched(plan: &EpochPlan, shards: &Shards<'_>, assignment: &Assignment, node: u64) -> u64 {
    let (_, sample_ranks_per_node) = assignment.shape();
    let ranks = node * assignment.ranks_per_node()..(node + 1) * assignment.ranks_per_node();
    let sample_ranks: BTreeSet<u64> = ranks.filter_map(|rank| assignment.sample_rank_of(rank)).collect();
    let mut touched = ShardSet::new();
    for rank in sample_ranks {
        let (node, rank) = (rank / sample_ranks_per_node, rank % sample_ranks_per_node);
        for worker in 0..plan.topology().workers_per_rank {
            for id in plan.worker(node, rank, worker).flatten() {
                touched.insert(shards.of(id));
            }
        }
    }
    touched.len()
}

#[cfg(test)]
mod tests {
    use lockstep_replication::{Placement, Replication};

    use super::*;

    #[test]
    fn logical_nodes_are_apart_unless_one_is_on_two_nodes() {
        let is_apart = |nodes, ranks, replication, placement| {
            let replication = Replication::adjacent(replication);
            is_apart(&Assignment::new(nodes, ranks, &replication, placement).unwrap())
        };
        assert!(is_apart(4, 8, 2, Placement::NodeLocal));
        assert!(is_apart(4, 8, 1, Placement::Mosaic));
        assert!(!is_apart(4, 8, 8, Placement::Mosaic));
        assert!(!is_apart(4, 2, 4, Placement::NodeLocal));
    }
}
