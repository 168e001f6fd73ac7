//! The mosaic family against mosaicml-streaming.

use lockstep_partition::{
    CanonicalSubset, Order, ShuffleUnits, canonical_range,
    shuffle::{ShuffleAlgorithm, ShuffleError, ShuffleSpec},
};
use proptest::prelude::*;
use serde::Deserialize;

use crate::golden;

/// The algorithms written down plainly.
#[path = "../../benches/shuffle/plain.rs"]
mod plain;

#[derive(Deserialize)]
struct Row {
    algo: String,
    shard_sizes: Vec<u64>,
    num_canonical_nodes: u64,
    seed: u64,
    epoch: u64,
    block_size: u64,
    sha256: Option<String>,
    ids: Option<Vec<u64>>,
    head: Option<Vec<u64>>,
    tail: Option<Vec<u64>>,
    error: Option<String>,
}

impl Row {
    fn spec(&self) -> ShuffleSpec {
        ShuffleSpec {
            algorithm: self.algo.parse().expect("a known algorithm"),
            canonical_nodes: self.num_canonical_nodes,
            seed: self.seed,
            epoch: self.epoch,
            block_size: self.block_size,
        }
    }

    fn units(&self) -> ShuffleUnits {
        ShuffleUnits::from_sizes(self.shard_sizes.iter().copied()).expect("shards that can be counted")
    }
}

fn rows() -> Vec<Row> {
    let rows = golden::rows(include_str!("../golden/shuffle.jsonl"));
    assert!(rows.len() >= 100, "{} rows", rows.len());
    rows.into_iter().map(|(_, row)| row).collect()
}

#[test]
fn every_order_is_the_original_order() {
    for row in rows() {
        let case = format!("{:?} of {:?}", row.spec(), row.shard_sizes);
        let built = row.spec().build(&row.units(), CanonicalSubset::ALL);
        if let Some(error) = &row.error {
            assert!(error.contains("number of samples assigned to a canonical node is 0"), "{error}");
            assert!(matches!(built, Err(ShuffleError::FewerSamplesThanCanonicalNodes { .. })), "{case}: {built:?}");
            continue;
        }
        let order = built.unwrap_or_else(|error| panic!("{case}: {error}"));
        let ids: Vec<u64> = (0..order.len()).map(|position| order.at(position)).collect();
        if let Some(expected) = &row.ids {
            assert_eq!(&ids, expected, "{case}");
        }
        if let (Some(head), Some(tail)) = (&row.head, &row.tail) {
            assert_eq!((&ids[..head.len()], &ids[ids.len() - tail.len()..]), (&head[..], &tail[..]), "{case}");
        }
        assert_eq!(Some(golden::digest(ids.into_iter().map(Some))), row.sha256, "{case}");
        assert_eq!(order.name(), row.algo);
    }
}

#[test]
fn parts_of_an_order_equal_those_of_the_whole() {
    for row in rows().into_iter().filter(|row| row.error.is_none()) {
        let (spec, units) = (row.spec(), row.units());
        let whole = spec.build(&units, CanonicalSubset::ALL).expect("a golden order");
        for (first, count, step) in [(0, 1, 2), (1, 1, 2), (1, 2, 3), (2, 1, 8)] {
            let subset = CanonicalSubset::strided(first, count, step);
            let part = spec.build(&units, subset).expect("a part of a golden order");
            assert_eq!(part.len(), whole.len());
            for node in subset.iter(spec.canonical_nodes) {
                for position in canonical_range(units.num_samples(), spec.canonical_nodes, node) {
                    assert_eq!(part.at(position), whole.at(position), "{spec:?} {subset:?} at {position}");
                }
            }
        }
    }
}

fn spec(algorithm: ShuffleAlgorithm, canonical_nodes: u64, block_size: u64) -> ShuffleSpec {
    ShuffleSpec { algorithm, canonical_nodes, seed: 1, epoch: 0, block_size }
}

#[test]
#[should_panic(expected = "position 0 is in canonical node 0, which is not among those this order was built for")]
fn what_is_not_held_is_not_answered() {
    let units = ShuffleUnits::from_sizes([10, 10]).expect("20 samples");
    let order = spec(ShuffleAlgorithm::Py1s, 2, 8).build(&units, CanonicalSubset::strided(1, 1, 2)).expect("an order");
    assert!(order.at(10) < 20);
    order.at(0);
}

#[test]
fn where_the_original_raises_there_is_an_error() {
    use ShuffleAlgorithm::{Py1br, Py1e, Py1s};
    let units = ShuffleUnits::from_sizes([10, 10]).expect("20 samples");
    let error = |spec: ShuffleSpec| spec.build(&units, CanonicalSubset::ALL).expect_err("no order").to_string();
    assert_eq!(
        error(spec(Py1e, 21, 8)),
        "py1e cannot shuffle 20 samples for 21 canonical nodes; use at most as many canonical nodes as there are samples"
    );
    assert_eq!(error(spec(Py1s, 0, 8)), "cannot shuffle for 0 canonical nodes; use at least 1");
    for (algorithm, least) in [(Py1e, 1), (Py1br, 2)] {
        assert_eq!(
            error(spec(algorithm, 2, least - 1)),
            format!(
                "{algorithm} cannot shuffle in blocks of {} samples; use at least {least} and at most {}",
                least - 1,
                1_u64 << 62
            )
        );
        assert!(spec(algorithm, 2, least).build(&units, CanonicalSubset::ALL).is_ok());
        assert!(spec(algorithm, 2, 1 << 62).build(&units, CanonicalSubset::ALL).is_ok());
    }
}

#[test]
fn orders_that_cannot_be_held_are_refused() {
    let units = ShuffleUnits::from_runs([(1 << 40, 1 << 20)]).expect("2^60 samples");
    for algorithm in ShuffleAlgorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_seekable()) {
        let error = spec(algorithm, 2, 1 << 18).build(&units, CanonicalSubset::ALL).expect_err("no memory");
        assert!(matches!(error, ShuffleError::OutOfMemory { .. }), "{error}");
    }
}

/// Shards of many sizes: some of none, some larger than blocks.
fn sizes() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(0_u64..50, 1..60),
        prop::collection::vec(1_u64..3000, 1..20),
        prop::collection::vec(20_000_u64..60_000, 1..3),
        (1_u64..2000, 1_usize..20).prop_map(|(size, count)| vec![size; count]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn orders_equal_the_plain_algorithms(
        sizes in sizes(),
        nodes in 1_u64..12,
        seed in 0..u64::MAX / 2,
        epoch in 0_u64..100,
        block_size in prop_oneof![2_u64..100, 1000_u64..20_000, Just(1 << 18)],
    ) {
        let units = ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap();
        let nodes = nodes.min(units.num_samples().max(1));
        for algorithm in ShuffleAlgorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_seekable()) {
            let spec = ShuffleSpec { algorithm, canonical_nodes: nodes, seed, epoch, block_size };
            if units.num_samples() == 0 {
                continue;
            }
            let expected = plain::shuffle(&sizes, &spec);
            let order = spec.build(&units, CanonicalSubset::ALL).unwrap();
            let ids: Vec<u64> = (0..order.len()).map(|position| order.at(position)).collect();
            prop_assert!(ids == expected, "{:?} of {:?}", spec, sizes);
        }
    }
}
