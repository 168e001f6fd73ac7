//! Who is there: one place for each participant, held by a lock that the kernel takes back.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lockstep_filelock::{ByteState, ExclusiveByte, LockError, Wait};

use crate::layout::Place;
use crate::segment::Shared;
use crate::testing::{Point, reach};

/// How much memory a participant takes, in bytes. The lock is on the first of them.
pub(crate) const ENTRY_SIZE: usize = size_of::<AtomicU32>();

/// The value of a place that was ever taken.
const TAKEN: u32 = 1;

/// Who of a fixed number of participants is there, has been there, or is still to come.
///
/// A participant is whoever called [`join`](Self::join), a process or a thread, and keeps the [`Member`].
#[derive(Clone)]
pub struct Roster {
    shared: Arc<Shared>,
    place: Place<Self>,
}

/// What is known of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has not been there yet.
    Awaited,
    /// It is there.
    Here,
    /// It was there, and has left or died. It does not come back in the life of this segment.
    Gone,
}

/// A taken place in a roster. When the last clone is dropped, or its process ends, the participant is gone.
#[derive(Clone)]
#[must_use = "the participant leaves when this value is dropped"]
pub struct Member {
    inner: Arc<Seat>,
}

struct Seat {
    roster: Roster,
    who: usize,
    _byte: ExclusiveByte,
}

/// Why a place in a roster cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RosterError {
    /// Somebody who lives has this place.
    #[error("participant {who} is there already; give each process a number of its own, or wait for the other to end")]
    Taken {
        /// The place.
        who: usize,
    },
    /// Somebody had this place and is gone, while others of the same run are still there.
    #[error("participant {who} was there before and is gone; the others must end before it can start again")]
    Gone {
        /// The place.
        who: usize,
    },
    /// There is no such place.
    #[error("there is no participant {who} among {participants}")]
    NoSuchPlace {
        /// The place.
        who: usize,
        /// How many there are.
        participants: usize,
    },
    /// The kernel did not answer.
    #[error("failed to ask for the lock of a participant")]
    Lock(#[from] LockError),
}

impl Roster {
    pub(crate) fn new(shared: Arc<Shared>, place: Place<Self>) -> Self {
        Self { shared, place }
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.place.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes place `who`. A place is taken once in the life of a segment: the others may count on what it did there.
    ///
    /// # Errors
    ///
    /// [`RosterError::Taken`] if another has it, [`RosterError::Gone`] if another had it,
    /// [`RosterError::NoSuchPlace`] if there is none such.
    pub fn join(&self, who: usize) -> Result<Member, RosterError> {
        if who >= self.len() {
            return Err(RosterError::NoSuchPlace { who, participants: self.len() });
        }
        let byte = match self.shared.locks().exclusive(self.byte(who), Wait::Immediately) {
            Err(LockError::Held { .. }) => return Err(RosterError::Taken { who }),
            outcome => outcome?,
        };
        reach(Point::RosterByteTaken);
        // After the lock, so that nobody sees a place that was taken and is not held, while it is.
        if self.marks()[who].swap(TAKEN, Ordering::SeqCst) == TAKEN {
            return Err(RosterError::Gone { who });
        }
        Ok(Member { inner: Arc::new(Seat { roster: self.clone(), who, _byte: byte }) })
    }

    /// What is known of participant `who`.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell.
    ///
    /// # Panics
    ///
    /// If there is no such participant.
    pub fn presence(&self, who: usize) -> Result<Presence, LockError> {
        // In this order: who joins in between is seen as awaited, and not as gone.
        let taken = self.marks()[who].load(Ordering::SeqCst) == TAKEN;
        Ok(match (taken, self.is_alive(who)?) {
            (_, true) => Presence::Here,
            (true, false) => Presence::Gone,
            (false, false) => Presence::Awaited,
        })
    }

    /// Whether participant `who` is there: the kernel's word, not a guess.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell.
    pub fn is_alive(&self, who: usize) -> Result<bool, LockError> {
        Ok(self.shared.locks().query(self.byte(who))? != ByteState::Free)
    }

    /// All participants that were there and are gone.
    pub fn gone(&self) -> Vec<usize> {
        (0..self.len()).filter(|&who| self.is_gone(who)).collect()
    }

    /// Whether `who` is certainly gone. Where the kernel does not tell, nobody is declared dead.
    pub(crate) fn is_gone(&self, who: usize) -> bool {
        self.presence(who).is_ok_and(|presence| presence == Presence::Gone)
    }

    fn byte(&self, who: usize) -> u64 {
        (self.place.offset() + who * ENTRY_SIZE) as u64
    }

    fn marks(&self) -> &[AtomicU32] {
        self.shared.mapping().view(self.place.offset(), self.place.len())
    }
}

impl Member {
    /// Which participant this is.
    pub fn who(&self) -> usize {
        self.inner.who
    }

    /// The roster.
    pub fn roster(&self) -> &Roster {
        &self.inner.roster
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster").field("participants", &self.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("who", &self.who()).finish_non_exhaustive()
    }
}
