//! How many bytes caches may take together.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lockstep_filelock::Wait;

use super::ledger::Row;
use super::shelf::Shelf;
use crate::error::{Error, Result};

/// A limit that one or several caches of a process keep together: give each a clone of it.
///
/// Room is reserved before a download starts, so the files of all their directories together, temporary ones and the caches'
/// own included, never take more than the limit, with any number of processes that give the same directories the same
/// limit. What a dataset without a remote consists of is not counted; what was unpacked from it is.
#[derive(Clone, Debug)]
pub struct Room {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limit: Option<u64>,
    shelves: Mutex<Vec<Weak<Shelf>>>,
}

/// Who wants room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A reader that waits.
    Now,
    /// Somebody who will read later. What others will read later is as good.
    Ahead,
}

/// There is no room, for now.
#[derive(Debug)]
pub(crate) struct Full {
    /// How many bytes are in use that could not be freed.
    pub(crate) used: u64,
}

/// What could be evicted.
struct Victim<'a> {
    shelf: &'a Arc<Shelf>,
    shard: usize,
    row: Row,
}

impl Room {
    /// As much as the disk has.
    pub fn unlimited() -> Self {
        Self::new(None)
    }

    /// At most `bytes`.
    pub fn limited(bytes: u64) -> Self {
        Self::new(Some(bytes))
    }

    fn new(limit: Option<u64>) -> Self {
        Self { inner: Arc::new(Inner { limit, shelves: Mutex::default() }) }
    }

    /// The limit in bytes, if there is one.
    pub fn limit(&self) -> Option<u64> {
        self.inner.limit
    }

    /// Counts a directory in, and frees what it has too much.
    pub(crate) fn admit(&self, shelf: &Arc<Shelf>) -> Result<()> {
        self.inner.shelves.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(shelf));
        let Some(limit) = self.inner.limit else { return Ok(()) };
        let shelves = self.shelves();
        let own: u64 = shelves.iter().map(|shelf| shelf.own_bytes()).sum();
        let largest = (0..shelf.index.shards().len()).max_by_key(|&shard| shelf.most_bytes(shard));
        if let Some(shard) = largest {
            let needed = own.saturating_add(shelf.most_bytes(shard));
            if needed > limit {
                return Err(Error::config(format!(
                    "the cache limit of {limit} bytes is too small for {}: shard {shard} takes {} bytes while it is \
                     downloaded and unpacked, and the cache itself {own}; set it to {needed} at least, times the number \
                     of shards that are read at the same time",
                    shelf.layout.dir().display(),
                    shelf.most_bytes(shard)
                )));
            }
        }
        let _locks = lock_all(&shelves)?;
        self.make_room(limit, &shelves, None, Urgency::Now)?;
        Ok(())
    }

    /// Lets the files of a shard grow to what `row` says, evicting others where needed. The caller holds the shard's lock
    /// exclusively.
    pub(crate) fn reserve(&self, shelf: &Arc<Shelf>, shard: usize, row: Row, urgency: Urgency) -> Result<Option<Full>> {
        let Some(limit) = self.inner.limit else {
            shelf.ledger.set(shard, row)?;
            return Ok(None);
        };
        let shelves = self.shelves();
        let _locks = lock_all(&shelves)?;
        let used = self.make_room(limit, &shelves, Some((shelf, shard, row.bytes)), urgency)?;
        if used > limit {
            return Ok(Some(Full { used: used - row.bytes }));
        }
        shelf.ledger.set(shard, row)?;
        Ok(None)
    }

    /// How many bytes are in use or reserved.
    pub(crate) fn used(&self) -> Result<u64> {
        let mut used = 0_u64;
        for shelf in self.shelves() {
            let rows = shelf.ledger.rows()?;
            used = rows.iter().fold(shelf.own_bytes() + used, |sum, row| sum.saturating_add(row.bytes));
        }
        Ok(used)
    }

    /// Evicts until `wanted` (a shard and the bytes it is to have) fits, or nothing more can be evicted. Returns how much
    /// would be used with it. The ledgers are locked.
    fn make_room(
        &self,
        limit: u64,
        shelves: &[Arc<Shelf>],
        wanted: Option<(&Arc<Shelf>, usize, u64)>,
        urgency: Urgency,
    ) -> Result<u64> {
        let mut used = wanted.map_or(0, |(_, _, bytes)| bytes);
        let mut victims = Vec::new();
        for shelf in shelves {
            used = used.saturating_add(shelf.own_bytes());
            for (shard, row) in shelf.ledger.rows()?.into_iter().enumerate() {
                if wanted.is_some_and(|(wanted, number, _)| number == shard && wanted.id() == shelf.id()) {
                    continue;
                }
                used = used.saturating_add(row.bytes);
                if shelf.may_evict(&row) {
                    victims.push(Victim { shelf, shard, row });
                }
            }
        }
        if used <= limit {
            return Ok(used);
        }
        // Those that are marked as loading are in the hands of a download, which their locks will tell, or of nobody.
        victims.sort_unstable_by_key(|victim| (!victim.row.is_loading(), victim.row.used()));
        let mut announced = Vec::new();
        for victim in victims {
            if used <= limit {
                return Ok(used);
            }
            if victim.shelf.is_announced(victim.shard) {
                announced.push(victim);
            } else {
                used -= victim.evict()?;
            }
        }
        if urgency == Urgency::Now {
            // What was fetched last will be read last.
            while used > limit
                && let Some(victim) = announced.pop()
            {
                used -= victim.evict()?;
            }
        }
        Ok(used)
    }

    /// The directories that count, each once, in an order that is the same in all processes.
    fn shelves(&self) -> Vec<Arc<Shelf>> {
        let mut shelves = self.inner.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        shelves.retain(|shelf| shelf.strong_count() > 0);
        let mut shelves: Vec<_> = shelves.iter().filter_map(Weak::upgrade).collect();
        shelves.sort_by_key(|shelf| shelf.id());
        shelves.dedup_by_key(|shelf| shelf.id());
        shelves
    }
}

impl Victim<'_> {
    /// Evicts a shard unless somebody uses it, and returns how many bytes that freed.
    fn evict(&self) -> Result<u64> {
        let Some(_lock) = self.shelf.claim(self.shard, Wait::Immediately)? else { return Ok(0) };
        // Others may have settled it since the rows were read, but nobody has made it larger without the ledger's lock.
        let before = self.shelf.ledger.row(self.shard)?.bytes;
        let after = self.shelf.evict(self.shard)?;
        tracing::debug!(dir = %self.shelf.layout.dir().display(), shard = self.shard, bytes = before.saturating_sub(after), "evicted");
        Ok(self.row.bytes.saturating_sub(after))
    }
}

fn lock_all(shelves: &[Arc<Shelf>]) -> Result<Vec<lockstep_filelock::ExclusiveByte>> {
    shelves.iter().map(|shelf| shelf.lock_ledger()).collect()
}
