//! How many times over the dataset is downloaded: the shards that each physical node touches, added up.

use std::collections::BTreeSet;

use lockstep_partition::{EpochPlan, EpochRecipe, ShardSet};
use lockstep_replication::Assignment;

use crate::plan::shards::Shards;

/// Above so many places they are not visited one by one, and a part of a logical node counts as all of it.
const MOST_VISITED: u64 = 1 << 28;

/// Shards touched on all physical nodes, as a multiple of the dataset's shards.
pub(super) fn factor(plan: &EpochPlan, recipe: &EpochRecipe, assignment: &Assignment) -> f64 {
    let machines = (0..assignment.num_nodes()).map(|node| assignment.logical_nodes_on(node));
    if is_apart(assignment) || plan.num_slots() > MOST_VISITED {
        return plan.egress(machines).factor();
    }
    let shards = Shards::new(recipe);
    let touched: u64 = (0..assignment.num_nodes()).map(|node| touched(plan, &shards, assignment, node)).sum();
    ratio(touched, shards.occupied())
}

/// Whether every logical node is on one physical node, whose ranks then read all of it.
fn is_apart(assignment: &Assignment) -> bool {
    let (logical_nodes, _) = assignment.shape();
    (0..logical_nodes).all(|logical| assignment.nodes_of(logical).len() == 1)
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

#[expect(clippy::cast_precision_loss, reason = "a ratio is rounded for people")]
fn ratio(touched: u64, shards: u64) -> f64 {
    touched as f64 / shards as f64
}
