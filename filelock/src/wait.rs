//! How long to wait for a lock, and how to.

use std::io;
use std::time::{Duration, Instant};

/// How long to wait for a lock that somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Ask once.
    Immediately,
    /// Ask until this much time has passed.
    For(Duration),
    /// Wait for as long as it takes.
    Forever,
}

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The first pause between two attempts: about what a process needs to be scheduled.
const FIRST_PAUSE: Duration = Duration::from_micros(50);

impl Wait {
    /// The moment at which to give up; `None` is never. A time too far away to be represented is never, too.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Wait::Immediately => Some(Instant::now()),
            Wait::For(time) => Instant::now().checked_add(time),
            Wait::Forever => None,
        }
    }
}

/// Calls `attempt` until it says yes or the deadline has passed, with growing pauses; at least once. Returns whether it
/// ever said yes.
pub(crate) fn retry_until(deadline: Instant, mut attempt: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    let mut pause = FIRST_PAUSE;
    loop {
        if attempt()? {
            return Ok(true);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Calls `operation` again for as long as a signal interrupts it.
pub(crate) fn uninterrupted<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_attempt_is_made() {
        let mut calls = 0;
        let gave_up = retry_until(Instant::now(), || {
            calls += 1;
            Ok(false)
        });
        assert!(!gave_up.expect("no error was made"));
        assert_eq!(calls, 1, "a deadline in the past still allows one attempt");
    }

    #[test]
    fn the_last_attempt_comes_after_the_deadline() {
        let deadline = Instant::now() + Duration::from_millis(3);
        let mut last = Instant::now();
        let gave_up = retry_until(deadline, || {
            last = Instant::now();
            Ok(false)
        });
        assert!(!gave_up.expect("no error was made"));
        assert!(last >= deadline, "what is freed just before the deadline is still taken");
    }

    #[test]
    fn a_time_beyond_representation_is_for_ever() {
        assert_eq!(Wait::For(Duration::MAX).deadline(), None);
    }

    #[test]
    fn interruptions_are_retried_and_other_errors_are_not() {
        let mut calls = 0;
        let result: io::Result<()> = uninterrupted(|| {
            calls += 1;
            Err(if calls < 3 { io::ErrorKind::Interrupted } else { io::ErrorKind::PermissionDenied }.into())
        });
        assert_eq!(result.expect_err("the third call fails for good").kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(calls, 3);
    }
}
