//! Byte locks where the kernel has no open-file-description locks: one small file for each byte in use, in a folder
//! beside the lock file, each under an `flock`. Slower, leaves empty files, and converts in two steps; the rules are the
//! same.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::file::Mode;
use crate::{FileLock, LockError, Wait};

pub(super) struct Backend {
    file: File,
    folder: PathBuf,
    held: Mutex<HashMap<u64, FileLock>>,
}

impl Backend {
    pub(super) fn new(file: File, path: &Path) -> Self {
        let mut folder = path.as_os_str().to_owned();
        folder.push(".bytes");
        Self { file, folder: folder.into(), held: Mutex::default() }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Takes or converts the lock if nobody is in the way; says whether it did.
    pub(super) fn try_lock(&self, byte: u64, mode: Mode) -> io::Result<bool> {
        let mut held = self.held();
        let before = held.remove(&byte).map(|lock| lock.is_exclusive());
        match self.take(byte, mode, Wait::Immediately) {
            Ok(lock) => {
                held.insert(byte, lock);
                Ok(true)
            }
            Err(LockError::Held { .. }) => {
                // A conversion that failed: go back to what it was, waiting for whoever got in between.
                if let Some(exclusive) = before {
                    let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
                    held.insert(byte, self.take(byte, mode, Wait::Forever).map_err(io::Error::other)?);
                }
                Ok(false)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Waits for the lock.
    pub(super) fn lock(&self, byte: u64, mode: Mode) -> io::Result<()> {
        let lock = self.take(byte, mode, Wait::Forever).map_err(io::Error::other)?;
        self.held().insert(byte, lock);
        Ok(())
    }

    pub(super) fn unlock(&self, byte: u64) -> io::Result<()> {
        self.held().remove(&byte);
        Ok(())
    }

    /// How others hold the byte. Found out by taking it for a moment, which others may notice.
    pub(super) fn query(&self, byte: u64) -> io::Result<Option<Mode>> {
        for (mode, found) in [(Mode::Exclusive, None), (Mode::Shared, Some(Mode::Shared))] {
            match self.take(byte, mode, Wait::Immediately) {
                Ok(_) => return Ok(found),
                Err(LockError::Held { .. }) => {}
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(Some(Mode::Exclusive))
    }

    fn take(&self, byte: u64, mode: Mode, wait: Wait) -> Result<FileLock, LockError> {
        // Who opens a lock needs no folder; who takes one does.
        if let Err(source) = fs::create_dir_all(&self.folder) {
            return Err(LockError::Open { path: self.folder.clone(), source });
        }
        let path = self.folder.join(byte.to_string());
        match mode {
            Mode::Shared => FileLock::shared(path, wait),
            Mode::Exclusive => FileLock::exclusive(path, wait),
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, FileLock>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
