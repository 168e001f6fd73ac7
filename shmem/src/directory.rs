//! Where segments are: a directory of the user's own, which is also the lock for making and removing them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use lockstep_filelock::{FileLock, Wait};
use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use nix::unistd::geteuid;

use crate::name::EXTENSION;
use crate::segment::SegmentError;

/// The environment variable that names another directory for segments.
pub const DIRECTORY_VARIABLE: &str = "LOCKSTEP_SHM_DIR";

/// A directory for segments. It must belong to the user, and nobody else may write to it; it is made with mode 0700
/// when it is needed.
///
/// There are no lock files in it: the lock under which segments are made and removed is on the directory itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    path: PathBuf,
    /// Whether it is removed when nothing is left in it.
    transient: bool,
}

/// Proof that nobody else makes or removes a segment at this time.
pub(crate) struct DirectoryLock {
    _lock: FileLock,
    directory: Directory,
}

impl Directory {
    /// The one that is used by default: what [`DIRECTORY_VARIABLE`] says, else `/dev/shm/lockstep-UID` (or the same in
    /// the temporary directory, where there is no `/dev/shm`). The latter is removed with the last segment.
    pub fn of_user() -> Self {
        match std::env::var_os(DIRECTORY_VARIABLE).filter(|value| !value.is_empty()) {
            Some(path) => Self::at(PathBuf::from(path)),
            None => {
                let shared_memory = PathBuf::from("/dev/shm");
                let parent = if shared_memory.is_dir() { shared_memory } else { std::env::temp_dir() };
                Self { path: parent.join(format!("lockstep-{}", geteuid())), transient: true }
            }
        }
    }

    /// A directory of your choice. It stays when it is empty. It should be in a file system that is memory, or barriers
    /// and arrays cost writes to a disk.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), transient: false }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory if need be, and locks it.
    pub(crate) fn lock(&self, wait: Wait) -> Result<DirectoryLock, SegmentError> {
        let deadline = Instant::now();
        loop {
            match DirBuilder::new().mode(0o700).create(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(SegmentError::system("create", &self.path, error));
                }
                _ => {}
            }
            let left = match wait {
                Wait::For(time) => Wait::For(time.saturating_sub(deadline.elapsed())),
                other => other,
            };
            if let Some(lock) = self.try_lock_existing(left)? {
                return Ok(lock);
            }
        }
    }

    /// Locks the directory if it is there.
    pub(crate) fn lock_existing(&self, wait: Wait) -> Result<Option<DirectoryLock>, SegmentError> {
        self.try_lock_existing(wait)
    }

    /// `None`: it is not there, or was removed or replaced while waiting for it.
    fn try_lock_existing(&self, wait: Wait) -> Result<Option<DirectoryLock>, SegmentError> {
        let mut options = OpenOptions::new();
        let file = match options.read(true).custom_flags(O_DIRECTORY | O_NOFOLLOW).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.not_a_directory(error)),
        };
        self.check_owner(&file)?;
        let ours = file.metadata().map_err(|error| SegmentError::system("examine", &self.path, error))?;
        let lock = FileLock::exclusive_on(file, &self.path, wait).map_err(SegmentError::Lock)?;
        match fs::symlink_metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => {
                Ok(Some(DirectoryLock { _lock: lock, directory: self.clone() }))
            }
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SegmentError::system("examine", &self.path, error)),
        }
    }

    fn check_owner(&self, file: &File) -> Result<(), SegmentError> {
        let metadata = file.metadata().map_err(|error| SegmentError::system("examine", &self.path, error))?;
        let not_ours = |why: String| Err(SegmentError::NotOurs { path: self.path.clone(), why });
        if metadata.uid() != geteuid().as_raw() {
            return not_ours(format!("it belongs to user {} and you are user {}", metadata.uid(), geteuid()));
        }
        if metadata.mode() & 0o022 != 0 {
            return not_ours(format!("others may write to it (mode {:03o})", metadata.mode() & 0o777));
        }
        Ok(())
    }

    fn not_a_directory(&self, error: io::Error) -> SegmentError {
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_symlink() => {
                SegmentError::NotOurs { path: self.path.clone(), why: "it is a symbolic link".to_owned() }
            }
            Ok(metadata) if !metadata.is_dir() => {
                SegmentError::NotOurs { path: self.path.clone(), why: "it is not a directory".to_owned() }
            }
            _ => SegmentError::system("open", &self.path, error),
        }
    }

    /// The files of segments in it, in order of their names.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, SegmentError> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(SegmentError::system("list", &self.path, error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| SegmentError::system("list", &self.path, error))?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

impl DirectoryLock {
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes the directory if it is made by need and nothing is left in it. Those who wait for its lock notice.
    pub(crate) fn tidy(self) {
        if self.directory.transient {
            // Refused where there is something in it, which is the check.
            let _ = fs::remove_dir(&self.directory.path);
        }
    }
}
