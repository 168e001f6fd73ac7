//! Places of an epoch: computed on demand, and looked up in the array that the original builds.
//!
//! `cargo bench -p lockstep-partition --bench partition [-- --quick]`

use std::hint::black_box;
use std::time::{Duration, Instant};

use lockstep_partition::{Coordinate, Partition, PartitionAlgorithm, PartitionSpec, Topology};

const TOPOLOGY: Topology = Topology { nodes: 8, ranks_per_node: 8, workers_per_rank: 8, batch_size: 32 };

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (lookups, materialised) = if quick { (2_000_000, 1_000_000) } else { (50_000_000, 20_000_000) };

    println!("start of an epoch, and the first id of each of {} workers", workers());
    for num_samples in [1_000_000_000, 1_000_000_000_000] {
        let (lazy, _) = timed(|| start(&partition(num_samples, 64)));
        println!("  {num_samples:>17} samples  {lazy:>10.1?}  {} bytes", size_of::<Partition>());
    }
    let (eager, ids) = timed(|| materialise(&partition(materialised, 64)));
    let (lazy, _) = timed(|| start(&partition(materialised, 64)));
    let ratio = eager.as_secs_f64() / lazy.as_secs_f64();
    println!(
        "  {materialised:>17} samples  {lazy:>10.1?}  materialised {eager:.1?}, {} bytes: x{ratio:.0}",
        8 * ids.len()
    );

    println!("\nid of a place, nanoseconds           closed form   lookup in the array   ratio");
    for (name, canonical_nodes) in [("64 canonical nodes", 64), ("1 canonical node", 1), ("2 canonical nodes", 2)] {
        let partition = partition(materialised, canonical_nodes);
        let ids = materialise(&partition);
        let random = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15) % partition.num_slots();
        for (order, next) in
            [("in order", &(|index| index % partition.num_slots()) as &dyn Fn(u64) -> u64), ("random", &random)]
        {
            let places: Vec<(u64, Coordinate)> = (0..4096)
                .map(|index| {
                    let place = next(index);
                    (place, coordinate(&partition, place))
                })
                .collect();
            let rounds = lookups / places.len();
            let per = |time: Duration| time.as_secs_f64() * 1e9 / (rounds * places.len()) as f64;
            let (closed, _) = timed(|| {
                (0..rounds).map(|_| sum(places.iter().map(|place| partition.get(place.1)))).fold(0, u64::wrapping_add)
            });
            let (array, _) = timed(|| {
                (0..rounds)
                    .map(|_| sum(places.iter().map(|place| Some(ids[usize::try_from(place.0).expect("fits")]))))
                    .fold(0, u64::wrapping_add)
            });
            println!(
                "  {name:<20} {order:<10}    {:>11.1}   {:>19.1}   {:>5.1}",
                per(closed),
                per(array),
                per(closed) / per(array)
            );
        }
    }

    let partition = partition(materialised, 64);
    let (time, count) =
        timed(|| partition.worker(3, 5, 7).fold(0_u64, |count, id| count + u64::from(black_box(id).is_some())));
    println!("\none worker's iterator: {:.1} ns an id", time.as_secs_f64() * 1e9 / count as f64);
}

fn partition(num_samples: u64, canonical_nodes: u64) -> Partition {
    Partition::new(&PartitionSpec {
        algorithm: PartitionAlgorithm::Relaxed,
        num_samples: black_box(num_samples),
        canonical_nodes: black_box(canonical_nodes),
        topology: black_box(TOPOLOGY),
        drop_first: 0,
        initial_physical_nodes: None,
    })
    .expect("the arguments are valid")
}

fn workers() -> u64 {
    TOPOLOGY.nodes * TOPOLOGY.ranks_per_node * TOPOLOGY.workers_per_rank
}

fn all_workers() -> impl Iterator<Item = (u64, u64, u64)> {
    let ranks = (0..TOPOLOGY.nodes).flat_map(|node| (0..TOPOLOGY.ranks_per_node).map(move |rank| (node, rank)));
    ranks.flat_map(|(node, rank)| (0..TOPOLOGY.workers_per_rank).map(move |worker| (node, rank, worker)))
}

/// The first id of every worker.
fn start(partition: &Partition) -> u64 {
    sum(all_workers().map(|(node, rank, worker)| partition.worker(node, rank, worker).next().flatten()))
}

/// The whole epoch in the layout of the original, -1 for padding.
fn materialise(partition: &Partition) -> Vec<i64> {
    let ids = all_workers().flat_map(|(node, rank, worker)| partition.worker(node, rank, worker));
    ids.map(|id| id.map_or(-1, |id| i64::try_from(id).expect("small"))).collect()
}

fn coordinate(partition: &Partition, place: u64) -> Coordinate {
    let [_, ranks, workers, batches, batch_size] = partition.shape();
    let (rest, slot) = (place / batch_size, place % batch_size);
    let (rest, batch) = (rest / batches, rest % batches);
    let (rest, worker) = (rest / workers, rest % workers);
    Coordinate { node: rest / ranks, rank: rest % ranks, worker, batch, slot }
}

fn sum<T: TryInto<u64>>(ids: impl Iterator<Item = Option<T>>) -> u64 {
    ids.flatten().fold(0_u64, |sum, id| sum.wrapping_add(id.try_into().unwrap_or(0)))
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed(), result)
}
