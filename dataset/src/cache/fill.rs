//! Makes a shard local: downloads, checks, unpacks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::ledger::{Row, Unpacked};
use super::part::{PartFile, size_of_file};
use super::room::{Full, Room, Urgency};
use super::shelf::Shelf;
use super::{KeepZip, origin};
use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::index::{FileInfo, FilePair};
use crate::remote::{Origin, Sink};

/// How often a file is downloaded that is not what the index says, in case it was spoilt on its way.
const DOWNLOADS: u32 = 2;

/// What it takes to make one shard local. The caller holds the shard's lock exclusively.
pub(crate) struct Fill<'a> {
    pub(crate) shelf: &'a Arc<Shelf>,
    pub(crate) shard: usize,
    /// Set when nobody wants the shard any more.
    pub(crate) abandoned: &'a AtomicBool,
}

/// What is to be done for one of the shard's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The raw file is there.
    Nothing,
    /// The compressed file is there.
    Unpack,
    Download,
    DownloadAndUnpack,
}

impl Fill<'_> {
    /// Does it, or says that there is no room for it now. Calls `reserved` once there is.
    pub(crate) fn run(&self, room: &Room, urgency: Urgency, mut reserved: impl FnMut()) -> Result<Option<Full>> {
        let shelf = self.shelf;
        let before = shelf.ledger.row(self.shard)?;
        if before.is_loading() {
            // Somebody died over it.
            shelf.settle(self.shard, before.unpacked())?;
        }
        let steps = self.steps()?;
        let unpacked = self.ours(&steps, shelf.ledger.row(self.shard)?.unpacked());
        let bytes = self.bytes_while_made(&steps, unpacked);
        if let Some(full) = room.reserve(shelf, self.shard, Row::loading(bytes, unpacked), urgency)? {
            return Ok(Some(full));
        }
        reserved();
        let outcome = self.take(&steps);
        let settled = shelf.settle(self.shard, unpacked);
        outcome?;
        settled?;
        Ok(None)
    }

    fn pairs(&self) -> impl Iterator<Item = FilePair<'_>> {
        self.shelf.index.shards()[self.shard].files()
    }

    fn path(&self, info: &FileInfo) -> PathBuf {
        self.shelf.layout.file(info.basename())
    }

    fn steps(&self) -> Result<Vec<Step>> {
        self.pairs().map(|pair| self.step(&pair)).collect()
    }

    fn step(&self, pair: &FilePair<'_>) -> Result<Step> {
        let path = self.path(pair.raw);
        match size_of_file(&path) {
            Some(bytes) if bytes == pair.raw.bytes() => return Ok(Step::Nothing),
            Some(bytes) if self.shelf.remote.is_none() => {
                let expected = pair.raw.bytes();
                let message = format!("{} has {bytes} bytes, and the index says {expected}", path.display());
                return Err(Error::corrupt(message));
            }
            Some(_) => self.shelf.remove(&path)?,
            None => {}
        }
        match (self.shelf.has_zip(pair), pair.zip, &self.shelf.remote) {
            (true, ..) => Ok(Step::Unpack),
            (false, Some(_), Some(_)) => Ok(Step::DownloadAndUnpack),
            (false, None, Some(_)) => Ok(Step::Download),
            (false, zip, None) => Err(missing(&self.path(zip.unwrap_or(pair.raw)), zip)),
        }
    }

    /// The raw files that we make from compressed ones that are not ours.
    fn ours(&self, steps: &[Step], before: Unpacked) -> Unpacked {
        if self.shelf.remote.is_some() {
            return before;
        }
        let made = steps.iter().enumerate().filter(|(_, step)| **step == Step::Unpack);
        made.fold(before, |unpacked, (number, _)| unpacked.with(number))
    }

    /// The most bytes that count while the steps are taken.
    fn bytes_while_made(&self, steps: &[Step], unpacked: Unpacked) -> u64 {
        let made = self.pairs().zip(steps).fold(0_u64, |sum, (pair, step)| {
            let zip = pair.zip.map_or(0, FileInfo::bytes);
            sum.saturating_add(match step {
                Step::Nothing => 0,
                Step::Unpack | Step::Download => pair.raw.bytes(),
                Step::DownloadAndUnpack => pair.raw.bytes().saturating_add(zip),
            })
        });
        made.saturating_add(self.shelf.counted(self.shard, unpacked))
    }

    fn take(&self, steps: &[Step]) -> Result<()> {
        for (pair, step) in self.pairs().zip(steps) {
            match (step, pair.zip) {
                (Step::Nothing, _) => {}
                (Step::Download, _) | (Step::DownloadAndUnpack, None) => self.download(pair.raw)?,
                (Step::DownloadAndUnpack, Some(zip)) => {
                    self.download(zip)?;
                    self.unpack(&pair)?;
                }
                (Step::Unpack, _) => self.unpack(&pair)?,
            }
        }
        Ok(())
    }

    fn download(&self, info: &FileInfo) -> Result<()> {
        let remote = self.shelf.remote.as_deref().expect("a step that downloads is taken only where there is a remote");
        let mut downloads = 0;
        loop {
            let mut part = PartFile::create(self.path(info), info, self.shelf.verify, self.abandoned)?;
            remote.download(info.basename(), info.bytes(), &mut part).map_err(|error| self.explain(remote, error))?;
            let Err(error) = part.publish() else { return Ok(()) };
            downloads += 1;
            if !error.is_corrupt() {
                return Err(error);
            }
            let url = format!("{}/{}", remote.url(), info.basename());
            if downloads == DOWNLOADS {
                let error = error.context(format!("{url} is not what the index says after {downloads} downloads"));
                return Err(self.explain(remote, error));
            }
            tracing::warn!(url, %error, "downloading once more");
        }
    }

    /// A file that is not what the index says may be of a newer dataset.
    fn explain(&self, remote: &dyn Origin, error: Error) -> Error {
        if error.is_corrupt() && origin::has_changed(&self.shelf.layout, remote) {
            let message = format!(
                "the dataset at {} was written anew since its index was copied to {}; end all processes that use that \
                 directory and start again",
                remote.url(),
                self.shelf.layout.dir().display()
            );
            return Error::corrupt(message).with_source(error);
        }
        error
    }

    fn unpack(&self, pair: &FilePair<'_>) -> Result<()> {
        let zip = pair.zip.expect("a step that unpacks is taken only where there is a compressed file");
        let path = self.path(zip);
        let compression = self.shelf.index.shards()[self.shard].compression();
        let unpacked = self.unpack_file(compression, &path, pair.raw);
        let is_ours = self.shelf.remote.is_some();
        match unpacked {
            Ok(()) if is_ours && self.shelf.keep_zip == KeepZip::Never => self.shelf.remove(&path),
            Ok(()) => Ok(()),
            Err(error) => {
                if error.is_corrupt() && is_ours {
                    // The next attempt is to start with another download.
                    self.shelf.remove(&path)?;
                }
                Err(error.context(format!("cannot unpack {}", path.display())))
            }
        }
    }

    fn unpack_file(&self, compression: Option<Compression>, path: &Path, raw: &FileInfo) -> Result<()> {
        let compression = compression
            .ok_or_else(|| Error::corrupt("the index has a compressed file and does not say how it is compressed"))?;
        let zip = fs::read(path).map_err(|source| Error::io("it cannot be read", source))?;
        let bytes = compression.decompress(&zip, raw)?;
        drop(zip);
        let mut part = PartFile::create(self.path(raw), raw, self.shelf.verify, self.abandoned)?;
        part.write(&bytes).map_err(|source| Error::io(format!("cannot write {}", raw.basename()), source))?;
        part.publish()
    }
}

#[cold]
pub(crate) fn missing(path: &Path, zip: Option<&FileInfo>) -> Error {
    let form = if zip.is_some() { ", and neither is the file that it unpacks to" } else { "" };
    let message = format!("{} is not there{form}; copy it there or name a remote that has it", path.display());
    Error::corrupt(message)
}
