//! The shard-aware order.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use lockstep_partition::{
    CanonicalSubset, Order, ShuffleUnits, Windowed, canonical_range,
    shuffle::{ShuffleAlgorithm, ShuffleError, ShuffleSpec},
};
use proptest::prelude::*;

fn spec(canonical_nodes: u64, seed: u64, epoch: u64, block_size: u64) -> ShuffleSpec {
    ShuffleSpec { algorithm: ShuffleAlgorithm::Windowed, canonical_nodes, seed, epoch, block_size }
}

fn windowed(units: &ShuffleUnits, spec: ShuffleSpec) -> Windowed {
    Windowed::new(&spec, units).expect("an order")
}

/// The shards that the samples at these positions belong to.
fn shards(units: &ShuffleUnits, order: &dyn Order, positions: Range<u64>) -> BTreeSet<u64> {
    positions.map(|position| units.locate(order.at(position)).expect("a sample").unit).collect()
}

/// Sizes of shards: arbitrary ones, or equal ones with another last one.
fn sizes() -> impl Strategy<Value = Vec<u64>> {
    let regular = (1_u64..40, 1_usize..40, 0_u64..40).prop_map(|(size, count, last)| {
        let mut sizes = vec![size; count];
        sizes.push(last);
        sizes
    });
    prop_oneof![regular, prop::collection::vec(0_u64..40, 0..40)]
}

proptest! {
    #[test]
    fn any_shards_any_nodes_any_block(sizes in sizes(), nodes in 1_u64..20, seed: u64, epoch: u64, block in 1_u64..200) {
        let units = ShuffleUnits::from_sizes(sizes).expect("shards that can be counted");
        let order = windowed(&units, spec(nodes, seed, epoch, block));
        let mut seen = HashSet::new();
        for position in 0..order.len() {
            let id = order.at(position);
            prop_assert!(id < order.len());
            prop_assert!(seen.insert(id), "{} comes twice", id);
            prop_assert_eq!(order.position_of(id), position);
        }
    }

    #[test]
    fn a_window_reads_no_shard_outside_its_bounds(sizes in sizes(), nodes in 1_u64..8, seed: u64, block in 1_u64..100) {
        let units = ShuffleUnits::from_sizes(sizes).expect("shards that can be counted");
        let order = windowed(&units, spec(nodes, seed, 1, block));
        for node in 0..nodes {
            // Windows follow one another and stay within their node; each shard part is read by windows that touch.
            let range = canonical_range(order.len(), nodes, node);
            let mut position = range.start;
            let mut done: BTreeSet<u64> = BTreeSet::new();
            let mut previous: BTreeSet<u64> = BTreeSet::new();
            while position < range.end {
                let window = order.window_of(position);
                prop_assert_eq!(window.start, position);
                prop_assert!(window.end <= range.end && window.end - window.start <= block);
                let now = shards(&units, &order, window.clone());
                // A window has room for as many samples as it reads, so its shards are those laid at its place: all but
                // its first and its last part whole.
                let cut = now.iter().filter(|&&shard| {
                    let unit = units.get(shard).expect("a shard");
                    (unit.start..unit.start + unit.size).any(|id| !window.contains(&order.position_of(id)))
                });
                prop_assert!(cut.count() <= 4, "{:?} cuts more than its ends and the node's", window);
                prop_assert!(now.intersection(&done).all(|shard| is_cut(&units, &order, *shard, &range)));
                done.extend(previous.difference(&now));
                previous = now;
                position = window.end;
            }
        }
    }
}

/// Whether parts of a shard lie in several canonical nodes, or at both ends of one.
fn is_cut(units: &ShuffleUnits, order: &Windowed, shard: u64, node: &Range<u64>) -> bool {
    let unit = units.get(shard).expect("a shard");
    let inside = (unit.start..unit.start + unit.size).filter(|&id| node.contains(&order.position_of(id))).count();
    inside as u64 != unit.size
}

#[test]
fn canonical_nodes_keep_their_shards_for_a_run() {
    for units in [ShuffleUnits::from_runs([(64, 512)]), ShuffleUnits::from_runs([(64, 511), (60, 1), (4, 1)])] {
        let units = units.expect("shards that can be counted");
        let epoch = |epoch| windowed(&units, spec(8, 7, epoch, 1024));
        let (one, two) = (epoch(0), epoch(1));
        let mut differing = 0_u64;
        for node in 0..8 {
            let range = canonical_range(units.num_samples(), 8, node);
            assert_eq!(shards(&units, &one, range.clone()), shards(&units, &two, range.clone()));
            differing += range.filter(|&position| one.at(position) != two.at(position)).count() as u64;
        }
        assert!(differing > units.num_samples() * 99 / 100, "{differing} positions differ between epochs");
    }
}

#[test]
fn nodes_of_whole_shards_share_none() {
    let units = ShuffleUnits::from_runs([(64, 37 * 64)]).expect("shards that can be counted");
    let order = windowed(&units, spec(37, 7, 1, 1024));
    let mut touched = 0;
    for node in 0..37 {
        touched += shards(&units, &order, canonical_range(units.num_samples(), 37, node)).len();
    }
    assert_eq!(touched, 37 * 64, "every shard is read by one canonical node");
}

#[test]
fn subsets_do_not_matter() {
    let units = ShuffleUnits::from_runs([(64, 100)]).expect("shards that can be counted");
    let spec = spec(4, 7, 1, 1024);
    let whole = spec.build(&units, CanonicalSubset::ALL).expect("an order");
    let part = spec.build(&units, CanonicalSubset::strided(1, 1, 4)).expect("an order");
    assert!((0..whole.len()).all(|position| whole.at(position) == part.at(position)));
}

#[test]
fn numbers_without_an_order_are_refused() {
    let units = ShuffleUnits::from_runs([(64, 100)]).expect("shards that can be counted");
    assert_eq!(Windowed::new(&spec(0, 0, 0, 1), &units).unwrap_err(), ShuffleError::NoCanonicalNodes);
    assert_eq!(
        Windowed::new(&spec(1, 0, 0, 0), &units).unwrap_err().to_string(),
        "windowed cannot shuffle in blocks of 0 samples; use at least 1 and at most 18446744073709551615"
    );
    let huge = ShuffleUnits::from_runs([(1 << 63, 1), (1, 1)]).expect("shards that can be counted");
    assert!(matches!(Windowed::new(&spec(1, 0, 0, 1), &huge), Err(ShuffleError::TooManySamples { .. })));
    let none = ShuffleUnits::from_runs([]).expect("no shards");
    assert!(windowed(&none, spec(3, 0, 0, 1)).is_empty());
}
