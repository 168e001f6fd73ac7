//! Single draws: words, doubles and bounded integers.

use std::ops::Range;

use super::{Pcg64, SeedSequence};

/// numpy's `Generator` over PCG64: what `numpy.random.default_rng(seed)` returns.
///
/// Methods draw exactly what their namesakes draw, in the same order, so that any sequence of calls can be mirrored.
/// Calls with a `size` are that many calls without.
///
/// ```
/// use lockstep_partition::numpy::Generator;
///
/// let mut rng = Generator::new(9176_u64);
/// // >>> rng = numpy.random.default_rng(9176)
/// // >>> rng.integers(3, 1000), rng.uniform(-2.5, 7.25)
/// assert_eq!(rng.integers(3..1000), 956);
/// assert_eq!(rng.uniform(-2.5, 7.25), -1.1583413223427805);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    pub(super) engine: Pcg64,
    /// The high half of a word whose low half has been drawn. Only 32-bit draws use it.
    pub(super) spare: Option<u32>,
}

impl Generator {
    /// The generator of `numpy.random.default_rng(seed)`.
    #[must_use]
    pub fn new(seed: impl Into<SeedSequence>) -> Self {
        Self { engine: Pcg64::new(seed), spare: None }
    }

    /// The next 64 bits. Leaves a spare 32-bit half alone.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.engine.next_u64()
    }

    /// The next 32 bits: the low half of a word first, its high half at the following call.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if let Some(high) = self.spare.take() {
            return high;
        }
        let (low, high) = halves(self.next_u64());
        self.spare = Some(high);
        low
    }

    /// A double in `[0, 1)`, with 53 random bits.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        to_f64(self.next_u64())
    }

    /// A double in `[low, high)`: numpy's `uniform(low, high)`. Rounding can give `high` itself.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next_f64()
    }

    /// Moves on as if `count` doubles had been drawn, in logarithmic time.
    pub fn skip_doubles(&mut self, count: u64) {
        self.engine.advance(count.into());
    }

    /// An integer of `range`: numpy's `integers(low, high)` of 64-bit integers.
    ///
    /// # Panics
    ///
    /// Where the range is empty, as numpy raises.
    #[track_caller]
    pub fn integers(&mut self, range: Range<i64>) -> i64 {
        assert!(range.start < range.end, "cannot draw an integer of the empty range {range:?}");
        let max = range.end.wrapping_sub(range.start).wrapping_sub(1).cast_unsigned();
        range.start.wrapping_add(self.at_most(max).cast_signed())
    }

    /// An integer of `0..=max`, by Lemire's method.
    #[inline]
    pub(super) fn at_most(&mut self, max: u64) -> u64 {
        match u32::try_from(max) {
            Ok(0) => 0,
            Ok(u32::MAX) => self.next_u32().into(),
            Ok(max) => self.at_most_u32(max).into(),
            Err(_) if max == u64::MAX => self.next_u64(),
            Err(_) => self.at_most_u64(max),
        }
    }

    /// As [`at_most`](Self::at_most), for `max` below `u32::MAX`.
    #[inline]
    fn at_most_u32(&mut self, max: u32) -> u32 {
        let count = max + 1;
        let mut product = u64::from(self.next_u32()) * u64::from(count);
        if halves(product).0 < count {
            let threshold = (u32::MAX - max) % count;
            while halves(product).0 < threshold {
                product = u64::from(self.next_u32()) * u64::from(count);
            }
        }
        halves(product).1
    }

    /// As [`at_most`](Self::at_most), for `max` below `u64::MAX`.
    #[expect(clippy::cast_possible_truncation, reason = "low halves of 128-bit products")]
    fn at_most_u64(&mut self, max: u64) -> u64 {
        let count = max + 1;
        let mut product = u128::from(self.next_u64()) * u128::from(count);
        if (product as u64) < count {
            let threshold = (u64::MAX - max) % count;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(count);
            }
        }
        (product >> 64) as u64
    }
}

/// The low and the high half of a word.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half")]
pub(super) const fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The 53 high bits of a word as a double in `[0, 1)`.
#[inline]
pub(super) fn to_f64(word: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let mantissa = (word >> 11) as f64;
    mantissa * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Values below were read off numpy 2.1.3.

    #[test]
    fn value_stability_integers_of_every_width() {
        let mut rng = Generator::new(12345_u64);
        let drawn = [
            rng.integers(5..6),
            rng.integers(0..1 << 32),
            rng.integers(0..(1 << 32) - 1),
            rng.integers(-10..(1 << 32) + 1),
            rng.integers(i64::MIN..i64::MAX),
            rng.integers(-(3 << 60)..3 << 60),
            rng.integers(0..3_000_000_000),
        ];
        assert_eq!(drawn, [5, 3003105693, 976400780, 1360466703, 5485424487778545624, -753252844544176604, 2518275128]);
    }

    #[test]
    fn value_stability_wide_and_narrow_draws_interleave() {
        let mut rng = Generator::new(3_u64);
        let narrow = rng.integers(0..1000);
        let double = rng.next_f64();
        assert_eq!((narrow, rng.integers(0..1000)), (811, 85));
        assert_eq!(double.to_bits(), 0x3fce4fce8296f7e8);
    }

    #[test]
    #[should_panic(expected = "cannot draw an integer of the empty range 3..3")]
    fn an_empty_range_is_refused() {
        Generator::new(0_u64).integers(3..3);
    }
}
