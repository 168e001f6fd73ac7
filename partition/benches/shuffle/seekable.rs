//! The seekable family: starts, and the next id.

use std::{hint::black_box, time::Instant};

use lockstep_partition::{
    CanonicalSubset, Global, Order, Permutation, ShuffleUnits, Windowed,
    shuffle::{ShuffleAlgorithm, ShuffleSpec},
};

use crate::{bytes, measure, seconds};

fn spec(canonical_nodes: u64, block_size: u64) -> ShuffleSpec {
    ShuffleSpec { algorithm: ShuffleAlgorithm::Windowed, canonical_nodes, seed: 9176, epoch: 3, block_size }
}

pub(crate) fn run(quick: bool) {
    starts();
    let calls = if quick { 1_000_000 } else { 20_000_000 };
    next_ids(calls);
    worst_lengths(calls / 20);
}

/// Shards of one size, and shards of all sizes around it.
fn datasets() -> impl Iterator<Item = (String, ShuffleUnits)> {
    [(244_141_u64, 4096_u64), (1_000_000, 1_000_000)].into_iter().flat_map(|(shards, size)| {
        let equal = ShuffleUnits::from_runs([(size, shards)]).expect("samples that can be counted");
        let sizes = (0..shards).map(|shard| size / 2 + shard.wrapping_mul(7919) % size);
        let unequal = ShuffleUnits::from_sizes(sizes).expect("samples that can be counted");
        [(format!("{shards} equal shards of {size}"), equal), (format!("{shards} unequal shards of {size}"), unequal)]
    })
}

fn starts() {
    println!("start of an epoch of windowed-v1, first id included");
    println!("{:<40}{:>12}{:>12}{:>16}", "", "time", "peak", "in the middle");
    for (name, units) in datasets() {
        let first = measure(|| {
            let order = Windowed::new(&spec(8, 1 << 18), &units).expect("an order");
            black_box(order.at(0));
            order
        });
        let middle = measure(|| {
            let order = Windowed::new(&spec(8, 1 << 18), &units).expect("an order");
            black_box(order.at(units.num_samples() / 2));
            order
        });
        println!("{name:<40}{:>12}{:>12}{:>16}", seconds(first.time), bytes(first.peak as f64), seconds(middle.time));
    }
    println!();
}

/// How many calls are timed together: about half a millisecond. The fastest stretch of calls counts, as other programs only
/// ever take time away.
const STRETCH: u64 = 20_000;

/// Nanoseconds a call, over positions one after the other.
fn per_call(calls: u64, len: u64, at: impl Fn(u64) -> u64) -> f64 {
    let count = STRETCH.min(len);
    fastest(calls, count, |part| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any position will do")]
        let first = ((len - count) as f64 * part) as u64;
        let sum = (first..first + count).fold(0_u64, |sum, position| sum.wrapping_add(at(position)));
        black_box(sum);
    })
}

/// Nanoseconds a call where every call is at the position that the one before it led to.
fn per_chained_call(calls: u64, len: u64, at: impl Fn(u64) -> u64) -> f64 {
    fastest(calls, STRETCH, |part| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any position will do")]
        let first = ((len - 1) as f64 * part) as u64;
        black_box((0..STRETCH).fold(first, |position, _| at(position)));
    })
}

/// Runs stretches of `count` calls, each at another part of the whole, up to `calls` altogether.
fn fastest(calls: u64, count: u64, run: impl Fn(f64)) -> f64 {
    let stretches = (calls / count).clamp(5, 1000);
    let times = (0..stretches).map(|stretch| {
        let start = Instant::now();
        run(stretch as f64 / stretches as f64);
        start.elapsed()
    });
    times.min().expect("stretches").as_secs_f64() * 1e9 / count as f64
}

fn next_ids(calls: u64) {
    println!(
        "next id, ns a call; a chain of calls waits for each of them; ratio: of the next id to one held in memory"
    );
    println!("{:<40}{:>12}{:>12}{:>10}", "", "next", "chained", "ratio");
    let row = |name: &str, order: &dyn Order, held: Option<f64>| {
        let next = per_call(calls, order.len(), |position| order.at(position));
        let chained = per_chained_call(calls / 4, order.len(), |position| order.at(position));
        println!("{name:<40}{next:>12.1}{chained:>12.1}{:>9.1}x", next / held.unwrap_or(next));
        next
    };
    let small = ShuffleUnits::from_runs([(4096, 4096)]).expect("samples that can be counted");
    let held = ShuffleSpec { algorithm: ShuffleAlgorithm::Py1e, ..spec(8, 1 << 18) };
    let held = held.build(&small, CanonicalSubset::strided(0, 7, 8)).expect("an order");
    let held = {
        // The last canonical node is not held, so that nodes are looked up as they are in a job.
        let len = held.len() / 8 * 7;
        let next = per_call(calls, len, |position| held.at(position));
        let chained = per_chained_call(calls / 4, len, |position| held.at(position) % len);
        println!("{:<40}{next:>12.1}{chained:>12.1}{:>9.1}x", "py1e of 16.8 million, held in memory", 1.0);
        next
    };
    row("global-v1 of 10^9", &Global::new(1_000_000_000, 9176, 3), Some(held));
    for (name, units) in datasets() {
        for block_size in [1 << 18, (1 << 18) + 1] {
            let order = Windowed::new(&spec(8, block_size), &units).expect("an order");
            row(&format!("{name}, {block_size}"), &order, Some(held));
        }
    }
    println!();
}

/// The lengths at which a permutation has the most, the least and some work.
fn worst_lengths(calls: u64) {
    println!("a permutation alone, by length; ratio: of the next number to that of 2^30");
    println!("{:<40}{:>12}{:>12}{:>10}", "", "next", "chained", "ratio");
    let measured = |len: u64| {
        let permutation = Permutation::new(len, 9176, 3);
        let next = per_call(calls, len, |position| permutation.at(position));
        (next, per_chained_call(calls, len, |position| permutation.at(position)))
    };
    let (reference, _) = measured(1 << 30);
    let row = |name: String, (next, chained): (f64, f64)| {
        println!("{name:<40}{next:>12.1}{chained:>12.1}{:>9.1}x", next / reference);
    };
    for len in [1000, 1_000_000_000, (1 << 30) + 1, 1 << 40, (1 << 40) + 1, 1 << 62] {
        row(len.to_string(), measured(len));
    }
    let lengths = (1..62).flat_map(|bits| [(1 << bits) + 1, (1 << bits) + (1 << (bits / 2)) + 1, (1 << bits) - 1]);
    let worst = lengths.map(|len| (measured(len), len)).max_by(|left, right| left.0.1.total_cmp(&right.0.1));
    let (times, len) = worst.expect("lengths");
    row(format!("{len}, the slowest around powers of two"), times);
}
