//! How often and how soon to try again.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// How a request that failed is made again.
///
/// Pauses double from the first to the longest, each shortened at random by up to half so that many processes do not
/// come back at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often to try in all, at least once. An attempt that brought new bytes of an object does not count: the next
    /// one goes on where it ended, and objects have an end.
    pub attempts: u32,
    /// The pause before the second attempt.
    pub first_pause: Duration,
    /// No pause is longer.
    pub longest_pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, first_pause: Duration::from_millis(100), longest_pause: Duration::from_secs(10) }
    }
}

/// The attempts at one request so far.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    retry: &'a Retry,
    made: u32,
    in_vain: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(retry: &'a Retry) -> Self {
        Self { retry, made: 0, in_vain: 0 }
    }

    /// How many were made.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// Counts one that failed. Returns the pause before the next one, or `None` if there is to be none.
    pub(crate) fn failed(&mut self, brought_something: bool) -> Option<Duration> {
        self.made = self.made.saturating_add(1);
        self.in_vain = if brought_something { 0 } else { self.in_vain.saturating_add(1) };
        (self.in_vain < self.retry.attempts.max(1)).then(|| shorten(self.pause()))
    }

    fn pause(&self) -> Duration {
        let doublings = self.in_vain.saturating_sub(1).min(31);
        self.retry.first_pause.saturating_mul(1 << doublings).min(self.retry.longest_pause)
    }
}

/// Takes off up to half, at random.
fn shorten(pause: Duration) -> Duration {
    // A `RandomState` is seeded by the system and differs from one to the next.
    let random = RandomState::new().hash_one(0) >> 32;
    pause.mul_f64(1.0 - random as f64 / 2_f64.powi(33))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let retry =
            Retry { attempts: 6, first_pause: Duration::from_millis(100), longest_pause: Duration::from_millis(500) };
        let mut attempts = Attempts::new(&retry);
        let pauses: Vec<_> = std::iter::from_fn(|| attempts.failed(false)).collect();
        assert_eq!(pauses.len(), 5, "six attempts have five pauses between them");
        for (pause, full) in pauses.iter().zip([100, 200, 400, 500, 500]) {
            let full = Duration::from_millis(full);
            assert!(*pause <= full && *pause >= full / 2, "{pause:?} of {full:?}");
        }
        assert_eq!(attempts.made(), 6);
    }

    #[test]
    fn progress_earns_new_attempts() {
        let retry = Retry { attempts: 2, ..Retry::default() };
        let mut attempts = Attempts::new(&retry);
        for _ in 0..100 {
            assert!(attempts.failed(true).is_some());
        }
        assert!(attempts.failed(false).is_some());
        assert!(attempts.failed(false).is_none());
        assert_eq!(attempts.made(), 102);
    }

    #[test]
    fn zero_attempts_are_one() {
        let retry = Retry { attempts: 0, ..Retry::default() };
        assert!(Attempts::new(&retry).failed(false).is_none());
    }
}
