//! Streams and their weights: how many samples of each come into an epoch.

use thiserror::Error;

use crate::numpy::Generator;
use crate::units::ShuffleUnits;

/// How much of an epoch a stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Weight {
    /// All its samples once, or its share of them where the size of the epoch is given.
    #[default]
    Unspecified,
    /// A share of the epoch, relative to the other streams' proportions. Either all streams have one or none.
    Proportion(f64),
    /// This many times its samples, rounded down.
    Repeat(f64),
    /// This many samples.
    Choose(u64),
}

/// A source of samples with a weight of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// The sizes of the stored shards, in samples.
    pub shards: ShuffleUnits,
    /// How much of an epoch the stream is.
    pub weight: Weight,
}

impl Stream {
    /// A stream of these shards without a weight.
    #[must_use]
    pub const fn new(shards: ShuffleUnits) -> Self {
        Self { shards, weight: Weight::Unspecified }
    }

    /// The same stream with a weight.
    #[must_use]
    pub fn with_weight(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }
}

/// What the weights come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Samples that each stream contributes to an epoch.
    pub choose: Vec<u64>,
    /// The part of an epoch that each stream is; they add up to about 1.
    pub proportion: Vec<f64>,
    /// Samples of an epoch.
    pub epoch_size: u64,
}

/// Why weights make no epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeightError {
    /// There are no streams.
    #[error("there are no streams; give at least one")]
    NoStreams,
    /// A stream has no samples.
    #[error("stream {stream} has no samples; leave it out")]
    EmptyStream {
        /// Which stream.
        stream: usize,
    },
    /// A proportion or a number of repeats is negative or no number.
    #[error("the weight of stream {stream} must be zero or a positive number")]
    Invalid {
        /// Which stream.
        stream: usize,
    },
    /// Some streams have proportions and some do not.
    #[error("stream {stream} has another kind of weight than stream 0; give a proportion to all streams or to none")]
    Mixed {
        /// The first stream whose weight is of another kind.
        stream: usize,
    },
    /// The size of the epoch is given twice.
    #[error("the weights already say how large the epoch is; leave out the epoch size or use proportions")]
    EpochSizeTwice,
    /// All weights are zero.
    #[error("no stream contributes any samples; give at least one a weight above zero")]
    EmptyEpoch,
    /// The samples cannot be counted or shared out exactly.
    #[error("the epoch is too large to be shared out among the streams; use less than 2^53 samples")]
    TooLarge,
}

impl Shares {
    /// Shares an epoch out among streams by their weights.
    ///
    /// With proportions, or with nothing but an epoch size, each stream gets its share of the epoch rounded down, and the
    /// samples then missing go one each to streams drawn by `seed`. `epoch_size` counts for these alone; zero is the same
    /// as `None`.
    ///
    /// # Errors
    ///
    /// [`WeightError`] where the weights do not fit one another or come to nothing.
    ///
    /// # Source
    ///
    /// Equal to the `apply_weights` of mosaicml-streaming 0.13, its floating-point roundings included.
    pub fn new(streams: &[Stream], epoch_size: Option<u64>, seed: u64) -> Result<Self, WeightError> {
        let epoch_size = epoch_size.filter(|&size| size > 0);
        let samples = check(streams)?;
        let unspecified = streams.iter().all(|stream| stream.weight == Weight::Unspecified);
        let proportional = matches!(streams[0].weight, Weight::Proportion(_));
        match epoch_size {
            _ if proportional => {
                let weights = streams.iter().map(|stream| match stream.weight {
                    Weight::Proportion(proportion) => proportion,
                    _ => 0.0,
                });
                let size = epoch_size.map_or_else(|| total(&samples), Ok)?;
                Self::relative(weights.collect(), size, seed)
            }
            Some(size) if unspecified => {
                Self::relative(samples.iter().map(|&count| count as f64).collect(), size, seed)
            }
            Some(_) => Err(WeightError::EpochSizeTwice),
            None => Self::absolute(streams, &samples),
        }
    }

    fn relative(mut proportion: Vec<f64>, epoch_size: u64, seed: u64) -> Result<Self, WeightError> {
        let sum = pairwise_sum(&proportion);
        if sum == 0.0 {
            return Err(WeightError::EmptyEpoch);
        }
        for part in &mut proportion {
            *part /= sum;
        }
        let parts = proportion.iter().map(|part| truncate(epoch_size as f64 * part));
        let mut choose = parts.collect::<Option<Vec<u64>>>().ok_or(WeightError::TooLarge)?;
        let missing = epoch_size.checked_sub(total(&choose)?).ok_or(WeightError::TooLarge)?;
        let streams = choose.len() as u64;
        if missing > streams {
            return Err(WeightError::TooLarge);
        }
        for stream in Generator::new(seed).choice(streams, missing) {
            choose[usize::try_from(stream).expect("an index of the streams")] += 1;
        }
        Ok(Self { choose, proportion, epoch_size })
    }

    fn absolute(streams: &[Stream], samples: &[u64]) -> Result<Self, WeightError> {
        let chosen = streams.iter().zip(samples).map(|(stream, &samples)| match stream.weight {
            Weight::Repeat(repeat) => truncate(repeat * samples as f64),
            Weight::Choose(choose) => Some(choose),
            Weight::Unspecified | Weight::Proportion(_) => Some(samples),
        });
        let choose = chosen.collect::<Option<Vec<u64>>>().ok_or(WeightError::TooLarge)?;
        let epoch_size = total(&choose)?;
        if epoch_size == 0 {
            return Err(WeightError::EmptyEpoch);
        }
        let proportion = choose.iter().map(|&choose| choose as f64 / epoch_size as f64).collect();
        Ok(Self { choose, proportion, epoch_size })
    }
}

/// The samples of each stream, if the streams make sense together.
fn check(streams: &[Stream]) -> Result<Vec<u64>, WeightError> {
    let first = streams.first().ok_or(WeightError::NoStreams)?;
    let proportional = |stream: &Stream| matches!(stream.weight, Weight::Proportion(_));
    for (index, stream) in streams.iter().enumerate() {
        if stream.shards.num_samples() == 0 {
            return Err(WeightError::EmptyStream { stream: index });
        }
        if proportional(stream) != proportional(first) {
            return Err(WeightError::Mixed { stream: index });
        }
        if let Weight::Proportion(weight) | Weight::Repeat(weight) = stream.weight
            && !(weight.is_finite() && weight >= 0.0)
        {
            return Err(WeightError::Invalid { stream: index });
        }
    }
    Ok(streams.iter().map(|stream| stream.shards.num_samples()).collect())
}

fn total(counts: &[u64]) -> Result<u64, WeightError> {
    counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count)).ok_or(WeightError::TooLarge)
}

/// The whole part of a number that is not negative, if it fits.
#[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
pub(crate) fn truncate(number: f64) -> Option<u64> {
    (0.0..9_223_372_036_854_775_808.0).contains(&number).then_some(number as u64)
}

/// numpy's sum of an array of doubles: in eight parts, and in halves where there are more than 128.
fn pairwise_sum(numbers: &[f64]) -> f64 {
    const BLOCK: usize = 128;
    if numbers.len() < 8 {
        return numbers.iter().sum();
    }
    if numbers.len() > BLOCK {
        let half = numbers.len() / 2;
        let (left, right) = numbers.split_at(half - half % 8);
        return pairwise_sum(left) + pairwise_sum(right);
    }
    let (chunks, rest) = numbers.as_chunks::<8>();
    let mut lanes = chunks[0];
    for chunk in &chunks[1..] {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane += number;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, number| sum + number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn streams(weights: &[(u64, Weight)]) -> Vec<Stream> {
        let stream = |&(samples, weight): &(u64, Weight)| {
            Stream::new(ShuffleUnits::from_sizes([samples]).unwrap()).with_weight(weight)
        };
        weights.iter().map(stream).collect()
    }

    #[test]
    fn streams_without_weights_come_whole() {
        let shares = Shares::new(&streams(&[(30, Weight::Unspecified), (10, Weight::Unspecified)]), None, 1).unwrap();
        assert_eq!(shares, Shares { choose: vec![30, 10], proportion: vec![0.75, 0.25], epoch_size: 40 });
    }

    #[test]
    fn an_epoch_size_alone_is_shared_by_samples() {
        let shares =
            Shares::new(&streams(&[(30, Weight::Unspecified), (10, Weight::Unspecified)]), Some(10), 1).unwrap();
        assert_eq!(shares.choose.iter().sum::<u64>(), 10);
        assert!(shares.choose == [7, 3] || shares.choose == [8, 2], "{shares:?}");
    }

    #[test]
    fn absolute_weights_round_down() {
        let shares = Shares::new(&streams(&[(37, Weight::Repeat(1.37)), (10, Weight::Choose(3))]), None, 1).unwrap();
        assert_eq!((shares.choose, shares.epoch_size), (vec![50, 3], 53));
    }

    #[test]
    fn what_makes_no_epoch_is_refused() {
        let refuse = |weights: &[(u64, Weight)], size| Shares::new(&streams(weights), size, 1).unwrap_err();
        assert_eq!(refuse(&[], None), WeightError::NoStreams);
        assert_eq!(
            refuse(&[(1, Weight::Unspecified), (0, Weight::Unspecified)], None),
            WeightError::EmptyStream { stream: 1 }
        );
        assert_eq!(
            refuse(&[(1, Weight::Proportion(1.0)), (1, Weight::Choose(1))], None),
            WeightError::Mixed { stream: 1 }
        );
        assert_eq!(refuse(&[(1, Weight::Repeat(f64::NAN))], None), WeightError::Invalid { stream: 0 });
        assert_eq!(refuse(&[(1, Weight::Proportion(-1.0))], None), WeightError::Invalid { stream: 0 });
        assert_eq!(refuse(&[(1, Weight::Choose(1))], Some(7)), WeightError::EpochSizeTwice);
        assert_eq!(refuse(&[(1, Weight::Choose(0)), (1, Weight::Repeat(0.0))], None), WeightError::EmptyEpoch);
        assert_eq!(refuse(&[(1, Weight::Proportion(0.0))], None), WeightError::EmptyEpoch);
        assert_eq!(refuse(&[(u64::MAX, Weight::Repeat(1e9))], None), WeightError::TooLarge);
        assert_eq!(refuse(&[(1, Weight::Choose(u64::MAX)), (1, Weight::Choose(1))], None), WeightError::TooLarge);
    }

    #[test]
    fn sums_are_taken_as_numpy_takes_them() {
        // >>> numpy.full(n, 0.1).sum() for n in (7, 10, 200)
        let sum = |count| pairwise_sum(&vec![0.1; count]);
        assert_eq!(sum(7), 0.7);
        assert_eq!(sum(10), 1.0);
        assert_eq!(sum(200), 20.0);
    }

    proptest! {
        #[test]
        fn shares_add_up(weights in prop::collection::vec((1_u64..1_000_000, 0.0_f64..10.0), 1..40), size in 1_u64..10_000_000, seed: u64) {
            let weights: Vec<_> = weights.into_iter().map(|(samples, part)| (samples, Weight::Proportion(part + 0.01))).collect();
            let shares = Shares::new(&streams(&weights), Some(size), seed).unwrap();
            prop_assert_eq!(shares.choose.iter().sum::<u64>(), size);
            prop_assert!((shares.proportion.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
