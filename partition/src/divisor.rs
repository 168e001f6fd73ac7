//! Division by a number that is fixed beforehand.

/// A `u64` divisor with its reciprocal, so that a division costs one widening multiplication.
///
/// Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994), figure 4.1. Exact for
/// every dividend and every divisor but zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    divisor: u64,
    reciprocal: u64,
    first_shift: u8,
    second_shift: u8,
}

impl Divisor {
    /// The reciprocal of `divisor`, or `None` for zero.
    pub(crate) fn new(divisor: u64) -> Option<Self> {
        if divisor == 0 {
            return None;
        }
        // The smallest `bits` with `2^bits >= divisor`, at most 64.
        let bits = 64 - (divisor - 1).leading_zeros();
        let excess = (1_u128 << bits) - u128::from(divisor);
        // Below 2^64 because `2^bits < 2 * divisor`.
        let reciprocal = low_half((excess << 64) / u128::from(divisor) + 1);
        let first_shift = u8::from(bits > 0);
        let second_shift = u8::try_from(bits.saturating_sub(1)).expect("at most 63");
        Some(Self { divisor, reciprocal, first_shift, second_shift })
    }

    /// The divisor itself.
    #[inline]
    pub(crate) const fn get(self) -> u64 {
        self.divisor
    }

    /// `dividend / divisor`, rounded down.
    #[inline]
    pub(crate) const fn quotient(self, dividend: u64) -> u64 {
        let high = high_half(self.reciprocal as u128 * dividend as u128);
        (high + ((dividend - high) >> self.first_shift)) >> self.second_shift
    }

    /// `(dividend / divisor, dividend % divisor)`.
    #[inline]
    pub(crate) const fn divide(self, dividend: u64) -> (u64, u64) {
        let quotient = self.quotient(dividend);
        (quotient, dividend - quotient * self.divisor)
    }
}

/// The upper 64 bits of a product.
#[inline]
pub(crate) const fn high_half(product: u128) -> u64 {
    (product >> 64) as u64
}

/// The lower 64 bits of a product.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
const fn low_half(product: u128) -> u64 {
    product as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_has_no_reciprocal() {
        assert_eq!(Divisor::new(0), None);
    }

    #[test]
    fn edges_divide_exactly() {
        let mut edges = vec![0, 1, 2, 3, 5, 7, 10, u64::MAX, u64::MAX - 1, u64::MAX / 2, u64::MAX / 3];
        for bit in 0..64 {
            let power = 1_u64 << bit;
            edges.extend([power - 1, power, power.saturating_add(1)]);
        }
        for &divisor in edges.iter().filter(|&&divisor| divisor > 0) {
            let reciprocal = Divisor::new(divisor).unwrap();
            for &dividend in &edges {
                let expected = (dividend / divisor, dividend % divisor);
                assert_eq!(reciprocal.divide(dividend), expected, "{dividend} / {divisor}");
            }
        }
    }

    proptest! {
        #[test]
        fn divides_like_the_processor(dividend: u64, divisor in 1_u64.., shift in 0_u32..64) {
            let divisor = (divisor >> shift).max(1);
            let expected = (dividend / divisor, dividend % divisor);
            prop_assert_eq!(Divisor::new(divisor).unwrap().divide(dividend), expected);
        }
    }
}
