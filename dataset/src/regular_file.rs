//! Opening files that must be files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file. A pipe or a device in its place is refused rather than waited for.
///
/// # Errors
///
/// It is not there, cannot be opened, or is not a file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    File::open(path)
}

/// Reads all of a regular file, as [`open`] does.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
