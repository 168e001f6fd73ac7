//! A job that is stopped and goes on with another shape reads the same global batches, whatever the replication.

use std::collections::BTreeSet;

use lockstep_dataset::partition::{BatchingMethod, ShuffleAlgorithm};
use lockstep_dataset::replication::{Assignment, Mesh, Placement, Replication};
use lockstep_dataset::world::World;
use lockstep_dataset::{Dataset, DatasetBuilder, Loader, State, Stream};
use proptest::prelude::*;

/// Samples in a global batch of every job here.
const GLOBAL_BATCH: u64 = 48;

/// One shape of a job.
#[derive(Clone, Debug)]
struct Job {
    nodes: u64,
    ranks_per_node: u64,
    workers: u64,
    replication: Replication,
    placement: Placement,
}

/// Everything that stays the same.
#[derive(Clone, Copy, Debug)]
struct Order {
    shuffle: Option<ShuffleAlgorithm>,
    batching: BatchingMethod,
    seed: u64,
}

impl Order {
    fn builder(self) -> DatasetBuilder {
        let digits = || Stream::local("data/digits");
        // Two streams, so that batching methods have something to mix.
        let builder = Dataset::builder()
            .stream(digits())
            .stream(digits())
            .seed(self.seed)
            .canonical_nodes(12)
            .shuffle_block_size(300)
            .batching(self.batching);
        match self.shuffle {
            Some(shuffle) => builder.shuffle(shuffle),
            None => builder.sequential(),
        }
    }
}

/// All ranks of a job, in lockstep.
struct Running {
    loaders: Vec<Loader>,
    groups: Vec<Option<u64>>,
}

impl Running {
    fn start(job: &Job, order: Order, from: Option<&State>) -> Self {
        let mut running = Self { loaders: Vec::new(), groups: Vec::new() };
        for rank in 0..job.nodes * job.ranks_per_node {
            let world = World::of_rank(job.nodes, job.ranks_per_node, rank).unwrap();
            let assignment = Assignment::for_world(&world, &job.replication, job.placement).unwrap();
            let builder = order.builder().batch_size(GLOBAL_BATCH / assignment.num_groups());
            let builder = builder.replication(job.replication.clone()).placement(job.placement);
            let dataset = builder.open(world).unwrap();
            if let Some(state) = from {
                assert!(dataset.load(state).unwrap().is_empty());
            }
            running.groups.push(dataset.assignment().group_of(rank));
            let mut loader = dataset.loader(job.workers).unwrap();
            loader.begin_epoch().unwrap();
            running.loaders.push(loader);
        }
        running
    }

    /// The next global batch as sorted ids, repeats included; members of a group must give the same.
    fn step(&mut self) -> Vec<u64> {
        let mut of_group: std::collections::BTreeMap<u64, Vec<u64>> = std::collections::BTreeMap::new();
        for (loader, group) in self.loaders.iter_mut().zip(&self.groups) {
            let batch = loader.next_batch().unwrap();
            let ids: Vec<u64> = batch.iter().flat_map(lockstep_dataset::Batch::ids).collect();
            let first = of_group.entry(group.unwrap()).or_insert_with(|| ids.clone());
            assert_eq!(*first, ids, "a group disagrees");
        }
        let mut ids: Vec<u64> = of_group.into_values().flatten().collect();
        ids.sort_unstable();
        ids
    }

    /// The state, which is the same on all ranks.
    fn state(&self) -> State {
        let states: Vec<State> = self.loaders.iter().map(Loader::state).collect();
        assert!(states.iter().all(|state| *state == states[0]), "ranks save different states");
        states[0].clone()
    }
}

fn job() -> impl Strategy<Value = Job> {
    let adjacent = |(nodes, ranks_per_node, k): (u64, u64, u64)| (nodes, ranks_per_node, Replication::adjacent(k));
    let mesh = |(nodes, ranks_per_node, axes, over): (u64, u64, &str, &[&str])| {
        (nodes, ranks_per_node, axes.parse::<Mesh>().unwrap().replicate(over).unwrap())
    };
    let shapes = vec![
        adjacent((1, 1, 1)),
        adjacent((1, 4, 2)),
        adjacent((2, 2, 1)),
        adjacent((2, 4, 2)),
        adjacent((4, 2, 4)),
        adjacent((3, 4, 2)),
        adjacent((6, 2, 2)),
        adjacent((12, 1, 3)),
        mesh((2, 4, "pp=2,dp=2,tp=2", &["pp", "tp"])),
        mesh((2, 4, "pp=2,dp=4", &["pp"])),
        mesh((4, 2, "dp=2,cp=2,tp=2", &["cp", "tp"])),
    ];
    (prop::sample::select(shapes), 0_u64..3).prop_map(|((nodes, ranks_per_node, replication), workers)| Job {
        nodes,
        ranks_per_node,
        workers,
        replication,
        placement: Placement::NodeLocal,
    })
}

fn order() -> impl Strategy<Value = Order> {
    let shuffle = prop::option::of(prop::sample::select(ShuffleAlgorithm::ALL.to_vec()));
    let batching =
        prop::sample::select(vec![BatchingMethod::Random, BatchingMethod::Stratified, BatchingMethod::PerStream]);
    (shuffle, batching, any::<u32>()).prop_map(|(shuffle, batching, seed)| Order {
        shuffle,
        batching,
        seed: seed.into(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn stopped_twice_and_gone_on_elsewhere(
        order in order(),
        jobs in prop::collection::vec(job(), 4),
        stops in prop::array::uniform2(0_usize..40),
    ) {
        let mut whole = Running::start(&jobs[0], order, None);
        let expected: Vec<Vec<u64>> = std::iter::from_fn(|| Some(whole.step()).filter(|ids| !ids.is_empty())).collect();

        let mut read = Vec::new();
        let mut state = None;
        for (job, stop) in jobs[1..].iter().zip([stops[0], stops[1], usize::MAX]) {
            let mut running = Running::start(job, order, state.as_ref());
            for _ in 0..stop {
                let ids = running.step();
                if ids.is_empty() {
                    break;
                }
                read.push(ids);
            }
            state = Some(running.state());
        }
        // The last global batches have the repeats that give all ranks equally many; those differ with the shape.
        let full = expected.iter().take_while(|ids| ids.len() as u64 == GLOBAL_BATCH).count().saturating_sub(1);
        prop_assert!(read.len() >= full, "{} of {full} batches", read.len());
        for (batch, (read, expected)) in read.iter().zip(&expected).take(full).enumerate() {
            prop_assert_eq!(read, expected, "global batch {}", batch);
        }
        let unique = |batches: &[Vec<u64>]| batches.iter().flatten().copied().collect::<BTreeSet<u64>>();
        prop_assert_eq!(unique(&read), unique(&expected), "a sample is lost or new");
    }
}
