//! Shuffle units: the sizes of the shards of an epoch, in order.

use std::sync::Arc;

use thiserror::Error;

use crate::divisor::Divisor;

/// Why a list of shard sizes was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnitsError {
    /// More samples than can be counted.
    #[error("the shards hold more than 2^64 - 1 samples together; ids are 64-bit, so split the dataset")]
    TooManySamples,
    /// More shards than can be counted.
    #[error("there are more than 2^64 - 1 shards; merge some of them")]
    TooManyUnits,
}

/// A stretch of units of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    size: u64,
    count: u64,
    first_unit: u64,
    first_position: u64,
}

/// Where a position lies: see [`ShuffleUnits::locate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Index of the unit.
    pub unit: u64,
    /// First position of the unit.
    pub start: u64,
    /// How many positions the unit has.
    pub size: u64,
}

impl Located {
    /// Where in its unit `position` is.
    #[must_use]
    pub const fn offset_of(self, position: u64) -> u64 {
        position - self.start
    }
}

/// The sizes of an epoch's shards, in order: what a shard-aware shuffle keeps together.
///
/// A unit is a shard as the epoch sees it: a shard of 4 samples that is repeated 2.5 times is three units, of 4, 4 and 2
/// samples. Neighbours of equal size are stored as one run, so that a million equal shards take no more room than one:
/// memory is 32 bytes a run, shared by clones.
///
/// ```
/// use lockstep_partition::ShuffleUnits;
///
/// let units = ShuffleUnits::from_runs([(4096, 1_000_000), (17, 1)])?;
/// assert_eq!(units.len(), 1_000_001);
/// assert_eq!(units.num_samples(), 4_096_000_017);
/// let last = units.locate(4_096_000_003).expect("a position of the epoch");
/// assert_eq!((last.unit, last.offset_of(4_096_000_003)), (1_000_000, 3));
/// # Ok::<(), lockstep_partition::UnitsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShuffleUnits {
    /// Shared, because a plan keeps the shards of its recipe.
    runs: Arc<Vec<Run>>,
    len: u64,
    num_samples: u64,
    /// The size of all units where they are equal.
    uniform: Option<Divisor>,
}

impl ShuffleUnits {
    /// Units from `(size, count)` runs, in order.
    ///
    /// Empty runs are dropped and neighbours of equal size merged, so that equal lists of sizes are equal values. Units
    /// of size zero are kept: they count, but no position lies in them.
    ///
    /// # Errors
    ///
    /// [`UnitsError`] where the units or their samples cannot be counted in 64 bits.
    pub fn from_runs(runs: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, UnitsError> {
        let mut merged: Vec<Run> = Vec::new();
        let (mut len, mut num_samples) = (0_u64, 0_u64);
        for (size, count) in runs.into_iter().filter(|&(_, count)| count > 0) {
            match merged.last_mut() {
                Some(last) if last.size == size => last.count = last.count.saturating_add(count),
                _ => merged.push(Run { size, count, first_unit: len, first_position: num_samples }),
            }
            len = len.checked_add(count).ok_or(UnitsError::TooManyUnits)?;
            let samples = size.checked_mul(count).ok_or(UnitsError::TooManySamples)?;
            num_samples = num_samples.checked_add(samples).ok_or(UnitsError::TooManySamples)?;
        }
        let uniform = match merged.as_slice() {
            [only] => Divisor::new(only.size),
            _ => None,
        };
        Ok(Self { runs: Arc::new(merged), len, num_samples, uniform })
    }

    /// Units from one size each, in order.
    ///
    /// # Errors
    ///
    /// As [`from_runs`](Self::from_runs).
    pub fn from_sizes(sizes: impl IntoIterator<Item = u64>) -> Result<Self, UnitsError> {
        Self::from_runs(sizes.into_iter().map(|size| (size, 1)))
    }

    /// How many units there are.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no units.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The samples of all units together: positions are `0..num_samples`.
    #[must_use]
    pub const fn num_samples(&self) -> u64 {
        self.num_samples
    }

    /// The `(size, count)` runs, in order; neighbours differ in size.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + DoubleEndedIterator + '_ {
        self.runs.iter().map(|run| (run.size, run.count))
    }

    /// The size of each unit, in order.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|run| (0..run.count).map(|_| run.size))
    }

    /// The unit with this index, or `None` from [`len`](Self::len) on. Time is logarithmic in the number of runs.
    #[must_use]
    pub fn get(&self, unit: u64) -> Option<Located> {
        if unit >= self.len {
            return None;
        }
        let run = &self.runs[self.runs.partition_point(|run| run.first_unit <= unit) - 1];
        let start = run.first_position + (unit - run.first_unit) * run.size;
        Some(Located { unit, start, size: run.size })
    }

    /// The unit that `position` lies in, or `None` from [`num_samples`](Self::num_samples) on. Constant time where all
    /// units are of one size, else logarithmic in the number of runs.
    #[must_use]
    #[inline]
    pub fn locate(&self, position: u64) -> Option<Located> {
        if position >= self.num_samples {
            return None;
        }
        if let Some(size) = self.uniform {
            let (unit, offset) = size.divide(position);
            return Some(Located { unit, start: position - offset, size: size.get() });
        }
        Some(self.search(position))
    }

    /// [`locate`](Self::locate) by bisection over the runs.
    fn search(&self, position: u64) -> Located {
        // Of runs that begin at one position, all but the last hold no samples.
        let run = &self.runs[self.runs.partition_point(|run| run.first_position <= position) - 1];
        let within = if run.count == 1 { 0 } else { (position - run.first_position) / run.size };
        Located { unit: run.first_unit + within, start: run.first_position + within * run.size, size: run.size }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_neighbours_become_one_run() {
        let units = ShuffleUnits::from_sizes([3, 3, 5, 5, 5, 3]).unwrap();
        assert_eq!(units.runs().collect::<Vec<_>>(), [(3, 2), (5, 3), (3, 1)]);
        assert_eq!(units, ShuffleUnits::from_runs([(3, 1), (3, 1), (7, 0), (5, 3), (3, 1)]).unwrap());
        assert_eq!(units.sizes().collect::<Vec<_>>(), [3, 3, 5, 5, 5, 3]);
    }

    #[test]
    fn nothing_is_found_where_there_is_nothing() {
        let none = ShuffleUnits::from_sizes([]).unwrap();
        assert!(none.is_empty());
        assert_eq!((none.locate(0), none.get(0)), (None, None));
        let hollow = ShuffleUnits::from_runs([(0, 3)]).unwrap();
        assert_eq!((hollow.len(), hollow.num_samples(), hollow.locate(0)), (3, 0, None));
        assert_eq!(hollow.get(2), Some(Located { unit: 2, start: 0, size: 0 }));
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        assert_eq!(ShuffleUnits::from_runs([(1, u64::MAX), (2, 1)]), Err(UnitsError::TooManyUnits));
        assert_eq!(ShuffleUnits::from_runs([(0, u64::MAX), (0, 1)]), Err(UnitsError::TooManyUnits));
        assert_eq!(ShuffleUnits::from_runs([(1 << 32, 1 << 32)]), Err(UnitsError::TooManySamples));
        assert_eq!(ShuffleUnits::from_sizes([u64::MAX, 1]), Err(UnitsError::TooManySamples));
        let full = ShuffleUnits::from_sizes([u64::MAX]).unwrap();
        assert_eq!(full.locate(u64::MAX - 1), Some(Located { unit: 0, start: 0, size: u64::MAX }));
        assert_eq!(full.locate(u64::MAX), None);
    }

    proptest! {
        #[test]
        fn lookups_agree_with_the_list(sizes in prop::collection::vec(0_u64..6, 0..40)) {
            let units = ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap();
            prop_assert_eq!(units.sizes().collect::<Vec<_>>(), sizes.clone());
            let mut position = 0;
            for (unit, &size) in (0_u64..).zip(&sizes) {
                let expected = Located { unit, start: position, size };
                prop_assert_eq!(units.get(unit), Some(expected));
                for offset in 0..size {
                    let found = units.locate(position + offset);
                    prop_assert_eq!(found, Some(expected));
                    prop_assert_eq!(expected.offset_of(position + offset), offset);
                }
                position += size;
            }
            prop_assert_eq!(units.num_samples(), position);
            prop_assert_eq!(units.locate(position), None);
        }
    }
}
