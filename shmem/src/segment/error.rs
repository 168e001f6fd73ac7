//! Why a segment cannot be had.

use std::io;
use std::path::{Path, PathBuf};

use lockstep_filelock::LockError;

use crate::directory::DIRECTORY_VARIABLE;

/// Why a segment cannot be opened, made, listed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// There is no room for it.
    #[error(
        "no room for shared memory in {}: {needed} bytes are needed and {available} are free; enlarge it \
         (`--shm-size` of docker) or set {DIRECTORY_VARIABLE} to a directory elsewhere",
        path.display()
    )]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// How many bytes the segment needs.
        needed: u64,
        /// How many bytes the file system had left.
        available: u64,
    },
    /// Somebody else's directory or file is where ours should be.
    #[error("{} is not safe to use: {why}; remove it or set {DIRECTORY_VARIABLE} to a directory of your own", path.display())]
    NotOurs {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Processes use it that are of another version of this library, or have not made it.
    #[error(
        "{} is in use by another version ({}, this is {expected}); wait for its processes to end, or give this job an id of its own",
        path.display(),
        found.map_or_else(|| "unknown".to_owned(), |version| version.to_string())
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The version of it, if it has any.
        found: Option<u32>,
        /// The version of this library.
        expected: u32,
    },
    /// Processes use it that see something else in it.
    #[error("the processes that use {title:?} ({}) were started with other settings than this one", path.display())]
    OtherLayout {
        /// The file.
        path: PathBuf,
        /// What it is for, as its maker called it.
        title: String,
    },
    /// A lock could not be had.
    #[error("failed to lock shared memory")]
    Lock(#[source] LockError),
    /// The system refused.
    #[error("failed to {action} {}", path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SegmentError {
    pub(crate) fn system(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::System { action, path: path.to_owned(), source }
    }
}
