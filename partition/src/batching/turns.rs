//! In which turn batches of different streams come.

use crate::divisor::{Divisor, high_half};
use crate::numpy::Generator;
use crate::seekable::spread;

/// A sequence of batches, each the next one of some stream.
#[derive(Clone, Debug)]
pub(crate) enum Turns {
    /// In an order that was drawn, in 6 bytes a batch.
    Drawn {
        streams: Vec<u16>,
        /// How many batches of its stream come before each batch.
        nth: Vec<u32>,
    },
    /// Evenly spread, computed on demand.
    Even(Spread),
}

/// A stream, or two halves of some streams whose batches take turns.
#[derive(Clone, Debug)]
pub(crate) enum Spread {
    Stream(usize),
    Split(Box<Split>),
}

#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// Batches of the first half.
    left: u64,
    total: Divisor,
    /// Where in the rhythm the first batch falls, below `total`.
    phase: u64,
    halves: [Spread; 2],
}

impl Turns {
    /// The turns that a shuffle of the origins of all batches gives, as the original draws them. `None` where they do not
    /// fit into memory.
    pub(crate) fn drawn(batches: &[u64], rng: &mut Generator) -> Option<Self> {
        let total = batches.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count))?;
        let total = usize::try_from(total).ok()?;
        let mut streams: Vec<u16> = Vec::new();
        let mut nth: Vec<u32> = Vec::new();
        streams.try_reserve_exact(total).ok()?;
        nth.try_reserve_exact(total).ok()?;
        for (stream, &count) in batches.iter().enumerate() {
            let stream = u16::try_from(stream).ok()?;
            u32::try_from(count).ok()?;
            streams.extend((0..count).map(|_| stream));
        }
        rng.shuffle(&mut streams);
        let mut seen = vec![0_u32; batches.len()];
        nth.extend(streams.iter().map(|&stream| {
            let seen = &mut seen[usize::from(stream)];
            *seen += 1;
            *seen - 1
        }));
        Some(Self::Drawn { streams, nth })
    }

    /// Turns in which every stretch has its part of each stream's batches, in a rhythm that begins where `key` says.
    pub(crate) fn even(batches: &[u64], key: u64) -> Option<Self> {
        batches.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count))?;
        let mut splits = 0;
        Some(Self::Even(Spread::new(batches, 0, key, &mut splits)))
    }

    /// The stream of a batch, and how many of that stream come before it.
    #[inline]
    pub(crate) fn at(&self, batch: u64) -> (usize, u64) {
        match self {
            Self::Drawn { streams, nth } => {
                let batch = usize::try_from(batch).expect("the batches are in memory");
                (usize::from(streams[batch]), u64::from(nth[batch]))
            }
            Self::Even(spread) => spread.at(batch),
        }
    }
}

impl Spread {
    fn new(batches: &[u64], first: usize, key: u64, splits: &mut u64) -> Self {
        let total: u64 = batches.iter().sum();
        let (left, right) = batches.split_at(batches.len() / 2);
        let Some(divisor) = Divisor::new(total).filter(|_| !left.is_empty()) else {
            return Self::Stream(first);
        };
        *splits += 1;
        let phase = high_half(u128::from(spread(key ^ spread(*splits))) * u128::from(total));
        let halves = [Self::new(left, first, key, splits), Self::new(right, first + left.len(), key, splits)];
        Self::Split(Box::new(Split { left: left.iter().sum(), total: divisor, phase, halves }))
    }

    fn at(&self, batch: u64) -> (usize, u64) {
        match self {
            Self::Stream(stream) => (*stream, batch),
            Self::Split(split) => {
                let before = split.left_before(batch);
                if split.left_before(batch + 1) > before {
                    split.halves[0].at(before)
                } else {
                    split.halves[1].at(batch - before)
                }
            }
        }
    }
}

impl Split {
    /// How many batches of the first half come before a batch.
    fn left_before(&self, batch: u64) -> u64 {
        match batch.checked_mul(self.left).and_then(|product| product.checked_add(self.phase)) {
            Some(sum) => self.total.quotient(sum),
            None => {
                let sum = u128::from(batch) * u128::from(self.left) + u128::from(self.phase);
                u64::try_from(sum / u128::from(self.total.get())).expect("at most the batches of the first half")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_batch_of_each_stream_comes_in_order(batches in prop::collection::vec(0_u64..40, 1..9), key: u64) {
            let total: u64 = batches.iter().sum();
            let drawn = Turns::drawn(&batches, &mut Generator::new(key)).unwrap();
            let even = Turns::even(&batches, key).unwrap();
            for turns in [drawn, even] {
                let mut seen = vec![0; batches.len()];
                for batch in 0..total {
                    let (stream, nth) = turns.at(batch);
                    prop_assert_eq!(nth, seen[stream]);
                    seen[stream] += 1;
                }
                prop_assert_eq!(&seen, &batches);
            }
        }

        #[test]
        fn even_turns_keep_proportions(left in 1_u64..1000, right in 1_u64..1000, key: u64, stretch in 1_u64..100) {
            let turns = Turns::even(&[left, right], key).unwrap();
            let stretch = stretch.min(left + right);
            let own = (0..stretch).filter(|&batch| turns.at(batch).0 == 0).count() as u64;
            let expected = stretch * left / (left + right);
            prop_assert!((expected..=expected + 1).contains(&own), "{own} instead of {expected}");
        }
    }

    #[test]
    fn long_epochs_do_not_overflow() {
        let turns = Turns::even(&[1 << 60, 1 << 61, 5], 7).unwrap();
        let last = (1 << 60) + (1 << 61) + 4;
        let (stream, nth) = turns.at(last);
        assert!(nth < [1 << 60, 1 << 61, 5][stream]);
        assert!(Turns::even(&[u64::MAX, 1], 7).is_none());
        assert!(Turns::drawn(&[1 << 40, 1 << 40], &mut Generator::new(7_u64)).is_none());
    }

    #[test]
    fn value_stability_even_turns() {
        let turns = Turns::even(&[5, 2, 1], 9176).unwrap();
        let streams: Vec<usize> = (0..8).map(|batch| turns.at(batch).0).collect();
        assert_eq!(streams, [1, 0, 0, 1, 0, 2, 0, 0]);
    }
}
