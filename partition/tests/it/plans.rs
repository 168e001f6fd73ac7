//! Properties of whole epochs, in every order and with every batching method.

use std::collections::BTreeSet;

use lockstep_partition::{
    BatchingMethod, Coordinate, EpochError, EpochPlan, EpochRecipe, LastBatch, Part, PartitionAlgorithm,
    SamplingMethod, ShardSet, ShuffleAlgorithm, ShuffleUnits, Stream, Topology, Weight,
};
use proptest::prelude::*;
use proptest::sample::select;

const METHODS: [BatchingMethod; 4] =
    [BatchingMethod::Random, BatchingMethod::Stratified, BatchingMethod::PerStream, BatchingMethod::DevicePerStream];

fn shuffles() -> impl Strategy<Value = Option<ShuffleAlgorithm>> {
    select(ShuffleAlgorithm::ALL.map(Some).into_iter().chain([None]).collect::<Vec<_>>())
}

fn streams() -> impl Strategy<Value = Vec<Stream>> {
    let sizes = prop_oneof![
        prop::collection::vec(1_u64..40, 4..20),
        (1_u64..40, 4_usize..20).prop_map(|(size, count)| vec![size; count]),
    ];
    let weights = select(vec![
        vec![Weight::Unspecified; 3],
        vec![Weight::Proportion(1.0), Weight::Proportion(0.5), Weight::Proportion(0.75)],
        vec![Weight::Repeat(2.0), Weight::Unspecified, Weight::Repeat(1.6)],
        vec![Weight::Choose(200), Weight::Repeat(3.0), Weight::Choose(333)],
    ]);
    (prop::collection::vec(sizes, 1..4), weights).prop_map(|(streams, weights)| {
        let stream =
            |(sizes, weight): (Vec<u64>, _)| Stream::new(ShuffleUnits::from_sizes(sizes).unwrap()).with_weight(weight);
        streams.into_iter().zip(weights).map(stream).collect()
    })
}

prop_compose! {
    fn recipes(methods: Vec<BatchingMethod>)(
        streams in streams(),
        sampling in select(vec![SamplingMethod::Balanced, SamplingMethod::Fixed]),
        sampling_granularity in 1_u64..5,
        batching in select(methods),
        shuffle in shuffles(),
        seed in 0_u64..100,
        canonical_nodes in select(vec![1_u64, 2, 4, 6]),
        block_size in 32_u64..400,
    ) -> EpochRecipe {
        EpochRecipe {
            sampling,
            sampling_granularity,
            batching,
            shuffle,
            seed,
            block_size: Some(block_size),
            ..EpochRecipe::new(streams, canonical_nodes)
        }
    }
}

fn topologies() -> impl Strategy<Value = Topology> {
    (1_u64..7, 1_u64..4, 1_u64..4, 1_u64..5).prop_map(|(nodes, ranks_per_node, workers_per_rank, batch_size)| {
        Topology { nodes, ranks_per_node, workers_per_rank, batch_size }
    })
}

fn places(plan: &EpochPlan) -> impl Iterator<Item = Coordinate> {
    let [nodes, ranks, workers, batches, slots] = plan.shape();
    (0..nodes * ranks * workers * batches * slots).map(move |place| {
        let (rest, slot) = (place / slots, place % slots);
        let (rest, batch) = (rest / batches, rest % batches);
        let (rest, worker) = (rest / workers, rest % workers);
        Coordinate { node: rest / ranks, rank: rest % ranks, worker, batch, slot }
    })
}

/// The samples of each global batch, in the order in which the job consumes them.
fn global_batches(plan: &EpochPlan) -> Vec<Vec<u64>> {
    let [_, _, workers, batches, _] = plan.shape();
    let mut global = vec![Vec::new(); usize::try_from(batches * workers).unwrap()];
    for place in places(plan) {
        let batch = usize::try_from(place.batch * workers + place.worker).unwrap();
        global[batch].extend(plan.id(place));
    }
    for ids in &mut global {
        ids.sort_unstable();
    }
    global.retain(|ids| !ids.is_empty());
    global
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_promised_is_yielded(
        recipe in recipes(METHODS.to_vec()),
        topology in topologies(),
        batches_read in 0_u64..8,
        epoch in 0_u64..3,
    ) {
        let position = batches_read * topology.global_batch_size().unwrap();
        let Ok(plan) = recipe.plan(&topology, epoch, position, Part::All) else { return Ok(()) };
        let [nodes, ranks, workers, batches, slots] = plan.shape();
        prop_assert_eq!(plan.num_slots(), nodes * ranks * workers * batches * slots);
        prop_assert!(plan.sample_in_epoch() <= position);
        let mut yielded = 0;
        let mut most = 0;
        for (node, rank) in (0..nodes).flat_map(|node| (0..ranks).map(move |rank| (node, rank))) {
            let (mut of_rank, mut full, mut partial) = (0, 0, 0);
            for worker in 0..workers {
                let ids: Vec<Option<u64>> = plan.worker(node, rank, worker).collect();
                prop_assert_eq!(ids.len() as u64, batches * slots);
                let counts: Vec<u64> = ids
                    .chunks(usize::try_from(slots).unwrap())
                    .map(|batch| batch.iter().flatten().count() as u64)
                    .collect();
                let of_worker: u64 = counts.iter().sum();
                prop_assert_eq!(plan.samples_of_worker(node, rank, worker), of_worker);
                let some = counts.iter().filter(|&&count| count > 0).count() as u64;
                prop_assert_eq!(plan.batches_of_worker(node, rank, worker, LastBatch::Keep), some);
                of_rank += of_worker;
                full += counts.iter().filter(|&&count| count == slots).count() as u64;
                partial += counts.iter().filter(|&&count| count > 0 && count < slots).count() as u64;
            }
            prop_assert_eq!(plan.samples_of_rank(node, rank), of_rank);
            prop_assert_eq!(plan.batches_of_rank(node, rank, LastBatch::Keep), full + partial);
            prop_assert_eq!(plan.batches_of_rank(node, rank, LastBatch::Drop), full);
            yielded += of_rank;
            most = most.max(of_rank);
        }
        prop_assert_eq!(plan.num_yielded(), yielded);
        prop_assert_eq!(plan.samples_per_rank(), most);
    }

    #[test]
    fn shards_are_counted_as_they_are_read(
        recipe in recipes(METHODS.to_vec()),
        topology in topologies(),
        batches_read in 0_u64..3,
    ) {
        let position = batches_read * topology.global_batch_size().unwrap();
        let Ok(plan) = recipe.plan(&topology, 1, position, Part::All) else { return Ok(()) };
        let stored: Vec<u64> = recipe.streams.iter().flat_map(|stream| stream.shards.sizes()).collect();
        let units = ShuffleUnits::from_sizes(stored.iter().copied()).unwrap();
        let mut total = 0;
        for node in 0..topology.nodes {
            let ids = places(&plan).filter(|place| place.node == node).filter_map(|place| plan.id(place));
            let read: ShardSet = ids.filter_map(|id| units.locate(id)).map(|unit| unit.unit).collect();
            total += read.len();
            prop_assert_eq!(plan.shards_of_node(node), read);
        }
        let egress = plan.egress((0..topology.nodes).map(|node| [node]));
        prop_assert_eq!(egress.per_machine.iter().sum::<u64>(), total);
        prop_assert_eq!(egress.shards, units.len());
        prop_assert!(plan.shards_of_node(topology.nodes).is_empty());
    }

    #[test]
    fn a_plan_for_one_node_is_a_part_of_the_plan(
        recipe in recipes(METHODS.to_vec()),
        topology in topologies(),
        initial in prop::option::of(select(vec![1_u64, 2, 3])),
        node in 0_u64..6,
    ) {
        let recipe = EpochRecipe { initial_physical_nodes: initial, ..recipe };
        let node = node % topology.nodes;
        let whole = recipe.plan(&topology, 2, 0, Part::All);
        let part = recipe.plan(&topology, 2, 0, Part::Node(node));
        prop_assert_eq!(whole.as_ref().err(), part.as_ref().err());
        let (Ok(whole), Ok(part)) = (whole, part) else { return Ok(()) };
        prop_assert_eq!(whole.shape(), part.shape());
        for place in places(&whole).filter(|place| place.node == node) {
            prop_assert_eq!(whole.id(place), part.id(place));
        }
    }

    #[test]
    fn every_stored_sample_comes_as_often_as_its_stream(
        recipe in recipes(vec![BatchingMethod::Random]),
        topology in topologies(),
    ) {
        let Ok(plan) = recipe.plan(&topology, 0, 0, Part::All) else { return Ok(()) };
        let mut ids: Vec<u64> = places(&plan).filter_map(|place| plan.id(place)).collect();
        ids.sort_unstable();
        let distinct = ids.iter().copied().collect::<BTreeSet<u64>>();
        let mut first = 0;
        for (stream, &choose) in recipe.streams.iter().zip(&plan.shares().choose) {
            let samples = stream.shards.num_samples();
            let own = distinct.range(first..first + samples).count() as u64;
            prop_assert_eq!(own, choose.min(samples));
            first += samples;
        }
    }
}

/// A run in three parts with one global batch size, whose nodes fit the canonical ones.
#[derive(Clone, Debug)]
struct Run {
    recipe: EpochRecipe,
    topologies: [Topology; 3],
    stops: [usize; 2],
}

fn runs(methods: Vec<BatchingMethod>) -> impl Strategy<Value = Run> {
    let topology = |global_batch: u64, nodes: u64, share: u64, workers_per_rank| {
        let divisors: Vec<u64> =
            (1..=global_batch / nodes).filter(|&ranks| (global_batch / nodes).is_multiple_of(ranks)).collect();
        let ranks_per_node = divisors[usize::try_from(share).unwrap() % divisors.len()];
        Topology { nodes, ranks_per_node, workers_per_rank, batch_size: global_batch / nodes / ranks_per_node }
    };
    let part = (select(vec![1_u64, 2, 12, 24]), 0_u64..100, 1_u64..4);
    let parts = prop::array::uniform3(part).prop_map(move |parts| {
        parts.map(|(nodes, share, workers_per_rank)| topology(24, nodes, share, workers_per_rank))
    });
    (recipes(methods), parts, prop::array::uniform2(0_usize..5)).prop_map(|(recipe, topologies, stops)| Run {
        // With 12 samples a stream has no less than its number of canonical nodes.
        recipe: EpochRecipe { canonical_nodes: recipe.canonical_nodes.min(2), ..recipe },
        topologies,
        stops,
    })
}

impl Run {
    fn plan(&self, part: usize, position: u64) -> Result<EpochPlan, EpochError> {
        let initial_physical_nodes = (part > 0).then_some(self.topologies[0].nodes);
        let recipe = EpochRecipe { initial_physical_nodes, ..self.recipe.clone() };
        recipe.plan(&self.topologies[part], 1, position, Part::All)
    }

    /// Reads all parts, and says how many of the first global batches do not depend on padding.
    fn check(&self, clean: impl Fn(&EpochPlan, &[Vec<u64>]) -> usize) -> Result<(), TestCaseError> {
        let Ok(first) = self.plan(0, 0) else { return Ok(()) };
        let whole = global_batches(&first);
        let mut resumed: Vec<Vec<u64>> = Vec::new();
        let mut position = 0;
        for part in 0..self.topologies.len() {
            let plan = match self.plan(part, position) {
                Ok(plan) => plan,
                // What a stream has for a batch of its own can depend on padding.
                Err(EpochError::NoBatch { .. }) => return Ok(()),
                Err(error) => panic!("{error}"),
            };
            let mut rest = global_batches(&plan);
            rest.truncate(self.stops.get(part).copied().unwrap_or(usize::MAX));
            position = plan.sample_in_epoch() + rest.iter().map(|batch| batch.len() as u64).sum::<u64>();
            resumed.extend(rest);
        }
        let clean = clean(&first, &whole).min(whole.len());
        prop_assert_eq!(&resumed[..clean], &whole[..clean]);
        if self.recipe.batching == BatchingMethod::Random {
            let distinct = |batches: &[Vec<u64>]| batches.concat().into_iter().collect::<BTreeSet<u64>>();
            prop_assert_eq!(distinct(&resumed), distinct(&whole));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_resumed_random_epoch_is_the_same(run in runs(vec![BatchingMethod::Random])) {
        run.check(|plan, _| usize::try_from(plan.epoch_size() / 24).unwrap())?;
    }

    #[test]
    fn a_resumed_stratified_epoch_is_the_same(run in runs(vec![BatchingMethod::Stratified])) {
        // In orders that are the original's, there can be batches more that depend on padding.
        let recipe = EpochRecipe { shuffle: Some(ShuffleAlgorithm::Global), ..run.recipe.clone() };
        let Ok(unpadded) = recipe.plan(&run.topologies[0], 1, 0, Part::All) else { return Ok(()) };
        run.check(|_, _| global_batches(&unpadded).len())?;
    }

    #[test]
    fn a_resumed_per_stream_epoch_is_the_same(mut run in runs(vec![BatchingMethod::PerStream])) {
        if !run.recipe.shuffle.is_some_and(ShuffleAlgorithm::is_seekable) {
            // In orders that are the original's, turns depend on padding: here nothing has to be padded.
            for stream in &mut run.recipe.streams {
                stream.weight = Weight::Choose(24 * (1 + stream.shards.num_samples() % 9));
            }
        }
        run.check(|_, whole| whole.len())?;
    }
}

#[test]
fn nodes_that_do_not_fit_go_on_from_the_first_ones() {
    let shards = ShuffleUnits::from_sizes([50; 20]).unwrap();
    let topology = |nodes| Topology { nodes, ranks_per_node: 2, workers_per_rank: 2, batch_size: 24 / nodes };
    for batching in [BatchingMethod::Random, BatchingMethod::PerStream] {
        let recipe = EpochRecipe { batching, ..EpochRecipe::new(vec![Stream::new(shards.clone())], 4) };
        let whole = global_batches(&recipe.plan(&topology(4), 0, 0, Part::All).unwrap());
        let resumed = EpochRecipe { initial_physical_nodes: Some(4), ..recipe.clone() };
        let rest = global_batches(&resumed.plan(&topology(3), 0, 48 * 7, Part::All).unwrap());
        assert_eq!(rest, whole[7..], "{batching}");
        let strict = EpochRecipe { partition: PartitionAlgorithm::Orig, ..resumed };
        assert!(strict.plan(&topology(3), 0, 48 * 7, Part::All).is_err());
    }
}

#[test]
fn methods_keep_what_they_promise() {
    let stream = |sizes: &[u64]| Stream::new(ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap());
    let streams = vec![stream(&[40; 10]), stream(&[30; 20]), stream(&[25; 8])];
    let stream_of = |id: u64| [400, 1000].iter().filter(|&&end| id >= end).count();
    let topology = Topology { nodes: 2, ranks_per_node: 3, workers_per_rank: 2, batch_size: 4 };
    for shuffle in ShuffleAlgorithm::ALL.map(Some).into_iter().chain([None]) {
        let recipe = |batching| EpochRecipe { batching, shuffle, ..EpochRecipe::new(streams.clone(), 2) };
        let plan = |batching| recipe(batching).plan(&topology, 0, 0, Part::All).unwrap();
        for batch in global_batches(&plan(BatchingMethod::Stratified)) {
            let count = |stream| batch.iter().filter(|&&id| stream_of(id) == stream).count();
            assert_eq!([count(0), count(1), count(2)], [8, 12, 4], "{shuffle:?}");
        }
        for batch in global_batches(&plan(BatchingMethod::PerStream)) {
            assert_eq!(batch.iter().map(|&id| stream_of(id)).collect::<BTreeSet<_>>().len(), 1, "{shuffle:?}");
        }
        let device = plan(BatchingMethod::DevicePerStream);
        for (node, rank, worker) in (0..12).map(|index| (index / 6, index / 2 % 3, index % 2)) {
            let ids: Vec<_> = device.worker(node, rank, worker).collect();
            for batch in ids.chunks(4) {
                let streams: BTreeSet<_> = batch.iter().flatten().map(|&id| stream_of(id)).collect();
                assert!(streams.len() <= 1, "{shuffle:?}: {batch:?}");
                assert!(batch.iter().all(Option::is_some) || batch.iter().all(Option::is_none), "{shuffle:?}");
            }
        }
    }
}

#[test]
fn seekable_device_batches_stay_on_their_nodes_and_on_all_ranks() {
    let stream = |sizes: &[u64]| Stream::new(ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap());
    let recipe = EpochRecipe {
        batching: BatchingMethod::DevicePerStream,
        ..EpochRecipe::new(vec![stream(&[40; 24]), stream(&[30; 36])], 4)
    };
    let topology = Topology { nodes: 4, ranks_per_node: 3, workers_per_rank: 2, batch_size: 4 };
    let plan = recipe.plan(&topology, 0, 0, Part::All).unwrap();
    let counts: BTreeSet<u64> = (0..12).map(|rank| plan.samples_of_rank(rank / 3, rank % 3)).collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
    let egress = plan.egress((0..4).map(|node| [node]));
    // Shards that lie on a bound are read on both sides of it.
    assert!(egress.factor() <= 1.0 + 2.0 * 3.0 / 60.0, "{egress:?}");
}

#[test]
fn plans_of_any_size_start_at_once() {
    let shards = ShuffleUnits::from_runs([(1_000_000, 1_000_000)]).unwrap();
    let topology = Topology { nodes: 8, ranks_per_node: 8, workers_per_rank: 8, batch_size: 16 };
    for weight in [Weight::Unspecified, Weight::Repeat(3.0)] {
        for batching in [BatchingMethod::Random, BatchingMethod::Stratified] {
            let streams = vec![Stream::new(shards.clone()).with_weight(weight), Stream::new(shards.clone())];
            let recipe = EpochRecipe { batching, ..EpochRecipe::new(streams, 8) };
            let plan = recipe.plan(&topology, 3, 512_000_000, Part::Node(3)).unwrap();
            let ids: BTreeSet<_> = plan.worker(3, 1, 5).take(32).collect();
            assert!(ids.len() >= 31, "{ids:?}");
        }
    }
}

#[test]
fn recipes_that_make_no_epoch_are_refused() {
    let shards = ShuffleUnits::from_sizes([10; 10]).unwrap();
    let topology = Topology { nodes: 2, ranks_per_node: 1, workers_per_rank: 1, batch_size: 8 };
    let base = EpochRecipe::new(vec![Stream::new(shards.clone()), Stream::new(shards)], 2);
    let refuse = |recipe: &EpochRecipe, topology, part| recipe.plan(&topology, 0, 0, part).unwrap_err().to_string();
    let cases = [
        (refuse(&base, Topology { batch_size: 0, ..topology }, Part::All), "batch size: 0 is not enough"),
        (
            refuse(&EpochRecipe { canonical_nodes: 0, ..base.clone() }, topology, Part::All),
            "canonical nodes: 0 is not enough",
        ),
        (refuse(&EpochRecipe { streams: vec![], ..base.clone() }, topology, Part::All), "no streams"),
        (refuse(&EpochRecipe { sampling_granularity: 0, ..base.clone() }, topology, Part::All), "granularity is 0"),
        (refuse(&base, topology, Part::Node(2)), "no node 2"),
        (refuse(&base, Topology { nodes: 3, ..topology }, Part::All), "2 canonical nodes cannot be dealt to 3"),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}");
    }
    let batching = BatchingMethod::DevicePerStream;
    let uneven = EpochRecipe { batching, ..base.clone() };
    assert!(refuse(&uneven, Topology { nodes: 4, ..topology }, Part::All).contains("`device_per_stream`"));
    let batching = BatchingMethod::PerStream;
    let short = EpochRecipe { batching, ..base };
    assert!(refuse(&short, Topology { batch_size: 80, ..topology }, Part::All).contains("too few samples"));
}
