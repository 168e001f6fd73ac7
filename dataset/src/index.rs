//! `index.json`: which shards a dataset has, what is in them and where each sample lies.

mod basename;
mod columns;
mod encoding;
mod files;
mod parse;
mod shard_info;

use std::path::{Path, PathBuf};

pub use columns::{Column, Columns};
pub use encoding::{Encoding, ImageEncoding};
pub use files::{FileHash, FileInfo, FilePair};
pub(crate) use parse::header;
pub(crate) use shard_info::{Files, Layout};
pub use shard_info::{Format, ShardInfo};

use crate::error::{Error, Result};
use crate::regular_file;

/// The name of the file that makes a directory a dataset.
pub const INDEX_BASENAME: &str = "index.json";

/// The shards of a dataset in order, as `index.json` (version 2) lists them.
///
/// Everything in it has been checked: names stay inside the dataset's directory and are used once, encodings are known,
/// sizes fit together. What the shard files themselves say is checked when each is opened.
///
/// # Example
///
/// ```
/// use lockstep_dataset::Index;
///
/// let index = Index::read("data/digits")?;
/// assert_eq!(index.num_samples(), 1797);
/// let place = index.locate(200).expect("200 is below 1797");
/// assert_eq!((place.shard, place.sample), (1, 97));
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Index {
    path: PathBuf,
    shards: Vec<ShardInfo>,
    /// `starts[i]` is the id of shard `i`'s first sample; one more entry has the total.
    starts: Vec<u64>,
}

/// Where a sample is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The shard's number in the index.
    pub shard: usize,
    /// The sample's number in that shard.
    pub sample: u64,
}

impl Index {
    /// Reads the index of the dataset in `dir`.
    ///
    /// # Errors
    ///
    /// The file is missing, cannot be read or is not a valid index; see [`Index::parse`].
    pub fn read(dir: impl AsRef<Path>) -> Result<Self> {
        let path = dir.as_ref().join(INDEX_BASENAME);
        let text = regular_file::read(&path).map_err(|source| unreadable(dir.as_ref(), &path, source))?;
        Self::parse(&text, &path)
    }

    /// Parses the text of an index; `path` is where it came from, for error texts.
    ///
    /// # Errors
    ///
    /// The text is not JSON, not of version 2, lacks what a shard needs, or says what cannot be: names that leave the
    /// directory or are used twice, unknown formats, encodings, compressions or hashes, repeated columns, sizes that do
    /// not fit their encoding. The error names the place in the text.
    pub fn parse(text: &[u8], path: &Path) -> Result<Self> {
        let shards = parse::shards(text, path)?;
        let mut starts = Vec::with_capacity(shards.len() + 1);
        let mut total = 0_u64;
        for shard in &shards {
            starts.push(total);
            total = total.checked_add(shard.num_samples()).ok_or_else(|| {
                Error::corrupt(format!("{}: more than 2^64 samples in all; write it again", path.display()))
            })?;
        }
        starts.push(total);
        Ok(Self { path: path.to_owned(), shards, starts })
    }

    /// The file this index came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shards in order.
    pub fn shards(&self) -> &[ShardInfo] {
        &self.shards
    }

    /// The number of samples in all shards.
    pub fn num_samples(&self) -> u64 {
        self.starts[self.shards.len()]
    }

    /// The id of the first sample of shard `shard`; that of the last shard's end for `shard` = the number of shards.
    ///
    /// # Panics
    ///
    /// `shard` is beyond that.
    pub fn first_sample(&self, shard: usize) -> u64 {
        self.starts[shard]
    }

    /// Where sample `id` is stored, or `None` past the end. Takes `O(log shards)`.
    pub fn locate(&self, id: u64) -> Option<Place> {
        if id >= self.num_samples() {
            return None;
        }
        // The last start that is not above `id`; shards without samples start where the next one does.
        let shard = self.starts.partition_point(|&start| start <= id) - 1;
        Some(Place { shard, sample: id - self.starts[shard] })
    }
}

#[cold]
fn unreadable(dir: &Path, path: &Path, source: std::io::Error) -> Error {
    if source.kind() != std::io::ErrorKind::NotFound {
        return Error::io(format!("cannot read {}", path.display()), source);
    }
    let message = if dir.is_dir() {
        format!("{} is missing: name the directory that a dataset was written to", path.display())
    } else {
        format!("there is no directory {}", dir.display())
    };
    Error::io(message, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(samples: &[u64]) -> Index {
        let shards: Vec<_> = samples
            .iter()
            .enumerate()
            .map(|(i, samples)| {
                format!(
                    r#"{{"version": 2, "format": "mds", "column_names": ["x"], "column_encodings": ["bytes"],
                    "column_sizes": [null], "compression": null, "hashes": [], "size_limit": null, "zip_data": null,
                    "raw_data": {{"basename": "{i}.mds", "bytes": 100, "hashes": {{}}}}, "samples": {samples}}}"#
                )
            })
            .collect();
        let text = format!(r#"{{"version": 2, "shards": [{}]}}"#, shards.join(","));
        Index::parse(text.as_bytes(), Path::new("index.json")).unwrap()
    }

    #[test]
    fn samples_are_located_past_empty_shards() {
        let index = index_of(&[0, 2, 0, 0, 3, 0]);
        let places: Vec<_> = (0..6).map(|id| index.locate(id).map(|place| (place.shard, place.sample))).collect();
        assert_eq!(places, [Some((1, 0)), Some((1, 1)), Some((4, 0)), Some((4, 1)), Some((4, 2)), None]);
        assert_eq!(index.first_sample(6), 5);
    }

    #[test]
    fn totals_beyond_64_bits_are_refused() {
        let index = index_of(&[u64::MAX]);
        assert_eq!(index.num_samples(), u64::MAX);
        assert_eq!(index.locate(u64::MAX - 1), Some(Place { shard: 0, sample: u64::MAX - 1 }));
        assert_eq!(index.locate(u64::MAX), None);
    }
}
