//! Looking at segments from outside, and removing what nobody uses.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lockstep_filelock::{ByteLocks, ByteState, LockError, Wait};

use crate::directory::Directory;
use crate::header::{Header, VERSION};
use crate::roster::ENTRY_SIZE;
use crate::segment::{SegmentError, lock_exclusively, open_to_examine};

/// A segment, as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// The file.
    pub path: PathBuf,
    /// Its size, in bytes.
    pub size: u64,
    /// What it is for, as its maker called it; `None` if it is not a segment of this version.
    pub title: Option<String>,
    /// Whether anybody uses it.
    pub state: SegmentState,
    /// The processes that use it, as far as the kernel tells, in ascending order. Processes of other pid namespaces are
    /// missing.
    pub holders: Vec<u32>,
    /// The process that made it.
    pub creator: Option<u32>,
    /// How many participants are in its roster at this moment, and how many have a place.
    pub participants: Option<(usize, usize)>,
}

/// Whether anybody uses a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// Somebody does.
    InUse,
    /// Nobody does: a crash has left it, and the next run or a [sweep](Directory::sweep) removes it.
    Left,
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// What was removed.
    pub removed: Vec<PathBuf>,
    /// What is in use and stays.
    pub kept: Vec<PathBuf>,
}

impl Directory {
    /// The segments in this directory, in the order of their files' names. Empty if there is no such directory.
    ///
    /// # Errors
    ///
    /// [`SegmentError::NotOurs`] if the directory is somebody else's; else as the system says.
    pub fn segments(&self) -> Result<Vec<SegmentInfo>, SegmentError> {
        // Under the lock, so that asking for a lock on a file cannot be taken for its use.
        let Some(guard) = self.lock_existing(Wait::Forever)? else { return Ok(Vec::new()) };
        let holders = lock_holders();
        let mut segments = Vec::new();
        for path in guard.directory().files()? {
            // What is not a readable file is not a segment.
            if let Ok(file) = open_to_examine(&path) {
                segments.extend(examine(&path, &file, &holders));
            }
        }
        Ok(segments)
    }

    /// Removes the segments that nobody uses. Never needed, since every run does it; never harmful to who is alive.
    ///
    /// # Errors
    ///
    /// As [`segments`](Self::segments).
    pub fn sweep(&self) -> Result<Swept, SegmentError> {
        let Some(guard) = self.lock_existing(Wait::Forever)? else { return Ok(Swept::default()) };
        let removed = guard.remove_leftovers()?;
        let kept = self.files()?;
        guard.tidy();
        Ok(Swept { removed, kept })
    }
}

fn examine(path: &Path, file: &File, holders: &HashMap<(u64, u64), Vec<u32>>) -> Option<SegmentInfo> {
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let state = match lock_exclusively(file, path) {
        Err(LockError::Held { .. }) => SegmentState::InUse,
        _ => SegmentState::Left,
    };
    let header = Header::read(file).ok().flatten().filter(|header| header.ready && header.version == VERSION);
    let participants = header.as_ref().and_then(|header| header.roster).and_then(|roster| {
        // A damaged header must not make this count for ever.
        let end = roster.len().checked_mul(ENTRY_SIZE).and_then(|size| size.checked_add(roster.offset()))?;
        if end as u64 > metadata.len() {
            return None;
        }
        let locks = ByteLocks::on(file.try_clone().ok()?, path);
        let here = |who: &usize| {
            let byte = (roster.offset() + who * ENTRY_SIZE) as u64;
            locks.query(byte).is_ok_and(|state| state != ByteState::Free)
        };
        Some(((0..roster.len()).filter(here).count(), roster.len()))
    });
    Some(SegmentInfo {
        path: path.to_owned(),
        size: metadata.len(),
        title: header.as_ref().map(|header| header.title.clone()),
        state,
        holders: holders.get(&(metadata.dev(), metadata.ino())).cloned().unwrap_or_default(),
        creator: header.as_ref().map(|header| header.creator),
        participants,
    })
}

/// Who holds `flock`s, by device and file number. The kernel's own list; elsewhere than on Linux there is none.
fn lock_holders() -> HashMap<(u64, u64), Vec<u32>> {
    let mut holders: HashMap<(u64, u64), Vec<u32>> = HashMap::new();
    let text = fs::read_to_string("/proc/locks").unwrap_or_default();
    for (file, pid) in text.lines().filter_map(parse_lock) {
        holders.entry(file).or_default().push(pid);
    }
    for pids in holders.values_mut() {
        pids.sort_unstable();
        pids.dedup();
    }
    holders
}

/// A line such as `3: FLOCK  ADVISORY  READ 4711 00:1a:2345 0 EOF`. Requests that wait have an arrow before the kind.
fn parse_lock(line: &str) -> Option<((u64, u64), u32)> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let pid = words.nth(2)?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let major = u64::from_str_radix(file.next()?, 16).ok()?;
    let minor = u64::from_str_radix(file.next()?, 16).ok()?;
    let device = nix::libc::makedev(major.try_into().ok()?, minor.try_into().ok()?);
    Some(((device, file.next()?.parse().ok()?), pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_understood() {
        let device = nix::libc::makedev(0, 0x1a);
        assert_eq!(parse_lock("3: FLOCK  ADVISORY  READ 4711 00:1a:2345 0 EOF"), Some(((device, 2345), 4711)));
        for other in [
            "3: -> FLOCK  ADVISORY  WRITE 4711 00:1a:2345 0 EOF",
            "4: OFDLCK ADVISORY  WRITE -1 00:1a:2345 4 4",
            "5: POSIX  ADVISORY  WRITE 4711 00:1a:2345 0 EOF",
            "6: FLOCK  ADVISORY  READ 4711",
            "6: FLOCK  ADVISORY  READ x 00:1a:2345 0 EOF",
            "",
        ] {
            assert_eq!(parse_lock(other), None, "{other:?}");
        }
    }
}
