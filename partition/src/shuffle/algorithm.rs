//! The names of the shuffles.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// A shuffling algorithm.
///
/// Parses from its name, with or without the version; displays without. Checkpoints store
/// [`versioned_name`](Self::versioned_name).
///
/// ```
/// use lockstep_partition::shuffle::ShuffleAlgorithm;
///
/// let algorithm: ShuffleAlgorithm = "windowed-v1".parse()?;
/// assert_eq!(algorithm, ShuffleAlgorithm::default());
/// assert_eq!((algorithm.to_string(), algorithm.versioned_name()), ("windowed".to_owned(), "windowed-v1"));
/// assert_eq!("py1e".parse::<ShuffleAlgorithm>()?.versioned_name(), "py1e");
/// # Ok::<(), lockstep_partition::shuffle::ParseShuffleAlgorithmError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShuffleAlgorithm {
    /// Mosaic family: one shuffle of all samples. Every node reads every shard.
    Naive,
    /// Mosaic family: shards, then shard parts, then the samples of each part.
    Py1s,
    /// Mosaic family: as `py1s`, with the samples of whole shards shuffled before these are cut.
    Py2s,
    /// Mosaic family: shard parts whose samples are spread over a range of the block size.
    Py1e,
    /// Mosaic family: shard parts whose samples are shuffled in blocks of varying size.
    Py1br,
    /// Seekable family, the default: shards, then shard parts, then the samples of windows of the block size.
    #[default]
    Windowed,
    /// Seekable family: one permutation of all samples. Every node reads every shard.
    Global,
}

impl ShuffleAlgorithm {
    /// Every algorithm, the default first.
    pub const ALL: [Self; 7] =
        [Self::Windowed, Self::Global, Self::Naive, Self::Py1s, Self::Py2s, Self::Py1e, Self::Py1br];

    /// The name without a version.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Py1s => "py1s",
            Self::Py2s => "py2s",
            Self::Py1e => "py1e",
            Self::Py1br => "py1br",
            Self::Windowed => "windowed",
            Self::Global => "global",
        }
    }

    /// The name that identifies the values, for checkpoints.
    ///
    /// The mosaic family's names carry no version: what they stand for is decided by mosaicml-streaming and numpy.
    #[must_use]
    pub const fn versioned_name(self) -> &'static str {
        match self {
            Self::Windowed => "windowed-v1",
            Self::Global => "global-v1",
            mosaic => mosaic.name(),
        }
    }

    /// Whether the order is computed on demand, rather than held in memory.
    #[must_use]
    pub const fn is_seekable(self) -> bool {
        matches!(self, Self::Windowed | Self::Global)
    }
}

impl fmt::Display for ShuffleAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ShuffleAlgorithm {
    type Err = ParseShuffleAlgorithmError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|algorithm| [algorithm.name(), algorithm.versioned_name()].contains(&name))
            .ok_or_else(|| ParseShuffleAlgorithmError { name: name.to_owned() })
    }
}

/// A name that is no shuffling algorithm's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "unknown shuffling algorithm {name:?}; use one of {}",
    ShuffleAlgorithm::ALL.map(ShuffleAlgorithm::versioned_name).join(", ")
)]
pub struct ParseShuffleAlgorithmError {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for algorithm in ShuffleAlgorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
            assert_eq!(algorithm.versioned_name().parse(), Ok(algorithm));
        }
    }

    #[test]
    fn another_version_is_another_algorithm() {
        let error = "windowed-v2".parse::<ShuffleAlgorithm>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown shuffling algorithm \"windowed-v2\"; use one of windowed-v1, global-v1, naive, py1s, py2s, py1e, py1br"
        );
    }
}
