//! The entries of `index.json`, with fields in the order of their names, as the original sorts them.

use std::collections::BTreeMap;

use serde::Serialize;

/// What all shards have in common. It is also the header inside each.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Layout {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column_encodings: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column_names: Option<Vec<Box<str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column_sizes: Option<Vec<Option<u64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) columns: Option<BTreeMap<Box<str>, String>>,
    pub(super) compression: Option<String>,
    pub(super) format: &'static str,
    pub(super) hashes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) newline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) separator: Option<String>,
    pub(super) size_limit: Option<u64>,
    pub(super) version: u64,
}

/// A file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FileEntry {
    pub(super) basename: String,
    pub(super) bytes: u64,
    pub(super) hashes: BTreeMap<&'static str, String>,
}

/// The files of a shard; those for offsets only in text formats.
#[derive(Clone, Debug)]
pub(super) struct ShardFiles {
    pub(super) samples: u64,
    pub(super) raw_data: FileEntry,
    pub(super) zip_data: Option<FileEntry>,
    pub(super) meta: Option<(FileEntry, Option<FileEntry>)>,
}

/// A shard.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    column_encodings: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column_names: Option<&'a [Box<str>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column_sizes: Option<&'a [Option<u64>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<&'a BTreeMap<Box<str>, String>>,
    compression: Option<&'a str>,
    format: &'a str,
    hashes: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    newline: Option<&'a str>,
    raw_data: &'a FileEntry,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_meta: Option<&'a FileEntry>,
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    separator: Option<&'a str>,
    size_limit: Option<u64>,
    version: u64,
    zip_data: Option<&'a FileEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zip_meta: Option<Option<&'a FileEntry>>,
}

#[derive(Serialize)]
struct IndexEntry<'a> {
    shards: Vec<Entry<'a>>,
    version: u64,
}

/// The text of `index.json`.
pub(super) fn index(layout: &Layout, shards: &[ShardFiles]) -> serde_json::Result<Vec<u8>> {
    let shards = shards.iter().map(|files| layout.entry(files)).collect();
    crate::json::python::dumps(&IndexEntry { shards, version: layout.version })
}

impl Layout {
    fn entry<'a>(&'a self, files: &'a ShardFiles) -> Entry<'a> {
        Entry {
            column_encodings: self.column_encodings.as_deref(),
            column_names: self.column_names.as_deref(),
            column_sizes: self.column_sizes.as_deref(),
            columns: self.columns.as_ref(),
            compression: self.compression.as_deref(),
            format: self.format,
            hashes: &self.hashes,
            newline: self.newline.as_deref(),
            raw_data: &files.raw_data,
            raw_meta: files.meta.as_ref().map(|(raw, _)| raw),
            samples: files.samples,
            separator: self.separator.as_deref(),
            size_limit: self.size_limit,
            version: self.version,
            zip_data: files.zip_data.as_ref(),
            zip_meta: files.meta.as_ref().map(|(_, zip)| zip.as_ref()),
        }
    }
}
