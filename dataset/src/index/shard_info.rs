//! What an index says about one shard.

use std::fmt;
use std::sync::Arc;

use super::columns::Columns;
use super::files::{FileInfo, FilePair};
use crate::compression::Compression;
use crate::hashing::HashAlgorithm;

/// How a shard stores samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Binary columns in one file with its own table of offsets.
    Mds,
    /// JSON lines, with the offsets in a second file.
    Json,
    /// Lines of values separated by commas, with the offsets in a second file.
    Csv,
    /// Lines of values separated by tabs, with the offsets in a second file.
    Tsv,
    /// Lines of values with a separator of the writer's choice, with the offsets in a second file.
    Xsv,
}

impl Format {
    pub(crate) const ALL: [Self; 5] = [Self::Mds, Self::Json, Self::Csv, Self::Tsv, Self::Xsv];

    /// The name in `index.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mds => "mds",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Xsv => "xsv",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What all shards of a dataset usually have in common; shared between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) format: Format,
    pub(crate) columns: Columns,
    pub(crate) compression: Option<Compression>,
    pub(crate) hashes: Box<[HashAlgorithm]>,
    pub(crate) size_limit: Option<u64>,
    /// What ends a sample of a text format; empty for MDS.
    pub(crate) newline: Box<str>,
    /// What lies between the values of a CSV, TSV or XSV sample; empty for others.
    pub(crate) separator: Box<str>,
}

/// A shard as the index describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardInfo {
    pub(crate) layout: Arc<Layout>,
    pub(crate) num_samples: u64,
    pub(crate) data: Files,
    /// The file of offsets of the text formats.
    pub(crate) meta: Option<Files>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) raw: FileInfo,
    pub(crate) zip: Option<FileInfo>,
}

impl Files {
    pub(crate) fn pair(&self) -> FilePair<'_> {
        FilePair { raw: &self.raw, zip: self.zip.as_ref() }
    }
}

impl ShardInfo {
    /// How samples are stored.
    pub fn format(&self) -> Format {
        self.layout.format
    }

    /// The columns of each sample.
    pub fn columns(&self) -> &Columns {
        &self.layout.columns
    }

    /// How the files are compressed where they are stored, if at all.
    pub fn compression(&self) -> Option<Compression> {
        self.layout.compression
    }

    /// The hash algorithms that the writer was asked to use.
    pub fn hashes(&self) -> &[HashAlgorithm] {
        &self.layout.hashes
    }

    /// The size in bytes at which the writer began another shard, if it did.
    pub fn size_limit(&self) -> Option<u64> {
        self.layout.size_limit
    }

    /// What ends each sample in the text formats (JSON, CSV, TSV, XSV).
    pub fn newline(&self) -> Option<&str> {
        Some(&*self.layout.newline).filter(|newline| !newline.is_empty())
    }

    /// What lies between the values of a sample in CSV, TSV and XSV.
    pub fn separator(&self) -> Option<&str> {
        Some(&*self.layout.separator).filter(|separator| !separator.is_empty())
    }

    /// Whether everything but the files and the number of samples is the same as in `other`.
    pub fn has_layout_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.layout, &other.layout) || self.layout == other.layout
    }

    /// The number of samples.
    pub fn num_samples(&self) -> u64 {
        self.num_samples
    }

    /// The files of the shard: the data, then the offsets where the format has them in a file of their own.
    pub fn files(&self) -> impl Iterator<Item = FilePair<'_>> {
        std::iter::once(&self.data).chain(&self.meta).map(Files::pair)
    }

    /// The size in bytes of the raw files together.
    pub fn raw_bytes(&self) -> u64 {
        self.files().fold(0, |sum, pair| sum.saturating_add(pair.raw.bytes()))
    }

    /// The size in bytes of the files together as they are stored and transferred.
    pub fn stored_bytes(&self) -> u64 {
        self.files().fold(0, |sum, pair| sum.saturating_add(pair.stored().bytes()))
    }
}
