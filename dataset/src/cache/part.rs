//! A file while it arrives.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Verify;
use super::layout::part_of;
use crate::error::{Error, Result};
use crate::hashing::FileCheck;
use crate::index::FileInfo;
use crate::remote::Sink;

/// A file under its temporary name, of its full size from the start. Dropped before it is published, it is removed.
#[derive(Debug)]
pub(crate) struct PartFile<'a> {
    file: File,
    path: PathBuf,
    target: PathBuf,
    expected: u64,
    written: u64,
    verify: Verify,
    info: &'a FileInfo,
    check: FileCheck<'a>,
    /// Set when nobody wants the file any more.
    abandoned: &'a AtomicBool,
}

impl<'a> PartFile<'a> {
    /// Creates the file that will be at `target`, with room for all of it. The caller holds the shard's lock exclusively and
    /// has reserved the bytes.
    pub(crate) fn create(
        target: PathBuf,
        info: &'a FileInfo,
        verify: Verify,
        abandoned: &'a AtomicBool,
    ) -> Result<Self> {
        let path = part_of(&target);
        let expected = info.bytes();
        let cannot = |source| Error::io(format!("cannot make room for {expected} bytes at {}", path.display()), source);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(cannot)?;
        }
        remove_if_there(&path).map_err(cannot)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(cannot)?;
        let check = begin(verify, info)?;
        let part = Self { file, path, target, expected, written: 0, verify, info, check, abandoned };
        part.allocate().map_err(|source| {
            Error::io(format!("cannot make room for {expected} bytes at {}", part.path.display()), source)
        })?;
        Ok(part)
    }

    /// Takes the disk's blocks now: a full disk is found before the download, and who adds up file sizes sees what is
    /// coming.
    fn allocate(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Ok(length) = i64::try_from(self.expected)
            && length > 0
        {
            use nix::errno::Errno;
            use nix::fcntl::{FallocateFlags, fallocate};
            match fallocate(&self.file, FallocateFlags::empty(), 0, length) {
                Ok(()) => return Ok(()),
                Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.file.set_len(self.expected)
    }

    /// Checks the file and gives it its final name.
    pub(crate) fn publish(mut self) -> Result<()> {
        std::mem::replace(&mut self.check, FileCheck::size(self.info)).finish()?;
        // Without this a machine that stops could leave a file of zeros under the final name.
        self.file.sync_data().map_err(|source| self.failed("flush", source))?;
        fs::rename(&self.path, &self.target).map_err(|source| self.failed("rename", source))
    }

    #[cold]
    fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::io(format!("cannot {what} {}", self.path.display()), source)
    }
}

fn begin(verify: Verify, info: &FileInfo) -> Result<FileCheck<'_>> {
    match verify {
        Verify::Hashes => FileCheck::all(info),
        Verify::Size => Ok(FileCheck::size(info)),
    }
}

impl Sink for PartFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(io::Error::other("nobody wants this file any more"));
        }
        // More than was reserved is never written, whatever the source says.
        if bytes.len() as u64 > self.expected - self.written {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "more bytes arrived than the index says"));
        }
        self.file.write_all(bytes)?;
        self.check.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.written = 0;
        self.check = begin(self.verify, self.info).map_err(io::Error::other)?;
        Ok(())
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        // After `publish` the name is gone already. If it cannot be removed, it still counts, and who takes the shard's
        // lock next tries again.
        let _ = remove_if_there(&self.path);
    }
}

/// Removes a file, which need not be there.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The size of a regular file, or of what a link to one leads to.
pub(crate) fn size_of_file(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|meta| meta.len())
}
