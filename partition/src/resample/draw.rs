//! What decides which samples of a stream come where not all do.

use crate::numpy::Generator;
use crate::sampling::{SamplingError, SamplingMethod, choose_per_shard, sizes};
use crate::seekable::{Domain, Keys, Purpose, spread};
use crate::units::ShuffleUnits;

/// The source of draws of one epoch.
#[derive(Debug)]
pub(crate) struct Draw {
    granularity: u64,
    pub(super) source: Source,
}

/// Where the draws come from.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them, while a plan is made")]
pub(super) enum Source {
    /// numpy's generator, as the original uses it.
    Numpy {
        /// Draws picks of shards; begun anew for each stream.
        shards: Generator,
        /// Draws samples; goes on from shard to shard.
        samples: Generator,
    },
    /// Keyed permutations, with a random access of their own.
    Keyed { shards: Keys, samples: Keys },
}

impl Draw {
    /// Draws as mosaicml-streaming draws. `shuffled` says whether the epoch is shuffled: if not, picks of shards are the
    /// same in every epoch.
    pub(crate) fn numpy(method: SamplingMethod, granularity: u64, seed: u64, epoch: u64, shuffled: bool) -> Self {
        let balanced = method == SamplingMethod::Balanced;
        let seeded = |changes: bool| Generator::new(u128::from(seed) + if changes { u128::from(epoch) } else { 0 });
        let source = Source::Numpy { shards: seeded(balanced && shuffled), samples: seeded(balanced) };
        Self { granularity, source }
    }

    /// Draws by keys, as the seekable orders do.
    pub(crate) fn keyed(method: SamplingMethod, granularity: u64, seed: u64, epoch: u64) -> Self {
        // Fixed samples are those of an epoch that no run reaches.
        let epoch = if method == SamplingMethod::Balanced { epoch } else { u64::MAX };
        let keys = |purpose| Keys::new(seed, epoch, purpose);
        Self {
            granularity,
            source: Source::Keyed { shards: keys(Purpose::ShardDraw), samples: keys(Purpose::SampleDraw) },
        }
    }

    /// Refuses what no draw can be made with.
    pub(super) const fn check(&self) -> Result<(), SamplingError> {
        if self.granularity == 0 { Err(SamplingError::NoGranularity) } else { Ok(()) }
    }

    /// How many samples to take from each shard of stream number `stream`.
    pub(super) fn per_shard(&self, shards: &ShuffleUnits, stream: u64, choose: u64) -> Result<Vec<u64>, SamplingError> {
        match &self.source {
            Source::Numpy { shards: rng, .. } => choose_per_shard(shards, choose, self.granularity, *rng),
            Source::Keyed { shards: keys, .. } => spread_over_shards(shards, stream, choose, self.granularity, keys),
        }
    }
}

/// How many samples to take from each shard to have `choose` in all: the seekable family's draw.
///
/// Each shard comes whole as often as all shards together do. The rest is spread evenly: the shards are visited in a keyed
/// order, and each gives what makes the sum keep up with its part of all samples, from a keyed beginning on (systematic
/// sampling). It gives in steps of the granularity, and as what is left over then is less than one step, a second visit
/// settles it. Takes memory for the shards alone.
fn spread_over_shards(
    shards: &ShuffleUnits,
    stream: u64,
    choose: u64,
    granularity: u64,
    keys: &Keys,
) -> Result<Vec<u64>, SamplingError> {
    let samples = shards.num_samples();
    let wholes = choose.checked_div(samples).ok_or(SamplingError::NoSamples { choose })?;
    let rest = choose % samples;
    if samples > 1 << 63 {
        return Err(SamplingError::TooMany { choose });
    }
    let sizes = sizes(shards)?;
    let count = sizes.len() as u64;
    let tweak = spread(stream);
    let visit = |turn| usize::try_from(keys.permute(Domain::new(count), tweak, turn)).expect("an index of the shards");
    let begin = u128::from(keys.permute(Domain::new(samples), spread(!stream), 0));
    let mut partial = vec![0_u64; sizes.len()];
    let (mut seen, mut given) = (0_u64, 0_u64);
    for turn in 0..count {
        let shard = visit(turn);
        seen += sizes[shard];
        let due = (u128::from(seen) * u128::from(rest) + begin) / u128::from(samples);
        let owed = u64::try_from(due).expect("at most the rest") - given;
        let gift = if owed >= sizes[shard] { sizes[shard] } else { owed - owed % granularity };
        partial[shard] = gift;
        given += gift;
    }
    for turn in 0..count {
        let shard = visit(turn);
        let gift = (rest - given).min(sizes[shard] - partial[shard]);
        partial[shard] += gift;
        given += gift;
    }
    for (partial, size) in partial.iter_mut().zip(&sizes) {
        *partial += size * wholes;
    }
    Ok(partial)
}
