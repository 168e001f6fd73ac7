//! Named pieces of shared memory.

mod error;
mod file;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;
use lockstep_filelock::{ByteLocks, FileLock, LockError, Wait};

pub use error::SegmentError;
pub(crate) use file::open_to_examine;

use crate::barrier::Barrier;
use crate::directory::{Directory, DirectoryLock};
use crate::header::{self, Header};
use crate::layout::{Layout, Place};
use crate::map::{Atomic, Mapping};
use crate::roster::{Member, Roster};
use crate::testing::{Point, reach};
use crate::{SegmentName, SharedArray, SharedAtomic};

/// How long who leaves waits for the directory. Not to get it is no harm: the next one removes what is left.
const LEAVE: Wait = Wait::For(Duration::from_secs(2));

/// A piece of shared memory that exists while somebody uses it.
///
/// Clones, and everything that was made from a segment, are one user of it. When the last of them is dropped the user has
/// left, and if nobody else is there, the file is removed.
#[derive(Clone)]
pub struct Segment {
    shared: Arc<Shared>,
    created: bool,
}

/// What a user of a segment has open.
pub(crate) struct Shared {
    /// Gone only while it is dropped.
    lock: Option<FileLock>,
    mapping: Mapping,
    locks: ByteLocks,
    file: File,
    path: PathBuf,
    directory: Directory,
    owner: u32,
}

impl Segment {
    /// Opens the segment called `name`, or makes it if nobody uses one. It starts as zeros. Waiting is for those who make
    /// or remove a segment at the same time, which they do not do for long.
    ///
    /// # Errors
    ///
    /// [`SegmentError::NoSpace`] if there is no room for it, [`SegmentError::NotOurs`] if the directory or the file
    /// belongs to somebody else, [`SegmentError::OtherVersion`] and [`SegmentError::OtherLayout`] if there are users who
    /// see something else in it, [`SegmentError::Lock`] when the wait is over.
    pub fn open_or_create(name: &SegmentName, layout: &Layout, wait: Wait) -> Result<Self, SegmentError> {
        Self::open_or_create_in(&Directory::of_user(), name, layout, wait)
    }

    /// As [`open_or_create`](Self::open_or_create), in a directory of your choice.
    ///
    /// # Errors
    ///
    /// As [`open_or_create`](Self::open_or_create).
    pub fn open_or_create_in(
        directory: &Directory,
        name: &SegmentName,
        layout: &Layout,
        wait: Wait,
    ) -> Result<Self, SegmentError> {
        let guard = directory.lock(wait)?;
        reach(Point::CreationLockTaken);
        let path = directory.path().join(name.file_name());
        while let Some(file) = file::open_existing(&path)? {
            match lock_exclusively(&file, &path) {
                // Nobody lives who uses it: whatever it is, it is a leftover. It is replaced and not written over, so
                // that it does not matter whether somebody still has it mapped.
                Ok(_) => file::remove(&path)?,
                Err(LockError::Held { .. }) => return Self::enter(&guard, file, path, layout),
                Err(error) => return Err(SegmentError::Lock(error)),
            }
        }
        Self::create(&guard, &path, name, layout)
    }

    fn create(guard: &DirectoryLock, path: &Path, name: &SegmentName, layout: &Layout) -> Result<Self, SegmentError> {
        // Room first: what the dead have left may be all that there was.
        guard.remove_leftovers()?;
        let file = file::create(path)?;
        let outcome = lock_exclusively(&file, path).map_err(SegmentError::Lock).and_then(|lock| {
            reach(Point::FileCreated);
            file::reserve(&file, path, layout.size())?;
            let header = Header::new(name, layout);
            header.write(&file).map_err(|error| SegmentError::system("write", path, error))?;
            reach(Point::Ready);
            // Not atomic, but all who want it exclusively wait for the directory.
            let lock = lock.downgrade().map_err(SegmentError::Lock)?;
            Shared::new(guard, lock, file, path.to_owned(), layout.size())
        });
        if outcome.is_err() {
            file::remove(path)?;
        }
        Ok(Self { shared: Arc::new(outcome?), created: true })
    }

    fn enter(guard: &DirectoryLock, file: File, path: PathBuf, layout: &Layout) -> Result<Self, SegmentError> {
        let duplicate = file::duplicate(&file, &path)?;
        let lock = FileLock::shared_on(duplicate, &path, Wait::Immediately).map_err(SegmentError::Lock)?;
        let header = Header::read(&file).map_err(|error| SegmentError::system("read", &path, error))?;
        let found = header.as_ref().map(|header| header.version);
        let Some(header) = header.filter(|header| header.version == header::VERSION && header.ready) else {
            return Err(SegmentError::OtherVersion { path, found, expected: header::VERSION });
        };
        let length = file.metadata().map_err(|error| SegmentError::system("examine", &path, error))?.len();
        let size = layout.size() as u64;
        if (header.fingerprint, header.size) != (layout.fingerprint(), size) || length < size {
            return Err(SegmentError::OtherLayout { path, title: header.title });
        }
        let shared = Shared::new(guard, lock, file, path, layout.size())?;
        Ok(Self { shared: Arc::new(shared), created: false })
    }

    /// Whether this user made it, rather than found it.
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// The file of it.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Gives up the name for all who have the segment: they keep it, and whoever opens the name from now on gets a new one.
    /// For who finds that the users of a segment cannot go on, and wants to start afresh without waiting for them to see it.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Lock`] when the wait is over, [`SegmentError::System`] if the file cannot be removed.
    pub fn retire(&self, wait: Wait) -> Result<(), SegmentError> {
        match self.shared.directory.lock_existing(wait)? {
            Some(_guard) if file::is_at(&self.shared.file, &self.shared.path) => file::remove(&self.shared.path),
            _ => Ok(()),
        }
    }

    /// An array of the layout.
    ///
    /// # Panics
    ///
    /// The value that is returned panics when it is used, if `place` is of another layout and lies outside of this segment.
    /// So do those of the other methods.
    pub fn array<T: Pod>(&self, place: Place<SharedArray<T>>) -> SharedArray<T> {
        SharedArray::new(Arc::clone(&self.shared), place)
    }

    /// An atomic number of the layout.
    pub fn atomic<A: Atomic>(&self, place: Place<SharedAtomic<A>>) -> SharedAtomic<A> {
        SharedAtomic::new(Arc::clone(&self.shared), place)
    }

    /// A roster of the layout.
    pub fn roster(&self, place: Place<Roster>) -> Roster {
        Roster::new(Arc::clone(&self.shared), place)
    }

    /// A barrier of the layout, for one participant of its roster.
    ///
    /// # Panics
    ///
    /// If `member` is of a roster of another size than the barrier's.
    pub fn barrier(&self, place: Place<Barrier>, member: &Member) -> Barrier {
        Barrier::new(Arc::clone(&self.shared), place, member.clone())
    }
}

impl Shared {
    fn new(
        guard: &DirectoryLock,
        lock: FileLock,
        file: File,
        path: PathBuf,
        size: usize,
    ) -> Result<Self, SegmentError> {
        let mapping = Mapping::new(&file, size).map_err(|error| SegmentError::system("map", &path, error))?;
        // Byte locks and the lock of the whole file are of different kinds and do not see each other.
        let locks = ByteLocks::on(file::duplicate(&file, &path)?, &path);
        let directory = guard.directory().clone();
        Ok(Self { lock: Some(lock), mapping, locks, file, path, directory, owner: std::process::id() })
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    pub(crate) fn locks(&self) -> &ByteLocks {
        &self.locks
    }

    /// Leaves, and removes the file if nobody else is there.
    fn leave(&mut self) -> Result<(), SegmentError> {
        let Some(guard) = self.directory.lock_existing(LEAVE)? else { return Ok(()) };
        self.lock = None;
        let Ok(alone) = lock_exclusively(&self.file, &self.path) else { return Ok(()) };
        reach(Point::LastOneLeaving);
        if file::is_at(&self.file, &self.path) {
            file::remove(&self.path)?;
        }
        reach(Point::SegmentRemoved);
        drop(alone);
        guard.remove_leftovers()?;
        guard.tidy();
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A forked child has nothing to leave: the locks are its parent's.
        if self.owner == std::process::id() {
            // Nobody to tell, and nothing lost: whoever comes next removes it.
            let _ = self.leave();
        }
    }
}

impl DirectoryLock {
    /// Removes all segments of the directory that nobody uses.
    pub(crate) fn remove_leftovers(&self) -> Result<Vec<PathBuf>, SegmentError> {
        let mut removed = Vec::new();
        for path in self.directory().files()? {
            // What cannot be opened (a directory, say, or another's file) is not a segment of ours, and stays.
            let Ok(Some(file)) = file::open_existing(&path) else { continue };
            if lock_exclusively(&file, &path).is_ok() {
                file::remove(&path)?;
                removed.push(path);
            }
        }
        Ok(removed)
    }
}

/// Whoever gets this, under the lock of the directory, knows that nobody uses the file.
pub(crate) fn lock_exclusively(file: &File, path: &Path) -> Result<FileLock, LockError> {
    match file.try_clone() {
        Ok(duplicate) => FileLock::exclusive_on(duplicate, path, Wait::Immediately),
        Err(source) => Err(LockError::Open { path: path.to_owned(), source }),
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("path", &self.shared.path)
            .field("created", &self.created)
            .finish_non_exhaustive()
    }
}
