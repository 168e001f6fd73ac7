//! MDS datasets.

use std::path::Path;

use super::entry::Layout;
use super::in_order;
use super::options::WriterOptions;
use super::pool::Framing;
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::index::{Encoding, Index};
use crate::mds;
use crate::value::Value;

/// Writes an MDS dataset.
///
/// # Example
///
/// ```
/// use lockstep_dataset::{Value, writer::{MdsWriter, WriterOptions}};
///
/// # let parent = tempfile::tempdir().expect("a directory for the example");
/// # let dir = parent.path().join("numbers");
/// let options = WriterOptions::new().compression(Some("zstd".parse()?)).hashes(["xxh64".parse()?]);
/// let mut writer = MdsWriter::create(&dir, &[("n", "int"), ("name", "str")], &options)?;
/// writer.write(&[("n", Value::Int(1)), ("name", Value::Str("one".into()))])?;
/// writer.write(&[("n", Value::Int(2)), ("name", Value::Str("two".into()))])?;
/// assert_eq!(writer.finish()?.num_samples(), 2);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
///
/// A writer that is dropped before it is finished removes what it has written.
#[derive(Debug)]
#[must_use = "a dataset is complete only once `finish` has returned"]
pub struct MdsWriter {
    sink: Sink,
    names: Vec<Box<str>>,
    encodings: Vec<Encoding>,
    sizes: Vec<Option<u64>>,
    head: Vec<u8>,
    body: Vec<u8>,
}

impl MdsWriter {
    /// Begins a dataset in `dir` with columns of these names and encodings, such as `("image", "ndarray:uint8:8,8")`.
    ///
    /// # Errors
    ///
    /// A column is named twice or has an unknown encoding, the options cannot work, or the directory cannot be used.
    pub fn create(dir: impl AsRef<Path>, columns: &[(&str, &str)], options: &WriterOptions) -> Result<Self> {
        let mut columns = columns.to_vec();
        columns.sort_by_key(|&(name, _)| name);
        super::names_differ(columns.iter().map(|&(name, _)| name))?;
        let encodings: Result<Vec<_>> = columns
            .iter()
            .map(|(name, encoding)| {
                Encoding::mds(encoding).map_err(|error| Error::config(format!("column `{name}`: {error}")))
            })
            .collect();
        let encodings = encodings?;
        let sizes: Vec<_> = encodings.iter().map(Encoding::fixed_size).collect();
        let names: Vec<Box<str>> = columns.iter().map(|&(name, _)| name.into()).collect();
        let layout = Layout {
            column_encodings: Some(columns.iter().map(|&(_, encoding)| encoding.to_owned()).collect()),
            column_names: Some(names.clone()),
            column_sizes: Some(sizes.clone()),
            format: "mds",
            ..Layout::default()
        };
        let sink = Sink::create(dir.as_ref(), layout, Framing::Joint, options)?;
        Ok(Self { sink, names, encodings, sizes, head: Vec::new(), body: Vec::new() })
    }

    /// Appends a sample: a value for each column, in any order. [`Value::Bytes`] are taken as the stored form of a value
    /// of any encoding.
    ///
    /// # Errors
    ///
    /// A column is missing or too many, or a value is not of its column's encoding: the sample is not written, and others
    /// can be. Or a shard could not be written, which ends the writer.
    pub fn write(&mut self, sample: &[(&str, Value<'_>)]) -> Result<()> {
        self.head.clear();
        self.body.clear();
        let values = in_order(&self.names, sample)?;
        for (i, value) in values.into_iter().enumerate() {
            let begin = self.body.len();
            mds::encode(&self.encodings[i], value, &mut self.body)
                .map_err(|error| Error::config(format!("column `{}`: {error}", self.names[i])))?;
            let size = self.body.len() - begin;
            if self.sizes[i].is_none() {
                let size = u32::try_from(size).map_err(|_| super::pool::too_long())?;
                self.head.extend(size.to_le_bytes());
            }
        }
        self.head.extend_from_slice(&self.body);
        self.sink.push(&self.head)
    }

    /// How many samples have been written.
    pub fn num_samples(&self) -> u64 {
        self.sink.num_samples()
    }

    /// Writes the rest and the index.
    ///
    /// # Errors
    ///
    /// No sample was written, or a file could not be.
    pub fn finish(self) -> Result<Index> {
        self.sink.finish()
    }
}
