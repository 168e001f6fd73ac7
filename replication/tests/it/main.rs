//! Who reads whose samples, in whole worlds.

mod egress;
mod errors;
mod golden;
mod irregular;
mod order;
mod regular;
mod search;

use lockstep_replication::{Assignment, Mesh, Placement, Replication};
use lockstep_world::World;
use proptest::prelude::*;

/// The assignment, which must be one.
#[track_caller]
fn assign(num_nodes: u64, ranks_per_node: u64, replication: &Replication, placement: Placement) -> Assignment {
    Assignment::new(num_nodes, ranks_per_node, replication, placement).unwrap_or_else(|error| panic!("{error}"))
}

/// The world of a rank, which must be one.
#[track_caller]
fn rank_of(assignment: &Assignment, rank: u64) -> World {
    World::of_rank(assignment.num_nodes(), assignment.ranks_per_node(), rank).expect("a rank")
}

fn divisors(number: u64) -> impl Iterator<Item = u64> {
    (1..=number).filter(move |&divisor| number.is_multiple_of(divisor))
}

/// Every world of up to 40 nodes of 1, 2, 3, 4, 6, 8 or 12 ranks.
fn worlds() -> impl Iterator<Item = (u64, u64)> {
    [1, 2, 3, 4, 6, 8, 12]
        .into_iter()
        .flat_map(|ranks_per_node| (1..=40).map(move |num_nodes| (num_nodes, ranks_per_node)))
}

/// A mesh of up to `limit` ranks, some axes of it to replicate over, and a number of ranks per node that divides it.
fn meshes(limit: u64) -> impl Strategy<Value = (Mesh, Vec<String>, u64)> {
    let axes = prop::collection::vec((1..=8u64, any::<bool>()), 1..=5);
    (axes, any::<prop::sample::Index>()).prop_map(move |(axes, choice)| {
        let mut product = 1;
        let axes: Vec<_> = (0..)
            .zip(axes)
            .map(|(i, (size, is_replicated))| {
                let size = if product * size <= limit { size } else { 1 };
                product *= size;
                (format!("axis{i}"), size, is_replicated)
            })
            .collect();
        let replicated = axes.iter().filter(|axis| axis.2).map(|axis| axis.0.clone()).collect();
        let mesh = Mesh::new(axes.into_iter().map(|(name, size, _)| (name, size))).expect("a mesh");
        let ranks_per_node: Vec<_> = divisors(product).collect();
        (mesh, replicated, *choice.get(&ranks_per_node))
    })
}

/// Checks all that must hold of any assignment whatsoever.
fn check(assignment: &Assignment) {
    let (logical_nodes, ranks_per_logical_node) = assignment.shape();
    assert_eq!(logical_nodes * ranks_per_logical_node, assignment.num_groups());
    let mut readers = vec![0; usize::try_from(assignment.num_groups()).expect("small")];
    for rank in 0..assignment.num_ranks() {
        let process = rank_of(assignment, rank).with_workers(3, rank % 3).expect("a worker");
        let before = process;
        let sample = assignment.sample_world(&process);
        assert_eq!(process, before, "the process world is untouched");
        let Some(sample) = sample else {
            assert_eq!((assignment.group_of(rank), assignment.place_of(rank)), (None, None));
            assert_eq!((assignment.sample_rank_of(rank), assignment.logical_node_of(rank)), (None, None));
            continue;
        };
        let group = assignment.group_of(rank).expect("a rank that reads has a group");
        let place = assignment.place_of(rank).expect("and a place in it");
        assert_eq!(assignment.members(group).nth(usize::try_from(place).expect("small")), Some(rank));
        assert_eq!(assignment.group_of_sample_rank(sample.rank()), group);
        assert_eq!(assignment.sample_rank_of(rank), Some(sample.rank()));
        assert_eq!(assignment.logical_node_of(rank), Some(sample.node()));
        assert_eq!((sample.num_nodes(), sample.ranks_per_node()), assignment.shape());
        assert_eq!((sample.workers_per_rank(), sample.worker_of_rank()), (3, rank % 3));
        assert_eq!(sample.worker(), sample.rank() * 3 + rank % 3);
        assert!(assignment.logical_nodes_on(process.node()).contains(&sample.node()));
        readers[usize::try_from(sample.rank()).expect("small")] += 1;
    }
    // Complete, and the same number of readers each: members of a group read the same, different groups different samples.
    assert!(readers.iter().all(|&readers| readers == assignment.group_size()), "{readers:?}");
    for group in 0..assignment.num_groups() {
        assert!(assignment.members(group).all(|rank| assignment.group_of(rank) == Some(group)));
        assert_eq!(assignment.members(group).count() as u64, assignment.group_size());
    }
    for node in 0..assignment.num_nodes() {
        let ranks = node * assignment.ranks_per_node()..(node + 1) * assignment.ranks_per_node();
        let mut expected: Vec<_> = ranks.filter_map(|rank| assignment.logical_node_of(rank)).collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(assignment.logical_nodes_on(node), expected);
    }
    for logical_node in 0..logical_nodes {
        let nodes = assignment.nodes_of(logical_node);
        assert!(
            nodes.iter().all(|&node| assignment.logical_nodes_on(node).contains(&logical_node)) && !nodes.is_empty()
        );
    }
    assert_eq!(assignment.default_canonical_nodes() % logical_nodes, 0);
}
