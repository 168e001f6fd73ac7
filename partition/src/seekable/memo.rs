//! A memory for what has just been computed.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Remembers values of a pure function, as far as there is room: a table with one place for each key, shared by threads
/// without locks.
///
/// The next samples of a worker come from the few shard parts of a window for each canonical node, again and again, so
/// looking up a part's shard mostly takes one load instead of two permutations.
pub(super) struct Memo {
    /// `key + 1` above the value, so that one load gets both; zero where there is nothing.
    entries: Box<[AtomicU64]>,
}

impl Memo {
    /// 64 KiB: a window's parts for 64 canonical nodes, at 100 shards a window.
    const BITS: u32 = 13;

    pub(super) fn new() -> Self {
        Self { entries: (0..1 << Self::BITS).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The value of `key`. Keys and values above 32 bits are not remembered.
    #[inline]
    pub(super) fn get(&self, key: u64, compute: impl FnOnce() -> u64) -> u64 {
        // Fibonacci hashing: neighbouring keys are far apart.
        let entry = &self.entries[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS)) as usize];
        // Relaxed is enough, as an entry is complete in itself and nothing else is read on its account.
        let found = entry.load(Relaxed);
        if found >> 32 == key + 1 {
            return found & u64::from(u32::MAX);
        }
        Self::fill(entry, key, compute)
    }

    #[inline(never)]
    fn fill(entry: &AtomicU64, key: u64, compute: impl FnOnce() -> u64) -> u64 {
        let value = compute();
        if key < u32::MAX.into() && value <= u32::MAX.into() {
            entry.store((key + 1) << 32 | value, Relaxed);
        }
        value
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memo").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_remembered_but_never_mixed_up() {
        let memo = Memo::new();
        assert_eq!(memo.get(0, || 7), 7);
        assert_eq!(memo.get(0, || unreachable!("remembered")), 7);
        // Far more keys than there is room for.
        for round in 0..3 {
            for key in 0..100_000 {
                assert_eq!(memo.get(key, || key / 3), if key == 0 && round == 0 { 7 } else { key / 3 });
            }
            // Crowds out the odd value of the first key.
            memo.entries.iter().for_each(|entry| entry.store(0, Relaxed));
        }
    }

    #[test]
    fn what_does_not_fit_is_computed_every_time() {
        let memo = Memo::new();
        for (key, value) in [(u32::MAX.into(), 1), (1 << 40, 1), (3, 1 << 32), (u64::MAX - 1, 5)] {
            assert_eq!(memo.get(key, || value), value);
            assert_eq!(memo.get(key, || value + 1), value + 1);
        }
        assert_eq!(memo.get(4, || u32::MAX.into()), u32::MAX.into());
        assert_eq!(memo.get(4, || unreachable!("remembered")), u32::MAX.into());
    }
}
