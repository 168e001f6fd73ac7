//! Places of an epoch: computed on demand, and looked up in the array that the original builds.
//!
//! `cargo bench -p lockstep-partition --bench partition [-- --quick]`

use std::hint::black_box;

use lockstep_partition::{Coordinate, Partition, PartitionAlgorithm, PartitionSpec, Topology};
use support::{busy, is_quick, shortest};

mod support;

const TOPOLOGY: Topology = Topology { nodes: 8, ranks_per_node: 8, workers_per_rank: 8, batch_size: 32 };

fn main() {
    let (lookups, materialised) = if is_quick() { (2_000_000, 1_000_000) } else { (50_000_000, 20_000_000) };
    starts(materialised);
    println!("\nid of a place, nanoseconds           closed form   lookup in the array   ratio");
    for canonical_nodes in [1, 2, 64] {
        places(&partition(materialised, canonical_nodes), lookups, canonical_nodes);
    }
    let partition = partition(materialised, 64);
    let read =
        |worker| partition.worker(3, 5, worker).fold(0_u64, |count, id| count + u64::from(black_box(id).is_some()));
    let (time, count) = busy(|| (0..50).flat_map(|_| 0..8).map(read).sum::<u64>());
    println!("\none worker's iterator: {:.1} ns an id", time.as_secs_f64() * 1e9 / count as f64);
}

fn starts(materialised: u64) {
    println!("start of an epoch, and the first id of each of {} workers", workers());
    for num_samples in [1_000_000_000, 1_000_000_000_000] {
        let (lazy, _) = shortest(|| start(&partition(num_samples, 64)));
        println!("  {num_samples:>17} samples  {lazy:>10.1?}  {} bytes", size_of::<Partition>());
    }
    let (eager, ids) = busy(|| materialise(&partition(materialised, 64)));
    let (lazy, _) = shortest(|| start(&partition(materialised, 64)));
    let ratio = eager.as_secs_f64() / lazy.as_secs_f64();
    let bytes = 8 * ids.len();
    println!("  {materialised:>17} samples  {lazy:>10.1?}  materialised {eager:.1?}, {bytes} bytes: x{ratio:.0}");
}

/// Some places, again and again, in the order of the array and out of any order.
fn places(partition: &Partition, lookups: usize, canonical_nodes: u64) {
    let ids = materialise(partition);
    let in_order: Vec<u64> = (0..4096).collect();
    let random =
        in_order.iter().map(|&place| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) % partition.num_slots()).collect();
    for (name, places) in [("in order", in_order), ("random", random)] {
        let coordinates: Vec<Coordinate> = places.iter().map(|&place| coordinate(partition, place)).collect();
        let indices: Vec<usize> = places.iter().map(|&place| usize::try_from(place).expect("in memory")).collect();
        let rounds = lookups / places.len();
        let closed = per_lookup(rounds, &coordinates, |&place| partition.get(place).unwrap_or(0));
        let array = per_lookup(rounds, &indices, |&place| ids[place].cast_unsigned());
        let ratio = closed / array;
        println!(
            "  {canonical_nodes:>2} canonical nodes, {name:<10}     {closed:>11.1}   {array:>19.1}   {ratio:>5.1}"
        );
    }
}

/// Nanoseconds for each lookup.
fn per_lookup<P>(rounds: usize, places: &[P], id: impl Fn(&P) -> u64) -> f64 {
    let round = |_| black_box(places).iter().fold(0, |sum: u64, place| sum.wrapping_add(id(place)));
    let (time, _) = busy(|| (0..rounds).map(round).fold(0, u64::wrapping_add));
    time.as_secs_f64() * 1e9 / (rounds * places.len()) as f64
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
    let ids = all_workers().map(|(node, rank, worker)| partition.worker(node, rank, worker).next().flatten());
    ids.flatten().fold(0, u64::wrapping_add)
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
