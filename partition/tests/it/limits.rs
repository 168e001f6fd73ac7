//! Arguments of any size get an answer or an error.

use lockstep_partition::{
    BatchingMethod, Coordinate, EpochRecipe, LastBatch, Part, Partition, PartitionAlgorithm, PartitionError,
    PartitionSpec, SamplingMethod, ShuffleAlgorithm, ShuffleUnits, Stream, Topology, Weight,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers of every magnitude, and the ends.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => 0_u64..20,
        2 => (0_u32..64, any::<u64>()).prop_map(|(shift, number)| number >> shift),
        1 => (0_u32..64, 0_u64..3).prop_map(|(bit, offset)| (1_u64 << bit).wrapping_add(offset).wrapping_sub(1)),
        1 => (0_u64..3).prop_map(|offset| u64::MAX - offset),
    ]
}

prop_compose! {
    fn specs()(
        relaxed: bool,
        num_samples in numbers(),
        canonical_nodes in numbers(),
        nodes in numbers(),
        ranks_per_node in numbers(),
        workers_per_rank in numbers(),
        batch_size in numbers(),
        drop_first in numbers(),
        initial_physical_nodes in prop::option::of(numbers()),
    ) -> PartitionSpec {
        PartitionSpec {
            algorithm: if relaxed { PartitionAlgorithm::Relaxed } else { PartitionAlgorithm::Orig },
            num_samples,
            canonical_nodes,
            topology: Topology { nodes, ranks_per_node, workers_per_rank, batch_size },
            drop_first,
            initial_physical_nodes,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_argument_panics(spec in specs(), at in prop::array::uniform5(numbers())) {
        let Ok(partition) = Partition::new(&spec) else { return Ok(()) };
        let [nodes, ranks, workers, batches, batch_size] = partition.shape();
        let [node, rank, worker, batch, slot] = at;
        let anywhere = Coordinate { node, rank, worker, batch, slot };
        let inside = Coordinate {
            node: node % nodes,
            rank: rank % ranks,
            worker: worker % workers,
            batch: batch.checked_rem(batches).unwrap_or(0),
            slot: slot % batch_size,
        };
        for place in [anywhere, inside, Coordinate::default()] {
            let id = partition.get(place);
            prop_assert!(id.is_none_or(|id| id < spec.num_samples), "{id:?}");
            prop_assert!(partition.samples_of_rank(place.node, place.rank) <= partition.samples_per_rank());
            let worker = partition.worker(place.node, place.rank, place.worker);
            let of_worker = partition.samples_of_worker(place.node, place.rank, place.worker);
            prop_assert!(of_worker <= partition.samples_of_rank(place.node, place.rank));
            let [first, last] = [worker.clone().next(), worker.clone().next_back()];
            prop_assert_eq!(first.is_some(), last.is_some());
            // Places that are cut anew can be padded anywhere in the last batch.
            let past = usize::try_from(of_worker).unwrap_or(usize::MAX);
            prop_assert!(spec.initial_physical_nodes.is_some() || worker.clone().nth(past).flatten().is_none());
            let _ = partition.canonical_subset(place.node).contains(node);
        }
        prop_assert!(partition.num_yielded() <= partition.num_slots());
        prop_assert!(partition.full_batches() <= batches * workers);
    }
}

fn streams() -> impl Strategy<Value = Vec<Stream>> {
    let weight = prop_oneof![
        3 => Just(Weight::Unspecified),
        1 => numbers().prop_map(Weight::Choose),
        1 => any::<f64>().prop_map(Weight::Repeat),
        1 => (0.0..1e9).prop_map(Weight::Repeat),
        1 => any::<f64>().prop_map(Weight::Proportion),
        1 => (0.0..1.0).prop_map(Weight::Proportion),
    ];
    let runs = prop::collection::vec((numbers(), 0_u64..200), 1..4);
    prop::collection::vec((runs, weight), 1..4).prop_filter_map("countable", |streams| {
        let stream = |(runs, weight)| Some(Stream::new(ShuffleUnits::from_runs(runs).ok()?).with_weight(weight));
        streams.into_iter().map(stream).collect()
    })
}

prop_compose! {
    /// Recipes that take no memory for their samples, whatever the numbers.
    fn recipes()(
        streams in streams(),
        epoch_size in prop::option::of(numbers()),
        balanced: bool,
        sampling_granularity in numbers(),
        batching in select(vec![
            BatchingMethod::Random,
            BatchingMethod::Stratified,
            BatchingMethod::PerStream,
            BatchingMethod::DevicePerStream,
        ]),
        shuffle in select(vec![ShuffleAlgorithm::Windowed, ShuffleAlgorithm::Global]),
        seed: u64,
        canonical_nodes in prop_oneof![0_u64..50, Just(u64::MAX), Just(1 << 50)],
        block_size in prop::option::of(numbers()),
        initial_physical_nodes in prop::option::of(numbers()),
    ) -> EpochRecipe {
        EpochRecipe {
            epoch_size,
            sampling: if balanced { SamplingMethod::Balanced } else { SamplingMethod::Fixed },
            sampling_granularity,
            batching,
            shuffle: Some(shuffle),
            seed,
            block_size,
            initial_physical_nodes,
            ..EpochRecipe::new(streams, canonical_nodes)
        }
    }
}

prop_compose! {
    fn topologies()(
        nodes in prop_oneof![4 => 1_u64..50, 1 => numbers()],
        ranks_per_node in prop_oneof![4 => 1_u64..50, 1 => numbers()],
        workers_per_rank in prop_oneof![4 => 1_u64..50, 1 => numbers()],
        batch_size in prop_oneof![4 => 1_u64..50, 1 => numbers()],
    ) -> Topology {
        Topology { nodes, ranks_per_node, workers_per_rank, batch_size }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_recipe_panics(
        recipe in recipes(),
        topology in topologies(),
        epoch: u64,
        position in numbers(),
        at in prop::array::uniform5(numbers()),
    ) {
        let [node, rank, worker, batch, slot] = at;
        let part = if topology.nodes % 2 == 0 { Part::All } else { Part::Node(node.checked_rem(topology.nodes).unwrap_or(0)) };
        let Ok(plan) = recipe.plan(&topology, epoch, position, part) else { return Ok(()) };
        let [nodes, ranks, workers, batches, batch_size] = plan.shape();
        let stored = recipe.streams.iter().map(|stream| stream.shards.num_samples()).sum::<u64>();
        for batch in [0, batch.checked_rem(batches).unwrap_or(0), batches.saturating_sub(1), batch] {
            let place = Coordinate {
                node: node % nodes,
                rank: rank % ranks,
                worker: worker % workers,
                batch,
                slot: slot % batch_size,
            };
            prop_assert!(plan.id(place).is_none_or(|id| id < stored));
            let of_worker = plan.samples_of_worker(place.node, place.rank, place.worker);
            prop_assert!(of_worker <= plan.samples_of_rank(place.node, place.rank));
            prop_assert!(plan.samples_of_rank(place.node, place.rank) <= plan.samples_per_rank());
            let kept = plan.batches_of_worker(place.node, place.rank, place.worker, LastBatch::Keep);
            prop_assert!(kept <= batches && kept <= plan.batches_of_rank(place.node, place.rank, LastBatch::Keep));
        }
        prop_assert!(plan.num_yielded() <= plan.num_slots());
        prop_assert!(plan.sample_in_epoch() <= position);
    }
}

fn spec(num_samples: u64, canonical_nodes: u64, nodes: u64) -> PartitionSpec {
    PartitionSpec {
        algorithm: PartitionAlgorithm::Relaxed,
        num_samples,
        canonical_nodes,
        topology: Topology { nodes, ranks_per_node: 1, workers_per_rank: 1, batch_size: 1 },
        drop_first: 0,
        initial_physical_nodes: None,
    }
}

#[test]
fn each_zero_is_named() {
    let good = spec(10, 2, 2);
    let topology = good.topology;
    let cases = [
        (PartitionSpec { num_samples: 0, ..good }, "samples"),
        (PartitionSpec { canonical_nodes: 0, ..good }, "canonical nodes"),
        (PartitionSpec { initial_physical_nodes: Some(0), ..good }, "initial nodes"),
        (PartitionSpec { topology: Topology { nodes: 0, ..topology }, ..good }, "nodes"),
        (PartitionSpec { topology: Topology { ranks_per_node: 0, ..topology }, ..good }, "ranks per node"),
        (PartitionSpec { topology: Topology { workers_per_rank: 0, ..topology }, ..good }, "workers per rank"),
        (PartitionSpec { topology: Topology { batch_size: 0, ..topology }, ..good }, "batch size"),
    ];
    for (spec, what) in cases {
        assert_eq!(Partition::new(&spec).unwrap_err(), PartitionError::Zero { what });
    }
}

#[test]
fn the_largest_epochs_are_answered() {
    let partition = Partition::new(&spec(u64::MAX, 1, 1)).unwrap();
    let last = Coordinate { batch: u64::MAX - 1, ..Coordinate::default() };
    assert_eq!(partition.get(last), Some(u64::MAX - 1));
    assert_eq!(partition.worker(0, 0, 0).next_back(), Some(Some(u64::MAX - 1)));

    // More canonical nodes than 2^32, so that a row's start is no 64-bit product.
    let canonical_nodes = (1 << 40) + 1;
    let wide = Partition::new(&spec((1 << 50) + 3, canonical_nodes, 1)).unwrap();
    let last_row = Coordinate { batch: canonical_nodes - 1, ..Coordinate::default() };
    let start = lockstep_partition::canonical_range((1 << 50) + 3, canonical_nodes, canonical_nodes - 1).start;
    assert_eq!(wide.get(last_row), Some(start));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let huge = spec(u64::MAX, 2, 1);
    assert_eq!(Partition::new(&huge).unwrap_err(), PartitionError::TooLarge);
    let good = spec(10, 1, 1);
    let topology = Topology { batch_size: u64::MAX, workers_per_rank: 2, ..good.topology };
    assert_eq!(Partition::new(&PartitionSpec { topology, ..good }).unwrap_err(), PartitionError::TooLarge);
}

#[test]
fn positions_that_no_topology_reaches_are_refused() {
    // Two ranks with batches of one: the end is at 10, and no topology pads further than to a global batch.
    let topology = Topology { nodes: 2, ranks_per_node: 1, workers_per_rank: 1, batch_size: 1 };
    let at = |drop_first| Partition::new(&PartitionSpec { topology, drop_first, ..spec(9, 1, 1) });
    assert_eq!(at(10).unwrap().num_yielded(), 0);
    assert_eq!(at(11).unwrap_err(), PartitionError::PastTheEnd { drop_first: 11, num_samples: 9 });
}
