//! Samples borrowed from a shard.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::Shard;
use crate::error::{Error, Result};
use crate::index::{Column, Columns, Format, ShardInfo};
use crate::value::{FromValue, SampleDeserializer, Value};
use crate::{json, mds, xsv};

/// A sample, borrowed from its shard.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    info: &'a ShardInfo,
    path: &'a Path,
    number: u64,
    /// Where in the file it begins.
    begin: u64,
    bytes: &'a [u8],
}

/// What copies of a shard's samples keep of the shard.
#[derive(Debug)]
pub(crate) struct Provenance {
    info: ShardInfo,
    path: PathBuf,
}

impl Provenance {
    pub(crate) fn new(shard: &Shard) -> Self {
        Self { info: shard.info().clone(), path: shard.path().to_owned() }
    }
}

/// A sample with bytes of its own.
#[derive(Clone, Debug)]
pub(crate) struct SampleCopy {
    provenance: Arc<Provenance>,
    number: u64,
    begin: u64,
    bytes: Box<[u8]>,
}

impl SampleCopy {
    pub(crate) fn sample(&self) -> Sample<'_> {
        let Self { provenance, number, begin, bytes } = self;
        Sample { info: &provenance.info, path: &provenance.path, number: *number, begin: *begin, bytes }
    }
}

impl<'a> Sample<'a> {
    #[inline]
    pub(super) fn new(shard: &'a Shard, number: u64, begin: u64, bytes: &'a [u8]) -> Self {
        Self { info: shard.info(), path: shard.path(), number, begin, bytes }
    }

    /// A copy that does not need the shard. `provenance` is that of all copies from one shard.
    pub(crate) fn copy(&self, provenance: &Arc<Provenance>) -> SampleCopy {
        SampleCopy {
            provenance: Arc::clone(provenance),
            number: self.number,
            begin: self.begin,
            bytes: self.bytes.into(),
        }
    }

    /// The sample's number in its shard.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// All bytes of the sample as they are stored; in text formats, the line with its newline.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The columns.
    #[inline]
    pub fn columns(&self) -> &'a Columns {
        self.info.columns()
    }

    /// The value of the column called `name`.
    ///
    /// # Errors
    ///
    /// There is no such column, its bytes are not what its encoding asks for, or it is a pickled object: these are had as
    /// bytes by [`column_bytes`](Self::column_bytes) only.
    pub fn column(&self, name: &str) -> Result<Value<'a>> {
        self.column_at(self.position(name)?)
    }

    /// The value of column number `i`.
    ///
    /// # Errors
    ///
    /// As for [`column`](Self::column).
    pub fn column_at(&self, i: usize) -> Result<Value<'a>> {
        let bytes = self.bytes_at(i)?;
        self.decode(i, bytes).map_err(|error| self.bad_column(i, bytes, &error))
    }

    /// The value of the column called `name` as a type of Rust.
    ///
    /// # Errors
    ///
    /// As for [`column`](Self::column), and where the value is of another type.
    pub fn get<T: FromValue<'a>>(&self, name: &str) -> Result<T> {
        self.get_at(self.position(name)?)
    }

    /// The value of column number `i` as a type of Rust.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    #[inline]
    pub fn get_at<T: FromValue<'a>>(&self, i: usize) -> Result<T> {
        let bytes = self.bytes_at(i)?;
        if let (Format::Mds, Some(column)) = (self.info.format(), self.columns().get(i))
            && let Some(value) = T::from_stored(column.encoding(), bytes)
        {
            return Ok(value);
        }
        T::from_value(self.column_at(i)?).map_err(|error| {
            let name = self.columns().get(i).map_or("", Column::name);
            Error::config(format!("column `{name}` of {}: {error}", self.path()))
        })
    }

    /// The bytes of the column called `name` as they are stored, whatever its encoding.
    ///
    /// # Errors
    ///
    /// There is no such column, or the sample has no place for it.
    pub fn column_bytes(&self, name: &str) -> Result<&'a [u8]> {
        self.bytes_at(self.position(name)?)
    }

    /// The bytes of column number `i` as they are stored, whatever its encoding; in JSON lines, the value's text.
    ///
    /// # Errors
    ///
    /// As for [`column_bytes`](Self::column_bytes).
    #[inline]
    pub fn bytes_at(&self, i: usize) -> Result<&'a [u8]> {
        if self.info.format() == Format::Mds {
            mds::column(self.columns(), self.bytes, i).map_err(|error| self.bad_sample(&error))
        } else {
            self.text_at(i).map(str::as_bytes)
        }
    }

    /// The sample as a struct or map with a field for each column that is wanted.
    ///
    /// Text and bytes can be borrowed: `&str`, `&[u8]`, and `Cow<str>` with `#[serde(borrow)]`. Arrays are nested
    /// sequences by their axes, or `&[u8]` of their little-endian elements. Pickled objects are bytes.
    ///
    /// # Errors
    ///
    /// A field is missing or of another type, or the sample is damaged.
    ///
    /// # Example
    ///
    /// ```
    /// use lockstep_dataset::{Index, Shard};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Digit {
    ///     image: [[u8; 8]; 8],
    ///     label: u8,
    /// }
    ///
    /// let index = Index::read("data/digits")?;
    /// let shard = Shard::open("data/digits", &index.shards()[0])?;
    /// let digit: Digit = shard.sample(2)?.deserialize()?;
    /// assert_eq!((digit.label, digit.image[7][3]), (2, 3));
    /// # Ok::<(), lockstep_dataset::Error>(())
    /// ```
    pub fn deserialize<T: Deserialize<'a>>(&self) -> Result<T> {
        T::deserialize(SampleDeserializer::new(*self)).map_err(|error| {
            error.into_error(|message| {
                Error::config(format!("{}, byte {}: sample {}: {message}", self.path(), self.begin, self.number))
            })
        })
    }

    /// Checks the whole sample: that each column is there and decodes. Pickled objects are not looked into.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn check(&self) -> Result<()> {
        for (i, column) in self.columns().iter().enumerate() {
            if matches!(column.encoding(), crate::Encoding::Pickle) {
                self.bytes_at(i)?;
            } else {
                self.column_at(i)?;
            }
        }
        if self.columns().is_empty() && self.info.format() == Format::Mds && !self.bytes.is_empty() {
            return Err(self.bad_sample(&"it has bytes but no columns"));
        }
        Ok(())
    }

    /// The line of a sample of JSON lines, without its newline. Not checked to be JSON.
    pub(crate) fn json_line(&self) -> Option<Result<&'a str>> {
        let layout = &self.info.layout;
        (layout.format == Format::Json)
            .then(|| json::text(self.bytes, &layout.newline).map_err(|error| self.bad_sample(&error)))
    }

    fn decode(&self, i: usize, bytes: &'a [u8]) -> Result<Value<'a>, mds::DecodeError> {
        let encoding = self.columns().get(i).expect("the column was found").encoding();
        if self.info.format() == Format::Mds {
            return mds::decode(encoding, bytes);
        }
        let text = std::str::from_utf8(bytes).expect("the line was checked");
        match self.info.format() {
            Format::Json => json::decode(encoding, text),
            _ => xsv::decode(encoding, text),
        }
    }

    /// The text of column `i` in text formats.
    fn text_at(&self, i: usize) -> Result<&'a str> {
        let layout = &self.info.layout;
        let column = layout.columns.get(i).ok_or_else(|| self.bad_sample(&mds::ColumnError::NoColumn))?;
        if layout.format == Format::Json {
            let text = json::text(self.bytes, &layout.newline).and_then(|text| json::member(text, column.name()));
            text.map_err(|error| self.bad_sample(&error))
        } else {
            xsv::value(layout, self.bytes, i).map_err(|error| self.bad_sample(&error))
        }
    }

    fn position(&self, name: &str) -> Result<usize> {
        self.columns().position(name).ok_or_else(|| self.no_column(name))
    }

    fn path(&self) -> std::path::Display<'a> {
        self.path.display()
    }

    #[cold]
    fn no_column(&self, name: &str) -> Error {
        Error::config(format!("{}: there is no column `{name}`, only {}", self.path(), self.columns().names()))
    }

    #[cold]
    fn bad_sample(&self, error: &dyn std::fmt::Display) -> Error {
        Error::corrupt(format!(
            "{}, byte {}: sample {}: {error}; copy the file again from where it was written",
            self.path(),
            self.begin,
            self.number
        ))
    }

    #[cold]
    fn bad_column(&self, i: usize, bytes: &[u8], error: &mds::DecodeError) -> Error {
        let name = self.columns().get(i).map_or("", Column::name);
        // The column's slice is one of the sample's.
        let offset = bytes.as_ptr().addr().saturating_sub(self.bytes.as_ptr().addr());
        let place = format!("{}, byte {}", self.path(), self.begin + offset as u64);
        let message = format!("{place}: sample {}, column `{name}`: {error}", self.number);
        match error {
            mds::DecodeError::Pickle => Error::config(message),
            _ => Error::corrupt(format!("{message}; copy the file again from where it was written")),
        }
    }
}
