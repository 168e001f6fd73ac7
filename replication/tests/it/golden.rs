//! The mosaic placement against the original's values.

use lockstep_replication::{Assignment, Placement, Replication};
use lockstep_world::World;
use serde_json::Value;

const VECTORS: &str = include_str!("../golden/replicate_mosaic_placement.jsonl");

#[test]
fn mosaic_placement_is_what_the_original_computes() {
    let (mut equal, mut refused) = (0, 0);
    for line in VECTORS.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let number = |name: &str| row[name].as_u64().expect("a number");
        let (num_nodes, ranks_per_node) = (number("num_nodes"), number("ranks_per_node"));
        let replication = Replication::adjacent(number("replication"));
        let assignment = Assignment::new(num_nodes, ranks_per_node, &replication, Placement::Mosaic);
        if row.get("error").is_some() {
            assert!(assignment.is_err(), "{line}");
            refused += 1;
            continue;
        }
        let process =
            World::new(num_nodes, ranks_per_node, number("workers_per_rank"), number("worker")).expect("a world");
        let sample = assignment.expect(line).sample_world(&process).expect("every rank reads");
        for (name, value) in [
            ("node", sample.node()),
            ("num_nodes", sample.num_nodes()),
            ("rank", sample.rank()),
            ("num_ranks", sample.num_ranks()),
            ("rank_of_node", sample.rank_of_node()),
            ("ranks_per_node", sample.ranks_per_node()),
            ("worker", sample.worker()),
            ("num_workers", sample.num_workers()),
            ("worker_of_node", sample.worker_of_node()),
            ("workers_per_node", sample.workers_per_node()),
            ("worker_of_rank", sample.worker_of_rank()),
            ("workers_per_rank", sample.workers_per_rank()),
        ] {
            assert_eq!(row["got"][name].as_u64(), Some(value), "{name} of {line}");
        }
        equal += 1;
    }
    assert_eq!((equal, refused), (330, 63), "every vector was looked at");
}
