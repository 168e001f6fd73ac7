//! One source of samples: where it is stored, where it is kept, and how much of it an epoch takes.

use std::path::{Path, PathBuf};

use lockstep_partition::Weight;

use crate::shard::Links;

/// One source of samples.
///
/// # Example
///
/// ```
/// use lockstep_dataset::Stream;
///
/// let all_of_it = Stream::local("data/digits");
/// let twice = Stream::local("data/digits").repeat(2.0);
/// # let _ = (all_of_it, twice);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    local: PathBuf,
    remote: Option<String>,
    weight: Weight,
    links: Links,
}

impl Stream {
    /// A dataset in a local directory, the one that holds `index.json`.
    pub fn local(dir: impl Into<PathBuf>) -> Self {
        Self { local: dir.into(), remote: None, weight: Weight::Unspecified, links: Links::Inside }
    }

    /// A dataset in an object store, whose shards are kept in the local directory `cache` while they are needed.
    pub fn remote(url: impl Into<String>, cache: impl Into<PathBuf>) -> Self {
        Self { local: cache.into(), remote: Some(url.into()), weight: Weight::Unspecified, links: Links::Inside }
    }

    /// Takes this share of each epoch from the stream; all streams must be given shares then.
    #[must_use]
    pub fn proportion(mut self, share: f64) -> Self {
        self.weight = Weight::Proportion(share);
        self
    }

    /// Takes this many times the stream's samples each epoch; fractions take a part.
    #[must_use]
    pub fn repeat(mut self, times: f64) -> Self {
        self.weight = Weight::Repeat(times);
        self
    }

    /// Takes this many samples of the stream each epoch.
    #[must_use]
    pub fn choose(mut self, samples: u64) -> Self {
        self.weight = Weight::Choose(samples);
        self
    }

    /// Follows links that lead out of the local directory, as in a directory of links that was made on purpose.
    #[must_use]
    pub fn follow_links(mut self) -> Self {
        self.links = Links::Follow;
        self
    }

    /// Which links in the local directory are followed.
    pub fn links(&self) -> Links {
        self.links
    }

    /// The local directory.
    pub fn dir(&self) -> &Path {
        &self.local
    }

    /// The URL it comes from, if it is remote.
    pub fn url(&self) -> Option<&str> {
        self.remote.as_deref()
    }

    /// How much of it an epoch takes.
    pub fn weight(&self) -> Weight {
        self.weight
    }
}
