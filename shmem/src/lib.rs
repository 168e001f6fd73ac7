//! Shared memory, rosters and barriers between the processes of a machine that a crash cannot leave in a bad state.
//!
//! # Model
//!
//! *Ownership is what the kernel takes back from a dead process, never what a process must remember to give back.*
//!
//! * A [`Segment`] is a file in a [`Directory`] of the user's own under `/dev/shm`, named by a hash of what it is for.
//!   Whoever uses it holds a shared `flock` on it. Whoever gets an exclusive one knows that nobody is alive: the file is
//!   a leftover, and is replaced. Making, entering and leaving a segment happen under a lock on the directory, and are
//!   short. The last one out removes the file, and with it any other leftovers it finds. So a crash leaves at most
//!   files that the next run of any job of this user removes.
//! * What lies in a segment is declared by a [`Layout`]. All users must have the same one; it starts as zeros, and its
//!   space is reserved, so that a full `/dev/shm` is an error ([`SegmentError::NoSpace`]) and not a bus error later.
//! * A [`Roster`] has one place for each participant, who holds a lock on a byte of the file while it lives.
//! * A [`Barrier`] lets all participants of a roster through, or none: its outcome is one atomic change of one word. If a
//!   participant dies, all others get [`BarrierError::PeerLost`] within a second; if one comes with another token than
//!   the rest, all get [`BarrierError::Diverged`].
//!
//! Participants are processes or threads: nothing here depends on which.
//!
//! # Limitations
//!
//! * **Linux is what is tested.** Elsewhere, waiting is polling once in a millisecond, and liveness costs a small file for
//!   each participant.
//! * **Fork.** A forked child shares the locks of its parent, which therefore seems alive for as long as the child is.
//!   Fork first, or `exec`. Handles that a child inherits remove nothing when dropped.
//! * **Trust.** Segments are readable and writable by their user only, and every process of that user can do anything
//!   to them; if one cuts the file short, others that touch it get SIGBUS.
//! * A participant that dies before it has joined the roster was never there: the others learn of it by their time-out.
//! * A barrier that failed once has failed for good: its participants no longer agree on anything.
//!
//! # Example
//!
//! ```
//! use lockstep_shmem::{Directory, Layout, Presence, Segment, SegmentName, Wait};
//!
//! let mut layout = Layout::new(0);
//! let roster = layout.roster(3);
//! let counter = layout.atomic::<std::sync::atomic::AtomicU64>();
//!
//! # let folder = tempfile::tempdir()?;
//! # let directory = Directory::at(folder.path());
//! let name = SegmentName::new(&["job 7", "node 0", "demo"]);
//! let segment = Segment::open_or_create_in(&directory, &name, &layout, Wait::Forever)?;
//! segment.atomic(counter).fetch_add(1, std::sync::atomic::Ordering::Relaxed);
//!
//! let roster = segment.roster(roster);
//! let member = roster.join(1)?;
//! assert_eq!(roster.presence(0)?, Presence::Awaited);
//! assert_eq!(roster.presence(1)?, Presence::Here);
//! drop(member);
//! assert_eq!(roster.presence(1)?, Presence::Gone);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod array;
mod barrier;
mod directory;
mod futex;
mod header;
mod layout;
mod map;
mod name;
mod roster;
mod segment;
mod survey;
#[doc(hidden)]
pub mod testing;

pub use array::{SharedArray, SharedAtomic};
pub use barrier::{Barrier, BarrierError, Waiting};
pub use directory::{DIRECTORY_VARIABLE, Directory};
pub use layout::{Layout, Place};
pub use lockstep_filelock::{LockError, Wait};
pub use map::Atomic;
pub use name::SegmentName;
pub use roster::{Member, Presence, Roster, RosterError};
pub use segment::{Segment, SegmentError};
pub use survey::{SegmentInfo, SegmentState, Swept};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct ReadmeDoctests;
