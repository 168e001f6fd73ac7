//! The engine below the generator.

use super::SeedSequence;

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;

/// PCG64: a 128-bit linear congruential generator with the XSL-RR output function, seeded as numpy seeds it.
///
/// ```
/// use lockstep_partition::numpy::Pcg64;
///
/// let mut ahead = Pcg64::new(1_u64);
/// let mut step = ahead;
/// ahead.advance(1000);
/// for _ in 0..1000 {
///     step.next_u64();
/// }
/// assert_eq!(ahead, step);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
}

impl Pcg64 {
    /// The generator of `numpy.random.PCG64(seed)`.
    #[must_use]
    pub fn new(seed: impl Into<SeedSequence>) -> Self {
        let [a, b, c, d] = seed.into().state().map(u128::from);
        Self::from_state(a << 64 | b, c << 64 | d)
    }

    /// The generator with this initial state and this stream: `pcg_setseq_128_srandom` of the reference implementation.
    #[must_use]
    pub fn from_state(state: u128, stream: u128) -> Self {
        let increment = stream << 1 | 1;
        let mut engine = Self { state: increment.wrapping_add(state), increment };
        engine.step();
        engine
    }

    #[inline]
    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        #[expect(clippy::cast_possible_truncation, reason = "the output function folds the halves")]
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// Moves on as if [`next_u64`](Self::next_u64) had been called `count` times, in logarithmic time.
    pub fn advance(&mut self, mut count: u128) {
        // Brown, "Random Number Generation with Arbitrary Strides", 1994: squares the step `x -> a x + c` as it goes.
        let (mut factor, mut summand) = (1_u128, 0_u128);
        let (mut a, mut c) = (MULTIPLIER, self.increment);
        while count > 0 {
            if count & 1 == 1 {
                factor = factor.wrapping_mul(a);
                summand = summand.wrapping_mul(a).wrapping_add(c);
            }
            c = a.wrapping_add(1).wrapping_mul(c);
            a = a.wrapping_mul(a);
            count >>= 1;
        }
        self.state = factor.wrapping_mul(self.state).wrapping_add(summand);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_pcg::Lcg128Xsl64;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_another_implementation(state: u128, stream: u128, skipped: u128) {
            let (mut ours, mut theirs) = (Pcg64::from_state(state, stream), Lcg128Xsl64::new(state, stream));
            for _ in 0..10 {
                prop_assert_eq!(ours.next_u64(), theirs.next_u64());
            }
            ours.advance(skipped);
            theirs.advance(skipped);
            prop_assert_eq!(ours.next_u64(), theirs.next_u64());
        }
    }
}
