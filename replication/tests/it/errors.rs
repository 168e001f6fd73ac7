//! Replications that do not fit. Each has its own error, with its text pinned.

use lockstep_replication::{Assignment, Mesh, Placement, Replication};

#[track_caller]
fn expect(num_nodes: u64, ranks_per_node: u64, replication: &Replication, text: &str) {
    for placement in [Placement::NodeLocal, Placement::Mosaic] {
        let error = Assignment::new(num_nodes, ranks_per_node, replication, placement).expect_err("does not fit");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn replication_that_does_not_divide() {
    expect(2, 4, &Replication::adjacent(3), "replication 3 does not divide the 8 ranks: use a number that does");
    expect(2, 4, &Replication::adjacent(16), "replication 16 does not divide the 8 ranks: use a number that does");
}

#[test]
fn zero_anything() {
    expect(2, 4, &Replication::adjacent(0), "replication is 0: it is the number of ranks in a group, 1 for none");
    expect(0, 4, &Replication::none(), "num_nodes is 0: a world has at least 1 node and 1 rank per node");
    expect(2, 0, &Replication::none(), "ranks_per_node is 0: a world has at least 1 node and 1 rank per node");
}

#[test]
fn too_many_ranks() {
    let text = "4294967296 nodes of 4294967296 ranks are more than 2^64 - 1 ranks: check the counts";
    expect(1 << 32, 1 << 32, &Replication::none(), text);
}

#[test]
fn a_mesh_that_is_not_the_world() {
    let mesh: Mesh = "pp=2,dp=4,tp=2".parse().expect("a mesh");
    let text = "mesh pp=2,dp=4,tp=2 has 16 ranks, but the world has 8 (2 nodes of 4): make them the same";
    expect(2, 4, &mesh.replicate(["pp"]).expect("an axis"), text);
}

#[test]
fn groups_that_overlap() {
    let groups = |groups: &[&[u64]], idle: &[u64]| {
        Replication::explicit(groups.iter().map(|group| group.to_vec()), idle.iter().copied())
    };
    expect(1, 4, &groups(&[&[0, 1], &[1, 2]], &[3]), "rank 1 is both in group 0 and in group 1: list each rank once");
    expect(1, 4, &groups(&[&[0, 0], &[1, 2]], &[3]), "rank 0 is both in group 0 and in group 0: list each rank once");
    expect(
        1,
        4,
        &groups(&[&[0, 1]], &[1, 2, 3]),
        "rank 1 is both in group 0 and in the idle ranks: list each rank once",
    );
    expect(
        1,
        4,
        &groups(&[&[0, 1]], &[2, 2]),
        "rank 2 is both in the idle ranks and in the idle ranks: list each rank once",
    );
}

#[test]
fn groups_that_miss_ranks() {
    let text = "rank 2 is in no group (nor are 3 more): put it into one, or declare that it reads nothing";
    expect(2, 4, &Replication::explicit([[0, 1], [3, 5]], []), text);
    let text = "rank 7 is in no group: put it into one, or declare that it reads nothing";
    expect(2, 4, &Replication::explicit([[0, 1], [3, 5]], [2, 4, 6]), text);
    // Enormous worlds cost no memory for an error.
    let text =
        "rank 2 is in no group (nor are 18446744073709551612 more): put it into one, or declare that it reads nothing";
    expect(u64::MAX, 1, &Replication::explicit([[0, 1]], []), text);
}

#[test]
fn groups_of_unequal_sizes() {
    let groups = Replication::explicit([vec![0, 1], vec![2, 3], vec![4, 5, 6]], [7]);
    expect(2, 4, &groups, "group 2 has 3 ranks, but group 0 has 2: groups must have equal sizes");
    expect(2, 4, &Replication::explicit([vec![0, 1], vec![]], []), "group 1 has no ranks: leave it out");
    expect(2, 4, &Replication::explicit([[0; 0]; 0], 0..8), "there are no groups: nobody would read anything");
}

#[test]
fn ranks_that_do_not_exist() {
    let text = "rank 8 in group 1 is out of range: the world has ranks 0 to 7";
    expect(2, 4, &Replication::explicit([[0, 1], [2, 8]], []), text);
    let text = "rank 9 in the idle ranks is out of range: the world has ranks 0 to 7";
    expect(2, 4, &Replication::explicit([[0, 1], [2, 3]], [9]), text);
}

#[test]
#[should_panic(expected = "a process and its assignment are of the same world")]
fn a_process_of_another_world_is_a_mistake_in_the_program() {
    let assignment = Assignment::new(2, 4, &Replication::none(), Placement::NodeLocal).expect("an assignment");
    let _ = assignment.sample_world(&lockstep_world::World::of_rank(4, 2, 0).expect("a world"));
}

#[test]
#[should_panic(expected = "rank 8 is out of range: there are 8")]
fn a_rank_that_is_not_there_is_a_mistake_in_the_program() {
    let assignment = Assignment::new(2, 4, &Replication::none(), Placement::NodeLocal).expect("an assignment");
    let _ = assignment.group_of(8);
}
