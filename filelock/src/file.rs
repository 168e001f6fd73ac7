//! Locks on whole files.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use fd_lock::RwLock;
use nix::libc::O_NOFOLLOW;

use crate::wait::{retry_until, uninterrupted};
use crate::{Holder, LockError, Wait};

/// A lock on a file, for as long as this value lives.
///
/// It is an `flock` of the open file: the kernel releases it when the file is closed, hence when the process ends. See the
/// [crate's documentation](crate) for forks, network file systems and several handles in a process.
#[must_use = "the lock is released when this value is dropped"]
pub struct FileLock {
    file: File,
    path: PathBuf,
    mode: Mode,
    owner: u32,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

impl FileLock {
    /// Locks `path` against everybody else. The file is created if it is not there, and says who holds it; a file that
    /// is there and has other content is locked and not written to.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] when the wait is over, [`LockError::Open`] if the file cannot be opened for writing or is a
    /// symbolic link, [`LockError::Refused`] if the file system has no locks.
    pub fn exclusive(path: impl AsRef<Path>, wait: Wait) -> Result<Self, LockError> {
        let lock = Self::at_path(path.as_ref(), Mode::Exclusive, wait)?;
        // A full disk must not keep anyone from a lock, and the record is for people only.
        let _ = Holder::record_in_file(&lock.file);
        Ok(lock)
    }

    /// Locks `path` against those who want it exclusively. The file is created if it is not there.
    ///
    /// # Errors
    ///
    /// As [`exclusive`](Self::exclusive).
    pub fn shared(path: impl AsRef<Path>, wait: Wait) -> Result<Self, LockError> {
        Self::at_path(path.as_ref(), Mode::Shared, wait)
    }

    /// Locks a file or directory that is open already against everybody else, and writes nothing into it. `path` is for
    /// messages and [`remove`](Self::remove) only; whether it still names this file is not checked.
    ///
    /// The lock belongs to the open file, so duplicates of its descriptor share it.
    ///
    /// # Errors
    ///
    /// As [`exclusive`](Self::exclusive), but never [`LockError::Open`].
    pub fn exclusive_on(file: File, path: impl Into<PathBuf>, wait: Wait) -> Result<Self, LockError> {
        Self::on(file, path.into(), Mode::Exclusive, wait)
    }

    /// Locks a file or directory that is open already against those who want it exclusively, as
    /// [`exclusive_on`](Self::exclusive_on) does.
    ///
    /// # Errors
    ///
    /// As [`exclusive_on`](Self::exclusive_on).
    pub fn shared_on(file: File, path: impl Into<PathBuf>, wait: Wait) -> Result<Self, LockError> {
        Self::on(file, path.into(), Mode::Shared, wait)
    }

    /// Lets others share the lock. **Not atomic**: the kernel releases the exclusive lock before it grants the shared
    /// one, so that somebody who waits for an exclusive lock may get it in between, and this call then waits for them.
    /// (The downgrade of a [byte lock](crate::ExclusiveByte::downgrade) is atomic.)
    ///
    /// # Errors
    ///
    /// [`LockError::Refused`] if the kernel does not do it; the lock is released then.
    pub fn downgrade(mut self) -> Result<Self, LockError> {
        match uninterrupted(|| RwLock::new(&self.file).read().map(mem::forget)) {
            Ok(()) => {
                self.mode = Mode::Shared;
                Ok(self)
            }
            Err(source) => Err(LockError::Refused { path: self.path.clone(), byte: None, source }),
        }
    }

    /// Removes the lock file while holding it, then releases the lock. Safe against others who wait for it: whoever
    /// gets a lock on a path makes sure that the path still names the file it locked, and starts over if not.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if the lock is shared, since others may hold it too; else what the system says.
    pub fn remove(self) -> io::Result<()> {
        if self.mode == Mode::Shared {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "only an exclusive holder can remove a lock file"));
        }
        fs::remove_file(&self.path)
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nobody else holds it.
    pub fn is_exclusive(&self) -> bool {
        self.mode == Mode::Exclusive
    }

    fn at_path(path: &Path, mode: Mode, wait: Wait) -> Result<Self, LockError> {
        let deadline = wait.deadline();
        let open_error = |source| LockError::Open { path: path.to_owned(), source };
        loop {
            let file = open_lock_file(path).map_err(open_error)?;
            let left = match (wait, deadline) {
                (Wait::For(_), Some(deadline)) => Wait::For(deadline.saturating_duration_since(Instant::now())),
                _ => wait,
            };
            let lock = Self::on(file, path.to_owned(), mode, left)?;
            if is_at_path(&lock.file, path).map_err(open_error)? {
                return Ok(lock);
            }
        }
    }

    fn on(file: File, path: PathBuf, mode: Mode, wait: Wait) -> Result<Self, LockError> {
        let started = Instant::now();
        match acquire(&file, mode, wait) {
            Ok(true) => Ok(Self { file, path, mode, owner: std::process::id() }),
            Ok(false) => {
                let holder = Holder::read_from_file(&file);
                Err(LockError::Held { path, byte: None, holder, waited: started.elapsed() })
            }
            Err(source) => Err(LockError::Refused { path, byte: None, source }),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough where a forked child still has it open; and in that child, closing is all
        // that may be done, since to unlock would be to unlock for the parent. Taken again through the same open file,
        // the lock is granted at once, with a guard that unlocks when dropped.
        if self.owner == std::process::id() {
            drop(RwLock::new(&self.file).try_read());
        }
    }
}

impl fmt::Debug for FileLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileLock").field("path", &self.path).field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// Takes the lock and leaves it taken: the guards of `fd_lock` borrow and unlock when dropped, so they are forgotten, and
/// the lock stays with the open file.
fn acquire(file: &File, mode: Mode, wait: Wait) -> io::Result<bool> {
    let mut lock = RwLock::new(file);
    match (wait, wait.deadline()) {
        (Wait::Immediately, _) => try_lock(&mut lock, mode),
        (_, Some(deadline)) => retry_until(deadline, || try_lock(&mut lock, mode)),
        (_, None) => uninterrupted(|| match mode {
            Mode::Shared => lock.read().map(mem::forget),
            Mode::Exclusive => lock.write().map(mem::forget),
        })
        .map(|()| true),
    }
}

fn try_lock(lock: &mut RwLock<&File>, mode: Mode) -> io::Result<bool> {
    let outcome = uninterrupted(|| match mode {
        Mode::Shared => lock.try_read().map(mem::forget),
        Mode::Exclusive => lock.try_write().map(mem::forget),
    });
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens or creates a lock file. Not through a symbolic link: others may be able to write to the folder, and what the
/// link points to would be written to. Readable only is enough where the file is somebody else's.
pub(crate) fn open_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NOFOLLOW);
    match options.clone().write(true).create(true).truncate(false).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => options.open(path).map_err(|_| error),
        result => result,
    }
}

/// Whether `path` still names the open `file`.
fn is_at_path(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
