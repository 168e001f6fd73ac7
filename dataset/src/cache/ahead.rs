//! Fetches shards before they are asked for.

use std::collections::{BTreeMap, HashSet, VecDeque};
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
    plans: Mutex<Plans>,
    changed: Condvar,
    /// Held from taking a shard until there is room for it, so that room goes to what is needed first.
    turn: Mutex<()>,
}

/// A plan for each reader.
#[derive(Default)]
struct Plans {
    of_readers: BTreeMap<u64, Plan>,
    closed: bool,
}

#[derive(Default)]
struct Plan {
    upcoming: Option<Upcoming>,
    /// Taken from `upcoming` and too large for now.
    next: Option<usize>,
    /// Fetched, or being fetched, and not used yet, in order.
    held: VecDeque<Held>,
    /// Used before they were taken from `upcoming`.
    used: HashSet<usize>,
    /// How often readers waited for downloads of their own since they last used something of this plan.
    misses: usize,
    /// Set when the plan is not wanted any more.
    abandoned: Arc<AtomicBool>,
}

struct Held {
    shard: usize,
    bytes: u64,
    /// Tells other processes. `None` where they cannot be told, which costs no more than a second download.
    _announced: Option<SharedByte>,
}

/// Something to fetch.
struct Task {
    reader: u64,
    shard: usize,
    abandoned: Arc<AtomicBool>,
}

impl FetchAhead {
    pub(crate) fn new(stock: Arc<Stock>, bounds: Ahead) -> Self {
        let shared = Shared { stock, bounds, plans: Mutex::default(), changed: Condvar::new(), turn: Mutex::default() };
        Self { shared: Arc::new(shared), start: Once::new() }
    }

    /// Gives a reader another plan.
    pub(crate) fn replace(&self, reader: u64, upcoming: Upcoming) {
        self.shared.replace(reader, Plan { upcoming: Some(upcoming), ..Plan::default() });
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
        let plans = std::mem::replace(&mut *self.shared.plans(), Plans { closed: true, ..Plans::default() });
        plans.of_readers.values().for_each(|plan| plan.abandoned.store(true, Ordering::Relaxed));
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, reader: u64, plan: Plan) {
        let before = self.plans().of_readers.insert(reader, plan);
        if let Some(before) = before {
            before.abandoned.store(true, Ordering::Relaxed);
        }
        self.changed.notify_all();
    }

    fn used(&self, shard: usize, was_there: bool) {
        let released = self.plans().used(shard, was_there);
        // Unlocked where nobody waits for it.
        drop(released);
        self.changed.notify_all();
    }

    fn work(&self) {
        loop {
            let mut turn = Some(self.turn.lock().unwrap_or_else(PoisonError::into_inner));
            let Some(task) = self.take() else { return };
            loop {
                match self.stock.fetch_ahead(task.shard, &task.abandoned, || drop(turn.take())) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::debug!(shard = task.shard, %error, "could not fetch a shard ahead");
                        // The reader will try itself and find out.
                        let released = self.plans().release(&task);
                        drop(released);
                        break;
                    }
                }
                // There is no room: until a shard is used here, or others make some.
                let plans = self.plans();
                if task.abandoned.load(Ordering::Relaxed) || !plans.holds(&task) {
                    break;
                }
                drop(self.changed.wait_timeout(plans, PAUSE).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// The next shard to fetch, when there may be one more. `None`: that was all.
    fn take(&self) -> Option<Task> {
        let mut plans = self.plans();
        loop {
            if plans.closed {
                return None;
            }
            let bytes_of = |shard: usize| self.stock.index.shards()[shard].raw_bytes();
            if let Some((reader, shard)) =
                plans.next_within(&self.bounds, bytes_of, |shard| self.stock.is_pinned(shard))
            {
                let announced = self.stock.announce(shard).ok().flatten();
                return plans.hold(reader, Held { shard, bytes: bytes_of(shard), _announced: announced });
            }
            plans = self.changed.wait(plans).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Plans {
    /// The next shard of the reader who has the fewest.
    fn next_within(
        &mut self,
        bounds: &Ahead,
        bytes_of: impl Fn(usize) -> u64,
        is_pinned: impl Fn(usize) -> bool,
    ) -> Option<(u64, usize)> {
        // All readers together keep within the bounds.
        let readers = self.of_readers.len().max(1);
        let share = Ahead { shards: bounds.shards / readers, bytes: bounds.bytes / readers as u64, ..*bounds };
        let mut order: Vec<_> = self.of_readers.iter_mut().collect();
        order.sort_by_key(|(_, plan)| plan.held.len());
        order.into_iter().find_map(|(&reader, plan)| Some((reader, plan.next_within(&share, &bytes_of, &is_pinned)?)))
    }

    fn hold(&mut self, reader: u64, held: Held) -> Option<Task> {
        let plan = self.of_readers.get_mut(&reader)?;
        let task = Task { reader, shard: held.shard, abandoned: Arc::clone(&plan.abandoned) };
        plan.held.push_back(held);
        Some(task)
    }

    fn holds(&self, task: &Task) -> bool {
        self.of_readers.get(&task.reader).is_some_and(|plan| plan.holds(task.shard))
    }

    fn release(&mut self, task: &Task) -> Option<Held> {
        self.of_readers.get_mut(&task.reader)?.release(task.shard)
    }

    fn used(&mut self, shard: usize, was_there: bool) -> Vec<Held> {
        let alone = self.of_readers.len() == 1;
        self.of_readers.values_mut().filter_map(|plan| plan.used(shard, was_there, alone)).collect()
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
            if !self.used.remove(&shard) && !self.holds(shard) && !is_pinned(shard) {
                break shard;
            }
        };
        let held_bytes = self.held.iter().fold(0_u64, |sum, held| sum.saturating_add(held.bytes));
        if !self.held.is_empty() && held_bytes.saturating_add(bytes_of(shard)) > bounds.bytes {
            self.next = Some(shard);
            return None;
        }
        Some(shard)
    }

    fn holds(&self, shard: usize) -> bool {
        self.held.iter().any(|held| held.shard == shard)
    }

    fn release(&mut self, shard: usize) -> Option<Held> {
        let place = self.held.iter().position(|held| held.shard == shard)?;
        self.held.remove(place)
    }

    /// Notes that a shard was asked for. `alone`: by the reader whose plan this is.
    fn used(&mut self, shard: usize, was_there: bool, alone: bool) -> Option<Held> {
        if let Some(held) = self.release(shard) {
            self.misses = 0;
            return Some(held);
        }
        if alone {
            self.used.insert(shard);
        }
        // A shard that a reader had open when it came up in the plan, and has closed since, will not be asked for.
        // Somebody who waits for downloads again and again while nothing that is held is used has passed it over.
        self.misses += usize::from(!was_there);
        if self.misses <= self.held.len() {
            return None;
        }
        self.misses = 0;
        self.held.pop_front()
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

    fn plans<const N: usize>(of_readers: [Upcoming; N]) -> Plans {
        let plan = |upcoming| Plan { upcoming: Some(upcoming), ..Plan::default() };
        Plans { of_readers: (0..).zip(of_readers.map(plan)).collect(), closed: false }
    }

    fn take(plans: &mut Plans, bounds: &Ahead) -> Option<usize> {
        let (reader, shard) = plans.next_within(bounds, |_| 10, |shard| shard == 99)?;
        plans.hold(reader, Held { shard, bytes: 10, _announced: None }).map(|task| task.shard)
    }

    #[test]
    fn no_more_is_held_than_the_bounds_allow() {
        let mut plans = plans([Box::new(0..)]);
        let bounds = Ahead { shards: 3, bytes: 1000, threads: 1 };
        assert_eq!([(); 4].map(|()| take(&mut plans, &bounds)), [Some(0), Some(1), Some(2), None]);
        assert_eq!(plans.used(1, true).len(), 1);
        let bounds = Ahead { shards: 9, bytes: 35, threads: 1 };
        assert_eq!([(); 2].map(|()| take(&mut plans, &bounds)), [Some(3), None]);
        assert_eq!(plans.used(0, true).len(), 1);
        assert_eq!(take(&mut plans, &bounds), Some(4), "what was too much for a while is not forgotten");
    }

    #[test]
    fn one_shard_is_always_allowed() {
        let mut plans = plans([Box::new(0..)]);
        let bounds = Ahead { shards: 0, bytes: 0, threads: 1 };
        assert_eq!([(); 2].map(|()| take(&mut plans, &bounds)), [Some(0), None]);
    }

    #[test]
    fn readers_share_the_bounds_and_who_has_least_comes_first() {
        let mut plans = plans([Box::new(0..), Box::new(100..)]);
        let bounds = Ahead { shards: 4, bytes: 1000, threads: 1 };
        let taken = [(); 5].map(|()| take(&mut plans, &bounds));
        assert_eq!(taken, [Some(0), Some(100), Some(1), Some(101), None]);
        assert_eq!(plans.used(100, true).len(), 1);
        assert_eq!([(); 2].map(|()| take(&mut plans, &bounds)), [Some(102), None]);
    }

    #[test]
    fn what_the_reader_had_first_is_skipped() {
        let mut plans = plans([Box::new([4, 5, 99, 4, 5, 6].into_iter())]);
        let bounds = Ahead { shards: 9, bytes: 1000, threads: 1 };
        assert!(plans.used(4, true).is_empty());
        assert_eq!([(); 4].map(|()| take(&mut plans, &bounds)), [Some(5), Some(4), Some(6), None]);
    }

    #[test]
    fn what_the_reader_passed_over_is_let_go_in_time() {
        let mut plans = plans([Box::new(0..)]);
        let bounds = Ahead { shards: 2, bytes: 1000, threads: 1 };
        assert_eq!([(); 3].map(|()| take(&mut plans, &bounds)), [Some(0), Some(1), None]);
        assert!(
            plans.used(50, true).is_empty() && plans.used(51, false).is_empty() && plans.used(52, false).is_empty()
        );
        assert_eq!(plans.used(53, false).len(), 1, "nothing that is held was used, and the reader waits");
        assert_eq!(take(&mut plans, &bounds), Some(2));
    }
}
