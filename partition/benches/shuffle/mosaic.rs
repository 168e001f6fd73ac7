//! The mosaic family beside the original.

use std::{collections::HashMap, ffi::OsString, process::Command, time::Duration};

use lockstep_partition::{
    CanonicalSubset, Order, Partition, PartitionAlgorithm, PartitionSpec, ShuffleUnits, Topology, canonical_range,
    shuffle::{ShuffleAlgorithm, ShuffleSpec},
};

use crate::{Measured, bytes, measure, plain, seconds};

const SHARD: u64 = 4096;
const NODES: u64 = 64;
/// Of how many physical nodes one is measured.
const PHYSICAL: u64 = 8;
const JOB: Topology = Topology { nodes: PHYSICAL, ranks_per_node: 8, workers_per_rank: 8, batch_size: 16 };

pub(crate) fn run(quick: bool) {
    let samples: u64 = if quick { 1_000_000 } else { 100_000_000 };
    let sizes: Vec<u64> = (0..samples).step_by(4096).map(|start| SHARD.min(samples - start)).collect();
    let units = ShuffleUnits::from_sizes(sizes.iter().copied()).expect("samples that can be counted");
    let spec = |algorithm| ShuffleSpec { algorithm, canonical_nodes: NODES, seed: 9176, epoch: 1, block_size: 1 << 18 };
    let original = std::env::var_os("LOCKSTEP_ORIGINAL")
        .map(|python| run_original(python, samples, &spec(ShuffleAlgorithm::Naive)));
    let baseline = if original.is_some() { "original" } else { "plain port" };
    println!("mosaic family: {samples} samples in shards of {SHARD}, {NODES} canonical nodes, one thread");
    println!(
        "{:<8}{:>12}{:>12}{:>10}{:>14}{:>16}{:>14}{:>18}",
        "", "all nodes", baseline, "ratio", "bytes/sample", "1 of 8 nodes", "peak", "1/8 of 5 B each"
    );
    for algorithm in ["naive", "py1s", "py2s", "py1e", "py1br"].map(|name| name.parse().expect("an algorithm")) {
        let spec = spec(algorithm);
        let whole = measure(|| spec.build(&units, CanonicalSubset::ALL).expect("an order"));
        let one = measure(|| spec.build(&units, CanonicalSubset::strided(3, 1, PHYSICAL)).expect("an order"));
        for node in CanonicalSubset::strided(3, 1, PHYSICAL).iter(NODES) {
            let position = canonical_range(samples, NODES, node).start;
            assert_eq!(one.result.at(position), whole.result.at(position), "a part equals the whole");
        }
        let beside = match &original {
            Some(times) => {
                let (time, check) = times[algorithm.name()];
                assert_eq!(
                    check,
                    checksum((0..samples).map(|position| whole.result.at(position))),
                    "{algorithm} differs"
                );
                time
            }
            None => {
                let Measured { result, time, .. } = measure(|| plain::shuffle(&sizes, &spec));
                assert!((0..).zip(result).all(|(position, id)| whole.result.at(position) == id), "{algorithm} differs");
                time
            }
        };
        println!(
            "{algorithm:<8}{:>12}{:>12}{:>9.1}x{:>14.2}{:>16}{:>14}{:>18}",
            seconds(whole.time),
            seconds(beside),
            beside.as_secs_f64() / whole.time.as_secs_f64(),
            whole.peak as f64 / samples as f64,
            seconds(one.time),
            bytes(one.peak as f64),
            bytes(samples as f64 * 5.0 / PHYSICAL as f64),
        );
    }
    let spec = spec(ShuffleAlgorithm::Py1e);
    let whole = measure(|| whole_epoch(&spec, &units));
    let beside = match &original {
        Some(times) => {
            let (time, check) = times["epoch"];
            assert_eq!(whole.result, check, "the epoch differs");
            seconds(time) + &format!(" ({:.1}x)", time.as_secs_f64() / whole.time.as_secs_f64())
        }
        None => "only with LOCKSTEP_ORIGINAL".to_owned(),
    };
    println!("the whole epoch, every id of all 512 workers: {}; original: {beside}\n", seconds(whole.time));
}

/// The sum of all ids that the workers of a job read: shuffled, dealt and looked up.
fn whole_epoch(spec: &ShuffleSpec, units: &ShuffleUnits) -> u64 {
    let order = spec.build(units, CanonicalSubset::ALL).expect("an order");
    let partition = Partition::new(&PartitionSpec {
        algorithm: PartitionAlgorithm::Orig,
        num_samples: order.len(),
        canonical_nodes: spec.canonical_nodes,
        topology: JOB,
        drop_first: 0,
        initial_physical_nodes: None,
    })
    .expect("a partition");
    let [nodes, ranks, workers, ..] = partition.shape();
    let mut sum = 0_u64;
    for node in 0..nodes {
        for rank in 0..ranks {
            for worker in 0..workers {
                let ids = partition.worker(node, rank, worker).flatten().map(|position| order.at(position));
                sum = ids.fold(sum, u64::wrapping_add);
            }
        }
    }
    sum
}

/// Sum of ids, weighted by position, as the script computes it.
fn checksum(ids: impl Iterator<Item = u64>) -> u64 {
    ids.zip(0..).fold(0, |sum: u64, (id, position): (u64, u64)| sum.wrapping_add(id.wrapping_mul(2 * position + 1)))
}

/// Time and checksum by algorithm.
fn run_original(python: OsString, samples: u64, spec: &ShuffleSpec) -> HashMap<String, (Duration, u64)> {
    let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = JOB;
    let shuffle = [samples, SHARD, NODES, spec.seed, spec.epoch, spec.block_size];
    let job = [nodes, ranks_per_node, workers_per_rank, batch_size];
    let output = Command::new(python)
        .args(["-c", include_str!("original.py")])
        .args(shuffle.into_iter().chain(job).map(|number| number.to_string()))
        .output()
        .expect("LOCKSTEP_ORIGINAL is a Python");
    assert!(output.status.success(), "the original failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let time = Duration::from_secs_f64(fields[1].parse().expect("seconds"));
            (fields[0].to_owned(), (time, fields[2].parse().expect("a checksum")))
        })
        .collect()
}
