//! Why a lock could not be had.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Holder;

/// Why a lock could not be taken, converted or asked about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else holds it, and the wait is over.
    #[error("{} is locked by {}{}", place(path, *byte), holder_text(holder.as_ref()), waited_text(*waited))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Which byte of it, for byte locks.
        byte: Option<u64>,
        /// Who took it exclusively, if that was written down. Informative only.
        holder: Option<Holder>,
        /// How long was waited.
        waited: Duration,
    },
    /// The lock file could not be opened or created.
    #[error("failed to open the lock file {}; check its folder and permissions, and that it is no link", path.display())]
    Open {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel or the file system does not do it.
    #[error("the system refused to lock {}; put the file on a local disk", place(path, *byte))]
    Refused {
        /// The lock file.
        path: PathBuf,
        /// Which byte of it, for byte locks.
        byte: Option<u64>,
        /// What the system said.
        source: io::Error,
    },
    /// The handle was made by a process that this one was forked from, and would not exclude it.
    #[error("{} was opened before a fork and locks nothing against the parent process; open it again in the child", path.display())]
    Inherited {
        /// The lock file.
        path: PathBuf,
    },
}

impl LockError {
    /// Somebody else holds the lock: trying again later may help.
    pub fn is_held(&self) -> bool {
        matches!(self, LockError::Held { .. })
    }
}

fn place(path: &Path, byte: Option<u64>) -> String {
    match byte {
        Some(byte) => format!("byte {byte} of {}", path.display()),
        None => path.display().to_string(),
    }
}

fn holder_text(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => format!("{holder} (as written down there)"),
        None => "another user of it".to_owned(),
    }
}

fn waited_text(waited: Duration) -> String {
    if waited < Duration::from_millis(1) {
        return String::new();
    }
    format!("; gave up after {waited:.1?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_place_the_holder_and_the_time() {
        let error = LockError::Held {
            path: "/tmp/shards.lock".into(),
            byte: Some(7),
            holder: Some(Holder { pid: 12, host: Some("ada".to_owned()) }),
            waited: Duration::from_millis(1500),
        };
        assert_eq!(
            error.to_string(),
            "byte 7 of /tmp/shards.lock is locked by process 12 on ada (as written down there); gave up after 1.5s"
        );
        let error = LockError::Held { path: "a.lock".into(), byte: None, holder: None, waited: Duration::ZERO };
        assert_eq!(error.to_string(), "a.lock is locked by another user of it");
    }
}
