//! Resampling: the logical samples of an epoch, and the stored sample behind each.
//!
//! A logical sample id counts the samples of an epoch with repeats as samples of their own; a stored sample id counts the
//! samples that there are. Where streams come as they are the two are equal, and where they come whole a few times over
//! the one follows from the other. Only a stream that comes in part takes memory that depends on its samples, and that in
//! the mosaic family alone: a bit a sample.

mod draw;
mod parts;
mod selection;

use thiserror::Error;

pub(crate) use self::draw::Draw;
use self::parts::Parts;
use crate::divisor::Divisor;
use crate::sampling::SamplingError;
use crate::streams::Stream;
use crate::units::{ShuffleUnits, UnitsError};

/// Why an epoch cannot be resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResampleError {
    /// The samples cannot be drawn.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The shards of the epoch cannot be counted.
    #[error(transparent)]
    Units(#[from] UnitsError),
}

/// The logical samples of one stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamMap {
    first: First,
    stored: ShuffleUnits,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Each sample once, or not at all where there are none.
    Once,
    /// Each shard this many times in a row.
    Repeated { times: Divisor, units: ShuffleUnits },
    /// Each shard as often as was drawn.
    Parts(Parts),
}

impl StreamMap {
    /// Draws `choose` samples of a stream.
    pub(crate) fn new(
        stream: &Stream,
        index: u64,
        choose: u64,
        first: First,
        draw: &mut Draw,
    ) -> Result<Self, ResampleError> {
        let stored = stream.shards.clone();
        let samples = stored.num_samples();
        let times = choose.checked_div(samples).ok_or(SamplingError::NoSamples { choose })?;
        draw.check()?;
        let kind = if choose == samples {
            Kind::Once
        } else if choose.is_multiple_of(samples) {
            let units =
                ShuffleUnits::from_runs(stored.runs().map(|(size, count)| (size, count.saturating_mul(times))))?;
            Divisor::new(times).map_or(Kind::Parts(Parts::none(&stored)), |times| Kind::Repeated { times, units })
        } else {
            Kind::Parts(Parts::new(&stored, index, choose, draw)?)
        };
        Ok(Self { first, stored, kind })
    }

    /// How many logical samples there are.
    pub(crate) fn len(&self) -> u64 {
        match &self.kind {
            Kind::Once => self.stored.num_samples(),
            Kind::Repeated { units, .. } => units.num_samples(),
            Kind::Parts(parts) => parts.len(),
        }
    }

    /// The shards as the epoch sees them, if they are at hand.
    const fn units(&self) -> Option<&ShuffleUnits> {
        match &self.kind {
            Kind::Once => Some(&self.stored),
            Kind::Repeated { units, .. } => Some(units),
            Kind::Parts(_) => None,
        }
    }

    /// The shards as the epoch sees them: `(size, count)` runs.
    fn runs(&self) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
        match &self.kind {
            Kind::Once => Box::new(self.stored.runs()),
            Kind::Repeated { units, .. } => Box::new(units.runs()),
            Kind::Parts(parts) => Box::new(parts.runs(&self.stored)),
        }
    }

    /// The stored sample behind a logical one of the stream, counted over all streams.
    #[inline]
    pub(crate) fn stored_id(&self, logical: u64) -> u64 {
        let within = match &self.kind {
            Kind::Once => logical,
            Kind::Repeated { times, units } => {
                let unit = units.locate(logical).expect("a logical sample of the stream");
                let (_, copy) = times.divide(unit.unit);
                // All shards before it come as often, and so do its own copies before this one.
                let start = times.quotient(unit.start - copy * unit.size);
                start + unit.offset_of(logical)
            }
            Kind::Parts(parts) => parts.stored_id(&self.stored, logical),
        };
        self.first.sample + within
    }

    /// The stored shard behind a logical sample of the stream, counted over all streams.
    fn shard_of(&self, logical: u64) -> u64 {
        let within = match &self.kind {
            Kind::Once => self.stored.locate(logical).map_or(0, |unit| unit.unit),
            Kind::Repeated { times, units } => units.locate(logical).map_or(0, |unit| times.quotient(unit.unit)),
            Kind::Parts(parts) => parts.shard_of(logical),
        };
        self.first.shard + within
    }
}

/// Where a stream begins among the samples and the shards of all streams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct First {
    pub(crate) sample: u64,
    pub(crate) shard: u64,
}

impl First {
    /// Where the next stream begins.
    pub(crate) fn after(self, stream: &Stream) -> Result<Self, UnitsError> {
        let sample = self.sample.checked_add(stream.shards.num_samples()).ok_or(UnitsError::TooManySamples)?;
        let shard = self.shard.checked_add(stream.shards.len()).ok_or(UnitsError::TooManyUnits)?;
        Ok(Self { sample, shard })
    }
}

/// The logical samples of several streams, one stream after the other.
#[derive(Clone, Debug)]
pub(crate) struct SampleMap {
    streams: Vec<StreamMap>,
    /// The logical samples before each stream, and those of all.
    starts: Vec<u64>,
    /// Whether logical samples are the stored ones.
    same: bool,
}

impl SampleMap {
    pub(crate) fn new(streams: Vec<StreamMap>) -> Result<Self, UnitsError> {
        let mut starts = vec![0_u64];
        for stream in &streams {
            let start = starts.last().copied().unwrap_or(0);
            starts.push(start.checked_add(stream.len()).ok_or(UnitsError::TooManySamples)?);
        }
        let once = |stream: &StreamMap| matches!(stream.kind, Kind::Once);
        let same = streams.first().is_none_or(|stream| stream.first.sample == 0) && streams.iter().all(once);
        Ok(Self { streams, starts, same })
    }

    /// How many logical samples there are.
    pub(crate) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The shards as the epoch sees them.
    pub(crate) fn units(&self) -> Result<ShuffleUnits, UnitsError> {
        if let [stream] = self.streams.as_slice()
            && let Some(units) = stream.units()
        {
            return Ok(units.clone());
        }
        ShuffleUnits::from_runs(self.streams.iter().flat_map(StreamMap::runs))
    }

    /// The stored sample behind a logical one.
    #[inline]
    pub(crate) fn stored_id(&self, logical: u64) -> u64 {
        if self.same {
            return logical;
        }
        let stream = self.stream_of(logical);
        self.streams[stream].stored_id(logical - self.starts[stream])
    }

    /// The stream of a logical sample.
    #[inline]
    fn stream_of(&self, logical: u64) -> usize {
        match self.streams.len() {
            1 => 0,
            // Of streams that begin at one sample, all but the last have none.
            _ => self.starts.partition_point(|&start| start <= logical) - 1,
        }
    }

    /// Where each stream begins, and its stored shards.
    pub(crate) fn stored_units(&self) -> impl Iterator<Item = (First, &ShuffleUnits)> {
        self.streams.iter().map(|stream| (stream.first, &stream.stored))
    }

    /// The stored shard behind a logical sample.
    pub(crate) fn shard_of(&self, logical: u64) -> u64 {
        let stream = self.stream_of(logical);
        self.streams[stream].shard_of(logical - self.starts[stream])
    }
}

#[cfg(test)]
mod tests;
