//! How many times over the nodes together download the dataset: the reason for the node-local placement.

use lockstep_replication::{Assignment, Placement, Replication};

use crate::assign;

/// The sum over nodes of the part of the samples that each reads, if every logical node reads another part of the shards.
fn egress(assignment: &Assignment) -> f64 {
    let parts: usize = (0..assignment.num_nodes()).map(|node| assignment.logical_nodes_on(node).len()).sum();
    parts as f64 / assignment.shape().0 as f64
}

#[test]
fn node_local_downloads_once_where_groups_are_inside_nodes() {
    for (num_nodes, ranks) in [(4, 8), (8, 8), (37, 8)] {
        let assignment = |placement| assign(num_nodes, 8, &Replication::adjacent(ranks), placement);
        assert_eq!(egress(&assignment(Placement::NodeLocal)), 1.0);
        // Each sample rank is on a node of its own, in a logical node with those of 7 other nodes.
        let logical_nodes = if num_nodes % 8 == 0 { num_nodes / 8 } else { 1 };
        assert_eq!(egress(&assignment(Placement::Mosaic)), num_nodes as f64 / logical_nodes as f64);
    }
}

#[test]
fn groups_that_span_nodes_download_once_per_node_that_they_span() {
    for (num_nodes, ranks_per_node, ranks, expected) in
        [(2, 6, 4, 2.0), (4, 6, 4, 2.0), (4, 8, 16, 2.0), (6, 4, 8, 2.0)]
    {
        let assignment = assign(num_nodes, ranks_per_node, &Replication::adjacent(ranks), Placement::NodeLocal);
        assert_eq!(egress(&assignment), expected);
    }
}
