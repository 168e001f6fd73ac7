//! Several datasets as one.

use std::fs;
use std::path::Path;

use super::pool::write_file;
use crate::error::{Error, Result};
use crate::index::{INDEX_BASENAME, Index};
use crate::regular_file;

/// The parts that [`merge`] would take by default: the subdirectories of `root` that are datasets, by name.
///
/// # Errors
///
/// The directory cannot be read.
pub fn parts(root: impl AsRef<Path>) -> Result<Vec<String>> {
    let root = root.as_ref();
    let failed = |source| Error::io(format!("cannot read the directory {}", root.display()), source);
    let mut parts = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().join(INDEX_BASENAME).is_file() {
            let name = entry.file_name().into_string().map_err(|name| {
                Error::config(format!("{name:?} is not UTF-8, so that an index cannot name it; rename the directory"))
            })?;
            parts.push(name);
        }
    }
    parts.sort_unstable();
    Ok(parts)
}

/// Writes an index into `root` that makes the datasets in its subdirectories `parts` one, in this order. The parts stay
/// where and what they are.
///
/// # Errors
///
/// A part is no dataset, or the index cannot be written. What was there before stays then.
pub fn merge<P: AsRef<str>>(root: impl AsRef<Path>, parts: &[P]) -> Result<Index> {
    let root = root.as_ref();
    if parts.is_empty() {
        return Err(Error::config(format!("{} has no subdirectory with a dataset in it", root.display())));
    }
    let mut shards = Vec::new();
    for part in parts {
        let part = part.as_ref();
        let path = root.join(part).join(INDEX_BASENAME);
        let text =
            regular_file::read(&path).map_err(|source| Error::io(format!("cannot read {}", path.display()), source))?;
        // Checked first, so that what is taken over below is known to be there.
        Index::parse(&text, &path)?;
        let index: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|source| Error::corrupt(format!("cannot read {}", path.display())).with_source(source))?;
        for shard in index["shards"].as_array().into_iter().flatten() {
            let mut shard = shard.clone();
            for file in ["raw_data", "zip_data", "raw_meta", "zip_meta"] {
                if let Some(basename) = shard.get_mut(file).and_then(|file| file.get_mut("basename")) {
                    let name = basename.as_str().unwrap_or_default();
                    *basename = format!("{}/{name}", part.trim_end_matches('/')).into();
                }
            }
            shards.push(shard);
        }
    }
    let text = crate::json::python::dumps(&serde_json::json!({"shards": shards, "version": 2}))
        .map_err(|error| Error::config("the index cannot be written as JSON").with_source(error))?;
    // Names that lead out of the directory are found out here, before anything is written.
    let index = Index::parse(&text, &root.join(INDEX_BASENAME))?;
    write_file(root, INDEX_BASENAME, &text)?;
    Ok(index)
}
