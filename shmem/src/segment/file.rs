//! The files of segments, one step at a time. All of it happens under the lock of the directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::geteuid;

use crate::segment::SegmentError;

/// Opens what is at `path`, if it can be a segment of ours. A symbolic link is not followed, but removed: the directory is
/// ours, so the link is too, and what it points to is not touched.
pub(super) fn open_existing(path: &Path) -> Result<Option<File>, SegmentError> {
    let file = match open_options().open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) => {
            remove(path)?;
            return Ok(None);
        }
        Err(error) => return Err(SegmentError::system("open", path, error)),
    };
    let metadata = file.metadata().map_err(|error| SegmentError::system("examine", path, error))?;
    let not_ours = |why: &str| Err(SegmentError::NotOurs { path: path.to_owned(), why: why.to_owned() });
    if !metadata.is_file() {
        return not_ours("it is not a file");
    }
    if metadata.uid() != geteuid().as_raw() {
        return not_ours("it belongs to another user");
    }
    Ok(Some(file))
}

/// Creates the file; it must not be there.
pub(super) fn create(path: &Path) -> Result<File, SegmentError> {
    open_options().create_new(true).open(path).map_err(|error| SegmentError::system("create", path, error))
}

/// Opens what is at `path` to look at it.
pub(crate) fn open_to_examine(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)
}

/// Without blocking: a pipe at this place must not stop anyone.
fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(O_NOFOLLOW | O_NONBLOCK);
    options
}

/// Another descriptor of the same open file, hence with the same locks.
pub(super) fn duplicate(file: &File, path: &Path) -> Result<File, SegmentError> {
    file.try_clone().map_err(|error| SegmentError::system("duplicate the descriptor of", path, error))
}

/// Removes the file, and what the byte locks of other systems than Linux have left beside it.
pub(super) fn remove(path: &Path) -> Result<(), SegmentError> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        let mut folder = path.as_os_str().to_owned();
        folder.push(".bytes");
        // It is there only if a lock was ever taken.
        let _ = fs::remove_dir_all(folder);
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SegmentError::system("remove", path, error)),
        _ => Ok(()),
    }
}

/// Whether `path` still names the open `file`.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

/// Makes sure that the file has `size` bytes of its own, so that none is missing when it is touched.
pub(super) fn reserve(file: &File, path: &Path, size: usize) -> Result<(), SegmentError> {
    allocate(file, size).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_space(path, size),
        _ => SegmentError::system("reserve space for", path, error),
    })
}

#[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "the types differ between systems"))]
fn no_space(path: &Path, size: usize) -> SegmentError {
    let directory = path.parent().unwrap_or(path);
    let available = nix::sys::statvfs::statvfs(directory)
        .map_or(0, |system| system.blocks_available() as u64 * system.fragment_size() as u64);
    SegmentError::NoSpace { path: directory.to_owned(), needed: size as u64, available }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, size: usize) -> io::Result<()> {
    let length = nix::libc::off_t::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    loop {
        match nix::fcntl::posix_fallocate(file, 0, length) {
            Err(nix::errno::Errno::EINTR) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, size: usize) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), size as u64), &mut { file })?;
    Ok(())
}
