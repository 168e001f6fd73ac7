//! Sleeping until a word in shared memory changes.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) use kernel::{sleep, wake_all};
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(crate) use polling::{sleep, wake_all};

/// `futex(2)`. Not the private kind: the word is shared between processes.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "the C library has no function for this system call")]
mod kernel {
    use std::ptr;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    /// Sleeps while the low half of `word` is `low`, at most for `limit`. May return early.
    pub(crate) fn sleep(word: &AtomicU64, low: u32, limit: Duration) {
        let limit = libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: the address is that of four aligned bytes which live through the call; the kernel reads them
        // atomically, and reads `limit`. All outcomes (changed, woken, interrupted, timed out) mean to look again.
        unsafe { libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAIT, low, ptr::from_ref(&limit), 0, 0) };
    }

    /// Wakes all who sleep on `word`.
    pub(crate) fn wake_all(word: &AtomicU64) {
        // SAFETY: the address is that of four aligned bytes; the kernel uses it as a key only.
        unsafe { libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAKE, libc::c_int::MAX, 0, 0, 0) };
    }

    fn low_half(word: &AtomicU64) -> *const u32 {
        let start = word.as_ptr().cast_const().cast::<u32>();
        start.wrapping_add(usize::from(cfg!(target_endian = "big")))
    }
}

/// Elsewhere: short naps.
#[cfg(any(test, not(all(target_os = "linux", target_pointer_width = "64"))))]
mod polling {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    /// Sleeps while the low half of `word` is `low`, at most for `limit`.
    pub(crate) fn sleep(word: &AtomicU64, low: u32, limit: Duration) {
        let started = Instant::now();
        while word.load(Ordering::Relaxed) & u64::from(u32::MAX) == u64::from(low) {
            let left = limit.saturating_sub(started.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(1)));
        }
    }

    /// Nobody needs to be woken.
    pub(crate) fn wake_all(_word: &AtomicU64) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use super::{kernel, polling};

    type Sleep = fn(&AtomicU64, u32, Duration);
    type Wake = fn(&AtomicU64);

    const BOTH: [(Sleep, Wake); 2] = [(kernel::sleep, kernel::wake_all), (polling::sleep, polling::wake_all)];

    #[test]
    fn a_word_that_has_changed_is_not_slept_on() {
        for (sleep, _) in BOTH {
            // The high half does not matter. A hang would be noticed.
            sleep(&AtomicU64::new(7 << 32 | 1), 2, Duration::MAX);
        }
    }

    #[test]
    fn sleep_ends_with_its_time() {
        for (sleep, _) in BOTH {
            let word = AtomicU64::new(7 << 32 | 1);
            let (started, limit) = (Instant::now(), Duration::from_millis(5));
            // The kernel may wake early, by a signal say.
            while started.elapsed() < limit {
                sleep(&word, 1, limit);
            }
            assert!(started.elapsed() >= limit);
        }
    }

    #[test]
    fn sleepers_are_woken() {
        for (sleep, wake) in BOTH {
            let word = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while word.load(Ordering::Acquire) == 0 {
                            sleep(&word, 0, Duration::MAX);
                        }
                    });
                }
                word.store(1, Ordering::Release);
                wake(&word);
            });
        }
    }
}
