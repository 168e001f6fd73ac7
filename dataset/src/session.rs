//! The processes of a node that read a dataset together, and agree at the start of every epoch.

mod agreement;
mod join;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lockstep_shmem::{Barrier, Directory, SharedArray};

use crate::Result;

/// One who takes part in a session: a rank, or a loading worker of a rank. Of the process world: who it is as a process,
/// not whose samples it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Participant {
    /// A training process, by its global number.
    Rank(u64),
    /// A loading worker.
    Worker {
        /// The global number of its rank.
        rank: u64,
        /// Its number in its rank.
        worker: u64,
    },
}

/// Who takes part in a session, and which one it is.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig<'a> {
    /// The job's id, which tells its processes from those of all other jobs.
    pub job: &'a str,
    /// The number of this node. Simulated nodes on one machine have sessions of their own.
    pub node: u64,
    /// The dataset, and what it is for: a job's train and eval datasets have sessions of their own.
    pub dataset: &'a str,
    /// All participants of this node, in the same order for all of them. Ranks that read nothing are not among them.
    pub participants: &'a [Participant],
    /// Which of them this is.
    pub me: Participant,
    /// How long the others may take to start: for [`Session::join`], and for the first epoch.
    pub start_deadline: Duration,
    /// How long the others may take to come to a later epoch; `None` for ever. Whoever dies meanwhile is noticed within a
    /// second whatever this is, and that one waits is said in the log.
    pub epoch_deadline: Option<Duration>,
}

/// A session: membership of this process among those of its node that read a dataset together.
///
/// To drop it is to leave. The others notice when they next wait for this participant.
pub struct Session {
    barrier: Mutex<Entrance>,
    plans: SharedArray<EpochWords>,
    participants: Vec<Participant>,
    me: usize,
    epoch_deadline: Option<Duration>,
}

/// What a participant is about to do, as the others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EpochPlan {
    epoch: u64,
    position: u64,
    fingerprint: u64,
}

/// An [`EpochPlan`] in shared memory.
type EpochWords = [u64; 3];

/// Where participants wait for each other.
struct Entrance {
    barrier: Barrier,
    /// How long the others may take for the next epoch.
    deadline: Option<Duration>,
}

impl Session {
    /// Joins the session of this node, or opens it if nobody has yet. Does not wait for the others: the first
    /// [epoch](Self::begin_epoch) does.
    ///
    /// What a crashed run of the same job has left is replaced. If processes of it are still alive, this waits for them to
    /// notice and end.
    ///
    /// # Errors
    ///
    /// If there is no room in shared memory or its directory is not safe ([`is_config`](crate::Error::is_config)), if
    /// another process with the same number does not go away, or if the others have another list of participants
    /// ([`is_diverged`](crate::Error::is_diverged)).
    pub fn join(config: &SessionConfig<'_>) -> Result<Self> {
        Self::join_in(&Directory::of_user(), config)
    }

    /// As [`join`](Self::join), with shared memory in a directory of your choice.
    ///
    /// # Errors
    ///
    /// As [`join`](Self::join).
    pub fn join_in(directory: &Directory, config: &SessionConfig<'_>) -> Result<Self> {
        join::join(directory, config)
    }

    /// Starts an epoch together with all other participants: waits for them, and makes sure that all start the same epoch
    /// at the same position with the same settings. `fingerprint` stands for whatever must be the same.
    ///
    /// # Errors
    ///
    /// All participants get the same kind of error, which says who is to blame: somebody died, left or did not come in time
    /// ([`is_peer_lost`](crate::Error::is_peer_lost)), or came with something else
    /// ([`is_diverged`](crate::Error::is_diverged)). The session is over then.
    pub fn begin_epoch(&self, epoch: u64, position: u64, fingerprint: u64) -> Result<()> {
        let plan = EpochPlan { epoch, position, fingerprint };
        let mut entrance = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        self.agree_on(&mut entrance, plan)?;
        entrance.deadline = self.epoch_deadline;
        Ok(())
    }

    /// All participants of this node.
    pub fn participants(&self) -> &[Participant] {
        &self.participants
    }

    /// Which of them this is.
    pub fn me(&self) -> Participant {
        self.participants[self.me]
    }

    fn new(barrier: Barrier, plans: SharedArray<EpochWords>, config: &SessionConfig<'_>, me: usize) -> Self {
        let entrance = Entrance { barrier, deadline: Some(config.start_deadline) };
        Self {
            barrier: Mutex::new(entrance),
            plans,
            participants: config.participants.to_vec(),
            me,
            epoch_deadline: config.epoch_deadline,
        }
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Participant::Rank(rank) => write!(f, "rank {rank}"),
            Participant::Worker { rank, worker } => write!(f, "rank {rank} worker {worker}"),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("me", &self.me())
            .field("participants", &self.participants.len())
            .finish_non_exhaustive()
    }
}
