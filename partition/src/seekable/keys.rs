//! Keys of permutations, from seed, epoch and purpose.

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

/// What a permutation is for. No two purposes share keys, whatever the seeds and epochs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The order of shards, for a whole run.
    Shards,
    /// The order of the shard parts of canonical nodes.
    Parts,
    /// The order of samples in windows.
    Windows,
    /// Where windows begin.
    Stagger,
    /// The order of all samples.
    Global,
    /// A permutation by itself.
    Single,
    /// Which shards of a stream that comes in part give more.
    ShardDraw,
    /// Which samples of a shard that comes in part.
    SampleDraw,
    /// In which turn batches of different streams come.
    Turns,
}

impl Purpose {
    /// The tag in the key. Part of what is pinned: tags are never changed, nor used again.
    const fn tag(self) -> u64 {
        match self {
            Self::Shards => 1,
            Self::Parts => 2,
            Self::Windows => 3,
            Self::Stagger => 4,
            Self::Global => 5,
            Self::Single => 6,
            Self::ShardDraw => 7,
            Self::SampleDraw => 8,
            Self::Turns => 9,
        }
    }
}

/// A round of the permutation has two 64-bit keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundKey {
    pub(super) mask: u64,
    pub(super) factor: u64,
}

/// The keys of all rounds, in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(super) pairs: [[RoundKey; 2]; Self::SMALL],
}

impl Keys {
    /// The pairs of rounds for small domains.
    pub(super) const SMALL: usize = 6;
    /// The pairs of rounds for all others.
    pub(super) const LARGE: usize = 3;

    /// The keys for this seed, epoch and purpose.
    ///
    /// The three are the key of ChaCha20, side by side, and its stream is what the permutation is keyed with. So no two
    /// triples have the same keys by construction, and neighbouring ones are unrelated.
    pub(crate) fn new(seed: u64, epoch: u64, purpose: Purpose) -> Self {
        let mut stream = stream(seed, epoch, purpose);
        let mut round = || RoundKey { mask: stream.next_u64(), factor: stream.next_u64() | 1 };
        Self { pairs: std::array::from_fn(|_| [round(), round()]) }
    }
}

/// A single word for this seed, epoch and purpose.
pub(crate) fn word(seed: u64, epoch: u64, purpose: Purpose) -> u64 {
    stream(seed, epoch, purpose).next_u64()
}

fn stream(seed: u64, epoch: u64, purpose: Purpose) -> ChaCha20Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&epoch.to_le_bytes());
    key[16..24].copy_from_slice(&purpose.tag().to_le_bytes());
    key[24..].copy_from_slice(b"lockstep");
    ChaCha20Rng::from_seed(key)
}

/// Spreads a number over 64 bits: the finaliser of MurmurHash3, a bijection.
#[inline]
pub(crate) const fn spread(number: u64) -> u64 {
    let mut hash = number;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
