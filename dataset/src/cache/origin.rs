//! The index of a remote dataset: copied once, and compared with the remote's when a directory is opened anew.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::layout::{Layout, part_of};
use super::part::remove_if_there;
use crate::error::{Error, Result};
use crate::index::{INDEX_BASENAME, Index, ShardInfo};
use crate::remote::Origin;

/// No record is larger.
pub(crate) const MOST_BYTES: u64 = 4096;

/// Where the index in a directory was copied from.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    url: String,
    /// The remote's tag of the index.
    tag: Option<String>,
    /// The copy's hash.
    hash: u64,
}

/// An index and the number that tells it from others.
type Known = (Arc<Index>, u64);

/// Sees to it that the index in the directory is that of the remote, and returns it if it had to be parsed for that. Nobody
/// else uses the directory.
pub(crate) fn refresh(layout: &Layout, remote: &dyn Origin) -> Result<Option<Known>> {
    let copy = match fs::read(layout.index()) {
        Ok(copy) => copy,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return copy_index(layout, remote).map(Some),
        Err(source) => return Err(Error::io(format!("cannot read {}", layout.index().display()), source)),
    };
    let record = read_record(layout).filter(|record| record.hash == xxh3_64(&copy));
    let tag = match remote.tag(INDEX_BASENAME) {
        Ok(tag) => tag,
        Err(error) => {
            // What is here may be all that is needed.
            tracing::warn!(url = remote.url(), error = %error, "cannot tell whether the dataset has changed; using the index that is here");
            return Ok(None);
        }
    };
    let is_same = |record: &Record| record.url == remote.url() && record.tag.is_some() && record.tag == tag;
    if record.as_ref().is_some_and(is_same) {
        return Ok(None);
    }
    let current = remote.read(INDEX_BASENAME)?;
    if current == copy {
        return write_record(layout, remote, tag, &copy).map(|()| None);
    }
    if record.is_none_or(|record| record.url != remote.url()) {
        return Err(Error::config(format!(
            "{} was not copied from {}/{INDEX_BASENAME}, which is different; use another cache directory for this remote, or \
             remove that one if nothing in it is needed",
            layout.index().display(),
            remote.url()
        )));
    }
    tracing::warn!(url = remote.url(), dir = %layout.dir().display(), "the dataset was written anew; emptying the cache");
    drop_shards(layout, &copy)?;
    publish(layout, remote, tag, &current).map(Some)
}

/// Whether the remote's index is another one than when it was copied, as far as can be told.
pub(crate) fn has_changed(layout: &Layout, remote: &dyn Origin) -> bool {
    let Some(record) = read_record(layout) else { return false };
    matches!(remote.tag(INDEX_BASENAME), Ok(tag) if tag != record.tag)
}

fn copy_index(layout: &Layout, remote: &dyn Origin) -> Result<Known> {
    // The tag first: should the index change in between, the next look will find that it did.
    let tag = remote.tag(INDEX_BASENAME)?;
    let index = remote.read(INDEX_BASENAME)?;
    publish(layout, remote, tag, &index)
}

fn publish(layout: &Layout, remote: &dyn Origin, tag: Option<String>, text: &[u8]) -> Result<Known> {
    // What is no index is not kept.
    let index = Index::parse(text, &layout.index())
        .map_err(|error| error.context(format!("{}/{INDEX_BASENAME} is no index", remote.url())))?;
    write_record(layout, remote, tag, text)?;
    write_whole(&layout.index(), text)?;
    Ok((Arc::new(index), xxh3_64(text)))
}

fn drop_shards(layout: &Layout, index: &[u8]) -> Result<()> {
    let index = Index::parse(index, &layout.index())?;
    for pair in index.shards().iter().flat_map(ShardInfo::files) {
        for file in std::iter::once(pair.raw).chain(pair.zip) {
            super::layout::check_name(file.basename())?;
            let path = layout.file(file.basename());
            for path in [part_of(&path), path] {
                remove_if_there(&path)
                    .map_err(|source| Error::io(format!("cannot remove {}", path.display()), source))?;
            }
        }
    }
    Ok(())
}

fn read_record(layout: &Layout) -> Option<Record> {
    serde_json::from_slice(&fs::read(layout.origin()).ok()?).ok()
}

fn write_record(layout: &Layout, remote: &dyn Origin, tag: Option<String>, index: &[u8]) -> Result<()> {
    let record = Record { url: remote.url().to_owned(), tag, hash: xxh3_64(index) };
    let text = serde_json::to_vec(&record).expect("a record of texts and a number has a JSON form");
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::config(format!("the URL {} is too long", remote.url())));
    }
    write_whole(&layout.origin(), &text)
}

/// Writes a file so that it is there whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = part_of(path);
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&part, path)
    };
    write().map_err(|source| {
        let _ = remove_if_there(&part);
        Error::io(format!("cannot write {}", path.display()), source)
    })
}
