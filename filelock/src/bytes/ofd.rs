//! Byte locks by open-file-description locks (Linux): `fcntl(2)`, `F_OFD_SETLK`, `F_OFD_SETLKW`, `F_OFD_GETLK`.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::file::Mode;

/// The kernel's locks on one open file. Locking a byte that this file has locked already converts the lock, atomically.
pub(super) struct Backend {
    file: File,
}

impl Backend {
    pub(super) fn new(file: File, _path: &Path) -> Self {
        Self { file }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Takes or converts the lock if nobody is in the way; says whether it did.
    pub(super) fn try_lock(&self, byte: u64, mode: Mode) -> io::Result<bool> {
        match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&range(byte, lock_type(mode))?)) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the lock; a signal may interrupt.
    pub(super) fn lock(&self, byte: u64, mode: Mode) -> io::Result<()> {
        fcntl(&self.file, FcntlArg::F_OFD_SETLKW(&range(byte, lock_type(mode))?))?;
        Ok(())
    }

    pub(super) fn unlock(&self, byte: u64) -> io::Result<()> {
        fcntl(&self.file, FcntlArg::F_OFD_SETLK(&range(byte, libc::F_UNLCK)?))?;
        Ok(())
    }

    /// How others hold the byte.
    pub(super) fn query(&self, byte: u64) -> io::Result<Option<Mode>> {
        let mut found = range(byte, libc::F_WRLCK)?;
        fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut found))?;
        Ok(match libc::c_int::from(found.l_type) {
            libc::F_UNLCK => None,
            libc::F_RDLCK => Some(Mode::Shared),
            _ => Some(Mode::Exclusive),
        })
    }
}

fn lock_type(mode: Mode) -> libc::c_int {
    match mode {
        Mode::Shared => libc::F_RDLCK,
        Mode::Exclusive => libc::F_WRLCK,
    }
}

/// The request for one byte. Bytes are numbered from the start of the file; the pid must be zero for this kind of lock.
fn range(byte: u64, kind: libc::c_int) -> io::Result<libc::flock> {
    let too_far = || io::Error::new(io::ErrorKind::InvalidInput, format!("there is no byte {byte} in a file"));
    // The last byte of the largest file cannot be locked alone: its range would end beyond the last offset.
    let l_start = libc::off_t::try_from(byte).ok().filter(|&start| start < libc::off_t::MAX).ok_or_else(too_far)?;
    let (l_type, l_whence) = (short(kind), short(libc::SEEK_SET));
    Ok(libc::flock { l_type, l_whence, l_start, l_len: 1, l_pid: 0 })
}

#[expect(clippy::cast_possible_truncation, reason = "the constants are 0, 1 and 2")]
fn short(constant: libc::c_int) -> libc::c_short {
    constant as libc::c_short
}
