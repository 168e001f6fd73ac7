//! What shuffles cost: time and memory of both families.
//!
//! Run with `cargo bench -p lockstep-partition --bench shuffle`; `--quick` takes a hundredth of the samples. With
//! `LOCKSTEP_ORIGINAL=/path/to/python`, a Python that has numpy and mosaicml-streaming, the original runs beside;
//! without it, a plain port of its algorithms does.

mod memory;
mod mosaic;
mod plain;
mod seekable;

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

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
    let (start, clock) = (now(), Instant::now());
    let result = work();
    // The kernel does not count the shortest times.
    let time = (now() - start).max(clock.elapsed().min(Duration::from_millis(1)));
    Measured { result, time, peak: ALLOCATOR.peak() - before }
}

/// The time this thread has spent on a processor, so that other programs do not count. Elsewhere than on Linux the time of
/// the clock.
fn now() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .map_or_else(|| START.elapsed(), Duration::from_nanos)
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
