//! Samples borrowed from a shard.

use super::Shard;
use crate::error::{Error, Result};
use crate::index::Columns;
use crate::mds;
use crate::value::{FromValue, Value};

/// A sample, borrowed from its shard.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    shard: &'a Shard,
    number: u64,
    /// Where in the file it begins.
    begin: u64,
    bytes: &'a [u8],
}

impl<'a> Sample<'a> {
    #[inline]
    pub(super) fn new(shard: &'a Shard, number: u64, begin: u64, bytes: &'a [u8]) -> Self {
        Self { shard, number, begin, bytes }
    }

    /// The sample's number in its shard.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// All bytes of the sample as they are stored.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The columns.
    pub fn columns(&self) -> &'a Columns {
        self.shard.columns()
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
        mds::decode(self.columns().get(i).expect("the column was found").encoding(), bytes)
            .map_err(|error| self.bad_column(i, &error))
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
    pub fn get_at<T: FromValue<'a>>(&self, i: usize) -> Result<T> {
        T::from_value(self.column_at(i)?).map_err(|error| {
            let name = self.columns().get(i).map_or("", |column| column.name());
            Error::config(format!("column `{name}` of {}: {error}", self.shard.path().display()))
        })
    }

    /// The bytes of the column called `name` as they are stored, whatever its encoding.
    ///
    /// # Errors
    ///
    /// There is no such column, or the sizes in the sample do not add up.
    pub fn column_bytes(&self, name: &str) -> Result<&'a [u8]> {
        self.bytes_at(self.position(name)?)
    }

    /// The bytes of column number `i` as they are stored, whatever its encoding.
    ///
    /// # Errors
    ///
    /// As for [`column_bytes`](Self::column_bytes).
    pub fn bytes_at(&self, i: usize) -> Result<&'a [u8]> {
        mds::column(self.columns(), self.bytes, i).map_err(|error| match error {
            mds::ColumnError::NoColumn => {
                Error::config(format!("{}: there is no column {i} among {}", self.path(), self.columns().len()))
            }
            _ => self.bad_sample(&error),
        })
    }

    fn position(&self, name: &str) -> Result<usize> {
        self.columns().position(name).ok_or_else(|| self.no_column(name))
    }

    fn path(&self) -> std::path::Display<'a> {
        self.shard.path().display()
    }

    #[cold]
    fn no_column(&self, name: &str) -> Error {
        Error::config(format!("{}: there is no column `{name}`, only {}", self.path(), self.columns().names()))
    }

    #[cold]
    fn bad_sample(&self, error: &mds::ColumnError) -> Error {
        Error::corrupt(format!(
            "{}, byte {}: sample {}: {error}; copy the file again from where it was written",
            self.path(),
            self.begin,
            self.number
        ))
    }

    #[cold]
    fn bad_column(&self, i: usize, error: &mds::DecodeError) -> Error {
        let name = self.columns().get(i).map_or("", |column| column.name());
        // Both slices are of this sample, so the column's lies behind the sample's start.
        let offset = self.bytes_at(i).map_or(0, |bytes| bytes.as_ptr().addr() - self.bytes.as_ptr().addr());
        let message = format!(
            "{}, byte {}: sample {}, column `{name}`: {error}",
            self.path(),
            self.begin + offset as u64,
            self.number
        );
        match error {
            mds::DecodeError::Pickle => Error::config(message),
            _ => Error::corrupt(message),
        }
    }
}
