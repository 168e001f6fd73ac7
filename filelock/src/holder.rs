//! Who holds a lock, as written down by the holder itself.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Who took a lock exclusively, as it wrote down itself. To inform people, never to decide anything: the process may run
/// in another pid namespace or on another machine, or be gone with its number used again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The process id that the holder sees for itself.
    pub pid: u32,
    /// The name of its machine, where it is recorded.
    pub host: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)?;
        match &self.host {
            Some(host) => write!(f, " on {host}"),
            None => Ok(()),
        }
    }
}

/// What the file of a [`FileLock`](crate::FileLock) starts with. A file that holds anything else is not written to.
const FILE_MAGIC: &str = "lockstep-filelock 1 ";

/// What the file of [`ByteLocks`](crate::ByteLocks) starts with, followed by one little-endian `u32` pid for each byte.
const BYTES_MAGIC: &[u8; 16] = b"lockstep-bytes 1";

/// No record of ours is longer: a pid, and a host name of at most 255 bytes.
const LONGEST_RECORD: usize = 512;

impl Holder {
    /// This process.
    pub(crate) fn this_process() -> Self {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        Self { pid: std::process::id(), host }
    }

    /// Writes this process down in a lock file of its own, unless the file is something else. The file is never cut
    /// shorter, so that who reads meanwhile sees a whole line.
    pub(crate) fn record_in_file(file: &File) -> io::Result<()> {
        if !starts_with(file, FILE_MAGIC.as_bytes())? {
            return Ok(());
        }
        let Holder { pid, host } = Self::this_process();
        let line = format!("{FILE_MAGIC}{pid} {}\n", host.unwrap_or_default());
        file.write_all_at(line.as_bytes(), 0)
    }

    /// What [`record_in_file`](Self::record_in_file) wrote last.
    pub(crate) fn read_from_file(file: &File) -> Option<Self> {
        let mut buffer = [0; LONGEST_RECORD];
        let length = file.read_at(&mut buffer, 0).ok()?;
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        let (pid, host) = text.lines().next()?.strip_prefix(FILE_MAGIC)?.split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, host: (!host.is_empty()).then(|| host.to_owned()) })
    }

    /// Prepares a file for [`record_for_byte`](Self::record_for_byte). `false`: the file is something else.
    pub(crate) fn prepare_bytes(file: &File) -> io::Result<bool> {
        if !starts_with(file, BYTES_MAGIC)? {
            return Ok(false);
        }
        file.write_all_at(BYTES_MAGIC, 0)?;
        Ok(true)
    }

    /// Writes this process down as the holder of one byte.
    pub(crate) fn record_for_byte(file: &File, byte: u64) -> io::Result<()> {
        match byte_offset(byte) {
            Some(offset) => file.write_all_at(&std::process::id().to_le_bytes(), offset),
            None => Ok(()),
        }
    }

    /// What [`record_for_byte`](Self::record_for_byte) wrote last.
    pub(crate) fn read_for_byte(file: &File, byte: u64) -> Option<Self> {
        let mut pid = [0; 4];
        file.read_exact_at(&mut pid, byte_offset(byte)?).ok()?;
        let pid = u32::from_le_bytes(pid);
        (pid != 0).then_some(Self { pid, host: None })
    }
}

/// Where the record of a byte is; `None` beyond what fits into a small file, where nobody is written down.
fn byte_offset(byte: u64) -> Option<u64> {
    const MOST_RECORDS: u64 = 1 << 28;
    (byte < MOST_RECORDS).then(|| BYTES_MAGIC.len() as u64 + byte * 4)
}

/// Whether a file is empty or starts with `magic`.
fn starts_with(file: &File, magic: &[u8]) -> io::Result<bool> {
    let mut start = [0; LONGEST_RECORD];
    let length = file.read_at(&mut start[..magic.len()], 0)?;
    Ok(length == 0 || &start[..length] == magic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_read_back() {
        let file = tempfile::tempfile().expect("the temporary directory is writable");
        assert_eq!(Holder::read_from_file(&file), None, "an empty file names nobody");
        Holder::record_in_file(&file).expect("the file is writable");
        assert_eq!(Holder::read_from_file(&file), Some(Holder::this_process()));
    }

    #[test]
    fn what_is_not_a_lock_file_is_left_alone() {
        let file = tempfile::tempfile().expect("the temporary directory is writable");
        file.write_all_at(b"precious", 0).expect("the file is writable");
        Holder::record_in_file(&file).expect("nothing is written");
        assert!(!Holder::prepare_bytes(&file).expect("nothing is written"));
        let mut content = [0; 16];
        assert_eq!(file.read_at(&mut content, 0).expect("the file is readable"), 8);
        assert_eq!(&content[..8], b"precious");
        assert_eq!(Holder::read_from_file(&file), None);
    }

    #[test]
    fn bytes_have_holders_of_their_own() {
        let file = tempfile::tempfile().expect("the temporary directory is writable");
        assert!(Holder::prepare_bytes(&file).expect("the file is writable"));
        Holder::record_for_byte(&file, 3).expect("the file is writable");
        assert_eq!(Holder::read_for_byte(&file, 3).map(|holder| holder.pid), Some(std::process::id()));
        assert_eq!(Holder::read_for_byte(&file, 2), None);
        assert_eq!(Holder::read_for_byte(&file, 4), None);
        Holder::record_for_byte(&file, u64::MAX).expect("there is no room for it, and that is fine");
        assert_eq!(Holder::read_for_byte(&file, u64::MAX), None);
    }
}
