//! Where a shard's bytes come from: a mapped raw file, or a compressed one unfolded into memory.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::mapping::Mapping;
use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::hashing::FileCheck;
use crate::index::{FileInfo, FilePair};

/// Whether links in a dataset's directory are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Only where they lead to a file in the directory. A dataset from elsewhere cannot have other files read.
    #[default]
    Inside,
    /// Wherever they lead, as is needed where a directory of links was made on purpose.
    Follow,
}

/// The bytes of a file in raw form.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mapping),
    Unfolded(Vec<u8>),
}

impl Source {
    /// Opens whichever of the raw and the compressed file is there, the raw one if both are. Nothing is written.
    pub(super) fn open(dir: &Path, pair: FilePair<'_>, compression: Option<Compression>, links: Links) -> Result<Self> {
        let path = dir.join(pair.raw.basename());
        let missing = match map(dir, pair.raw, links) {
            Ok(mapping) => return Ok(Self { path, bytes: Bytes::Mapped(mapping) }),
            Err(error) if is_missing(&error) => error,
            Err(error) => return Err(error),
        };
        let (Some(zip), Some(compression)) = (pair.zip, compression) else {
            return Err(missing);
        };
        let path = dir.join(zip.basename());
        let mapping = match map(dir, zip, links) {
            Ok(mapping) => mapping,
            Err(error) if is_missing(&error) => {
                let names = format!("{} or {} in {}", pair.raw.basename(), zip.basename(), dir.display());
                return Err(Error::io(format!("there is no {names}"), ErrorKind::NotFound.into()));
            }
            Err(error) => return Err(error),
        };
        let raw = compression.decompress(mapping.bytes(), pair.raw)?;
        Ok(Self { path, bytes: Bytes::Unfolded(raw) })
    }

    /// Takes the bytes of the file that `file` describes.
    pub(super) fn from_bytes(file: &FileInfo, bytes: Vec<u8>) -> Result<Self> {
        let mut check = FileCheck::size(file);
        check.update(&bytes);
        check.finish()?;
        Ok(Self { path: file.basename().into(), bytes: Bytes::Unfolded(bytes) })
    }

    /// The file that was opened.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(mapping) => mapping.bytes(),
            Bytes::Unfolded(bytes) => bytes,
        }
    }

    pub(super) fn mapping(&self) -> Option<&Mapping> {
        match &self.bytes {
            Bytes::Mapped(mapping) => Some(mapping),
            Bytes::Unfolded(_) => None,
        }
    }
}

fn map(dir: &Path, file: &FileInfo, links: Links) -> Result<Mapping> {
    let path = dir.join(file.basename());
    let mapping = Mapping::open(&path, file.bytes())?;
    if links == Links::Inside {
        refuse_links_out(dir, file.basename())?;
    }
    Ok(mapping)
}

fn is_missing(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| source.kind() == ErrorKind::NotFound)
}

/// Looks at each part of a name below the directory; only a link costs more than a system call.
pub(crate) fn refuse_links_out(dir: &Path, basename: &str) -> Result<()> {
    let failed = |source| Error::io(format!("cannot look at {}", dir.join(basename).display()), source);
    let mut path = dir.to_owned();
    for part in basename.split('/') {
        path.push(part);
        if path.symlink_metadata().map_err(failed)?.is_symlink() {
            let target = path.canonicalize().map_err(failed)?;
            if !target.starts_with(dir.canonicalize().map_err(failed)?) {
                return Err(Error::corrupt(format!(
                    "{} is a link out of the dataset's directory; put the file in its place, or allow links (in Rust \
                     `Links::Follow`, with `lockstep run` and `cat` `--follow-links`)",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}
