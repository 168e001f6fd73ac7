//! File names from an index, which may come from anywhere.

/// Why a name from an index is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BasenameError {
    #[error("a file name is empty")]
    Empty,
    #[error("file name {0:?} is absolute; names must lie inside the dataset's directory")]
    Absolute(String),
    #[error("file name {0:?} has a `{1}` part; names must lie inside the dataset's directory")]
    Leaves(String, &'static str),
    #[error("file name {0:?} has an empty part")]
    EmptyPart(String),
    #[error("file name {0:?} has a backslash or a control character; rename the file")]
    Character(String),
}

/// Checks that joining `name` to a directory gives a path inside it, without regard to what is there.
///
/// Parts are separated by `/`: merged datasets have their shards in subdirectories.
pub(crate) fn check(name: &str) -> Result<(), BasenameError> {
    if name.is_empty() {
        return Err(BasenameError::Empty);
    }
    if name.starts_with('/') {
        return Err(BasenameError::Absolute(name.to_owned()));
    }
    // A backslash separates on Windows, where a drive letter would make a name absolute.
    if name.chars().any(|c| c == '\\' || c.is_control()) || name.as_bytes().get(1) == Some(&b':') {
        return Err(BasenameError::Character(name.to_owned()));
    }
    for part in name.split('/') {
        match part {
            "" => return Err(BasenameError::EmptyPart(name.to_owned())),
            "." => return Err(BasenameError::Leaves(name.to_owned(), ".")),
            ".." => return Err(BasenameError::Leaves(name.to_owned(), "..")),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_inside_the_directory_pass() {
        for name in ["shard.00000.mds", "00001/shard.00000.mds.zstd", "..a", "a..", "...", "a b", "é", "ab:c"] {
            assert!(check(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_that_could_leave_it_do_not() {
        for name in ["", "/", "/etc/passwd", "..", "../x", "a/../x", "a/..", ".", "./a", "a//b", "a/", "a\0b", "a\nb"] {
            assert!(check(name).is_err(), "{name:?}");
        }
        assert!(check("..\\x").is_err() && check("C:\\x").is_err() && check("C:x").is_err());
    }
}
