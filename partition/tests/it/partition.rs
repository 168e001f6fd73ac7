//! `Partition` against the golden vectors.

use std::collections::HashSet;

use lockstep_partition::{Partition, PartitionError, PartitionSpec, Topology};
use serde::Deserialize;

use crate::golden;

#[derive(Deserialize)]
struct Row {
    algo: String,
    num_samples: u64,
    num_canonical_nodes: u64,
    num_physical_nodes: u64,
    ranks_per_node: u64,
    workers_per_rank: u64,
    batch_size: u64,
    drop_first: u64,
    initial_physical_nodes: Option<u64>,
    shape: Option<[u64; 5]>,
    sha256: Option<String>,
    ids: Option<Vec<i64>>,
    head: Option<Vec<i64>>,
    tail: Option<Vec<i64>>,
    error_text: Option<String>,
}

impl Row {
    fn spec(&self) -> PartitionSpec {
        PartitionSpec {
            algorithm: self.algo.parse().expect("a known algorithm"),
            num_samples: self.num_samples,
            canonical_nodes: self.num_canonical_nodes,
            topology: Topology {
                nodes: self.num_physical_nodes,
                ranks_per_node: self.ranks_per_node,
                workers_per_rank: self.workers_per_rank,
                batch_size: self.batch_size,
            },
            drop_first: self.drop_first,
            initial_physical_nodes: self.initial_physical_nodes,
        }
    }
}

/// Every place in the order of the original's array.
pub(crate) fn flatten(partition: &Partition) -> Vec<Option<u64>> {
    let [nodes, ranks, workers, ..] = partition.shape();
    let each = |node| (0..ranks).flat_map(move |rank| (0..workers).map(move |worker| (node, rank, worker)));
    (0..nodes).flat_map(each).flat_map(|(node, rank, worker)| partition.worker(node, rank, worker)).collect()
}

fn signed(ids: &[Option<u64>]) -> Vec<i64> {
    ids.iter().map(|id| id.map_or(-1, |id| i64::try_from(id).unwrap())).collect()
}

#[test]
fn golden_partitions_are_equal() {
    let rows: Vec<(usize, Row)> = golden::rows(include_str!("../golden/partition.jsonl"));
    assert_eq!(rows.len(), 508);
    for (line, row) in rows {
        let partition = Partition::new(&row.spec());
        match (row.error_text.as_deref(), partition) {
            (None, Ok(partition)) => check_values(line, &row, &partition),
            (Some(text), Ok(partition)) if text.starts_with("could not broadcast") => {
                check_validity(line, &row, &partition);
            }
            (Some(text), Err(error)) => check_refusal(line, text, error),
            (text, other) => panic!("line {line}: {text:?} became {other:?}"),
        }
    }
}

fn check_values(line: usize, row: &Row, partition: &Partition) {
    let ids = flatten(partition);
    assert_eq!(Some(partition.shape()), row.shape, "line {line}");
    if let Some(expected) = &row.ids {
        assert_eq!(&signed(&ids), expected, "line {line}");
    }
    if let (Some(head), Some(tail)) = (&row.head, &row.tail) {
        assert_eq!(&signed(&ids[..head.len()]), head, "line {line}");
        assert_eq!(&signed(&ids[ids.len() - tail.len()..]), tail, "line {line}");
    }
    assert_eq!(Some(golden::digest(ids.into_iter())), row.sha256, "line {line}");
}

/// What is asked where the original crashes: equal counts, and nothing lost.
fn check_validity(line: usize, row: &Row, partition: &Partition) {
    let ids = flatten(partition);
    let [nodes, ranks, ..] = partition.shape();
    let per_rank = ids.len() / usize::try_from(nodes * ranks).unwrap();
    let counts: HashSet<_> = ids.chunks(per_rank).map(|ids| ids.iter().flatten().count()).collect();
    assert_eq!(counts.len(), 1, "line {line}: ranks read {counts:?}");
    let seen: HashSet<_> = ids.iter().flatten().copied().collect();
    assert!(seen.iter().all(|&id| id < row.num_samples), "line {line}");
    if row.drop_first == 0 {
        assert_eq!(seen.len() as u64, row.num_samples, "line {line}");
    }
}

fn check_refusal(line: usize, text: &str, error: PartitionError) {
    let same = match error {
        PartitionError::CanonicalNodes { .. } => text.starts_with("Either canonical or physical nodes"),
        PartitionError::GlobalBatch { global_batch, .. } => {
            text.starts_with(&format!("A global batch size of {global_batch} is not evenly"))
        }
        _ => false,
    };
    assert!(same, "line {line}: {text} became {error}");
}
