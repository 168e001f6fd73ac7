//! From a seed of any size to the state of a generator.

const POOL: usize = 4;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;

/// numpy's `SeedSequence`: turns a seed of any size into well-mixed state.
///
/// Seeds are integers without bounds in numpy. Here they come as `u32`, `u64`, `u128`, or as 32-bit words.
///
/// ```
/// use lockstep_partition::numpy::SeedSequence;
///
/// let seed = u128::from(u64::MAX) + 6;
/// assert_eq!(SeedSequence::from(seed), SeedSequence::from_words(&[5, 0, 1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedSequence {
    pool: [u32; POOL],
}

impl SeedSequence {
    /// The sequence for a seed given as 32-bit words, least significant first.
    ///
    /// numpy writes an integer without leading zero words; up to four words, zeros at the end change nothing.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Self {
        let mut hash = Hash::new(0x43b0_d7e5, 0x931e_8875);
        let mut pool = [0; POOL];
        for (slot, word) in pool.iter_mut().zip(words.iter().copied().chain(std::iter::repeat(0))) {
            *slot = hash.absorb(word);
        }
        for source in 0..POOL {
            for target in (0..POOL).filter(|&target| target != source) {
                pool[target] = mix(pool[target], hash.absorb(pool[source]));
            }
        }
        for &word in words.iter().skip(POOL) {
            for slot in &mut pool {
                *slot = mix(*slot, hash.absorb(word));
            }
        }
        Self { pool }
    }

    /// The first `N` words of state: numpy's `generate_state(N, numpy.uint64)`.
    #[must_use]
    pub fn state<const N: usize>(&self) -> [u64; N] {
        let mut hash = Hash::new(0x8b51_f9dd, 0x58f3_8ded);
        let mut words = self.pool.iter().cycle().map(|&word| u64::from(hash.absorb(word)));
        std::array::from_fn(|_| {
            let low = words.next().unwrap_or_default();
            let high = words.next().unwrap_or_default();
            high << 32 | low
        })
    }
}

impl From<u32> for SeedSequence {
    fn from(seed: u32) -> Self {
        Self::from_words(&[seed])
    }
}

impl From<u64> for SeedSequence {
    fn from(seed: u64) -> Self {
        u128::from(seed).into()
    }
}

impl From<u128> for SeedSequence {
    fn from(seed: u128) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "one word at a time")]
        let words = [seed as u32, (seed >> 32) as u32, (seed >> 64) as u32, (seed >> 96) as u32];
        Self::from_words(&words)
    }
}

/// A multiplicative hash whose constant moves on with every word.
struct Hash {
    constant: u32,
    factor: u32,
}

impl Hash {
    const fn new(constant: u32, factor: u32) -> Self {
        Self { constant, factor }
    }

    fn absorb(&mut self, word: u32) -> u32 {
        let mut word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.factor);
        word = word.wrapping_mul(self.constant);
        word ^ word >> 16
    }
}

fn mix(left: u32, right: u32) -> u32 {
    let mixed = MIX_LEFT.wrapping_mul(left).wrapping_sub(MIX_RIGHT.wrapping_mul(right));
    mixed ^ mixed >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    // Values below were read off numpy 2.1.3.

    #[test]
    fn value_stability_seeds_of_every_size() {
        assert_eq!(
            SeedSequence::from(0_u32).state(),
            [15793235383387715774, 12390638538380655177, 2361836109651742017, 3188717715514472916]
        );
        assert_eq!(
            SeedSequence::from(u128::MAX).state(),
            [9481509295970325001, 9565895737977981635, 15221915858445592641, 12233501150519241634]
        );
        assert_eq!(
            SeedSequence::from_words(&[1, 2, 3, 4, 5, 6, 7]).state(),
            [10082429501131120750, 3374399964430007418, 5042157485671577935, 5536578715923437024]
        );
    }

    #[test]
    fn width_of_the_type_does_not_matter() {
        assert_eq!(SeedSequence::from(7_u32), SeedSequence::from(7_u64));
        assert_eq!(SeedSequence::from(7_u64), SeedSequence::from(7_u128));
        assert_eq!(SeedSequence::from(0_u64), SeedSequence::from_words(&[]));
    }
}
