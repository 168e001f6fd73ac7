//! Which file is where.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// The folder in the cache directory that is ours alone.
const OWN: &str = ".lockstep";

/// What the name of a file ends with while it is incomplete.
pub(crate) const PART: &str = ".lockstep-part";

/// The names in a cache directory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    dir: PathBuf,
}

impl Layout {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of our own files.
    pub(crate) fn own(&self) -> PathBuf {
        self.dir.join(OWN)
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.own().join("locks")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.own().join("ledger")
    }

    /// Which remote the index was copied from.
    pub(crate) fn origin(&self) -> PathBuf {
        self.own().join("origin.json")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.dir.join(crate::index::INDEX_BASENAME)
    }

    /// Where the file called `basename` by the index is when it is complete.
    pub(crate) fn file(&self, basename: &str) -> PathBuf {
        self.dir.join(basename)
    }

    /// Where it is until then: beside it, so that whoever lists the folder sees one or the other and never both.
    pub(crate) fn part(&self, basename: &str) -> PathBuf {
        part_of(&self.file(basename))
    }
}

/// The temporary name for a file.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(PART);
    name.into()
}

/// Whether a name is a temporary one.
pub(crate) fn is_part(name: &str) -> bool {
    name.ends_with(PART)
}

/// Refuses names that leave the directory, whoever checked them before, and those that are ours.
pub(crate) fn check_name(basename: &str) -> Result<()> {
    let mut parts = Path::new(basename).components().peekable();
    let first = parts.peek().copied();
    let inside = first.is_some() && parts.all(|part| matches!(part, Component::Normal(_)));
    if !inside || basename.contains('\0') {
        let message =
            format!("the index names a file {basename:?} outside of the dataset's directory; it is not safe to use");
        return Err(Error::corrupt(message));
    }
    let own = first == Some(Component::Normal(OWN.as_ref())) || basename == crate::index::INDEX_BASENAME;
    if own || is_part(basename) {
        let message =
            format!("the index names a file {basename:?}, a name that the cache needs itself; rename the file");
        return Err(Error::corrupt(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_directory() {
        for name in ["shard.00000.mds", "a/b.mds.zstd", "...", "..a"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "/a", "../a", "a/../../b", "a/..", "..", "a\0b"] {
            let error = check_name(name).expect_err(name).to_string();
            assert!(error.contains("outside of the dataset's directory"), "{error}");
        }
        for name in ["index.json", ".lockstep/locks", ".lockstep", "a.mds.lockstep-part"] {
            let error = check_name(name).expect_err(name).to_string();
            assert!(error.contains("a name that the cache needs itself"), "{error}");
        }
    }
}
