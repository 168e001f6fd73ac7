//! How many bytes each shard may take on disk, and when it was used last.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

/// The first bytes of the file; another layout has another number.
const MAGIC: [u8; 16] = *b"lockstep cache 1";

const HEADER_BYTES: u64 = size_of::<Header>() as u64;
const ROW_BYTES: u64 = size_of::<Row>() as u64;

/// Set while files of the shard are being made: whoever finds it set and the shard unlocked has found the dead's work.
const LOADING: u64 = 1;

/// The flags from here on say which raw files were unpacked by us from compressed ones that are not ours.
const UNPACKED_SHIFT: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 16],
    shards: u64,
    /// Of the index whose shards these are.
    fingerprint: u64,
    /// Whether all files are counted, or only what was unpacked.
    counts_all: u64,
    reserved: [u64; 3],
}

/// What the ledger has of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Row {
    /// How many bytes its files may take: at least what they do take, at any moment.
    pub(crate) bytes: u64,
    /// When it was used last, in nanoseconds since 1970.
    used: u64,
    flags: u64,
}

/// Which raw files of a shard, by their place in the index, were unpacked by us from compressed ones that are not ours to
/// delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unpacked(u64);

impl Unpacked {
    pub(crate) fn with(self, file: usize) -> Self {
        Self(self.0 | 1 << file)
    }

    pub(crate) fn contains(self, file: usize) -> bool {
        self.0 & 1 << file != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Row {
    pub(crate) fn settled(bytes: u64, used: u64, unpacked: Unpacked) -> Self {
        Self { bytes, used, flags: unpacked.0 << UNPACKED_SHIFT }
    }

    pub(crate) fn loading(bytes: u64, unpacked: Unpacked) -> Self {
        Self { bytes, used: now(), flags: LOADING | unpacked.0 << UNPACKED_SHIFT }
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.flags & LOADING != 0
    }

    pub(crate) fn unpacked(&self) -> Unpacked {
        Unpacked(self.flags >> UNPACKED_SHIFT)
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}

/// The file of rows. Each row is written under its shard's lock.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: File,
    path: PathBuf,
    shards: u64,
    counts_all: bool,
}

impl Ledger {
    /// How large the file is.
    pub(crate) fn file_bytes(shards: usize) -> u64 {
        HEADER_BYTES + shards as u64 * ROW_BYTES
    }

    /// Opens the ledger that is there, if it is of this version.
    fn open_file(path: &Path, create: bool) -> Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .mode(0o666)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(path)
            .map_err(|source| Error::io(format!("cannot open the cache's ledger {}", path.display()), source))
    }

    /// Writes a ledger anew. Nobody else may use it.
    pub(crate) fn create(path: &Path, fingerprint: u64, counts_all: bool, rows: &[Row]) -> Result<Self> {
        let file = Self::open_file(path, true)?;
        let header = Header {
            magic: MAGIC,
            shards: rows.len() as u64,
            fingerprint,
            counts_all: u64::from(counts_all),
            reserved: [0; 3],
        };
        let ledger = Self { file, path: path.to_owned(), shards: rows.len() as u64, counts_all };
        // The header last: a ledger that was not finished is none.
        let write = || -> io::Result<()> {
            ledger.file.set_len(0)?;
            ledger.file.set_len(Self::file_bytes(rows.len()))?;
            ledger.file.write_all_at(bytemuck::cast_slice(rows), HEADER_BYTES)?;
            ledger.file.write_all_at(bytemuck::bytes_of(&header), 0)
        };
        write().map_err(|source| ledger.failed("write", source))?;
        Ok(ledger)
    }

    /// Opens the ledger that is there. `None`: there is none, or it is not finished, or of another index or version.
    pub(crate) fn open(path: &Path, fingerprint: u64, shards: usize) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let file = Self::open_file(path, false)?;
        let mut header = Header::zeroed();
        if file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0).is_err() {
            return Ok(None);
        }
        let length = file.metadata().map(|meta| meta.len()).unwrap_or(0);
        let ours = header.magic == MAGIC
            && header.shards == shards as u64
            && header.fingerprint == fingerprint
            && length == Self::file_bytes(shards);
        Ok(ours.then(|| Self {
            file,
            path: path.to_owned(),
            shards: header.shards,
            counts_all: header.counts_all != 0,
        }))
    }

    /// Whether all files of the directory are counted.
    pub(crate) fn counts_all(&self) -> bool {
        self.counts_all
    }

    /// All rows.
    pub(crate) fn rows(&self) -> Result<Vec<Row>> {
        let count = usize::try_from(self.shards).expect("the rows of an index in memory can be counted");
        let mut rows = vec![Row::zeroed(); count];
        self.file
            .read_exact_at(bytemuck::cast_slice_mut(&mut rows), HEADER_BYTES)
            .map_err(|source| self.failed("read", source))?;
        Ok(rows)
    }

    /// One row.
    pub(crate) fn row(&self, shard: usize) -> Result<Row> {
        let mut row = Row::zeroed();
        self.file
            .read_exact_at(bytemuck::bytes_of_mut(&mut row), offset(shard))
            .map_err(|source| self.failed("read", source))?;
        Ok(row)
    }

    /// Replaces a row. The caller holds the shard's lock exclusively.
    pub(crate) fn set(&self, shard: usize, row: Row) -> Result<()> {
        self.file.write_all_at(bytemuck::bytes_of(&row), offset(shard)).map_err(|source| self.failed("write", source))
    }

    /// Notes that a shard is used now. The caller holds the shard's lock, perhaps shared: the last writer is as good as
    /// any other.
    pub(crate) fn touch(&self, shard: usize) -> Result<()> {
        let place = offset(shard) + std::mem::offset_of!(Row, used) as u64;
        self.file.write_all_at(&now().to_ne_bytes(), place).map_err(|source| self.failed("write", source))
    }

    #[cold]
    fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::io(format!("cannot {what} the cache's ledger {}", self.path.display()), source)
    }
}

fn offset(shard: usize) -> u64 {
    HEADER_BYTES + shard as u64 * ROW_BYTES
}

/// Nanoseconds since 1970, until 2554.
pub(crate) fn now() -> u64 {
    nanoseconds(SystemTime::now())
}

/// A time of a file in the same unit.
pub(crate) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_by_who_has_the_same_index() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        assert!(Ledger::open(&path, 7, 3).unwrap().is_none(), "there is none yet");
        let made = Ledger::create(&path, 7, true, &[Row::default(); 3]).unwrap();
        made.set(1, Row::loading(10, Unpacked::default().with(1))).unwrap();
        let ledger = Ledger::open(&path, 7, 3).unwrap().expect("it is finished");
        assert!(ledger.counts_all());
        assert_eq!(ledger.row(1).unwrap().bytes, 10);
        assert!(ledger.row(1).unwrap().is_loading());
        assert!(ledger.row(1).unwrap().unpacked().contains(1) && !ledger.row(1).unwrap().unpacked().contains(0));
        let before = ledger.row(2).unwrap();
        ledger.touch(2).unwrap();
        let rows = ledger.rows().unwrap();
        assert!(rows[2].used() > before.used());
        assert_eq!((rows[0], rows[2].bytes), (Row::default(), 0));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), Ledger::file_bytes(3));
    }

    #[test]
    fn what_is_not_a_finished_ledger_of_this_index_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        Ledger::create(&path, 7, true, &[Row::default(); 3]).unwrap();
        assert!(Ledger::open(&path, 8, 3).unwrap().is_none(), "another index");
        assert!(Ledger::open(&path, 7, 4).unwrap().is_none(), "another number of shards");
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 1, 63, 64, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Ledger::open(&path, 7, 3).unwrap().is_none(), "cut to {length}");
        }
        std::fs::write(&path, vec![0; whole.len()]).unwrap();
        assert!(Ledger::open(&path, 7, 3).unwrap().is_none(), "zeroed");
    }
}
