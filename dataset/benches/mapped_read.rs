//! Reading samples from mapped shards against reading the same mapped bytes without the library.
//!
//! `cargo bench -p lockstep-dataset --bench mapped_read [-- --quick]`. Every byte is hashed with xxh3. Ratios are of
//! medians over rounds that alternate between the two.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockstep_dataset::{Index, Shard};
use xxhash_rust::xxh3::xxh3_64;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: All work is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: The caller keeps the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: The caller keeps the contract of `dealloc`, which is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (total, rounds) = if quick { (16 << 20, 5) } else { (256 << 20, 15) };
    println!(
        "{:>8} {:>9} {:>12} {:>12} {:>7} {:>18}",
        "bytes", "samples", "plain ns", "library ns", "ratio", "allocations/sample"
    );
    for size in [200, 4096] {
        let dir = tempfile::tempdir()?;
        write_dataset(dir.path(), size, total / size)?;
        measure(dir.path(), size, rounds)?;
    }
    Ok(())
}

fn measure(dir: &Path, size: usize, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let index = Index::read(dir)?;
    let shard = Shard::open(dir, &index.shards()[0])?;
    let column = shard.columns().position("data").ok_or("the dataset has this column")?;
    // Where each value lies, known beforehand, in the same map.
    let values: Vec<&[u8]> =
        shard.iter().map(|sample| sample?.bytes_at(column)).collect::<lockstep_dataset::Result<_>>()?;
    let (mut plain, mut library) = (Vec::new(), Vec::new());
    let mut allocations = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        let mut sum = 0_u64;
        for value in &values {
            sum = sum.wrapping_add(xxh3_64(value));
        }
        black_box(sum);
        plain.push(start.elapsed());

        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let start = Instant::now();
        let mut check = 0_u64;
        for i in 0..shard.len() {
            check = check.wrapping_add(xxh3_64(shard.sample(i)?.get_at::<&[u8]>(column)?));
        }
        library.push(start.elapsed());
        allocations += ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert_eq!(sum, check, "both must have read the same bytes");
    }
    let samples = values.len();
    let per_sample = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e9 / samples as f64
    };
    let (plain, library) = (per_sample(&mut plain), per_sample(&mut library));
    let allocations = allocations as f64 / (samples * rounds) as f64;
    println!("{size:>8} {samples:>9} {plain:>12.1} {library:>12.1} {:>7.2} {allocations:>18.3}", library / plain);
    Ok(())
}

/// One raw MDS shard with one column of bytes.
fn write_dataset(dir: &Path, size: usize, samples: usize) -> Result<(), Box<dyn std::error::Error>> {
    let layout = r#""column_encodings": ["bytes"], "column_names": ["data"], "column_sizes": [null], "compression": null,
        "format": "mds", "hashes": [], "size_limit": null, "version": 2"#;
    let header = format!("{{{layout}}}");
    let begin = 4 * (samples + 2) + header.len();
    let mut file = Vec::with_capacity(begin + samples * (size + 4));
    file.extend(u32::try_from(samples)?.to_le_bytes());
    for i in 0..=samples {
        file.extend(u32::try_from(begin + i * (size + 4))?.to_le_bytes());
    }
    file.extend(header.as_bytes());
    let mut state = 1_u64;
    for _ in 0..samples {
        file.extend(u32::try_from(size)?.to_le_bytes());
        for _ in 0..size / 8 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            file.extend(state.to_le_bytes());
        }
    }
    std::fs::write(dir.join("shard.00000.mds"), &file)?;
    let mut index = String::new();
    write!(
        index,
        r#"{{"version": 2, "shards": [{{{layout}, "samples": {samples}, "zip_data": null,
            "raw_data": {{"basename": "shard.00000.mds", "bytes": {}, "hashes": {{}}}}}}]}}"#,
        file.len()
    )?;
    std::fs::write(dir.join("index.json"), index)?;
    Ok(())
}
