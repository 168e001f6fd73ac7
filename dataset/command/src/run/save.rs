//! `--save`: where a state is written to, looked at before the run and not only after it.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tempfile::NamedTempFile;

/// What a new file may be, less the user's mask.
const MODE: u32 = 0o666;

/// A file that a state will be written to.
#[derive(Debug)]
pub(crate) struct SaveFile {
    /// With links followed, so that the file is replaced and not the link.
    path: PathBuf,
    /// A device or a pipe is written to; it is not ours to replace.
    in_place: bool,
}

impl SaveFile {
    /// Makes sure that a file can be written there.
    pub(crate) fn new(path: &Path) -> anyhow::Result<Self> {
        let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let kind = fs::metadata(&resolved).ok().map(|metadata| metadata.file_type());
        ensure!(!kind.is_some_and(|kind| kind.is_dir()), "{} is a directory", path.display());
        let file = Self { path: resolved, in_place: kind.is_some_and(|kind| !kind.is_file()) };
        if !file.in_place {
            file.temporary()?;
        }
        Ok(file)
    }

    /// Writes the file: whole or not at all, unless it is a device or a pipe.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        if self.in_place {
            return Ok(fs::OpenOptions::new().write(true).open(&self.path)?.write_all(text.as_bytes())?);
        }
        let mut file = self.temporary()?;
        file.write_all(text.as_bytes())?;
        if let Ok(metadata) = fs::metadata(&self.path) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    /// A file beside the final one, which is removed unless it takes its place.
    fn temporary(&self) -> anyhow::Result<NamedTempFile> {
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".lockstep-state-").permissions(Permissions::from_mode(MODE));
        builder.tempfile_in(dir).with_context(|| format!("no file can be made in {}", dir.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_and_permissions_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("state.json"), dir.path().join("link.json"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        SaveFile::new(&link).unwrap().write("new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_pipe_is_written_to_and_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        SaveFile::new(&pipe).unwrap().write("state").unwrap();
        assert_eq!(reader.join().unwrap(), "state");
        assert!(!fs::metadata(&pipe).unwrap().is_file());
    }

    #[test]
    fn a_place_that_cannot_be_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        assert!(SaveFile::new(&dir.path().join("missing/state.json")).is_err());
        assert!(SaveFile::new(dir.path()).is_err());
    }
}
