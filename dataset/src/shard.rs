//! Shards: files of samples, mapped into memory.

mod mapping;
mod sample;
mod source;
mod table;

use std::path::Path;

use self::mapping::fetch_lines;
pub use self::sample::Sample;
pub(crate) use self::sample::{Provenance, SampleCopy};
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
        Self::check(info, data, meta)
    }

    /// Takes the raw files' bytes, `data` and, in text formats, the offsets in `meta`, from memory.
    ///
    /// # Errors
    ///
    /// They are not what `info` says.
    pub fn from_bytes(info: &ShardInfo, data: Vec<u8>, meta: Option<Vec<u8>>) -> Result<Self> {
        let data = Source::from_bytes(info.data.pair().raw, data)?;
        let meta = match (&info.meta, meta) {
            (Some(files), Some(meta)) => Some(Source::from_bytes(files.pair().raw, meta)?),
            (None, None) => None,
            (Some(_), None) => {
                return Err(Error::config(format!("shards of format {} need their offsets too", info.format())));
            }
            (None, Some(_)) => {
                return Err(Error::config(format!("shards of format {} have no file of offsets", info.format())));
            }
        };
        Self::check(info, data, meta)
    }

    /// Compares the files with the index.
    fn check(info: &ShardInfo, data: Source, meta: Option<Source>) -> Result<Self> {
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

    /// Tells the processor that sample `i` will be read soon, so that its cache has the sample when it is. Never an error,
    /// and of no effect where `i` is no sample.
    ///
    /// For who reads cached shards in an order that is known ahead. It pays in two steps, some samples apart, since where
    /// a sample lies must be read itself:
    ///
    /// ```
    /// # let index = lockstep_dataset::Index::read("data/digits")?;
    /// # let shard = lockstep_dataset::Shard::open("data/digits", &index.shards()[0])?;
    /// let order = [40, 7, 99, 12, 63, 80, 3, 55, 21, 70];
    /// for (k, &i) in order.iter().enumerate() {
    ///     order.get(k + 8).map(|&later| shard.expect_place(later));
    ///     order.get(k + 4).map(|&later| shard.expect(later));
    ///     let sample = shard.sample(i)?;
    /// }
    /// # Ok::<(), lockstep_dataset::Error>(())
    /// ```
    #[inline]
    pub fn expect(&self, i: u64) {
        if let Some((_, bytes)) = self.table.range(self.offsets().bytes(), self.data.bytes(), i) {
            // The hardware follows from there.
            fetch_lines(bytes, 8);
        }
    }

    /// Tells the processor that the place of sample `i` will be asked for soon; see [`expect`](Self::expect).
    #[inline]
    pub fn expect_place(&self, i: u64) {
        let at = usize::try_from(i).ok().and_then(|i| i.checked_add(1)?.checked_mul(4));
        if let Some(bytes) = at.and_then(|at| self.offsets().bytes().get(at..)?.first_chunk::<8>()) {
            fetch_lines(bytes, 1);
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
