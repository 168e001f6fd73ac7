//! Explicit groups: those that a mesh could make, and those that none could.

use lockstep_replication::{Assignment, Mesh, Placement, Replication};
use proptest::prelude::*;

use crate::{assign, check, meshes};

fn node_local(num_nodes: u64, ranks_per_node: u64, groups: &[&[u64]], idle: &[u64]) -> Assignment {
    let replication = Replication::explicit(groups.iter().map(|group| group.to_vec()), idle.iter().copied());
    let assignment = assign(num_nodes, ranks_per_node, &replication, Placement::NodeLocal);
    check(&assignment);
    assignment
}

/// The groups of each logical node.
fn logical_nodes(assignment: &Assignment) -> Vec<Vec<u64>> {
    let (nodes, ranks) = assignment.shape();
    (0..nodes)
        .map(|node| (node * ranks..(node + 1) * ranks).map(|r| assignment.group_of_sample_rank(r)).collect())
        .collect()
}

#[test]
fn groups_keep_their_numbers_and_sample_ranks_go_by_logical_node() {
    // Group 0 is on node 1, and so is group 3.
    let assignment = node_local(2, 4, &[&[4, 5], &[1, 0], &[3, 2], &[7, 6]], &[]);
    assert_eq!(assignment.shape(), (2, 2));
    assert_eq!(logical_nodes(&assignment), [[1, 2], [0, 3]]);
    assert_eq!(assignment.group_of(4), Some(0));
    assert_eq!(assignment.sample_rank_of(4), Some(2));
    assert!(assignment.members(1).eq([1, 0]), "in the order given");
    assert!(assignment.members(1).rev().eq([0, 1]));
}

#[test]
fn idle_ranks_read_nothing() {
    // A pipeline of four stages of two ranks, of which the first and the last read.
    let assignment = node_local(2, 4, &[&[0, 6], &[1, 7]], &[2, 3, 4, 5]);
    assert_eq!(assignment.shape(), (1, 2), "the groups span both nodes");
    assert_eq!(assignment.group_of(3), None);
    assert_eq!(assignment.nodes_of(0), [0, 1]);
}

#[test]
fn a_node_without_groups_is_of_no_logical_node() {
    let assignment = node_local(3, 2, &[&[0, 1], &[4, 5]], &[2, 3]);
    assert_eq!(assignment.shape(), (2, 1));
    assert!(assignment.logical_nodes_on(1).is_empty());
    assert_eq!((assignment.nodes_of(0), assignment.nodes_of(1)), (vec![0], vec![2]));
    // Two logical nodes and three canonical ones would not fit.
    assert_eq!(assignment.default_canonical_nodes(), 6);
}

#[test]
fn unequal_components_are_joined_into_equal_logical_nodes() {
    // Nodes with 3, 1, 2 and 2 groups: two logical nodes of four groups, none of them split.
    let groups = [[0, 1], [2, 3], [4, 5], [6, 7], [12, 13], [14, 15], [18, 19], [20, 21]];
    let groups: Vec<&[u64]> = groups.iter().map(|group| &group[..]).collect();
    let assignment = node_local(4, 6, &groups, &[8, 9, 10, 11, 16, 17, 22, 23]);
    assert_eq!(assignment.shape(), (2, 4));
    assert_eq!(logical_nodes(&assignment), [[0, 1, 2, 3], [4, 5, 6, 7]]);
    for node in 0..4 {
        assert_eq!(assignment.logical_nodes_on(node), [node / 2]);
    }
}

#[test]
fn what_cannot_be_joined_equally_is_a_single_logical_node() {
    // Nodes with 3 and 2 groups.
    let assignment = node_local(2, 3, &[&[0], &[1], &[2], &[3], &[4]], &[5]);
    assert_eq!(assignment.shape(), (1, 5));
}

#[test]
fn meshes_of_which_only_some_ranks_read() {
    let mesh: Mesh = "pp=4,dp=3,tp=2".parse().expect("a mesh");
    let whole = assign(4, 6, &mesh.replicate(["pp", "tp"]).expect("axes"), Placement::NodeLocal);
    let everyone = mesh.replicate_where(["pp", "tp"], |_| true).expect("axes");
    let everyone = assign(4, 6, &everyone, Placement::NodeLocal);
    assert!((0..24).all(|rank| everyone.sample_rank_of(rank) == whole.sample_rank_of(rank)));

    let ends = mesh.replicate_where(["pp", "tp"], |at| at[0] % 3 == 0).expect("axes");
    let ends = assign(4, 6, &ends, Placement::NodeLocal);
    check(&ends);
    for rank in 0..24 {
        let reads = matches!(rank / 6, 0 | 3);
        assert_eq!(ends.group_of(rank), whole.group_of(rank).filter(|_| reads));
    }
    // A stage of its own per node, of which the first alone reads: others are of no logical node.
    let first = mesh.replicate_where(["tp"], |at| at[0] == 0).expect("axes");
    let first = assign(4, 6, &first, Placement::NodeLocal);
    assert_eq!((first.shape(), first.num_groups(), first.default_canonical_nodes()), ((1, 3), 3, 4));

    let error = mesh.replicate_where(["ep"], |_| true).expect_err("no such axis");
    assert_eq!(error.to_string(), "there is no axis \"ep\": the mesh has pp, dp, tp");
    // What reads must be the same in every group.
    let corner = mesh.replicate_where(["tp"], |at| at != [0, 0, 0]).expect("axes");
    let error = Assignment::new(4, 6, &corner, Placement::NodeLocal).expect_err("unequal");
    assert_eq!(error.to_string(), "group 1 has 2 ranks, but group 0 has 1: groups must have equal sizes");
}

#[test]
fn mosaic_placement_takes_groups_as_they_come() {
    let replication = Replication::explicit([[0, 7], [1, 6], [2, 5], [3, 4]], []);
    let assignment = assign(2, 4, &replication, Placement::Mosaic);
    check(&assignment);
    assert_eq!(assignment.shape(), (1, 4));
    assert_eq!(assignment.sample_rank_of(5), Some(2));
}

proptest! {
    #[test]
    fn a_mesh_given_group_by_group_is_the_mesh((mesh, axes, ranks_per_node) in meshes(256)) {
        let num_nodes = mesh.num_ranks() / ranks_per_node;
        for placement in [Placement::NodeLocal, Placement::Mosaic] {
            let mesh = assign(num_nodes, ranks_per_node, &mesh.replicate(&axes).expect("axes"), placement);
            let groups = (0..mesh.num_groups()).map(|group| mesh.members(group).collect::<Vec<_>>());
            let explicit = assign(num_nodes, ranks_per_node, &Replication::explicit(groups, []), placement);
            prop_assert_eq!(mesh.shape(), explicit.shape());
            for rank in 0..mesh.num_ranks() {
                prop_assert_eq!(mesh.group_of(rank), explicit.group_of(rank));
                prop_assert_eq!(mesh.place_of(rank), explicit.place_of(rank));
                prop_assert_eq!(mesh.sample_rank_of(rank), explicit.sample_rank_of(rank));
            }
        }
    }

    #[test]
    fn any_groups_whatsoever(
        ranks in (1..=6u64, 1..=8u64).prop_flat_map(|(nodes, ranks)| {
            (Just(nodes), Just(ranks), Just((0..nodes * ranks).collect::<Vec<_>>()).prop_shuffle(), 1..=4usize, 0..=48usize)
        }),
    ) {
        let (num_nodes, ranks_per_node, ranks, size, groups) = ranks;
        let size = size.min(ranks.len());
        let (grouped, idle) = ranks.split_at(size * groups.clamp(1, ranks.len() / size));
        let replication = Replication::explicit(grouped.chunks(size), idle.iter().copied());
        for placement in [Placement::NodeLocal, Placement::Mosaic] {
            let assignment = assign(num_nodes, ranks_per_node, &replication, placement);
            check(&assignment);
            if placement == Placement::NodeLocal {
                prop_assert!((0..num_nodes).all(|node| assignment.logical_nodes_on(node).len() <= 1));
            }
        }
    }
}
