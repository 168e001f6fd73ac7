//! What shuffles cost: time and memory of both families.
//!
//! Run with `cargo bench -p lockstep-partition --bench shuffle`; `--quick` takes a hundredth of the samples. With
//! `LOCKSTEP_ORIGINAL=/path/to/python`, a Python that has numpy and mosaicml-streaming, the original runs beside;
//! without it, a plain port of its algorithms does.

mod memory;
mod mosaic;
mod plain;
mod seekable;

use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting::new();

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    mosaic::run(quick);
    seekable::run(quick);
}

/// What came of a measured piece of work.
struct Measured<T> {
    result: T,
    time: Duration,
    /// The bytes that were allocated at the peak, beyond those at the beginning.
    peak: usize,
}

fn measure<T>(work: impl FnOnce() -> T) -> Measured<T> {
    let before = ALLOCATOR.start();
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    Measured { result, time, peak: ALLOCATOR.peak() - before }
}

fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 0.001 => format!("{:.1} us", short * 1e6),
        medium if medium < 1.0 => format!("{:.1} ms", medium * 1e3),
        long => format!("{long:.2} s"),
    }
}

fn bytes(count: f64) -> String {
    match count {
        few if few < 1e3 => format!("{few:.0} B"),
        some if some < 1e6 => format!("{:.1} kB", some / 1e3),
        many => format!("{:.1} MB", many / 1e6),
    }
}
