//! A keyed permutation of `0..n` with random access in both directions.

use super::keys::{Keys, Purpose, RoundKey};
use crate::divisor::high_half;

/// A pseudo-random permutation of `0..n`, for any `n` up to 2^63, that takes no memory.
///
/// Both directions take constant time and cost about the same. The permutation is decided by seed, epoch and `n`;
/// different ones are unrelated, neighbouring ones included.
///
/// ```
/// use lockstep_partition::Permutation;
///
/// let permutation = Permutation::new(1_000_000_007, 9176, 3);
/// let image = permutation.at(42);
/// assert!(image < 1_000_000_007);
/// assert_eq!(permutation.position_of(image), 42);
/// ```
///
/// # Algorithm
///
/// A number is written as `hi * 2^k + lo`, with `k` half the bits of `n - 1`. Rounds alternate between
/// `lo ^= F(hi)` and `hi = (hi + G(lo)) mod m` with `m = ceil(n / 2^k)`: an unbalanced Feistel network over a mixed
/// radix (Black and Rogaway, *Ciphers with Arbitrary Finite Domains*, 2002), with one widening multiplication a round.
/// Its domain `m * 2^k` is larger than `n` by less than `2^k`, about the root of `n`; a result outside of `n` goes
/// through the network again ("cycle walking"). So that is rare, for every `n`: the worst above 1,000 repeats one number
/// in 30, where a domain of whole bits repeats every other one.
///
/// # Limitations
///
/// It shuffles; it keeps no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    len: u64,
    keys: Keys,
}

impl Permutation {
    /// The permutation of `0..len` for a seed and an epoch.
    ///
    /// # Panics
    ///
    /// Where `len` is above 2^63.
    #[must_use]
    #[track_caller]
    pub fn new(len: u64, seed: u64, epoch: u64) -> Self {
        assert!(len <= 1 << 63, "a permutation of {len}, which is more than 2^63");
        Self { len, keys: Keys::new(seed, epoch, Purpose::Single) }
    }

    /// How many numbers are permuted.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to permute.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What stands at `position`.
    ///
    /// # Panics
    ///
    /// Where `position` is not below the length.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn at(&self, position: u64) -> u64 {
        assert!(position < self.len, "position {position} of a permutation of {}", self.len);
        self.keys.permute(self.len, 0, position)
    }

    /// Where `number` stands: the inverse of [`at`](Self::at).
    ///
    /// # Panics
    ///
    /// Where `number` is not below the length.
    #[must_use]
    #[inline]
    #[track_caller]
    pub fn position_of(&self, number: u64) -> u64 {
        assert!(number < self.len, "number {number} of a permutation of {}", self.len);
        self.keys.invert(self.len, 0, number)
    }
}

impl Keys {
    /// The image of `number`, which is below `len`, in the permutation of `0..len` that `tweak` selects.
    #[inline]
    pub(crate) fn permute(&self, len: u64, tweak: u64, number: u64) -> u64 {
        let Some(domain) = Domain::new(len) else { return number };
        let mut halves = domain.split(number);
        loop {
            for [low, high] in self.pairs(domain) {
                halves.lo ^= low.hash(halves.hi, tweak) & domain.mask;
                halves.hi = domain.add(halves.hi, domain.scale(high.hash(halves.lo, tweak)));
            }
            let image = domain.join(halves);
            if image < len {
                return image;
            }
        }
    }

    /// The number whose image is `image`: the inverse of [`permute`](Self::permute).
    #[inline]
    pub(super) fn invert(&self, len: u64, tweak: u64, image: u64) -> u64 {
        let Some(domain) = Domain::new(len) else { return image };
        let mut halves = domain.split(image);
        loop {
            for [low, high] in self.pairs(domain).iter().rev() {
                halves.hi = domain.subtract(halves.hi, domain.scale(high.hash(halves.lo, tweak)));
                halves.lo ^= low.hash(halves.hi, tweak) & domain.mask;
            }
            let number = domain.join(halves);
            if number < len {
                return number;
            }
        }
    }

    /// The rounds for a domain, in pairs. In small domains a round decides little, so there are more of them.
    #[inline]
    fn pairs(&self, domain: Domain) -> &[[RoundKey; 2]] {
        const LARGE: usize = 3;
        let pairs = self.rounds.as_chunks().0;
        if domain.radix > 1 << 4 { &pairs[..LARGE] } else { pairs }
    }
}

impl RoundKey {
    /// A word that depends on all bits of its input: the halves of a widening product, folded.
    #[inline]
    fn hash(self, input: u64, tweak: u64) -> u64 {
        let product = u128::from(input ^ self.mask ^ tweak) * u128::from(self.factor);
        #[expect(clippy::cast_possible_truncation, reason = "the halves are folded")]
        let folded = product as u64 ^ (product >> 64) as u64;
        folded
    }
}

/// The numbers that the network permutes: `hi < radix`, `lo <= mask`.
#[derive(Clone, Copy)]
struct Domain {
    bits: u32,
    mask: u64,
    radix: u64,
}

#[derive(Clone, Copy)]
struct Halves {
    hi: u64,
    lo: u64,
}

impl Domain {
    /// The smallest domain for `len` numbers, or `None` where there is nothing to permute.
    #[inline]
    const fn new(len: u64) -> Option<Self> {
        if len < 2 {
            return None;
        }
        let bits = (u64::BITS - (len - 1).leading_zeros()) / 2;
        Some(Self { bits, mask: (1 << bits) - 1, radix: ((len - 1) >> bits) + 1 })
    }

    #[inline]
    const fn split(self, number: u64) -> Halves {
        Halves { hi: number >> self.bits, lo: number & self.mask }
    }

    #[inline]
    const fn join(self, halves: Halves) -> u64 {
        halves.hi << self.bits | halves.lo
    }

    /// A word as a number below the radix.
    #[inline]
    const fn scale(self, word: u64) -> u64 {
        high_half(word as u128 * self.radix as u128)
    }

    #[inline]
    const fn add(self, left: u64, right: u64) -> u64 {
        let sum = left + right;
        if sum >= self.radix { sum - self.radix } else { sum }
    }

    #[inline]
    const fn subtract(self, left: u64, right: u64) -> u64 {
        if left >= right { left - right } else { left + self.radix - right }
    }
}
