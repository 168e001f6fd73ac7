//! What a cache is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Room;
use crate::remote::Origin;

/// Where a cache is and how it behaves.
///
/// # Example: at most 10 GB of a dataset elsewhere
///
/// ```no_run
/// # #[cfg(feature = "remote")] {
/// use std::sync::Arc;
///
/// use lockstep_dataset::cache::{Cache, CacheConfig};
/// use lockstep_dataset::remote::Remote;
///
/// let remote = Arc::new(Remote::open("s3://bucket/dataset")?);
/// let cache = Cache::open(CacheConfig::new("/local/dataset").remote(remote).limit(10_000_000_000))?;
/// # }
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheConfig {
    /// The directory. With a remote it is created if it is not there; without one it is the dataset's own.
    pub dir: PathBuf,
    /// Where shards come from that are not in the directory. `None`: all are there, and nothing of the dataset is ever
    /// deleted.
    pub remote: Option<Arc<dyn Origin>>,
    /// How much room there is, perhaps together with other caches.
    pub room: Room,
    /// Whether to keep compressed files after unpacking.
    pub keep_zip: KeepZip,
    /// What is compared with the index when a file arrives.
    pub verify: Verify,
    /// How long to wait for what others do: finish a download, or give up a pin when there is no room.
    pub wait: Duration,
    /// How much to fetch ahead of use.
    pub ahead: Ahead,
}

impl CacheConfig {
    /// A dataset in a local directory, without a remote and without a limit.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            remote: None,
            room: Room::unlimited(),
            keep_zip: KeepZip::default(),
            verify: Verify::default(),
            wait: Duration::from_secs(600),
            ahead: Ahead::default(),
        }
    }

    /// Gets what is not in the directory from `remote`.
    #[must_use]
    pub fn remote(mut self, remote: Arc<dyn Origin>) -> Self {
        self.remote = Some(remote);
        self
    }

    /// Keeps all files of the directory together within `bytes`, whoever writes them.
    #[must_use]
    pub fn limit(self, bytes: u64) -> Self {
        self.room(Room::limited(bytes))
    }

    /// Shares a limit with other caches.
    #[must_use]
    pub fn room(mut self, room: Room) -> Self {
        self.room = room;
        self
    }

    /// Keeps or drops compressed files after unpacking.
    #[must_use]
    pub fn keep_zip(mut self, keep_zip: KeepZip) -> Self {
        self.keep_zip = keep_zip;
        self
    }

    /// Sets what is compared with the index when a file arrives.
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = verify;
        self
    }

    /// Waits no longer than this for others.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets how much is fetched ahead.
    #[must_use]
    pub fn ahead(mut self, ahead: Ahead) -> Self {
        self.ahead = ahead;
        self
    }
}

/// Whether compressed files stay in the cache beside the unpacked ones.
///
/// Those of a dataset without a remote always stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepZip {
    /// They are deleted as soon as they are unpacked.
    #[default]
    Never,
    /// They stay until the shard is evicted.
    Always,
}

/// What is compared with the index when a file arrives or is unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Its size and all hashes that the index has of it.
    #[default]
    Hashes,
    /// Its size only.
    Size,
}

/// How much is fetched ahead of use by [`Cache::prefetch`](super::Cache::prefetch), by each process for itself.
///
/// What was fetched ahead and not yet used is evicted for a reader that needs room now, and for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// No more shards than this.
    pub shards: usize,
    /// No more bytes than this, unpacked, but at least one shard.
    pub bytes: u64,
    /// How many are fetched at a time.
    pub threads: usize,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { shards: 16, bytes: 1 << 30, threads: 4 }
    }
}
