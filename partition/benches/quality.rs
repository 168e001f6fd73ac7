//! How well shuffles mix, and how many shards they keep open for it.
//!
//! Run with `cargo bench -p lockstep-partition --bench quality`; `--quick` takes a sixteenth of the samples. The measure
//! of mixing is the one of the simulator of mosaicml-streaming: an epoch is read off in the order in which the batches of
//! all workers are consumed, and the entropy of the distances between consecutive samples, and between their shards, is
//! taken in bits; the quality is the harmonic mean of the two. Shards are numbered in their stored order, of equal size.
//!
//! Mixing has a price, which that measure does not show: a node needs the shards that it is in the midst of reading, and
//! has to keep them from the first to the last of their samples. The last two columns are the shards a global batch comes
//! from, and the most that a node has open at any time, as a part of the shards it reads.

use std::collections::HashMap;

use lockstep_partition::{
    CanonicalSubset, Coordinate, Order, Partition, PartitionAlgorithm, PartitionSpec, Sequential, ShuffleUnits,
    Topology, shuffle::ShuffleSpec,
};

const SHARD: u64 = 4096;
const NODES: u64 = 8;
const TOPOLOGY: Topology = Topology { nodes: NODES, ranks_per_node: 8, workers_per_rank: 8, batch_size: 16 };
const SEED: u64 = 9176;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let samples = if quick { 1 << 20 } else { 1 << 24 };
    let units = ShuffleUnits::from_runs([(SHARD, samples / SHARD)]).expect("samples that can be counted");
    let epoch = Epoch::new(samples);
    println!(
        "{samples} samples in shards of {SHARD}; {NODES} nodes, as many canonical, of 8 ranks of 8 workers; batches of 16"
    );
    println!(
        "{:<14}{:>10}{:>10}{:>10}{:>10}{:>14}{:>14}{:>8}",
        "", "block", "quality", "samples", "shards", "per batch", "open", "ratio"
    );
    let sequential = Sequential::new(samples);
    epoch.report("none", 0, &sequential, None);
    let mut reference = HashMap::new();
    for block_size in [1_u64 << 16, 1 << 18] {
        for name in ["py1e", "py1br", "windowed", "py1s", "py2s", "naive", "global"] {
            let by_block = ["py1e", "py1br", "windowed"].contains(&name);
            if !by_block && block_size != 1 << 18 {
                continue;
            }
            let spec = ShuffleSpec {
                algorithm: name.parse().expect("an algorithm"),
                canonical_nodes: NODES,
                seed: SEED,
                epoch: 0,
                block_size,
            };
            let order = spec.build(&units, CanonicalSubset::ALL).expect("an order");
            let shown = if by_block { block_size } else { 0 };
            let quality = epoch.report(order.name(), shown, &order, reference.get(&block_size).copied());
            if name == "py1e" {
                reference.insert(block_size, quality);
            }
        }
    }
    println!("ratio: of the quality to that of py1e with the same block");
}

/// The positions of an epoch as they are read.
struct Epoch {
    /// All of them, in the order of the simulator: batch, worker, node, rank, sample.
    positions: Vec<u64>,
    /// How many of them make up a global batch.
    batch: usize,
    nodes: usize,
}

impl Epoch {
    fn new(num_samples: u64) -> Self {
        let partition = Partition::new(&PartitionSpec {
            algorithm: PartitionAlgorithm::Orig,
            num_samples,
            canonical_nodes: NODES,
            topology: TOPOLOGY,
            drop_first: 0,
            initial_physical_nodes: None,
        })
        .expect("a partition");
        let [nodes, ranks, workers, batches, slots] = partition.shape();
        let mut positions = Vec::new();
        for batch in 0..batches {
            for worker in 0..workers {
                for node in 0..nodes {
                    for rank in 0..ranks {
                        let places = (0..slots).map(|slot| Coordinate { node, rank, worker, batch, slot });
                        positions.extend(places.filter_map(|place| partition.get(place)));
                    }
                }
            }
        }
        let [batch, nodes] = [nodes * ranks * slots, nodes].map(|count| usize::try_from(count).expect("a small job"));
        Self { positions, batch, nodes }
    }

    /// Prints a row; returns the quality.
    fn report(&self, name: &str, block_size: u64, order: &dyn Order, reference: Option<f64>) -> f64 {
        let ids: Vec<u64> = self.positions.iter().map(|&position| order.at(position)).collect();
        let shards: Vec<u64> = ids.iter().map(|id| id / SHARD).collect();
        let (of_samples, of_shards) = (entropy(&ids), entropy(&shards));
        let quality = 2.0 * of_samples * of_shards / (of_samples + of_shards);
        let block = if block_size > 0 { block_size.to_string() } else { "-".to_owned() };
        let ratio = quality / reference.unwrap_or(quality);
        println!(
            "{name:<14}{block:>10}{quality:>10.2}{of_samples:>10.2}{of_shards:>10.2}{:>14.1}{:>13.1}%{ratio:>7.2}x",
            self.shards_per_batch(&shards),
            100.0 * self.open_shards(&shards),
        );
        quality
    }

    /// How many shards the samples of a global batch are from, on average.
    fn shards_per_batch(&self, shards: &[u64]) -> f64 {
        let mut distinct = 0;
        for batch in shards.chunks(self.batch) {
            let mut batch = batch.to_vec();
            batch.sort_unstable();
            batch.dedup();
            distinct += batch.len();
        }
        distinct as f64 / shards.len().div_ceil(self.batch) as f64
    }

    /// The most shards that a node is in the midst of, as a part of all it reads; the node for which that is most.
    fn open_shards(&self, shards: &[u64]) -> f64 {
        let per_node = self.batch / self.nodes;
        let mut most = 0.0_f64;
        for node in 0..self.nodes {
            let read: Vec<u64> = shards.chunks(per_node).skip(node).step_by(self.nodes).flatten().copied().collect();
            let (mut first, mut last) = (HashMap::new(), HashMap::new());
            for (time, &shard) in read.iter().enumerate() {
                first.entry(shard).or_insert(time);
                last.insert(shard, time);
            }
            let opened = first.values().map(|&time| (time, 1));
            let closed = last.values().map(|&time| (time, -1));
            let mut changes: Vec<(usize, i64)> = opened.chain(closed).collect();
            // At one time openings come first.
            changes.sort_unstable_by_key(|&(time, change)| (time, -change));
            let (mut open, mut peak) = (0, 0);
            for (_, change) in changes {
                open += change;
                peak = peak.max(open);
            }
            most = most.max(peak as f64 / first.len() as f64);
        }
        most
    }
}

/// The entropy of the distances between neighbours, in bits.
fn entropy(numbers: &[u64]) -> f64 {
    let mut distances: Vec<u64> = numbers.windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect();
    distances.sort_unstable();
    let total = distances.len() as f64;
    let share = |run: &[u64]| run.len() as f64 / total;
    -distances.chunk_by(|left, right| left == right).map(|run| share(run) * share(run).log2()).sum::<f64>()
}
