//! Fetches shards before they are asked for.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use lockstep_filelock::SharedByte;

use super::Ahead;
use super::pin::Stock;

/// How soon to look again for room that others may have made.
const PAUSE: Duration = Duration::from_millis(20);

/// The shards that will be used, in order.
type Upcoming = Box<dyn Iterator<Item = usize> + Send>;

/// Threads that fetch what will be used. They end with it, or with the download they are at.
pub(crate) struct FetchAhead {
    shared: Arc<Shared>,
    start: Once,
}

struct Shared {
    stock: Arc<Stock>,
    bounds: Ahead,
    plan: Mutex<Plan>,
    changed: Condvar,
    /// Held from taking a shard until there is room for it, so that room goes to what is needed first.
    turn: Mutex<()>,
}

#[derive(Default)]
struct Plan {
    upcoming: Option<Upcoming>,
    /// Taken from `upcoming` and too large for now.
    next: Option<usize>,
    /// Fetched, or being fetched, and not used yet.
    held: HashMap<usize, Held>,
    held_bytes: u64,
    /// How many were taken from `upcoming`.
    taken: u64,
    /// Used before they were taken from `upcoming`.
    used: HashSet<usize>,
    /// Set when the plan is not wanted any more.
    abandoned: Arc<AtomicBool>,
    closed: bool,
}

struct Held {
    bytes: u64,
    /// When it was taken from `upcoming`.
    turn: u64,
    /// Tells other processes. `None` where they cannot be told, which costs no more than a second download.
    _announced: Option<SharedByte>,
}

impl FetchAhead {
    pub(crate) fn new(stock: Arc<Stock>, bounds: Ahead) -> Self {
        let shared = Shared { stock, bounds, plan: Mutex::default(), changed: Condvar::new(), turn: Mutex::default() };
        Self { shared: Arc::new(shared), start: Once::new() }
    }

    /// Starts over with another plan.
    pub(crate) fn replace(&self, upcoming: Upcoming) {
        self.shared.replace(Plan { upcoming: Some(upcoming), ..Plan::default() });
        self.start.call_once(|| {
            for _ in 0..self.shared.bounds.threads.max(1) {
                let shared = Arc::clone(&self.shared);
                let thread = std::thread::Builder::new().name("lockstep-ahead".to_owned());
                if let Err(error) = thread.spawn(move || shared.work()) {
                    tracing::warn!(%error, "cannot start a thread to fetch shards ahead");
                }
            }
        });
    }

    /// Notes that a shard was asked for, and whether it was there.
    pub(crate) fn used(&self, shard: usize, was_there: bool) {
        if self.start.is_completed() {
            self.shared.used(shard, was_there);
        }
    }
}

impl Drop for FetchAhead {
    fn drop(&mut self) {
        self.shared.replace(Plan { closed: true, ..Plan::default() });
    }
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, plan: Plan) {
        let before = std::mem::replace(&mut *self.plan(), plan);
        before.abandoned.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn used(&self, shard: usize, was_there: bool) {
        let released = self.plan().used(shard, was_there);
        // Unlocked where nobody waits for it.
        drop(released);
        self.changed.notify_all();
    }

    fn work(&self) {
        loop {
            let mut turn = Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
            let Some((shard, abandoned)) = self.take() else { return };
            loop {
                match self.stock.fetch_ahead(shard, &abandoned, || drop(turn.take())) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::debug!(shard, %error, "could not fetch a shard ahead");
                        // The reader will try itself and find out.
                        let released = self.plan().release(shard);
                        drop(released);
                        break;
                    }
                }
                // There is no room: until a shard is used here, or others make some.
                let plan = self.plan();
                if abandoned.load(Ordering::Relaxed) || !plan.held.contains_key(&shard) {
                    break;
                }
                drop(self.changed.wait_timeout(plan, PAUSE).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// The next shard to fetch, when there may be one more. `None`: that was all.
    fn take(&self) -> Option<(usize, Arc<AtomicBool>)> {
        let mut plan = self.plan();
        loop {
            if plan.closed {
                return None;
            }
            if let Some(shard) =
                plan.next_within(&self.bounds, |shard| self.bytes_of(shard), |shard| self.stock.is_pinned(shard))
            {
                let announced = self.stock.announce(shard).ok().flatten();
                plan.hold(shard, self.bytes_of(shard), announced);
                return Some((shard, Arc::clone(&plan.abandoned)));
            }
            plan = self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn bytes_of(&self, shard: usize) -> u64 {
        self.stock.index.shards()[shard].raw_bytes()
    }
}

impl Plan {
    /// The next shard of the plan that the reader does not have, unless that would be too much.
    fn next_within(
        &mut self,
        bounds: &Ahead,
        bytes_of: impl Fn(usize) -> u64,
        is_pinned: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if self.held.len() >= bounds.shards.max(1) {
            return None;
        }
        let shard = loop {
            let shard = match self.next.take() {
                Some(shard) => shard,
                None => self.upcoming.as_mut()?.next()?,
            };
            if !self.used.remove(&shard) && !self.held.contains_key(&shard) && !is_pinned(shard) {
                break shard;
            }
        };
        if !self.held.is_empty() && self.held_bytes.saturating_add(bytes_of(shard)) > bounds.bytes {
            self.next = Some(shard);
            return None;
        }
        Some(shard)
    }

    fn hold(&mut self, shard: usize, bytes: u64, announced: Option<SharedByte>) {
        self.taken += 1;
        self.held_bytes += bytes;
        self.held.insert(shard, Held { bytes, turn: self.taken, _announced: announced });
    }

    fn release(&mut self, shard: usize) -> Option<Held> {
        let held = self.held.remove(&shard)?;
        self.held_bytes -= held.bytes;
        Some(held)
    }

    /// Releases what the reader has just asked for, and what came before it in the plan: that was passed over, since the
    /// reader had kept it open.
    fn used(&mut self, shard: usize, was_there: bool) -> Vec<Held> {
        let turn = match self.held.get(&shard) {
            Some(held) => held.turn,
            None if self.upcoming.is_none() => return Vec::new(),
            None => {
                self.used.insert(shard);
                // A reader that waited for a download of its own is beyond all that was fetched for it.
                if was_there { 0 } else { self.taken }
            }
        };
        let passed: Vec<_> = self.held.iter().filter(|(_, held)| held.turn <= turn).map(|(&shard, _)| shard).collect();
        passed.into_iter().filter_map(|shard| self.release(shard)).collect()
    }
}

impl fmt::Debug for FetchAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchAhead").field("bounds", &self.shared.bounds).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shards: impl Iterator<Item = usize> + Send + 'static) -> Plan {
        Plan { upcoming: Some(Box::new(shards)), ..Plan::default() }
    }

    fn take(plan: &mut Plan, bounds: &Ahead) -> Option<usize> {
        let shard = plan.next_within(bounds, |_| 10, |shard| shard == 99)?;
        plan.hold(shard, 10, None);
        Some(shard)
    }

    #[test]
    fn no_more_is_held_than_the_bounds_allow() {
        let mut plan = plan(0..);
        let bounds = Ahead { shards: 3, bytes: 1000, threads: 1 };
        assert_eq!([(); 4].map(|()| take(&mut plan, &bounds)), [Some(0), Some(1), Some(2), None]);
        assert_eq!(plan.used(0, true).len(), 1);
        let bounds = Ahead { shards: 9, bytes: 35, threads: 1 };
        assert_eq!([(); 2].map(|()| take(&mut plan, &bounds)), [Some(3), None]);
        assert_eq!(plan.used(1, true).len(), 1);
        assert_eq!(take(&mut plan, &bounds), Some(4), "what was too much for a while is not forgotten");
        assert_eq!(plan.held_bytes, 30);
    }

    #[test]
    fn one_shard_is_always_allowed() {
        let mut plan = plan(0..);
        let bounds = Ahead { shards: 0, bytes: 0, threads: 1 };
        assert_eq!([(); 2].map(|()| take(&mut plan, &bounds)), [Some(0), None]);
    }

    #[test]
    fn what_the_reader_had_first_is_skipped() {
        let mut plan = plan([4, 5, 99, 4, 5, 6].into_iter());
        let bounds = Ahead { shards: 9, bytes: 1000, threads: 1 };
        assert!(plan.used(4, true).is_empty());
        assert_eq!([(); 4].map(|()| take(&mut plan, &bounds)), [Some(5), Some(4), Some(6), None]);
    }

    #[test]
    fn what_the_reader_passed_over_is_let_go() {
        let mut plan = plan(0..);
        let bounds = Ahead { shards: 4, bytes: 1000, threads: 1 };
        for shard in 0..4 {
            assert_eq!(take(&mut plan, &bounds), Some(shard));
        }
        assert_eq!(plan.used(2, true).len(), 3, "0 and 1 were open already");
        assert_eq!((plan.held.len(), plan.held_bytes), (1, 10));
        assert!(plan.used(17, true).is_empty(), "another reader's, perhaps");
        assert_eq!(plan.used(18, false).len(), 1, "the reader is ahead of us");
        assert_eq!((plan.held.len(), plan.held_bytes), (0, 0));
    }
}
