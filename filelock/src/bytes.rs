//! Locks on single bytes of one file.

#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
mod files;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod ofd;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::file::{Mode, open_lock_file};
use crate::wait::{retry_until, uninterrupted};
use crate::{Holder, LockError, Wait};

#[cfg(not(any(target_os = "linux", target_os = "android")))]
use files::Backend;
#[cfg(any(target_os = "linux", target_os = "android"))]
use ofd::Backend;

/// Locks on single bytes of one file: as many as there are things to lock, without as many files.
///
/// The bytes need not exist, and locking touches none. Handles made by [`open`](Self::open) exclude each other, in one
/// process as between processes; clones of a handle are the same handle, and its users exclude each other, too. A handle
/// uses one file descriptor, however many locks it holds.
///
/// They are open-file-description locks; see the [crate's documentation](crate) for forks and network file systems.
#[derive(Clone)]
pub struct ByteLocks {
    inner: Arc<Inner>,
}

/// Who holds a byte, as [`ByteLocks::query`] found it. It may have changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteState {
    /// Nobody.
    Free,
    /// One or more that share it.
    Shared,
    /// One that excludes all others.
    Exclusive {
        /// Who that is, if it was written down. Informative only.
        holder: Option<Holder>,
    },
}

/// An exclusive lock on a byte, for as long as this value lives.
#[must_use = "the lock is released when this value is dropped"]
pub struct ExclusiveByte {
    guard: Guard,
}

/// A shared lock on a byte, for as long as this value lives.
#[must_use = "the lock is released when this value is dropped"]
pub struct SharedByte {
    guard: Guard,
}

struct Inner {
    backend: Backend,
    path: PathBuf,
    owner: u32,
    /// Where holders are written down, if the file is the locks' own.
    records: bool,
    /// What this handle holds. The kernel sees one owner in all users of a handle, so they are told apart here.
    held: Mutex<HashMap<u64, Held>>,
    changed: Condvar,
}

/// What a handle has of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Somebody is asking the kernel.
    Asking,
    Exclusive,
    /// With the number of users.
    Shared(usize),
}

/// One user's part in a byte that the handle holds.
struct Guard {
    locks: ByteLocks,
    byte: u64,
}

impl ByteLocks {
    /// Opens or creates the file at `path`. It is the locks' own (a short header, and four bytes for each byte that was
    /// ever locked exclusively, to say by whom); a file with other content can be locked and is not written to.
    ///
    /// # Errors
    ///
    /// [`LockError::Open`] if it cannot be opened, is not writable (the kernel grants exclusive locks through writable
    /// files only) or is a symbolic link.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LockError> {
        let path = path.as_ref();
        let file = open_lock_file(path).map_err(|source| LockError::Open { path: path.to_owned(), source })?;
        // The records are for people; without room for them the locks work as well.
        let records = Holder::prepare_bytes(&file).unwrap_or(false);
        Ok(Self::new(file, path.to_owned(), records))
    }

    /// Locks bytes of a file that is open already, and writes nothing into it. `path` is for messages.
    ///
    /// The locks belong to the open file: give this handle one of its own, not a duplicate (`File::try_clone`) of another's.
    pub fn on(file: File, path: impl Into<PathBuf>) -> Self {
        Self::new(file, path.into(), false)
    }

    fn new(file: File, path: PathBuf, records: bool) -> Self {
        let backend = Backend::new(file, &path);
        let (held, changed) = (Mutex::default(), Condvar::new());
        Self { inner: Arc::new(Inner { backend, path, owner: std::process::id(), records, held, changed }) }
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Locks `byte` against everybody else.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] when the wait is over, [`LockError::Inherited`] in a forked child, [`LockError::Refused`] if
    /// the kernel or the file system does not do it.
    pub fn exclusive(&self, byte: u64, wait: Wait) -> Result<ExclusiveByte, LockError> {
        self.acquire(byte, Mode::Exclusive, wait).map(|guard| ExclusiveByte { guard })
    }

    /// Locks `byte` against those who want it exclusively.
    ///
    /// # Errors
    ///
    /// As [`exclusive`](Self::exclusive).
    pub fn shared(&self, byte: u64, wait: Wait) -> Result<SharedByte, LockError> {
        self.acquire(byte, Mode::Shared, wait).map(|guard| SharedByte { guard })
    }

    /// Asks who holds `byte`, this handle included, without taking it even for a moment.
    ///
    /// # Errors
    ///
    /// [`LockError::Inherited`] in a forked child, [`LockError::Refused`] if the kernel or the file system does not do it.
    pub fn query(&self, byte: u64) -> Result<ByteState, LockError> {
        self.check_owner()?;
        let mode = match self.held().get(&byte) {
            Some(Held::Exclusive) => Some(Mode::Exclusive),
            Some(Held::Shared(_)) => Some(Mode::Shared),
            Some(Held::Asking) | None => self.inner.backend.query(byte).map_err(|source| self.refused(byte, source))?,
        };
        Ok(match mode {
            None => ByteState::Free,
            Some(Mode::Shared) => ByteState::Shared,
            Some(Mode::Exclusive) => ByteState::Exclusive { holder: self.recorded_holder(byte) },
        })
    }

    fn acquire(&self, byte: u64, mode: Mode, wait: Wait) -> Result<Guard, LockError> {
        self.check_owner()?;
        let (started, deadline) = (Instant::now(), wait.deadline());
        match self.reserve(byte, mode, wait, deadline) {
            Reservation::Joined => return Ok(Guard { locks: self.clone(), byte }),
            Reservation::TimedOut => return Err(self.held_error(byte, started)),
            Reservation::Ask => {}
        }
        let outcome = match (wait, deadline) {
            (Wait::Immediately, _) => self.inner.backend.try_lock(byte, mode),
            (_, Some(deadline)) => retry_until(deadline, || self.inner.backend.try_lock(byte, mode)),
            (_, None) => uninterrupted(|| self.inner.backend.lock(byte, mode)).map(|()| true),
        };
        let granted = matches!(outcome, Ok(true)).then_some(match mode {
            Mode::Exclusive => Held::Exclusive,
            Mode::Shared => Held::Shared(1),
        });
        self.settle(byte, granted);
        match outcome {
            Ok(true) => {
                if mode == Mode::Exclusive {
                    self.record(byte);
                }
                Ok(Guard { locks: self.clone(), byte })
            }
            Ok(false) => Err(self.held_error(byte, started)),
            Err(source) => Err(self.refused(byte, source)),
        }
    }

    /// Waits until no other user of this handle is in the way.
    fn reserve(&self, byte: u64, mode: Mode, wait: Wait, deadline: Option<Instant>) -> Reservation {
        let mut held = self.held();
        loop {
            match held.get_mut(&byte) {
                None => {
                    held.insert(byte, Held::Asking);
                    return Reservation::Ask;
                }
                Some(Held::Shared(users)) if mode == Mode::Shared => {
                    *users += 1;
                    return Reservation::Joined;
                }
                Some(_) if wait == Wait::Immediately => return Reservation::TimedOut,
                Some(_) => {}
            }
            held = match deadline {
                None => self.inner.changed.wait(held).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Reservation::TimedOut;
                    }
                    self.inner.changed.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Notes what this handle has of a byte now, and wakes those who wait for it to change.
    fn settle(&self, byte: u64, state: Option<Held>) {
        let mut held = self.held();
        match state {
            Some(state) => held.insert(byte, state),
            None => held.remove(&byte),
        };
        drop(held);
        self.inner.changed.notify_all();
    }

    fn release(&self, byte: u64) {
        let mut held = self.held();
        if let Some(Held::Shared(users @ 2..)) = held.get_mut(&byte) {
            *users -= 1;
        } else {
            // Under the mutex, so that nobody asks the kernel for a byte that is about to be unlocked under them.
            // To unlock a range that is locked cannot fail but by lack of memory; closing the file will do it then.
            let _ = self.inner.backend.unlock(byte);
            held.remove(&byte);
        }
        drop(held);
        self.inner.changed.notify_all();
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, Held>> {
        // The map is changed by single calls only, so a panic elsewhere cannot leave it half changed.
        self.inner.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_owner(&self) -> bool {
        self.inner.owner == std::process::id()
    }

    fn check_owner(&self) -> Result<(), LockError> {
        if self.is_owner() { Ok(()) } else { Err(LockError::Inherited { path: self.inner.path.clone() }) }
    }

    fn record(&self, byte: u64) {
        if let Some(file) = self.inner.records.then(|| self.inner.backend.file()) {
            // A full disk must not keep anyone from a lock.
            let _ = Holder::record_for_byte(file, byte);
        }
    }

    fn recorded_holder(&self, byte: u64) -> Option<Holder> {
        self.inner.records.then(|| Holder::read_for_byte(self.inner.backend.file(), byte)).flatten()
    }

    fn held_error(&self, byte: u64, started: Instant) -> LockError {
        let holder = match self.query(byte) {
            Ok(ByteState::Exclusive { holder }) => holder,
            _ => None,
        };
        LockError::Held { path: self.inner.path.clone(), byte: Some(byte), holder, waited: started.elapsed() }
    }

    fn refused(&self, byte: u64, source: io::Error) -> LockError {
        LockError::Refused { path: self.inner.path.clone(), byte: Some(byte), source }
    }
}

enum Reservation {
    /// The handle shares the byte already.
    Joined,
    /// It is this user's turn to ask the kernel.
    Ask,
    TimedOut,
}

impl ExclusiveByte {
    /// Lets others share the byte. Atomic on Linux: nobody can take it exclusively in between.
    ///
    /// # Errors
    ///
    /// [`LockError::Refused`] if the kernel does not do it; the lock is released then.
    pub fn downgrade(self) -> Result<SharedByte, LockError> {
        let Guard { locks, byte } = &self.guard;
        locks.check_owner()?;
        match locks.inner.backend.try_lock(*byte, Mode::Shared) {
            Ok(true) => {
                locks.settle(*byte, Some(Held::Shared(1)));
                Ok(SharedByte { guard: self.guard })
            }
            Ok(false) => Err(locks.refused(*byte, io::ErrorKind::WouldBlock.into())),
            Err(source) => Err(locks.refused(*byte, source)),
        }
    }

    /// The byte.
    pub fn byte(&self) -> u64 {
        self.guard.byte
    }
}

impl SharedByte {
    /// Excludes all others, if there are none at this moment. Atomic on Linux: when it fails, the byte is still shared,
    /// and this value comes back with the error.
    ///
    /// # Errors
    ///
    /// As [`ByteLocks::exclusive`] with [`Wait::Immediately`].
    pub fn try_upgrade(self) -> Result<ExclusiveByte, (Self, LockError)> {
        match self.guard.locks.upgrade(self.guard.byte) {
            Ok(()) => Ok(ExclusiveByte { guard: self.guard }),
            Err(error) => Err((self, error)),
        }
    }

    /// The byte.
    pub fn byte(&self) -> u64 {
        self.guard.byte
    }
}

impl ByteLocks {
    fn upgrade(&self, byte: u64) -> Result<(), LockError> {
        self.check_owner()?;
        let started = Instant::now();
        let mut held = self.held();
        if held.get(&byte) != Some(&Held::Shared(1)) {
            drop(held);
            return Err(self.held_error(byte, started));
        }
        // Under the mutex, so that no other user of this handle joins meanwhile.
        match self.inner.backend.try_lock(byte, Mode::Exclusive) {
            Ok(true) => {
                held.insert(byte, Held::Exclusive);
                drop(held);
                self.record(byte);
                Ok(())
            }
            Ok(false) => {
                drop(held);
                Err(self.held_error(byte, started))
            }
            Err(source) => {
                drop(held);
                Err(self.refused(byte, source))
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // In a forked child the lock is the parent's, and so is the right to release it.
        if self.locks.is_owner() {
            self.locks.release(self.byte);
        }
    }
}

impl fmt::Debug for ByteLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteLocks").field("path", &self.inner.path).field("held", &*self.held()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ExclusiveByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExclusiveByte").field(&self.guard.byte).finish()
    }
}

impl fmt::Debug for SharedByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedByte").field(&self.guard.byte).finish()
    }
}

#[cfg(test)]
mod tests;
