//! Files against what the index says of them.

use super::Hasher;
use crate::error::{Error, Result};
use crate::index::{FileHash, FileInfo};

/// Compares the bytes of a file with its size and hashes in the index, as they come.
///
/// # Example
///
/// ```
/// use lockstep_dataset::{FileCheck, Index};
///
/// let index = Index::read("data/digits")?;
/// let file = index.shards()[0].files().next().expect("a shard has files").raw;
/// let mut check = FileCheck::all(file)?;
/// check.update(&std::fs::read("data/digits/shard.00000.mds").expect("the file is there"));
/// check.finish()?;
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the comparison is made by `finish`"]
pub struct FileCheck<'a> {
    file: &'a FileInfo,
    seen: u64,
    hashers: Vec<(Hasher, &'a FileHash)>,
}

impl<'a> FileCheck<'a> {
    /// Will compare the size and every hash.
    ///
    /// # Errors
    ///
    /// There is a hash that needs the feature `hashes`.
    pub fn all(file: &'a FileInfo) -> Result<Self> {
        Self::new(file, file.hashes().iter())
    }

    /// Will compare the size and, if there are any, the hash that is computed fastest.
    ///
    /// # Errors
    ///
    /// As for [`all`](Self::all).
    pub fn fastest(file: &'a FileInfo) -> Result<Self> {
        Self::new(file, file.hashes().iter().min_by_key(|hash| hash.algorithm.rank()).into_iter())
    }

    /// Will compare the size alone.
    pub fn size(file: &'a FileInfo) -> Self {
        Self { file, seen: 0, hashers: Vec::new() }
    }

    fn new(file: &'a FileInfo, hashes: impl Iterator<Item = &'a FileHash>) -> Result<Self> {
        let hashers: Result<_> = hashes.map(|hash| Ok((Hasher::new(hash.algorithm)?, hash))).collect();
        Ok(Self { file, seen: 0, hashers: hashers? })
    }

    /// Takes the next bytes. Once there are more than the index says the rest is not looked at.
    pub fn update(&mut self, bytes: &[u8]) {
        self.seen = self.seen.saturating_add(bytes.len() as u64);
        if self.seen <= self.file.bytes() {
            self.hashers.iter_mut().for_each(|(hasher, _)| hasher.update(bytes));
        }
    }

    /// Compares.
    ///
    /// # Errors
    ///
    /// The file has another size or hash than the index says.
    pub fn finish(self) -> Result<()> {
        let name = self.file.basename();
        if self.seen != self.file.bytes() {
            let (have, want) = (self.seen, self.file.bytes());
            return Err(Error::corrupt(format!(
                "{name} has {have} bytes, the index says {want}; copy the file and the index again"
            )));
        }
        for (hasher, FileHash { algorithm, digest }) in self.hashers {
            let have = hasher.finish();
            if have != *digest {
                return Err(Error::corrupt(format!(
                    "{name} has the {algorithm} hash {have}, the index says {digest}; copy the file and the index again"
                )));
            }
        }
        Ok(())
    }
}

impl FileInfo {
    /// Compares `bytes`, the whole file, with its size and every hash.
    ///
    /// # Errors
    ///
    /// They differ, or there is a hash that needs the feature `hashes`.
    pub fn check(&self, bytes: &[u8]) -> Result<()> {
        let mut check = FileCheck::all(self)?;
        check.update(bytes);
        check.finish()
    }
}
