//! What an index says about files.

use crate::hashing::{Digest, HashAlgorithm};

/// A file of a shard: its name, size and hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    basename: Box<str>,
    bytes: u64,
    hashes: Box<[FileHash]>,
}

/// A hash of a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHash {
    /// How it was computed.
    pub algorithm: HashAlgorithm,
    /// Its value.
    pub digest: Digest,
}

/// A file of a shard in its raw form and, if the dataset is compressed, in that form as well.
#[derive(Clone, Copy, Debug)]
pub struct FilePair<'a> {
    /// The file as readers need it.
    pub raw: &'a FileInfo,
    /// The file as stored and transferred, for compressed datasets.
    pub zip: Option<&'a FileInfo>,
}

impl FileInfo {
    /// `basename` must have been checked.
    pub(crate) fn new(basename: Box<str>, bytes: u64, hashes: Box<[FileHash]>) -> Self {
        Self { basename, bytes, hashes }
    }

    /// The file's name relative to the dataset's directory, in which it lies; parts are separated by `/`.
    pub fn basename(&self) -> &str {
        &self.basename
    }

    /// The file's size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hashes of its content, if the writer was asked for any.
    pub fn hashes(&self) -> &[FileHash] {
        &self.hashes
    }
}

impl<'a> FilePair<'a> {
    /// The form in which the file is stored and transferred.
    pub fn stored(&self) -> &'a FileInfo {
        self.zip.unwrap_or(self.raw)
    }
}
