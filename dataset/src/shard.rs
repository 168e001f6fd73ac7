//! Shards: files of samples, mapped into memory.

mod mapping;
mod sample;

use std::path::{Path, PathBuf};

use self::mapping::Mapping;
pub use self::sample::Sample;
use crate::error::{Error, Result};
use crate::index::{Columns, Format, ShardInfo};
use crate::mds::MdsTable;

/// An open shard, whose samples are borrowed from its mapped file.
///
/// Opening checks the file against the index: its size, the number of samples, the columns. Each sample's place is
/// checked when it is asked for. Nothing is copied, and nothing is allocated per sample. A shard can be read by any
/// number of threads at once.
///
/// # Limitations
///
/// The file must not be written to or truncated while it is mapped: the process would read other bytes, or be killed by
/// `SIGBUS`. Replace files by renaming others over them; a file that is removed or replaced stays readable here.
///
/// # Example
///
/// ```
/// use lockstep_dataset::{Index, NdArray, Shard};
///
/// let index = Index::read("data/digits")?;
/// let shard = Shard::open("data/digits", &index.shards()[0])?;
/// let sample = shard.sample(2)?;
/// assert_eq!(sample.get::<i64>("id")?, 2);
/// assert_eq!(sample.get::<u8>("label")?, 2);
/// let image: NdArray = sample.get("image")?;
/// assert_eq!(image.shape().collect::<Vec<_>>(), [8, 8]);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    info: ShardInfo,
    data: Mapping,
    table: MdsTable,
}

impl Shard {
    /// Opens the shard that `info` describes in the dataset directory `dir`.
    ///
    /// # Errors
    ///
    /// A file is missing, is not what the index says, or cannot be mapped.
    pub fn open(dir: impl AsRef<Path>, info: &ShardInfo) -> Result<Self> {
        if info.format() != Format::Mds {
            return Err(Error::config(format!("shards of format {} are not read yet", info.format())));
        }
        let path = dir.as_ref().join(info.data.raw.basename());
        let data = Mapping::open(&path, info.data.raw.bytes()).map_err(|error| explain(info, error))?;
        let table = MdsTable::check(data.bytes(), info).map_err(|error| {
            Error::corrupt(format!("{}: {error}; copy the file again from where it was written", path.display()))
        })?;
        Ok(Self { path, info: info.clone(), data, table })
    }

    /// The file that is mapped.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the index says about it.
    pub fn info(&self) -> &ShardInfo {
        &self.info
    }

    /// The columns of each sample.
    pub fn columns(&self) -> &Columns {
        self.info.columns()
    }

    /// The number of samples.
    pub fn len(&self) -> u64 {
        self.info.num_samples()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sample number `i` of this shard.
    ///
    /// # Errors
    ///
    /// There is no such sample, or the file's table has an impossible place for it.
    #[inline]
    pub fn sample(&self, i: u64) -> Result<Sample<'_>> {
        match self.table.range(self.data.bytes(), i) {
            Some((begin, bytes)) => Ok(Sample::new(self, i, begin, bytes)),
            None => Err(self.no_sample(i)),
        }
    }

    /// All samples in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<'_>>> {
        (0..self.len()).map(|i| self.sample(i))
    }

    #[cold]
    fn no_sample(&self, i: u64) -> Error {
        let path = self.path.display();
        match self.table.explain(self.data.bytes(), i) {
            None => Error::config(format!("{path}: there is no sample {i} among {}", self.len())),
            Some((byte, what)) => Error::corrupt(format!(
                "{path}, byte {byte}: {what} of sample {i}; copy the file again from where it was written"
            )),
        }
    }
}

/// A missing raw file of a compressed dataset is no surprise.
#[cold]
fn explain(info: &ShardInfo, error: Error) -> Error {
    match info.compression() {
        Some(compression) => Error::config(format!(
            "{} is compressed with {compression}, which is not read yet: decompress it first",
            info.data.pair().stored().basename()
        ))
        .with_source(error),
        None => error,
    }
}
