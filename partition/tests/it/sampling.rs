//! Draws of shards against the golden vectors.

use lockstep_partition::{ShuffleUnits, choose_per_shard, numpy::Generator};
use serde::Deserialize;

use crate::golden;

#[derive(Deserialize)]
struct Row {
    samples_per_shard: Vec<u64>,
    choose: u64,
    granularity: u64,
    seed: u64,
    epoch: u64,
    use_epoch: bool,
    choose_per_shard: Vec<u64>,
}

#[test]
fn golden_draws_are_equal() {
    let rows: Vec<(usize, Row)> = golden::rows(include_str!("../golden/sampling.jsonl"));
    assert_eq!(rows.len(), 60);
    for (line, row) in rows {
        let shards = ShuffleUnits::from_sizes(row.samples_per_shard).unwrap();
        let seed = u128::from(row.seed) + if row.use_epoch { u128::from(row.epoch) } else { 0 };
        let chosen = choose_per_shard(&shards, row.choose, row.granularity, Generator::new(seed)).unwrap();
        assert_eq!(chosen, row.choose_per_shard, "line {line}");
    }
}
