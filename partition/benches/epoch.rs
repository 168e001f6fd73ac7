//! Whole plans: what an epoch costs to start and to resume, and each id after that.
//!
//! `cargo bench -p lockstep-partition --bench epoch [-- --quick]`

use std::hint::black_box;

use lockstep_partition::{
    BatchingMethod, EpochPlan, EpochRecipe, Part, Partition, PartitionAlgorithm, PartitionSpec, ShuffleAlgorithm,
    ShuffleUnits, Stream, Topology, Weight,
};
use support::{busy, is_quick, shortest};

mod support;

const TOPOLOGY: Topology = Topology { nodes: 8, ranks_per_node: 8, workers_per_rank: 8, batch_size: 16 };

fn main() {
    let ids = if is_quick() { 1_000_000 } else { 20_000_000 };
    starts();
    weights();
    ids_in_every_order(ids);
    ids_with_every_method(ids);
    egress();
    whole_epoch(if is_quick() { 2_441 } else { 24_414 });
}

/// All that the original does at the start of an epoch, and reading every id of it.
fn whole_epoch(shards: u64) {
    let samples = shards * 4096;
    println!("\nwhole epoch of {samples} samples in `py1e`, 64 canonical nodes, one thread");
    let recipe = EpochRecipe {
        shuffle: Some(ShuffleAlgorithm::Py1e),
        ..EpochRecipe::new(vec![Stream::new(runs([(4096, shards)]))], 64)
    };
    for (name, part, share) in [("all nodes", Part::All, 1), ("one node of 8", Part::Node(3), 8)] {
        let before = resident();
        let (planning, plan) = busy(|| recipe.plan(&TOPOLOGY, 3, 0, part).expect("the recipe is valid"));
        let bytes = resident().saturating_sub(before) as f64 / samples as f64;
        let nodes = if share == 1 { 0..TOPOLOGY.nodes } else { 3..4 };
        let (reading, read) = busy(|| {
            let [_, ranks, workers, ..] = plan.shape();
            let all = nodes.flat_map(|node| (0..ranks * workers).map(move |of_node| (node, of_node)));
            all.map(|(node, of_node)| {
                let ids = plan.worker(node, of_node / workers, of_node % workers);
                ids.flatten().fold(0_u64, |read, id| read + u64::from(black_box(id) < samples))
            })
            .sum::<u64>()
        });
        let each = reading.as_secs_f64() * 1e9 / read as f64;
        let total = (planning + reading).as_secs_f64() / planning.as_secs_f64();
        println!(
            "  {name:<14} plan {planning:>8.2?}, {bytes:.2} bytes a sample, ids {reading:>8.2?} ({each:.1} ns each), together \
             {total:.2}x of the plan"
        );
    }
}

fn starts() {
    println!("start of an epoch and a worker's first batch, 8 nodes x 8 ranks x 8 workers");
    println!("  {:<34} {:>12} {:>12} {:>8} {:>10}", "shards", "start", "in the middle", "ratio", "memory");
    for (name, units) in [
        ("244,141 of 4,096 samples", runs([(4096, 244_141)])),
        ("244,141 of 4,000 to 4,191", runs((0..244_141).map(|shard| (4_000 + shard * 89 % 192, 1)))),
        ("1,000,000 of 1,000,000", runs([(1_000_000, 1_000_000)])),
        ("1,000,000 of 999,900 to 1,000,091", runs((0..1_000_000).map(|shard| (999_900 + shard * 89 % 192, 1)))),
    ] {
        let samples = units.num_samples();
        let recipe = EpochRecipe::new(vec![Stream::new(units)], 8);
        let before = resident();
        let (start, plan) = shortest(|| first_batch(&recipe, 0));
        let memory = resident().saturating_sub(before);
        drop(plan);
        let (middle, _) = shortest(|| first_batch(&recipe, samples / 2));
        let ratio = middle.as_secs_f64() / start.as_secs_f64();
        println!("  {name:<34} {start:>12.1?} {middle:>12.1?} {ratio:>8.2} {:>7} KiB", memory / 1024);
    }
}

fn weights() {
    println!("\nstart with weights, 244,141 shards of 4,096 samples");
    let unweighted = shortest(|| first_batch(&recipe(244_141, Weight::Unspecified), 0)).0;
    for weight in [Weight::Unspecified, Weight::Repeat(3.0), Weight::Repeat(0.7), Weight::Repeat(2.5)] {
        let recipe = recipe(244_141, weight);
        let before = resident();
        let (start, plan) = shortest(|| first_batch(&recipe, 0));
        let memory = resident().saturating_sub(before);
        let each = per_id(&plan, 1_000_000);
        let ratio = start.as_secs_f64() / unweighted.as_secs_f64();
        println!("  {weight:<16?} {start:>10.1?} {ratio:>8.1}x {:>7} KiB {each:>7.1} ns an id", memory / 1024);
    }
}

fn ids_in_every_order(count: usize) {
    println!("\nid after id of a worker, 4,882 shards of 4,096 samples");
    let partition = Partition::new(&PartitionSpec {
        algorithm: PartitionAlgorithm::Relaxed,
        num_samples: 4_882 * 4_096,
        canonical_nodes: 8,
        topology: TOPOLOGY,
        drop_first: 0,
        initial_physical_nodes: None,
    });
    let plain = per_position(&partition.expect("the arguments are valid"), count);
    println!("  {:<14} {plain:>7.1} ns", "positions");
    for shuffle in
        [None, Some(ShuffleAlgorithm::Windowed), Some(ShuffleAlgorithm::Global), Some(ShuffleAlgorithm::Py1e)]
    {
        let recipe = EpochRecipe { shuffle, ..recipe(4_882, Weight::Unspecified) };
        let each = per_id(&plan(&recipe), count);
        println!("  {:<14} {each:>7.1} ns {:>7.2}x of positions", recipe.order_name(), each / plain);
    }
}

fn ids_with_every_method(count: usize) {
    println!("\nid after id of a worker, two streams of 2,441 shards of 4,096 samples, windowed");
    let mut random = None;
    for batching in
        [BatchingMethod::Random, BatchingMethod::Stratified, BatchingMethod::PerStream, BatchingMethod::DevicePerStream]
    {
        let stream = || Stream::new(runs([(4096, 2_441)]));
        let recipe = EpochRecipe { batching, ..EpochRecipe::new(vec![stream(), stream()], 8) };
        let each = per_id(&plan(&recipe), count);
        let random = *random.get_or_insert(each);
        println!("  {:<18} {each:>7.1} ns {:>7.2}x of random", batching.to_string(), each / random);
    }
}

fn egress() {
    println!("\nshards that each of 8 nodes reads, over all shards");
    for (shards, size) in [(4_882, 4_096), (244_141, 4_096), (1_000_000, 1_000_000)] {
        let recipe = EpochRecipe::new(vec![Stream::new(runs([(size, shards)]))], 8);
        let plan = plan(&recipe);
        let (time, egress) = shortest(|| plan.egress((0..8).map(|node| [node])));
        println!("  {shards:>9} shards: {:.6} in {time:.1?}", egress.factor());
    }
}

fn runs(runs: impl IntoIterator<Item = (u64, u64)>) -> ShuffleUnits {
    ShuffleUnits::from_runs(runs).expect("countable")
}

fn recipe(shards: u64, weight: Weight) -> EpochRecipe {
    EpochRecipe::new(vec![Stream::new(runs([(4096, shards)])).with_weight(weight)], 8)
}

fn plan(recipe: &EpochRecipe) -> EpochPlan {
    recipe.plan(&TOPOLOGY, 3, 0, Part::All).expect("the recipe is valid")
}

fn first_batch(recipe: &EpochRecipe, position: u64) -> EpochPlan {
    let plan = recipe.plan(&TOPOLOGY, 3, position, Part::Node(3)).expect("the recipe is valid");
    black_box(plan.worker(3, 1, 5).take(16).flatten().count());
    plan
}

/// Nanoseconds for each id, over some workers.
fn per_id(plan: &EpochPlan, count: usize) -> f64 {
    let [_, ranks, workers, ..] = plan.shape();
    let workers = (0..ranks).flat_map(|rank| (0..workers).map(move |worker| (rank, worker)));
    mean(workers.map(|(rank, worker)| plan.worker(3, rank, worker)), count)
}

/// The same for positions, without an order or stored samples.
fn per_position(partition: &Partition, count: usize) -> f64 {
    let [_, ranks, workers, ..] = partition.shape();
    let workers = (0..ranks).flat_map(|rank| (0..workers).map(move |worker| (rank, worker)));
    mean(workers.map(|(rank, worker)| partition.worker(3, rank, worker)), count)
}

/// Nanoseconds for each item of the iterators, over `count` of them.
fn mean<I: Iterator<Item = Option<u64>>>(workers: impl Iterator<Item = I>, count: usize) -> f64 {
    let (time, read) = busy(|| {
        let mut read = 0;
        for worker in workers {
            for id in worker.take(count - read) {
                black_box(id);
                read += 1;
            }
        }
        read
    });
    time.as_secs_f64() * 1e9 / read as f64
}

/// Memory of the process in bytes, or zero where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
