//! Reading samples of mapped shards in shuffled order, against reading the same bytes in the same order at addresses known
//! beforehand, without the library: the ceiling.
//!
//! `cargo bench -p lockstep-dataset --bench shuffled_read [-- --quick]`. Every byte is hashed with xxh3. Rates are medians
//! over rounds that take turns.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use lockstep_dataset::writer::{MdsWriter, WriterOptions};
use lockstep_dataset::{Index, Shard, Value};
use xxhash_rust::xxh3::xxh3_64;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// How many samples ahead the sample and its place are asked for.
const AHEAD: usize = 6;

fn main() -> Result<()> {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (total, rounds) = if quick { (32 << 20, 3) } else { (1 << 30, 7) };
    println!("{} MiB in shards of 64 MiB, samples per second; ratios to the ceiling", total >> 20);
    println!("{:>7} {:>12} {:>12} {:>7} {:>12} {:>7}", "bytes", "ceiling", "library", "ratio", "ahead", "ratio");
    for size in [200, 4096] {
        let dir = tempfile::tempdir()?;
        write(dir.path(), size, total / size)?;
        measure(dir.path(), size, rounds)?;
    }
    Ok(())
}

fn measure(dir: &Path, size: usize, rounds: usize) -> Result<()> {
    let index = Index::read(dir)?;
    let shards =
        index.shards().iter().map(|info| Shard::open(dir, info)).collect::<lockstep_dataset::Result<Vec<_>>>()?;
    let order = shuffled(&index);
    let column = shards[0].columns().position("data").ok_or("the dataset has this column")?;
    let mut addresses = Vec::with_capacity(order.len());
    for &(shard, sample) in &order {
        addresses.push(shards[shard as usize].sample(sample.into())?.bytes_at(column)?);
    }
    let ceiling = || addresses.iter().fold(0_u64, |sum, value| sum.wrapping_add(xxh3_64(value)));
    let library = || -> lockstep_dataset::Result<u64> {
        order.iter().try_fold(0_u64, |sum, &(shard, sample)| {
            let value = shards[shard as usize].sample(sample.into())?.get_at::<&[u8]>(column)?;
            Ok(sum.wrapping_add(xxh3_64(value)))
        })
    };
    let ahead = || -> lockstep_dataset::Result<u64> {
        order.iter().enumerate().try_fold(0_u64, |sum, (k, &(shard, sample))| {
            if let Some(&(shard, sample)) = order.get(k + 2 * AHEAD) {
                shards[shard as usize].expect_place(sample.into());
            }
            if let Some(&(shard, sample)) = order.get(k + AHEAD) {
                shards[shard as usize].expect(sample.into());
            }
            let value = shards[shard as usize].sample(sample.into())?.get_at::<&[u8]>(column)?;
            Ok(sum.wrapping_add(xxh3_64(value)))
        })
    };
    let mut times = [const { Vec::<Duration>::new() }; 3];
    for _ in 0..rounds {
        let start = Instant::now();
        let expected = black_box(ceiling());
        times[0].push(start.elapsed());
        let start = Instant::now();
        assert_eq!(library()?, expected, "both must have read the same bytes");
        times[1].push(start.elapsed());
        let start = Instant::now();
        assert_eq!(ahead()?, expected, "both must have read the same bytes");
        times[2].push(start.elapsed());
    }
    let [ceiling, library, ahead] = times.map(|mut times| {
        times.sort();
        order.len() as f64 / times[times.len() / 2].as_secs_f64()
    });
    println!(
        "{size:>7} {ceiling:>12.0} {library:>12.0} {:>7.2} {ahead:>12.0} {:>7.2}",
        library / ceiling,
        ahead / ceiling
    );
    Ok(())
}

/// All samples as shard and number in it, in one shuffle over everything: the worst for caches.
fn shuffled(index: &Index) -> Vec<(u32, u32)> {
    let mut order = Vec::new();
    for (shard, info) in (0_u32..).zip(index.shards()) {
        order.extend((0_u32..).take(usize::try_from(info.num_samples()).unwrap_or(0)).map(|sample| (shard, sample)));
    }
    let mut state = 1_u64;
    for i in (1..order.len()).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(i, usize::try_from((u128::from(state) * (i as u128 + 1)) >> 64).unwrap_or(0));
    }
    order
}

fn write(dir: &Path, size: usize, samples: usize) -> Result<()> {
    let mut writer = MdsWriter::create(dir, &[("data", "bytes")], &WriterOptions::new())?;
    let mut state = 1_u64;
    let mut value = vec![0; size];
    for _ in 0..samples {
        for chunk in value.chunks_mut(8) {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
        }
        writer.write(&[("data", Value::Bytes(&value))])?;
    }
    writer.finish()?;
    Ok(())
}
