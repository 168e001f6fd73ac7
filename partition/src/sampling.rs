//! Sampling: how many samples to take from each shard of a stream that comes in part.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::numpy::Generator;
use crate::units::ShuffleUnits;

/// Whether the samples of a stream that comes in part change from epoch to epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SamplingMethod {
    /// Other samples every epoch.
    #[default]
    Balanced,
    /// The same samples every epoch.
    Fixed,
}

impl fmt::Display for SamplingMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Balanced => "balanced",
            Self::Fixed => "fixed",
        })
    }
}

/// A name that is no sampling method's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no sampling method `{name}`; use `balanced` or `fixed`")]
pub struct UnknownSampling {
    name: String,
}

impl FromStr for SamplingMethod {
    type Err = UnknownSampling;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "balanced" => Ok(Self::Balanced),
            "fixed" => Ok(Self::Fixed),
            _ => Err(UnknownSampling { name: name.to_owned() }),
        }
    }
}

/// Why samples cannot be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// The granularity is zero.
    #[error("the sampling granularity is 0; draw at least 1 sample at a time")]
    NoGranularity,
    /// There is nothing to draw from.
    #[error("cannot draw {choose} samples from shards that hold none")]
    NoSamples {
        /// The samples asked for.
        choose: u64,
    },
    /// Numbers do not fit into 64 bits.
    #[error("cannot draw {choose} samples; ids are 64-bit, so draw less than 2^63")]
    TooMany {
        /// The samples asked for.
        choose: u64,
    },
    /// The draws do not fit into memory.
    #[error(
        "cannot get the memory to put {picks} draws in order; raise the sampling granularity or use a seekable shuffle"
    )]
    OutOfMemory {
        /// How many draws there are.
        picks: u64,
    },
}

/// How many samples to take from each shard to have `choose` in all: the mosaic family's draw.
///
/// Each shard comes whole as often as all shards together do. The rest is made up of picks of `granularity` neighbours
/// in number, in random order, of which as many are taken as it needs. Takes 4 bytes a pick (8 from 2^32 picks on) while
/// it works.
///
/// ```
/// use lockstep_partition::{ShuffleUnits, choose_per_shard, numpy::Generator};
///
/// let shards = ShuffleUnits::from_sizes([24, 29])?;
/// assert_eq!(choose_per_shard(&shards, 90, 7, Generator::new(2_u64))?, [34, 56]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`SamplingError`] where there is nothing to draw from, or too much.
///
/// # Source
///
/// Equal to the `get_sampling` of mosaicml-streaming 0.13, whose generator is seeded with the seed of the run, plus the
/// epoch where that counts.
pub fn choose_per_shard(
    shards: &ShuffleUnits,
    choose: u64,
    granularity: u64,
    rng: Generator,
) -> Result<Vec<u64>, SamplingError> {
    if granularity == 0 {
        return Err(SamplingError::NoGranularity);
    }
    let wholes = choose.checked_div(shards.num_samples()).ok_or(SamplingError::NoSamples { choose })?;
    let rest = choose % shards.num_samples();
    // At most `choose` in all, so no product overflows.
    let mut chosen = sizes(shards)?;
    for size in &mut chosen {
        *size *= wholes;
    }
    if rest > 0 {
        draw_rest(shards, rest, granularity, rng, &mut chosen)?;
    }
    Ok(chosen)
}

fn draw_rest(
    shards: &ShuffleUnits,
    mut rest: u64,
    granularity: u64,
    mut rng: Generator,
    chosen: &mut [u64],
) -> Result<(), SamplingError> {
    // Where each shard's picks end.
    let mut ends = Vec::with_capacity(chosen.len());
    let mut picks = 0;
    for size in shards.sizes() {
        picks += size.div_ceil(granularity);
        ends.push(picks);
    }
    let mut take = |pick: u64| {
        let shard = ends.partition_point(|&end| end <= pick);
        let first = shard.checked_sub(1).map_or(0, |before| ends[before]);
        let size = shards.get(shard as u64).map_or(0, |shard| shard.size);
        let taken = granularity.min(size - (pick - first) * granularity).min(rest);
        chosen[shard] += taken;
        rest -= taken;
        rest > 0
    };
    let out_of_memory = || SamplingError::OutOfMemory { picks };
    // Four bytes a pick where that is enough; what is drawn does not depend on it.
    if let Ok(picks) = u32::try_from(picks) {
        let mut order = collect(0..picks).ok_or_else(out_of_memory)?;
        rng.shuffle(&mut order);
        order.into_iter().map(u64::from).all(&mut take);
    } else {
        let mut order = collect(0..picks).ok_or_else(out_of_memory)?;
        rng.shuffle(&mut order);
        order.into_iter().all(&mut take);
    }
    Ok(())
}

/// The sizes of all shards, if there is memory for them.
pub(crate) fn sizes(shards: &ShuffleUnits) -> Result<Vec<u64>, SamplingError> {
    let mut sizes = Vec::new();
    let reserved = usize::try_from(shards.len()).is_ok_and(|count| sizes.try_reserve_exact(count).is_ok());
    if !reserved {
        return Err(SamplingError::OutOfMemory { picks: shards.len() });
    }
    sizes.extend(shards.sizes());
    Ok(sizes)
}

/// A vector of the items, if there is memory for it.
fn collect<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let (_, count) = items.size_hint();
    let mut all = Vec::new();
    all.try_reserve_exact(count?).ok()?;
    all.extend(items);
    Some(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bad_arguments_are_refused() {
        let shards = ShuffleUnits::from_sizes([3]).unwrap();
        let none = ShuffleUnits::from_sizes([]).unwrap();
        let rng = Generator::new(1_u64);
        assert_eq!(choose_per_shard(&shards, 2, 0, rng), Err(SamplingError::NoGranularity));
        assert_eq!(choose_per_shard(&none, 2, 1, rng), Err(SamplingError::NoSamples { choose: 2 }));
        let many = ShuffleUnits::from_runs([(1, 1 << 62)]).unwrap();
        assert_eq!(choose_per_shard(&many, 2, 1, rng), Err(SamplingError::OutOfMemory { picks: 1 << 62 }));
        let huge = ShuffleUnits::from_sizes([u64::MAX]).unwrap();
        assert_eq!(choose_per_shard(&huge, 2, 1, rng), Err(SamplingError::OutOfMemory { picks: u64::MAX }));
        assert_eq!(choose_per_shard(&huge, u64::MAX, 1, rng), Ok(vec![u64::MAX]));
    }

    proptest! {
        #[test]
        fn as_many_are_taken_as_were_asked_for(
            sizes in prop::collection::vec(0_u64..50, 1..30),
            choose in 0_u64..3000,
            granularity in 1_u64..70,
            seed: u64,
        ) {
            let shards = ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap();
            prop_assume!(shards.num_samples() > 0);
            let chosen = choose_per_shard(&shards, choose, granularity, Generator::new(seed)).unwrap();
            prop_assert_eq!(chosen.iter().sum::<u64>(), choose);
            let wholes = choose / shards.num_samples();
            for (chosen, size) in chosen.into_iter().zip(sizes) {
                prop_assert!((size * wholes..=size * (wholes + 1)).contains(&chosen));
            }
        }
    }
}
