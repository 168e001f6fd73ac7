//! What the benchmarks measure with.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Whether a short form is asked for.
pub(crate) fn is_quick() -> bool {
    std::env::args().any(|argument| argument == "--quick")
}

/// The result of some work, and the shortest time of three that it took by the clock. For work of microseconds.
pub(crate) fn shortest<T>(work: impl Fn() -> T) -> (Duration, T) {
    let once = || {
        let start = Instant::now();
        let result = black_box(work());
        (start.elapsed(), result)
    };
    let (first, result) = once();
    let again = (0..2).map(|_| once().0).min().unwrap_or(first);
    (first.min(again), result)
}

/// The result of some work, and the time that it had on a processor, so that a busy machine counts for less. For work of
/// many milliseconds.
pub(crate) fn busy<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begin = on_processor();
    let result = black_box(work());
    (on_processor().saturating_sub(begin), result)
}

/// Time that this thread has had on a processor, to a few milliseconds; of the clock where the system does not tell.
fn on_processor() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = schedule.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    nanos.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}
