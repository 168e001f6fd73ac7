//! File and byte locks that the kernel takes back from a dead process.
//!
//! [`FileLock`] locks a path, [`ByteLocks`] locks single bytes of one file. Both are *advisory* (who does not ask is not
//! stopped), both come exclusive or shared, and both belong to an *open file*: when the last process that has it open
//! ends, by whatever way, the lock is free. No pid is trusted, no file has to be removed, no time-out declares anyone
//! dead.
//!
//! # Model
//!
//! * A handle is an open file, and two handles exclude each other like two processes do, also inside one process. So
//!   threads may use handles of their own. Threads that share a [`ByteLocks`] (it is `Clone`) exclude each other as well:
//!   the handle keeps count, since the kernel would let them all through.
//! * Waiting is a policy, [`Wait`]. The kernel has no time-outs for locks, so [`Wait::For`] asks again and again, at most
//!   10 ms apart.
//! * Who holds a lock is written down by the holder to help people, and is in [`LockError::Held`]. Nothing is ever
//!   decided by it.
//! * Every file is opened close-on-exec: a program that is started does not inherit locks.
//!
//! # Limitations
//!
//! * **Fork.** A child made by `fork` alone shares the open files of its parent, hence its locks. Such a child may drop
//!   its copies of the guards, which releases nothing; asking for more through an inherited handle is
//!   [`LockError::Inherited`] (open the lock again). **A lock whose owner dies while a forked child still lives is held
//!   until the child ends too.** Fork first and lock later, or use `exec`.
//! * **Network file systems.** On NFS, Linux turns both kinds into byte-range locks of the server: they work between
//!   machines if the server's lock service does, a lock of a *machine* that died is free only when its lease has run out, and a
//!   mount with `nolock` excludes processes of the same machine only. Where locks are not supported at all the error is
//!   [`LockError::Refused`]. Keep lock files on a local disk.
//! * **Nothing is fair.** Whoever asks at the right moment gets the lock; a steady stream of shared holders can keep an
//!   exclusive one out.
//! * **Deadlocks are yours.** Two processes that take two locks in opposite orders wait for each other. Take several
//!   locks in ascending order, or use [`Wait::For`].
//! * **Never remove a lock file by hand** while somebody may use it: the next one would lock another file of the same
//!   name. [`FileLock::remove`] does it safely.
//!
//! # Example
//!
//! ```
//! use lockstep_filelock::{FileLock, LockError, Wait};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("index.lock");
//! let lock = FileLock::exclusive(&path, Wait::Immediately)?;
//! match FileLock::shared(&path, Wait::Immediately) {
//!     Err(LockError::Held { holder: Some(holder), .. }) => assert_eq!(holder.pid, std::process::id()),
//!     other => panic!("two handles exclude each other: {other:?}"),
//! }
//! drop(lock);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod bytes;
mod error;
mod file;
mod holder;
mod wait;

pub use bytes::{ByteLocks, ByteState, ExclusiveByte, SharedByte};
pub use error::LockError;
pub use file::FileLock;
pub use holder::Holder;
pub use wait::Wait;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct ReadmeDoctests;
