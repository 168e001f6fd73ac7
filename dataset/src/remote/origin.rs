//! What the cache needs of a place that datasets come from.

use std::fmt;
use std::io;
use std::ops::Range;

use crate::error::Result;

/// Where a dataset's files come from: named objects below one URL.
///
/// Calls block, and may be made from several threads at a time. Implementations retry what may help, within bounds, and
/// return errors that name the object's URL.
pub trait Origin: Send + Sync + fmt::Debug {
    /// The URL of the dataset, without credentials, for messages.
    fn url(&self) -> &str;

    /// The whole of a small object, such as an index.
    ///
    /// # Errors
    ///
    /// The object is not there or could not be read.
    fn read(&self, name: &str) -> Result<Vec<u8>>;

    /// `range` of an object, all of it.
    ///
    /// # Errors
    ///
    /// The object is not there, is shorter, or could not be read; or the store knows no ranges.
    fn read_range(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>>;

    /// A text that changes when the object does, such as an entity tag; `None` if the store has none.
    ///
    /// # Errors
    ///
    /// The object is not there, or the store did not answer.
    fn tag(&self, name: &str) -> Result<Option<String>>;

    /// Streams an object of exactly `bytes` bytes into `sink`, without holding it in memory.
    ///
    /// # Errors
    ///
    /// The object is not there, has another size, could not be read within the bounds, or the sink failed.
    fn download(&self, name: &str, bytes: u64, sink: &mut dyn Sink) -> Result<()>;
}

/// What a download is written to.
pub trait Sink: Send {
    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// They could not be stored; the download ends with this error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Forgets all that was written: the download starts over.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    fn restart(&mut self) -> io::Result<()>;
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.clear();
        Ok(())
    }
}
