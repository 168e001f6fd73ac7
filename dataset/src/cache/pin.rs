//! The cache itself, and what it hands out.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lockstep_filelock::{SharedByte, Wait};

use super::CacheConfig;
use super::ahead::FetchAhead;
use super::fill::Fill;
use super::layout::Layout;
use super::room::{Full, Room, Urgency};
use super::shelf::{self, Shelf};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{FileInfo, Index};

/// The longest pause between two looks for room.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A dataset's directory, in which shards are made local one by one. See the [module](super).
///
/// # Example
///
/// ```
/// use lockstep_dataset::Shard;
/// use lockstep_dataset::cache::{Cache, CacheConfig};
///
/// let cache = Cache::open(CacheConfig::new("data/digits"))?;
/// let pin = cache.shard(1)?;
/// let shard = Shard::open(pin.dir(), &cache.index().shards()[1])?;
/// assert!(shard.len() > 0);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
pub struct Cache {
    stock: Arc<Stock>,
    ahead: FetchAhead,
}

/// What a cache shares with its threads.
#[derive(Debug)]
pub(crate) struct Stock {
    pub(crate) index: Arc<Index>,
    layout: Layout,
    /// `None`: nothing is ever written to the directory or removed from it.
    shelf: Option<Arc<Shelf>>,
    room: Room,
    wait: Duration,
    /// How many pins of each shard this cache has handed out.
    pins: Mutex<HashMap<usize, usize>>,
}

/// Keeps a shard's files where they are, for as long as it lives.
///
/// Hold no more pins than are needed, and none that could be given up while waiting for another one: where there is a limit,
/// others may wait for the room.
#[must_use = "the shard can be evicted when this value is dropped"]
pub struct Pin {
    stock: Arc<Stock>,
    shard: usize,
    lock: Option<SharedByte>,
}

/// What a cache directory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The bytes in use or reserved, in all directories that share the limit.
    pub bytes: u64,
    /// The most there may be.
    pub limit: Option<u64>,
    /// How many shards of this dataset can be read at once.
    pub complete_shards: usize,
}

impl Cache {
    /// Opens a directory. With a remote, its index is copied there by the first process of the machine.
    ///
    /// # Errors
    ///
    /// There is no valid index, the directory cannot be used, the limit is too small for the largest shard, or the index
    /// in the directory is that of another dataset than the remote's.
    pub fn open(config: CacheConfig) -> Result<Self> {
        let (index, shelf) = open_dir(&config)?;
        if let Some(shelf) = &shelf {
            config.room.admit(shelf)?;
        }
        let layout = Layout::new(&config.dir);
        let stock =
            Arc::new(Stock { index, layout, shelf, room: config.room, wait: config.wait, pins: Mutex::default() });
        Ok(Self { ahead: FetchAhead::new(Arc::clone(&stock), config.ahead), stock })
    }

    /// What is in the dataset.
    pub fn index(&self) -> &Arc<Index> {
        &self.stock.index
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.stock.layout.dir()
    }

    /// Makes shard `shard` local and keeps it so.
    ///
    /// Waits for whoever downloads it already, and for room.
    ///
    /// # Errors
    ///
    /// The shard cannot be had, is not what the index says, or the wait took too long. Nothing of a failure stays: the
    /// next call starts afresh.
    ///
    /// # Panics
    ///
    /// There is no such shard in the index.
    pub fn shard(&self, shard: usize) -> Result<Pin> {
        assert!(shard < self.index().shards().len(), "the index has {} shards", self.index().shards().len());
        let Some(shelf) = &self.stock.shelf else {
            self.stock.check_plain(shard)?;
            return Ok(Pin { stock: Arc::clone(&self.stock), shard, lock: None });
        };
        let (lock, was_there) = self.stock.pin(shelf, shard)?;
        *self.stock.pinned().entry(shard).or_default() += 1;
        self.ahead.used(shard, was_there);
        Ok(Pin { stock: Arc::clone(&self.stock), shard, lock: Some(lock) })
    }

    /// Fetches shards ahead of use, in the background, within the bounds of [`Ahead`](super::Ahead). `upcoming` has those
    /// that will be asked for, in order, and takes the place of what was given before. A shard counts as used when it is
    /// pinned.
    ///
    /// Failures are left to the reader to find, and so are numbers of shards that are not in the index.
    pub fn prefetch<I>(&self, upcoming: I)
    where
        I: IntoIterator<Item = usize>,
        I::IntoIter: Send + 'static,
    {
        self.prefetch_for(0, upcoming);
    }

    /// As [`prefetch`](Self::prefetch), for one of several readers that share this cache, such as threads: each has a plan
    /// of its own, and they share the bounds. `reader` is any number that tells them apart.
    pub fn prefetch_for<I>(&self, reader: u64, upcoming: I)
    where
        I: IntoIterator<Item = usize>,
        I::IntoIter: Send + 'static,
    {
        let shards = self.index().shards().len();
        if self.stock.shelf.is_some() {
            self.ahead.replace(reader, Box::new(upcoming.into_iter().filter(move |&shard| shard < shards)));
        }
    }

    /// What is in use.
    ///
    /// # Errors
    ///
    /// The directory cannot be looked at.
    pub fn usage(&self) -> Result<Usage> {
        let stock = &self.stock;
        if let Some(shelf) = &stock.shelf {
            shelf.bury_the_dead()?;
        }
        let shards = 0..stock.index.shards().len();
        let complete_shards = shards.filter(|&shard| shelf::is_complete(&stock.layout, &stock.index, shard)).count();
        Ok(Usage { bytes: stock.room.used()?, limit: stock.room.limit(), complete_shards })
    }
}

/// Opens the directory in the way that it needs: a local dataset of raw files is only looked at.
fn open_dir(config: &CacheConfig) -> Result<(Arc<Index>, Option<Arc<Shelf>>)> {
    let shelf = || -> Result<_> {
        let shelf = Arc::new(Shelf::open(config)?);
        Ok((Arc::clone(&shelf.index), Some(shelf)))
    };
    if config.remote.is_some() {
        return shelf();
    }
    let layout = Layout::new(&config.dir);
    let index = Arc::new(Index::read(&config.dir)?);
    let to_unpack = (0..index.shards().len())
        .find(|&shard| index.shards()[shard].compression().is_some() && !shelf::is_complete(&layout, &index, shard));
    match (to_unpack, layout.own().exists()) {
        (None, false) => Ok((index, None)),
        // Shards are to be unpacked, or others use the directory as a cache.
        _ => shelf().or_else(|error| {
            tracing::warn!(dir = %config.dir.display(), %error, "nothing can be written here; compressed shards are unpacked in memory by each process");
            Ok((index, None))
        }),
    }
}

impl Stock {
    fn pinned(&self) -> MutexGuard<'_, HashMap<usize, usize>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a reader of this cache has the shard.
    pub(crate) fn is_pinned(&self, shard: usize) -> bool {
        self.pinned().contains_key(&shard)
    }

    /// Makes a shard local and shares its lock. Says whether it was there, or in the making.
    fn pin(&self, shelf: &Arc<Shelf>, shard: usize) -> Result<(SharedByte, bool)> {
        let deadline = Deadline::after(self.wait);
        let lock = loop {
            if let Some(lock) = shelf.share(shard, deadline.wait())?
                && shelf.is_complete(shard)
            {
                shelf.ledger.touch(shard)?;
                return Ok((lock, true));
            }
            // Not for long: whoever was quicker has made the shard local by now, and may keep its lock shared for as long
            // as it reads.
            if let Some(lock) = shelf.claim(shard, Wait::For(LONGEST_PAUSE))? {
                break lock;
            }
            if deadline.has_passed() {
                return Err(Error::new(
                    ErrorKind::Remote,
                    format!(
                        "shard {shard} of {} is being downloaded {}, for more than {:?}; wait longer or see what keeps it",
                        self.layout.dir().display(),
                        shelf.holder(shard),
                        self.wait
                    ),
                ));
            }
        };
        let was_there = shelf.is_complete(shard);
        if !was_there {
            self.fill(shelf, shard, &deadline)?;
        }
        shelf.ledger.touch(shard)?;
        let lock = lock.downgrade().map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot keep shard {shard} where it is")).with_source(error)
        })?;
        Ok((lock, was_there))
    }

    /// Makes a shard local once there is room. The caller holds the shard's lock exclusively.
    fn fill(&self, shelf: &Arc<Shelf>, shard: usize, deadline: &Deadline) -> Result<()> {
        let abandoned = AtomicBool::new(false);
        let fill = Fill { shelf, shard, abandoned: &abandoned };
        let mut pause = Duration::from_millis(1);
        loop {
            let Some(full) = fill.run(&self.room, Urgency::Now, || {})? else { return Ok(()) };
            if deadline.has_passed() {
                return Err(self.no_room(shelf, shard, &full));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Fetches a shard that nobody waits for. `false`: there is no room for it now. Calls `reserved` once there is.
    pub(crate) fn fetch_ahead(&self, shard: usize, abandoned: &AtomicBool, reserved: impl FnMut()) -> Result<bool> {
        let Some(shelf) = &self.shelf else { return Ok(true) };
        if shelf.is_complete(shard) {
            shelf.ledger.touch(shard)?;
            return Ok(true);
        }
        // Who holds it pins it or downloads it, which is as well.
        let Some(_lock) = shelf.claim(shard, Wait::Immediately)? else { return Ok(true) };
        if shelf.is_complete(shard) {
            return Ok(true);
        }
        let full = Fill { shelf, shard, abandoned }.run(&self.room, Urgency::Ahead, reserved)?;
        Ok(full.is_none())
    }

    /// Tells other processes that a shard will be used.
    pub(crate) fn announce(&self, shard: usize) -> Result<Option<SharedByte>> {
        self.shelf.as_ref().map_or(Ok(None), |shelf| shelf.announce(shard))
    }

    fn check_plain(&self, shard: usize) -> Result<()> {
        for pair in self.index.shards()[shard].files() {
            let path = |file: &FileInfo| self.layout.file(file.basename());
            if !path(pair.raw).is_file() && !pair.zip.is_some_and(|zip| path(zip).is_file()) {
                return Err(super::fill::missing(&path(pair.zip.unwrap_or(pair.raw)), pair.zip));
            }
        }
        Ok(())
    }

    #[cold]
    fn no_room(&self, shelf: &Shelf, shard: usize, full: &Full) -> Error {
        let bytes = shelf.most_bytes(shard);
        Error::config(format!(
            "no room for shard {shard} of {} within {:?}: it takes {bytes} bytes, {} are in use by readers and downloads, \
             and the cache limit is {}; set that to {} at least, or hold fewer shards at a time",
            self.layout.dir().display(),
            self.wait,
            full.used,
            self.room.limit().unwrap_or(u64::MAX),
            full.used.saturating_add(bytes)
        ))
    }
}

impl Pin {
    /// Which shard it is.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// The dataset's directory, in which the shard's files are under the names that the index has for them. They are raw,
    /// unless nothing can be written to the directory of a compressed dataset without a remote.
    pub fn dir(&self) -> &Path {
        self.stock.layout.dir()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if let (Some(_), Some(shelf)) = (&self.lock, &self.stock.shelf) {
            // The time of use decides about speed only.
            let _ = shelf.ledger.touch(self.shard);
            let mut pins = self.stock.pinned();
            if let Some(count) = pins.get_mut(&self.shard).filter(|count| **count > 1) {
                *count -= 1;
            } else {
                pins.remove(&self.shard);
            }
        }
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin").field("dir", &self.dir()).field("shard", &self.shard).finish()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("dir", &self.dir()).finish_non_exhaustive()
    }
}

/// When to stop waiting.
#[derive(Clone, Copy, Debug)]
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(wait: Duration) -> Self {
        Self(Instant::now().checked_add(wait))
    }

    fn has_passed(self) -> bool {
        self.0.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn wait(self) -> Wait {
        self.0.map_or(Wait::Forever, |deadline| Wait::For(deadline.saturating_duration_since(Instant::now())))
    }
}
