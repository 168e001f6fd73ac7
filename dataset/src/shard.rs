//! Shards: files of samples, mapped into memory.

mod mapping;
mod sample;
mod source;
mod table;

use std::path::Path;

pub use self::sample::Sample;
pub use self::source::Links;
use self::source::Source;
pub(crate) use self::source::refuse_links_out;
use self::table::{Table, TableError};
use crate::error::{Error, Result};
use crate::index::{Columns, Format, ShardInfo};
use crate::xsv;

/// An open shard, whose samples are borrowed from its mapped file.
///
/// Opening checks the files against the index: their sizes, the number of samples, the columns. Each sample's place is
/// checked when it is asked for. Nothing is copied, and nothing is allocated per sample. A shard can be read by any
/// number of threads at once.
///
/// Hashes are not looked at here; a download is checked before it gets its name.
///
/// # Limitations
///
/// The file must not be written to or truncated while it is mapped: the process would read other bytes, or be killed by
/// `SIGBUS`. Replace files by renaming others over them; a file that is removed or replaced stays readable here.
///
/// Where only the compressed file is there, the raw one is held in memory for as long as the shard is open.
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
    info: ShardInfo,
    data: Source,
    /// The file of offsets of the text formats.
    meta: Option<Source>,
    table: Table,
}

impl Shard {
    /// Opens the shard that `info` describes in the dataset directory `dir`: its raw files if they are there, else its
    /// compressed ones, which are decompressed into memory.
    ///
    /// # Errors
    ///
    /// A file is missing, is not what the index says, is a link out of the directory, or cannot be mapped.
    pub fn open(dir: impl AsRef<Path>, info: &ShardInfo) -> Result<Self> {
        Self::open_with(dir, info, Links::Inside)
    }

    /// [`open`](Self::open) with a say in which links are followed.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub fn open_with(dir: impl AsRef<Path>, info: &ShardInfo, links: Links) -> Result<Self> {
        let dir = dir.as_ref();
        let open = |files: &crate::index::Files| Source::open(dir, files.pair(), info.compression(), links);
        let data = open(&info.data)?;
        let meta = info.meta.as_ref().map(open).transpose()?;
        let table = match &meta {
            None => Table::of_mds(data.bytes(), info).map_err(|error| bad_table(&data, &error))?,
            Some(meta) => {
                let first_line = first_line(&data, info)?;
                Table::of_text(meta.bytes(), first_line, data.bytes().len(), info)
                    .map_err(|error| bad_table(meta, &error))?
            }
        };
        Ok(Self { info: info.clone(), data, meta, table })
    }

    /// The file that samples are read from.
    pub fn path(&self) -> &Path {
        self.data.path()
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
    /// There is no such sample, or the table of offsets has an impossible place for it.
    #[inline]
    pub fn sample(&self, i: u64) -> Result<Sample<'_>> {
        match self.table.range(self.offsets().bytes(), self.data.bytes(), i) {
            Some((begin, bytes)) => Ok(Sample::new(self, i, begin, bytes)),
            None => Err(self.no_sample(i)),
        }
    }

    /// All samples in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<'_>>> {
        (0..self.len()).map(|i| self.sample(i))
    }

    /// Asks the operating system to read the shard's files into memory, without waiting for that. Of use before a shard
    /// that is not cached yet is read in an order of its own.
    pub fn prefetch(&self) {
        for source in std::iter::once(&self.data).chain(&self.meta) {
            if let Some(mapping) = source.mapping() {
                mapping.will_need();
            }
        }
    }

    /// Where the table of offsets is.
    #[inline]
    fn offsets(&self) -> &Source {
        self.meta.as_ref().unwrap_or(&self.data)
    }

    #[cold]
    fn no_sample(&self, i: u64) -> Error {
        let path = self.offsets().path().display();
        match self.table.explain(self.offsets().bytes(), self.data.bytes(), i) {
            None => Error::config(format!("{path}: there is no sample {i} among {}", self.len())),
            Some((byte, what)) => Error::corrupt(format!(
                "{path}, byte {byte}: sample {i}: {what}; copy the file again from where it was written"
            )),
        }
    }
}

/// The length of the line of names before the samples, which tables have.
fn first_line(data: &Source, info: &ShardInfo) -> Result<usize> {
    if info.format() == Format::Json {
        return Ok(0);
    }
    let line = xsv::first_line(info.columns(), &info.layout);
    if data.bytes().starts_with(line.as_bytes()) {
        return Ok(line.len());
    }
    Err(Error::corrupt(format!(
        "{}, byte 0: it does not begin with the names of the columns, {line:?}; copy the file again from where it was written",
        data.path().display()
    )))
}

#[cold]
fn bad_table(source: &Source, error: &TableError) -> Error {
    let path = source.path().display();
    Error::corrupt(format!("{path}, {error}; copy the file again from where it was written"))
}
