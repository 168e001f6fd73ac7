//! Barriers: everybody gets through, or nobody does and all know why.

mod protocol;
mod spinning;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockstep_filelock::Wait;

use crate::futex;
use crate::layout::{LINE, Place};
use crate::map::Atomic;
use crate::roster::{Member, Roster};
use crate::segment::Shared;
use protocol::{Cells, Verdict};
use spinning::Spinning;

/// What lies in front of the slots, in bytes: the word that decides, and the counter, each on a line of its own.
pub(crate) const FIXED_SIZE: usize = 2 * LINE;

/// How much memory a participant's slot takes, in bytes: a cache line, since each is written by another processor.
pub(crate) const SLOT_SIZE: usize = 64;

const COUNTER_AT: usize = LINE;
const TOLD_IN_SLOT: usize = 4;
const TOKEN_IN_SLOT: usize = 8;

/// How often who waits looks whether the others are alive. Several times in the second within which it is promised.
const GLANCE: Duration = Duration::from_millis(150);

/// A participant's handle on a barrier.
///
/// All participants of the roster call [`wait`](Self::wait) or [`agree`](Self::agree) the same number of times; each call
/// returns when all have made it. What they did before it is visible to all after it.
pub struct Barrier {
    member: Member,
    memory: Memory,
    spinning: Spinning,
}

/// Why a barrier did not let anybody through. All participants get the same kind, also those that come later: once failed, a
/// barrier has failed for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierError {
    /// Participants died or left.
    #[error("{} died or left", list(who))]
    PeerLost {
        /// Who, in ascending order.
        who: Vec<usize>,
    },
    /// Participants came with another token than the others.
    #[error("{} came with something else than the others", list(who))]
    Diverged {
        /// The fewer, in ascending order; where there is a tie, those who disagree with the first participant.
        who: Vec<usize>,
    },
    /// Somebody's wait was over before everybody was there.
    #[error("{} did not come in time", list(missing))]
    TimedOut {
        /// Who had not come, in ascending order.
        missing: Vec<usize>,
    },
}

fn list(who: &[usize]) -> String {
    let numbers: Vec<String> = who.iter().map(usize::to_string).collect();
    format!("{} {}", if who.len() == 1 { "participant" } else { "participants" }, numbers.join(", "))
}

impl Barrier {
    pub(crate) fn new(shared: Arc<Shared>, place: Place<Self>, member: Member) -> Self {
        let participants = member.roster().len();
        assert_eq!(participants, place.len(), "the barrier is for another roster");
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spinning = Spinning::new(participants, processors);
        Self { memory: Memory { shared, place, roster: member.roster().clone() }, member, spinning }
    }

    /// Waits until all participants have called this.
    ///
    /// # Errors
    ///
    /// As [`agree`](Self::agree).
    pub fn wait(&mut self, wait: Wait) -> Result<(), BarrierError> {
        self.agree(0, wait)
    }

    /// Waits until all participants have called this, and makes sure that they did so with the same token (a hash of what
    /// they must agree on).
    ///
    /// # Errors
    ///
    /// [`BarrierError::PeerLost`] within a second of a participant's death, [`BarrierError::Diverged`] if tokens differ (at
    /// once where somebody waits, not only when all have come), [`BarrierError::TimedOut`] if the wait of *any*
    /// participant is over: who has given up cannot be waited for.
    pub fn agree(&mut self, token: u64, wait: Wait) -> Result<(), BarrierError> {
        self.agree_watched(token, wait, |_| ())
    }

    /// As [`agree`](Self::agree), and calls `watch` with the time waited so far, several times in a second, for as long as
    /// others are missing. To tell somebody that, and [for whom](Waiting::missing), one waits.
    ///
    /// # Errors
    ///
    /// As [`agree`](Self::agree).
    pub fn agree_watched(
        &mut self,
        token: u64,
        wait: Wait,
        mut watch: impl FnMut(&Waiting<'_>),
    ) -> Result<(), BarrierError> {
        let started = Instant::now();
        let limit = match wait {
            Wait::Immediately => Some(Duration::ZERO),
            Wait::For(time) => Some(time),
            Wait::Forever => None,
        };
        let memory = &self.memory;
        let left = || {
            let waited = started.elapsed();
            if waited >= GLANCE {
                watch(&Waiting { memory, waited });
            }
            limit.map(|limit| limit.saturating_sub(waited))
        };
        let me = self.member.who();
        protocol::agree(memory, me, token, &mut self.spinning, left).map_err(|verdict| {
            memory.told_of(me).store(1, Ordering::Release);
            memory.explain(verdict)
        })
    }

    /// Which participant's handle this is.
    pub fn member(&self) -> &Member {
        &self.member
    }
}

/// A wait at a barrier that takes long, for who [watches](Barrier::agree_watched) it.
pub struct Waiting<'a> {
    memory: &'a Memory,
    waited: Duration,
}

impl Waiting<'_> {
    /// How long it has been.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Who has not come yet, in ascending order.
    pub fn missing(&self) -> Vec<usize> {
        self.memory.missing()
    }
}

/// The cells of a barrier in a segment.
struct Memory {
    shared: Arc<Shared>,
    place: Place<Barrier>,
    roster: Roster,
}

impl Memory {
    fn cell<A: Atomic>(&self, offset: usize) -> &A {
        &self.shared.mapping().view::<A>(self.place.offset() + offset, 1)[0]
    }

    fn decision(&self) -> &AtomicU64 {
        self.cell(0)
    }

    fn mark_of(&self, who: usize) -> &AtomicU32 {
        self.cell(FIXED_SIZE + who * SLOT_SIZE)
    }

    /// Not zero once a participant has seen that the barrier failed, after which it may leave and nobody is to blame it.
    fn told_of(&self, who: usize) -> &AtomicU32 {
        self.cell(FIXED_SIZE + who * SLOT_SIZE + TOLD_IN_SLOT)
    }

    fn token_of(&self, who: usize) -> &AtomicU64 {
        self.cell(FIXED_SIZE + who * SLOT_SIZE + TOKEN_IN_SLOT)
    }

    /// Who has not come to the generation that is awaited, or was when it failed.
    fn missing(&self) -> Vec<usize> {
        let generation = protocol::undecided(self.word());
        (0..self.participants()).filter(|&who| self.mark(who) != generation.wrapping_add(1)).collect()
    }

    /// Who died or left before it could know that the barrier failed.
    fn lost(&self) -> Vec<usize> {
        let mut gone = self.roster.gone();
        gone.retain(|&who| self.told_of(who).load(Ordering::Acquire) == 0);
        gone
    }

    /// All whom a verdict concerns: whom it names, and whoever else it would be said of now.
    fn explain(&self, verdict: Verdict) -> BarrierError {
        let with = |mut others: Vec<usize>, first: usize| {
            if let Err(at) = others.binary_search(&first) {
                others.insert(at, first);
            }
            others
        };
        match verdict {
            Verdict::Lost(who) => BarrierError::PeerLost { who: with(self.lost(), who) },
            Verdict::Diverged(who) => {
                let generation = protocol::undecided(self.word());
                BarrierError::Diverged { who: with(protocol::minority(self, generation), who) }
            }
            Verdict::Missing(who) => BarrierError::TimedOut { missing: with(self.missing(), who) },
        }
    }
}

impl Cells for Memory {
    fn participants(&self) -> usize {
        self.place.len()
    }

    fn word(&self) -> u64 {
        self.decision().load(Ordering::Acquire)
    }

    fn decide(&self, from: u64, to: u64) -> bool {
        self.decision().compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn set_mark(&self, who: usize, mark: u32, token: u64) {
        self.token_of(who).store(token, Ordering::Relaxed);
        self.mark_of(who).store(mark, Ordering::Release);
    }

    fn mark(&self, who: usize) -> u32 {
        self.mark_of(who).load(Ordering::Acquire)
    }

    fn token(&self, who: usize) -> u64 {
        self.token_of(who).load(Ordering::Relaxed)
    }

    fn count(&self) -> u32 {
        self.cell::<AtomicU32>(COUNTER_AT).fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    fn is_gone(&self, who: usize) -> bool {
        self.roster.is_gone(who)
    }

    fn sleep(&self, low: u32, limit: Option<Duration>) {
        futex::sleep(self.decision(), low, limit.map_or(GLANCE, |limit| limit.min(GLANCE)));
    }

    fn wake_all(&self) {
        futex::wake_all(self.decision());
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier")
            .field("member", &self.member)
            .field("participants", &self.memory.participants())
            .finish()
    }
}

impl fmt::Debug for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("waited", &self.waited).field("missing", &self.missing()).finish()
    }
}
