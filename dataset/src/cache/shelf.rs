//! One cache directory: its locks, its ledger and its files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockstep_filelock::{ByteLocks, ByteState, ExclusiveByte, LockError, SharedByte, Wait};
use xxhash_rust::xxh3::xxh3_64;

use super::layout::{Layout, check_name, is_part};
use super::ledger::{Ledger, Row, Unpacked, nanoseconds};
use super::origin;
use super::part::{remove_if_there, size_of_file};
use super::{CacheConfig, KeepZip, Verify};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{FileInfo, FilePair, Index, ShardInfo};
use crate::remote::Origin;

/// Held shared by everybody who uses the directory, and exclusively by who sets it up.
const PRESENCE: u64 = 0;

/// Held by who adds up the ledger.
const LEDGER: u64 = 1;

/// The first byte of the shards: two each, for the shard and for who fetched it ahead.
const SHARDS: u64 = 8;

/// How long to look for a ledger that the process before us should have made.
const SETTING_UP: Duration = Duration::from_secs(10);

/// A cache directory in use.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) layout: Layout,
    pub(crate) index: Arc<Index>,
    pub(crate) ledger: Ledger,
    pub(crate) remote: Option<Arc<dyn Origin>>,
    pub(crate) keep_zip: KeepZip,
    pub(crate) verify: Verify,
    pub(crate) wait: Duration,
    locks: ByteLocks,
    /// Tells directories apart, whatever they are called.
    id: (u64, u64),
    own_bytes: u64,
    _presence: SharedByte,
}

impl Shelf {
    /// Opens a directory, alone or with others. The first one sees to the index and the ledger.
    pub(crate) fn open(config: &CacheConfig) -> Result<Self> {
        let layout = Layout::new(&config.dir);
        let own = layout.own();
        fs::create_dir_all(&own).map_err(|source| Error::io(format!("cannot create {}", own.display()), source))?;
        let locks = ByteLocks::open(layout.locks()).map_err(|error| cannot_lock(&layout, error))?;
        let started = Instant::now();
        loop {
            let found = match locks.exclusive(PRESENCE, Wait::Immediately) {
                Ok(alone) => Some(Self::set_up(config, &layout, alone)?),
                Err(error) if error.is_held() => Self::join(config, &layout, &locks)?,
                Err(error) => return Err(cannot_lock(&layout, error)),
            };
            if let Some((index, ledger, presence)) = found {
                return Self::new(config, layout, locks, index, ledger, presence);
            }
            if started.elapsed() > config.wait.min(SETTING_UP) {
                let message = format!(
                    "{} is in use with another index.json than the one that is there now; end those processes, or use \
                     another cache directory",
                    config.dir.display()
                );
                return Err(Error::config(message));
            }
            // Whoever set the directory up died over it, and others look at it just as we do.
            std::thread::sleep(Duration::from_millis(5 + u64::from(std::process::id() % 16)));
        }
    }

    fn new(
        config: &CacheConfig,
        layout: Layout,
        locks: ByteLocks,
        index: Arc<Index>,
        ledger: Ledger,
        presence: SharedByte,
    ) -> Result<Self> {
        let meta = fs::metadata(locks.path())
            .map_err(|source| Error::io(format!("cannot look at {}", locks.path().display()), source))?;
        let shards = index.shards().len();
        let index_bytes = if ledger.counts_all() { size_of_file(&layout.index()).unwrap_or(0) } else { 0 };
        let own_bytes = Ledger::file_bytes(shards) + most_lock_bytes(shards) + origin::MOST_BYTES + index_bytes;
        Ok(Self {
            layout,
            index,
            ledger,
            remote: config.remote.clone(),
            keep_zip: config.keep_zip,
            verify: config.verify,
            wait: config.wait,
            locks,
            id: (meta.dev(), meta.ino()),
            own_bytes,
            _presence: presence,
        })
    }

    /// Nobody else uses the directory.
    fn set_up(config: &CacheConfig, layout: &Layout, alone: ExclusiveByte) -> Result<(Arc<Index>, Ledger, SharedByte)> {
        let parsed = match &config.remote {
            Some(remote) => origin::refresh(layout, remote.as_ref())?,
            None => None,
        };
        let (index, fingerprint) = parsed.map_or_else(|| read_index(layout), Ok)?;
        for pair in index.shards().iter().flat_map(ShardInfo::files) {
            check_name(pair.raw.basename())?;
            pair.zip.map_or(Ok(()), |zip| check_name(zip.basename()))?;
        }
        let shards = index.shards().len();
        let before = match Ledger::open(&layout.ledger(), fingerprint, shards)? {
            Some(ledger) => ledger.rows()?,
            None => vec![Row::default(); shards],
        };
        let rows = Scan::new(layout, &index, config.remote.is_some()).rows(&before)?;
        let ledger = Ledger::create(&layout.ledger(), fingerprint, config.remote.is_some(), &rows)?;
        let presence = alone.downgrade().map_err(|error| cannot_lock(layout, error))?;
        Ok((index, ledger, presence))
    }

    /// Others use the directory. `None`: they have not set it up for the index that is there.
    fn join(
        config: &CacheConfig,
        layout: &Layout,
        locks: &ByteLocks,
    ) -> Result<Option<(Arc<Index>, Ledger, SharedByte)>> {
        let presence = match locks.shared(PRESENCE, Wait::For(config.wait)) {
            Ok(presence) => presence,
            Err(error) => return Err(cannot_lock(layout, error)),
        };
        if !layout.index().exists() || !layout.ledger().exists() {
            return Ok(None);
        }
        let (index, fingerprint) = read_index(layout)?;
        let ledger = Ledger::open(&layout.ledger(), fingerprint, index.shards().len())?;
        Ok(ledger.map(|ledger| (index, ledger, presence)))
    }

    /// What is on disk beside the shards' files.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.own_bytes
    }

    /// Which directory it is.
    pub(crate) fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Keeps others from adding up the ledger.
    pub(crate) fn lock_ledger(&self) -> Result<ExclusiveByte> {
        self.locks.exclusive(LEDGER, Wait::For(self.wait)).map_err(|error| cannot_lock(&self.layout, error))
    }

    /// Keeps a shard's files from being changed; `None`: they are being changed, for longer than `wait`.
    pub(crate) fn share(&self, shard: usize, wait: Wait) -> Result<Option<SharedByte>> {
        unless_held(&self.layout, self.locks.shared(shard_byte(shard), wait))
    }

    /// Allows to change a shard's files; `None`: others use them, for longer than `wait`.
    pub(crate) fn claim(&self, shard: usize, wait: Wait) -> Result<Option<ExclusiveByte>> {
        unless_held(&self.layout, self.locks.exclusive(shard_byte(shard), wait))
    }

    /// Who has a shard now, for messages.
    pub(crate) fn holder(&self, shard: usize) -> String {
        match self.locks.query(shard_byte(shard)) {
            Ok(ByteState::Exclusive { holder: Some(holder) }) => format!("by {holder}"),
            _ => "by others".to_owned(),
        }
    }

    /// Tells others that the shard was fetched ahead and will be used.
    pub(crate) fn announce(&self, shard: usize) -> Result<Option<SharedByte>> {
        unless_held(&self.layout, self.locks.shared(shard_byte(shard) + 1, Wait::Immediately))
    }

    /// Whether somebody said so.
    pub(crate) fn is_announced(&self, shard: usize) -> bool {
        !matches!(self.locks.query(shard_byte(shard) + 1), Ok(ByteState::Free))
    }

    /// Whether all files that a reader needs are there. The caller holds the shard's lock.
    pub(crate) fn is_complete(&self, shard: usize) -> bool {
        is_complete(&self.layout, &self.index, shard)
    }

    /// Whether its files may be deleted.
    pub(crate) fn may_evict(&self, row: &Row) -> bool {
        row.bytes > 0 && (self.remote.is_some() || !row.unpacked().is_empty() || row.is_loading())
    }

    /// Deletes a shard's files, as far as they are ours to delete, and returns how many bytes remain counted. The caller
    /// holds the shard's lock exclusively.
    pub(crate) fn evict(&self, shard: usize) -> Result<u64> {
        let row = self.ledger.row(shard)?;
        self.remove_parts(shard)?;
        for (number, pair) in self.index.shards()[shard].files().enumerate() {
            if self.remote.is_some() {
                self.remove(&self.layout.file(pair.raw.basename()))?;
                pair.zip.map_or(Ok(()), |zip| self.remove(&self.layout.file(zip.basename())))?;
            } else if row.unpacked().contains(number) && self.has_zip(&pair) {
                self.remove(&self.layout.file(pair.raw.basename()))?;
            }
        }
        self.settle(shard, row.unpacked())
    }

    /// Removes what is incomplete and notes what is there. The caller holds the shard's lock exclusively.
    pub(crate) fn settle(&self, shard: usize, unpacked: Unpacked) -> Result<u64> {
        self.remove_parts(shard)?;
        let bytes = self.counted(shard, unpacked);
        let used = self.ledger.row(shard)?.used();
        let unpacked = if bytes == 0 { Unpacked::default() } else { unpacked };
        self.ledger.set(shard, Row::settled(bytes, used, unpacked))?;
        Ok(bytes)
    }

    /// Sets right what processes left that died over a download.
    pub(crate) fn bury_the_dead(&self) -> Result<()> {
        for (shard, row) in self.ledger.rows()?.into_iter().enumerate() {
            if row.is_loading()
                && let Some(_lock) = self.claim(shard, Wait::Immediately)?
            {
                self.settle(shard, self.ledger.row(shard)?.unpacked())?;
            }
        }
        Ok(())
    }

    /// How many bytes of complete files count.
    pub(crate) fn counted(&self, shard: usize, unpacked: Unpacked) -> u64 {
        let size = |basename: &str| size_of_file(&self.layout.file(basename)).unwrap_or(0);
        let pairs = self.index.shards()[shard].files();
        if self.ledger.counts_all() {
            return pairs.map(|pair| size(pair.raw.basename()) + pair.zip.map_or(0, |zip| size(zip.basename()))).sum();
        }
        let ours = pairs.enumerate().filter(|&(number, _)| unpacked.contains(number));
        ours.map(|(_, pair)| size(pair.raw.basename())).sum()
    }

    /// Whether the compressed form of a file is there.
    pub(crate) fn has_zip(&self, pair: &FilePair<'_>) -> bool {
        pair.zip.is_some_and(|zip| size_of_file(&self.layout.file(zip.basename())) == Some(zip.bytes()))
    }

    /// Removes temporary files. The caller holds the shard's lock exclusively.
    fn remove_parts(&self, shard: usize) -> Result<()> {
        for pair in self.index.shards()[shard].files() {
            self.remove(&self.layout.part(pair.raw.basename()))?;
            pair.zip.map_or(Ok(()), |zip| self.remove(&self.layout.part(zip.basename())))?;
        }
        Ok(())
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        remove_if_there(path).map_err(|source| Error::io(format!("cannot remove {}", path.display()), source))
    }

    /// The most bytes that shard `shard` takes at any moment while it is made local.
    pub(crate) fn most_bytes(&self, shard: usize) -> u64 {
        let pairs = self.index.shards()[shard].files();
        let counts_zip = self.ledger.counts_all();
        let sum = |bytes: u64, pair: FilePair<'_>| {
            let zip = pair.zip.filter(|_| counts_zip).map_or(0, FileInfo::bytes);
            bytes.saturating_add(pair.raw.bytes()).saturating_add(zip)
        };
        pairs.filter(|pair| counts_zip || pair.zip.is_some()).fold(0, sum)
    }
}

/// Whether all files that a reader needs are there, of the sizes that the index says.
pub(crate) fn is_complete(layout: &Layout, index: &Index, shard: usize) -> bool {
    let mut pairs = index.shards()[shard].files();
    pairs.all(|pair| size_of_file(&layout.file(pair.raw.basename())) == Some(pair.raw.bytes()))
}

/// Reads the index of a directory. The number tells one index from another.
pub(crate) fn read_index(layout: &Layout) -> Result<(Arc<Index>, u64)> {
    let path = layout.index();
    match fs::read(&path) {
        Ok(text) => Ok((Arc::new(Index::parse(&text, &path)?), xxh3_64(&text))),
        // For its error.
        Err(_) => Ok((Arc::new(Index::read(layout.dir())?), 0)),
    }
}

fn shard_byte(shard: usize) -> u64 {
    SHARDS + 2 * shard as u64
}

/// How large the lock file can become: a header, and a number for each byte that was held exclusively.
fn most_lock_bytes(shards: usize) -> u64 {
    16 + 4 * shard_byte(shards)
}

fn unless_held<T>(layout: &Layout, outcome: Result<T, LockError>) -> Result<Option<T>> {
    match outcome {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.is_held() => Ok(None),
        Err(error) => Err(cannot_lock(layout, error)),
    }
}

#[cold]
fn cannot_lock(layout: &Layout, error: LockError) -> Error {
    let message = format!("cannot share the cache directory {} with others", layout.dir().display());
    Error::new(ErrorKind::Io, message).with_source(error)
}

/// A look at all files of a directory that nobody uses.
struct Scan<'a> {
    layout: &'a Layout,
    index: &'a Index,
    has_remote: bool,
}

impl<'a> Scan<'a> {
    fn new(layout: &'a Layout, index: &'a Index, has_remote: bool) -> Self {
        Self { layout, index, has_remote }
    }

    /// Removes what is incomplete, and says what is there of each shard. `before` has what was noted the last time.
    fn rows(&self, before: &[Row]) -> Result<Vec<Row>> {
        let folders = self.folders();
        let mut rows = vec![Row::default(); before.len()];
        for (folder, files) in &folders {
            let path = self.layout.dir().join(folder);
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(unreadable(&path, source)),
            };
            for entry in entries {
                let entry = entry.map_err(|source| unreadable(&path, source))?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if let Some(whole) = name.strip_suffix(super::layout::PART)
                    && (files.contains_key(whole) || whole == crate::index::INDEX_BASENAME)
                {
                    remove(&entry.path())?;
                } else if let Some(file) = files.get(name) {
                    debug_assert!(!is_part(name), "such names are refused");
                    self.note(file, &entry.path(), before, &mut rows)?;
                }
            }
        }
        Ok(rows)
    }

    /// The files of the index by folder and name.
    fn folders(&self) -> BTreeMap<&'a str, std::collections::HashMap<&'a str, Expected>> {
        let mut folders = BTreeMap::<_, std::collections::HashMap<_, _>>::new();
        // Where the index itself may have been left incomplete.
        folders.entry("").or_default();
        for (shard, info) in self.index.shards().iter().enumerate() {
            for (number, pair) in info.files().enumerate() {
                let files = std::iter::once((pair.raw, Some(number))).chain(pair.zip.map(|zip| (zip, None)));
                for (file, raw) in files {
                    let (folder, name) = file.basename().rsplit_once('/').unwrap_or(("", file.basename()));
                    let expected = Expected { shard, bytes: file.bytes(), raw };
                    folders.entry(folder).or_default().insert(name, expected);
                }
            }
        }
        folders
    }

    fn note(&self, file: &Expected, path: &Path, before: &[Row], rows: &mut [Row]) -> Result<()> {
        let Ok(meta) = fs::metadata(path) else { return Ok(()) };
        if meta.len() != file.bytes && self.has_remote {
            tracing::warn!(path = %path.display(), bytes = meta.len(), expected = file.bytes, "removing a cached file of another size");
            return remove(path);
        }
        let before = before[file.shard];
        let row = &mut rows[file.shard];
        let used = row.used().max(before.used()).max(meta.modified().map(nanoseconds).unwrap_or(0));
        *row = match file.raw.filter(|&number| before.unpacked().contains(number)) {
            _ if self.has_remote => Row::settled(row.bytes + meta.len(), used, Unpacked::default()),
            Some(number) => Row::settled(row.bytes + meta.len(), used, row.unpacked().with(number)),
            None => Row::settled(row.bytes, used, row.unpacked()),
        };
        Ok(())
    }
}

/// A file that may be there.
struct Expected {
    shard: usize,
    bytes: u64,
    /// Which of the shard's raw files it is, if it is one.
    raw: Option<usize>,
}

fn remove(path: &Path) -> Result<()> {
    remove_if_there(path).map_err(|source| Error::io(format!("cannot remove {}", path.display()), source))
}

#[cold]
fn unreadable(path: &Path, source: io::Error) -> Error {
    Error::io(format!("cannot list {}", path.display()), source)
}
