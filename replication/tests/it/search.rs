//! Node-local placement against searches that know nothing of its arithmetic.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_replication::{Assignment, Mesh, Placement, Replication};
use proptest::prelude::*;

use crate::{assign, divisors, meshes, worlds};

/// For each rank, the first rank of its connected component of the nodes, linked by the groups that span them.
fn components(assignment: &Assignment) -> Vec<u64> {
    let mut label: Vec<_> = (0..assignment.num_nodes()).collect();
    loop {
        let before = label.clone();
        for group in 0..assignment.num_groups() {
            let nodes: Vec<_> =
                assignment.members(group).map(|rank| index(rank / assignment.ranks_per_node())).collect();
            let smallest = nodes.iter().map(|&node| label[node]).min().expect("a group has ranks");
            nodes.into_iter().for_each(|node| label[node] = smallest);
        }
        if label == before {
            break;
        }
    }
    (0..assignment.num_ranks()).map(|rank| label[index(rank / assignment.ranks_per_node())]).collect()
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("small")
}

/// Whether the logical nodes are the connected components, numbered by their first rank.
fn check_components(assignment: &Assignment) {
    let components = components(assignment);
    let first_ranks: BTreeSet<_> = components.iter().copied().collect();
    let number: BTreeMap<_, _> = first_ranks.into_iter().zip(0u64..).collect();
    for (rank, component) in (0u64..).zip(components) {
        assert_eq!(assignment.logical_node_of(rank), Some(number[&component]), "rank {rank} of {assignment:?}");
    }
    assert_eq!(assignment.shape().0, number.len() as u64);
}

#[test]
fn logical_nodes_of_adjacent_groups_are_connected_components() {
    for (num_nodes, ranks_per_node) in worlds() {
        for ranks in divisors(num_nodes * ranks_per_node) {
            check_components(&assign(num_nodes, ranks_per_node, &Replication::adjacent(ranks), Placement::NodeLocal));
        }
    }
}

/// Every way to write `number` as a product of up to `depth` factors greater than one, in order.
fn factorisations(number: u64, depth: usize) -> Vec<Vec<u64>> {
    if number == 1 {
        return vec![Vec::new()];
    }
    if depth == 0 {
        return Vec::new();
    }
    let rest =
        |first| factorisations(number / first, depth - 1).into_iter().map(move |rest| [vec![first], rest].concat());
    divisors(number).skip(1).flat_map(rest).collect()
}

/// Every mesh of `num_ranks` ranks and up to `depth` axes that cannot be written with fewer: every other axis is replicated.
fn all_meshes(num_ranks: u64, depth: usize) -> impl Iterator<Item = (Mesh, Replication)> {
    factorisations(num_ranks, depth).into_iter().filter(|sizes| !sizes.is_empty()).flat_map(|sizes| {
        [0, 1].map(|first| {
            let names = (0..sizes.len()).map(|i| format!("a{i}"));
            let mesh = Mesh::new(names.clone().zip(sizes.iter().copied())).expect("a mesh");
            let replication = mesh.replicate(names.skip(first).step_by(2)).expect("axes");
            (mesh, replication)
        })
    })
}

#[test]
fn logical_nodes_of_every_small_mesh_are_connected_components() {
    let mut count = 0;
    for num_ranks in 2..=48 {
        for (mesh, replication) in all_meshes(num_ranks, 4) {
            for ranks_per_node in divisors(mesh.num_ranks()) {
                check_components(&assign(
                    num_ranks / ranks_per_node,
                    ranks_per_node,
                    &replication,
                    Placement::NodeLocal,
                ));
                count += 1;
            }
        }
    }
    assert!(count > 3_000, "{count} meshes");
}

proptest! {
    #[test]
    fn logical_nodes_of_random_meshes_are_connected_components((mesh, axes, ranks_per_node) in meshes(512)) {
        let replication = mesh.replicate(&axes).expect("axes of the mesh");
        check_components(&assign(mesh.num_ranks() / ranks_per_node, ranks_per_node, &replication, Placement::NodeLocal));
    }
}

/// How good a way to make logical nodes is: the most logical nodes that any node has ranks of, and the sum over nodes of the
/// part of the samples that it reads (in units of the whole).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    most: usize,
    egress: f64,
}

/// The cost of the logical nodes that groups are put on, if `on_node` are the groups of each node.
fn cost(on_node: &[BTreeSet<usize>], logical_node: &[usize], logical_nodes: usize) -> Cost {
    let counts =
        on_node.iter().map(|groups| groups.iter().map(|&group| logical_node[group]).collect::<BTreeSet<_>>().len());
    let sum: usize = counts.clone().sum();
    Cost { most: counts.max().unwrap_or(0), egress: sum as f64 / logical_nodes as f64 }
}

/// Calls `visit` with every way to put `groups` groups on `logical_nodes` logical nodes of equal size, up to their order.
fn for_each_merge(groups: usize, logical_nodes: usize, visit: &mut impl FnMut(&[usize])) {
    fn extend(of: &mut Vec<usize>, room: &mut [usize], groups: usize, size: usize, visit: &mut impl FnMut(&[usize])) {
        if of.len() == groups {
            return visit(of);
        }
        for node in 0..room.len() {
            if room[node] > 0 {
                let is_first = room[node] == size;
                room[node] -= 1;
                of.push(node);
                extend(of, room, groups, size, visit);
                of.pop();
                room[node] += 1;
                // Empty logical nodes are alike.
                if is_first {
                    break;
                }
            }
        }
    }
    let size = groups / logical_nodes;
    extend(&mut Vec::new(), &mut vec![size; logical_nodes], groups, size, visit);
}

/// Calls `visit` with the cost of every way to merge groups into equal logical nodes of which the number of nodes is a multiple,
/// so that the number of canonical nodes may be the number of nodes. Gives the cost of the node-local way.
fn for_each_cost(assignment: &Assignment, visit: &mut impl FnMut(Cost)) -> Cost {
    let groups = index(assignment.num_groups());
    let mut on_node = vec![BTreeSet::new(); index(assignment.num_nodes())];
    let mut logical_node = vec![0; groups];
    for rank in 0..assignment.num_ranks() {
        let group = index(assignment.group_of(rank).expect("every rank reads"));
        on_node[index(rank / assignment.ranks_per_node())].insert(group);
        logical_node[group] = index(assignment.logical_node_of(rank).expect("every rank reads"));
    }
    for logical_nodes in divisors(assignment.num_nodes()).map(index).filter(|&count| groups.is_multiple_of(count)) {
        for_each_merge(groups, logical_nodes, &mut |other| visit(cost(&on_node, other, logical_nodes)));
    }
    cost(&on_node, &logical_node, index(assignment.shape().0))
}

/// The least of the most logical nodes that a node is of, and the least egress where that is so, and anywhere.
fn best(assignment: &Assignment) -> (Cost, Cost, f64) {
    let mut best = Cost { most: usize::MAX, egress: f64::INFINITY };
    let mut egress = f64::INFINITY;
    let ours = for_each_cost(assignment, &mut |theirs| {
        egress = egress.min(theirs.egress);
        if (theirs.most, theirs.egress) < (best.most, best.egress) {
            best = theirs;
        }
    });
    (ours, best, egress)
}

#[test]
fn no_uniform_merge_beats_node_local_for_adjacent_groups() {
    for (num_nodes, ranks_per_node) in worlds() {
        for ranks in divisors(num_nodes * ranks_per_node) {
            if num_nodes * ranks_per_node / ranks <= 9 {
                let assignment = assign(num_nodes, ranks_per_node, &Replication::adjacent(ranks), Placement::NodeLocal);
                let (ours, best, egress) = best(&assignment);
                assert_eq!((ours, ours.egress), (best, egress), "{assignment:?}");
            }
        }
    }
}

#[test]
fn no_uniform_merge_has_fewer_logical_nodes_on_a_node_for_meshes() {
    for num_ranks in 2..=36 {
        for (_, replication) in all_meshes(num_ranks, 3) {
            for ranks_per_node in divisors(num_ranks) {
                let assignment = assign(num_ranks / ranks_per_node, ranks_per_node, &replication, Placement::NodeLocal);
                if assignment.num_groups() <= 8 {
                    let (ours, best, _) = best(&assignment);
                    assert_eq!(ours, best, "{assignment:?}");
                }
            }
        }
    }
}

#[test]
fn more_logical_nodes_on_a_node_can_be_cheaper_where_groups_cut_across_nodes() {
    // Three nodes of two, each two of which share a group: a limitation that the documentation of the placement states.
    let mesh: Mesh = "rep=2,dp=3".parse().expect("a mesh");
    let (ours, _, egress) = best(&assign(3, 2, &mesh.replicate(["rep"]).expect("an axis"), Placement::NodeLocal));
    assert_eq!((ours.egress, egress), (3.0, 2.0));
}
