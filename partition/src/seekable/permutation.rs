//! A keyed permutation of `0..n` with random access in both directions.

use super::keys::{Keys, Purpose, RoundKey, spread};
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
/// Six rounds are taken, twelve up to 255 numbers. Of up to eight numbers one of all permutations is drawn.
///
/// # Limitations
///
/// It shuffles; it keeps no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    domain: Domain,
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
        Self { domain: Domain::new(len), keys: Keys::new(seed, epoch, Purpose::Single) }
    }

    /// How many numbers are permuted.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.domain.len
    }

    /// Whether there is nothing to permute.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.domain.len == 0
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
        assert!(position < self.len(), "position {position} of a permutation of {}", self.len());
        self.keys.permute(self.domain, 0, position)
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
        assert!(number < self.len(), "number {number} of a permutation of {}", self.len());
        self.keys.invert(self.domain, 0, number)
    }
}

impl Keys {
    /// The image of `number` in the permutation of the domain that `tweak` selects.
    #[inline]
    pub(crate) fn permute(&self, domain: Domain, tweak: u64, number: u64) -> u64 {
        match domain.scale() {
            Scale::Tiny => self.tiny(domain, tweak).at(number),
            Scale::Small => self.permute_by::<{ Self::SMALL }>(domain, tweak, number),
            Scale::Large => self.permute_by::<{ Self::LARGE }>(domain, tweak, number),
        }
    }

    /// The number whose image is `image`: the inverse of [`permute`](Self::permute).
    #[inline]
    pub(super) fn invert(&self, domain: Domain, tweak: u64, image: u64) -> u64 {
        match domain.scale() {
            Scale::Tiny => self.tiny(domain, tweak).position_of(image),
            Scale::Small => self.invert_by::<{ Self::SMALL }>(domain, tweak, image),
            Scale::Large => self.invert_by::<{ Self::LARGE }>(domain, tweak, image),
        }
    }

    #[inline]
    fn permute_by<const PAIRS: usize>(&self, domain: Domain, tweak: u64, number: u64) -> u64 {
        let mut halves = domain.split(number);
        loop {
            for [low, high] in &self.pairs[..PAIRS] {
                halves.lo ^= low.hash(halves.hi, tweak) & domain.mask;
                halves.hi = domain.add(halves.hi, high_half_of(high.hash(halves.lo, tweak), domain.radix));
            }
            let image = domain.join(halves);
            if image < domain.len {
                return image;
            }
        }
    }

    #[inline]
    fn invert_by<const PAIRS: usize>(&self, domain: Domain, tweak: u64, image: u64) -> u64 {
        let mut halves = domain.split(image);
        loop {
            for [low, high] in self.pairs[..PAIRS].iter().rev() {
                halves.hi = domain.subtract(halves.hi, high_half_of(high.hash(halves.lo, tweak), domain.radix));
                halves.lo ^= low.hash(halves.hi, tweak) & domain.mask;
            }
            let number = domain.join(halves);
            if number < domain.len {
                return number;
            }
        }
    }

    /// The whole permutation of a tiny domain.
    #[inline]
    fn tiny(&self, domain: Domain, tweak: u64) -> Tiny {
        let [[first, _], ..] = self.pairs;
        Tiny::new(domain.len, spread(first.hash(domain.len, tweak)))
    }
}

impl RoundKey {
    /// A word that depends on all bits of its input: the halves of a widening product, folded.
    ///
    /// The tweak goes into both factors. In one alone it would leave the difference of two products as it was, and
    /// permutations of different tweaks related.
    #[inline]
    fn hash(self, input: u64, tweak: u64) -> u64 {
        let product = u128::from(input ^ self.mask ^ tweak) * u128::from(self.factor ^ tweak << 1);
        #[expect(clippy::cast_possible_truncation, reason = "the halves are folded")]
        let folded = product as u64 ^ high_half(product);
        folded
    }
}

/// The numbers that are permuted, and the larger ones that the network permutes: `hi < radix`, `lo <= mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Domain {
    len: u64,
    bits: u32,
    mask: u64,
    radix: u64,
}

/// How many rounds a domain needs.
enum Scale {
    /// None: its permutations are drawn from all there are.
    Tiny,
    /// More than usual, as a round decides little.
    Small,
    Large,
}

#[derive(Clone, Copy)]
struct Halves {
    hi: u64,
    lo: u64,
}

impl Domain {
    /// The domain of `0..len`.
    #[inline]
    pub(crate) const fn new(len: u64) -> Self {
        let last = len.saturating_sub(1);
        let bits = (u64::BITS - last.leading_zeros()) / 2;
        Self { len, bits, mask: (1 << bits) - 1, radix: (last >> bits) + 1 }
    }

    #[inline]
    pub(super) const fn len(self) -> u64 {
        self.len
    }

    #[inline]
    const fn scale(self) -> Scale {
        if self.len > 0xff {
            Scale::Large
        } else if self.len > Tiny::MOST {
            Scale::Small
        } else {
            Scale::Tiny
        }
    }

    #[inline]
    const fn split(self, number: u64) -> Halves {
        Halves { hi: number >> self.bits, lo: number & self.mask }
    }

    #[inline]
    const fn join(self, halves: Halves) -> u64 {
        halves.hi << self.bits | halves.lo
    }

    /// The sum modulo the radix. Written so that no branch comes of it, which would be taken every other time.
    #[inline]
    fn add(self, left: u64, right: u64) -> u64 {
        let sum = left + right;
        sum.min(sum.wrapping_sub(self.radix))
    }

    /// The difference modulo the radix.
    #[inline]
    fn subtract(self, left: u64, right: u64) -> u64 {
        let difference = left.wrapping_sub(right);
        difference.min(difference.wrapping_add(self.radix))
    }
}

#[inline]
const fn high_half_of(left: u64, right: u64) -> u64 {
    high_half(left as u128 * right as u128)
}

/// A permutation of up to eight numbers, in four bits each.
#[derive(Clone, Copy)]
struct Tiny {
    numbers: u64,
}

impl Tiny {
    const MOST: u64 = 8;

    /// Shuffles `0..len` (Fisher and Yates) by the digits of a fraction, in the factorial number system.
    #[inline]
    const fn new(len: u64, mut fraction: u64) -> Self {
        let mut numbers = 0x7654_3210;
        let mut count = len;
        while count > 1 {
            let product = fraction as u128 * count as u128;
            let (last, partner) = (4 * (count - 1), 4 * high_half(product));
            let difference = (numbers >> last ^ numbers >> partner) & 0xf;
            numbers ^= difference << last | difference << partner;
            fraction = fraction.wrapping_mul(count);
            count -= 1;
        }
        Self { numbers }
    }

    #[inline]
    const fn at(self, position: u64) -> u64 {
        self.numbers >> (4 * position) & 0xf
    }

    #[inline]
    const fn position_of(self, number: u64) -> u64 {
        let mut position = 0;
        while self.at(position) != number {
            position += 1;
        }
        position
    }
}
