//! What all writers can be told.

use std::num::NonZeroUsize;

use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::hashing::HashAlgorithm;

/// How a dataset is written.
///
/// By default: uncompressed, without hashes, in shards of 64 MiB, refusing a directory that has something in it.
#[derive(Clone, Debug)]
#[must_use]
pub struct WriterOptions {
    pub(super) compression: Option<Compression>,
    pub(super) hashes: Vec<HashAlgorithm>,
    pub(super) size_limit: Option<u64>,
    pub(super) threads: NonZeroUsize,
    pub(super) existing: Existing,
}

/// What becomes of a dataset that is in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// A directory that has anything in it is an error.
    #[default]
    Refuse,
    /// The dataset in the directory is removed first: its index, then the files that the index lists. Other files stay.
    Replace,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            compression: None,
            hashes: Vec::new(),
            size_limit: Some(1 << 26),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            existing: Existing::Refuse,
        }
    }
}

impl WriterOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores files compressed.
    pub fn compression(mut self, compression: Option<Compression>) -> Self {
        self.compression = compression;
        self
    }

    /// Puts hashes of every file into the index.
    pub fn hashes(mut self, hashes: impl IntoIterator<Item = HashAlgorithm>) -> Self {
        self.hashes = hashes.into_iter().collect();
        self.hashes.sort_by_key(|hash| hash.name());
        self.hashes.dedup();
        self
    }

    /// The size in bytes of raw files at which another shard is begun; `None` for a single shard.
    pub fn size_limit(mut self, bytes: Option<u64>) -> Self {
        self.size_limit = bytes;
        self
    }

    /// How many threads compress, hash and write. Up to twice as many shards are held in memory.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// What becomes of a dataset that is in the way.
    pub fn existing(mut self, existing: Existing) -> Self {
        self.existing = existing;
        self
    }

    /// Offsets have 32 bits.
    pub(super) fn check(&self) -> Result<()> {
        match self.size_limit {
            Some(0) => Err(Error::config("a size limit of 0 bytes leaves no room for samples")),
            Some(limit) if u32::try_from(limit).is_err() => {
                Err(Error::config(format!("a size limit of {limit} bytes is beyond the format's 4 GiB")))
            }
            _ => Ok(()),
        }
    }
}
