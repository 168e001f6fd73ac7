//! The start of an MDS file: where each sample lies, and the header.

use crate::index::{self, Columns, ShardInfo};

/// The table of offsets of an MDS file, checked as far as it can be without reading all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MdsTable {
    num_samples: u64,
    /// Where the header ends and the first sample begins.
    samples_begin: u32,
}

/// Why a file is not the MDS shard that the index describes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TableError {
    #[error("{0} bytes are too many for an MDS file, whose offsets have 32 bits")]
    TooLong(u64),
    #[error("{have} bytes have no room for the table of {samples} samples")]
    TooShort { have: usize, samples: u64 },
    #[error("byte 0: it has {have} samples, the index says {want}")]
    NumSamples { have: u32, want: u64 },
    #[error(
        "byte 4: its samples begin at byte {begin}, not between the table's end at {table_end} and its own at {len}"
    )]
    Begin { begin: u32, table_end: u64, len: usize },
    #[error("byte {at}: its samples end at byte {end}, the file at {len}")]
    End { at: u64, end: u32, len: usize },
    #[error("byte {at}: its header is not understood: {what}")]
    Header { at: u64, what: String },
    #[error("byte {at}: its header disagrees with the index: {what}")]
    Disagrees { at: u64, what: String },
}

impl MdsTable {
    /// Checks the parts of `file` that come before the samples, in time that depends on the header only.
    pub(crate) fn check(file: &[u8], info: &ShardInfo) -> Result<Self, TableError> {
        let (num_samples, len) = (info.num_samples(), file.len());
        if u32::try_from(len).is_err() {
            return Err(TableError::TooLong(len as u64));
        }
        let too_short = TableError::TooShort { have: len, samples: num_samples };
        let Some(have) = read_u32(file, 0) else {
            return Err(too_short);
        };
        if u64::from(have) != num_samples {
            return Err(TableError::NumSamples { have, want: num_samples });
        }
        let table_end = 4 * (num_samples + 2);
        let (Some(begin), Some(end)) = (read_u32(file, 4), read_u32(file, table_end - 4)) else {
            return Err(too_short);
        };
        if u64::from(begin) < table_end || begin as usize > len {
            return Err(TableError::Begin { begin, table_end, len });
        }
        if end as usize != len {
            return Err(TableError::End { at: table_end - 4, end, len });
        }
        let header = usize::try_from(table_end).ok().and_then(|at| file.get(at..begin as usize)).unwrap_or_default();
        check_header(header, info).map_err(|error| match error {
            HeaderError::Text(what) => TableError::Header { at: table_end, what },
            HeaderError::Disagrees(what) => TableError::Disagrees { at: table_end, what },
        })?;
        Ok(Self { num_samples, samples_begin: begin })
    }

    /// Where sample `i` begins, and its bytes; `None` if there is no such sample or its place is impossible.
    ///
    /// Every pair of neighbours that is read is compared, so a table that decreases anywhere is noticed by whoever reads
    /// there; nobody pays for what is not read.
    #[inline]
    pub(crate) fn range<'a>(&self, file: &'a [u8], i: u64) -> Option<(u64, &'a [u8])> {
        if i >= self.num_samples {
            return None;
        }
        let (begin, end) = pair(file, i)?;
        if begin < self.samples_begin {
            return None;
        }
        // Fails too where the offsets decrease.
        let bytes = file.get(begin as usize..end as usize)?;
        Some((u64::from(begin), bytes))
    }

    /// Why [`range`](Self::range) had nothing for a sample that is there: the byte of the table and what is wrong with it.
    pub(crate) fn explain(&self, file: &[u8], i: u64) -> Option<(u64, String)> {
        if i >= self.num_samples {
            return None;
        }
        let at = 4 * (i + 1);
        let Some((begin, end)) = pair(file, i) else {
            return Some((at, "the file ends before the offsets".into()));
        };
        let what = if begin < self.samples_begin {
            format!("the offset {begin} lies before the first sample's at {}", self.samples_begin)
        } else if end < begin {
            format!("the offsets decrease from {begin} to {end}")
        } else {
            format!("the offsets {begin} to {end} leave the file of {} bytes", file.len())
        };
        Some((at, what))
    }
}

enum HeaderError {
    Text(String),
    Disagrees(String),
}

/// Compares what the header says of the samples with the index. Hashes, compression and the limit of size, which it also
/// has, may have been changed since without a change to the samples.
fn check_header(text: &[u8], info: &ShardInfo) -> Result<(), HeaderError> {
    let header = index::header(text).map_err(HeaderError::Text)?;
    if header.format != info.format() {
        let (have, want) = (header.format, info.format());
        return Err(HeaderError::Disagrees(format!("it is of format {have}, the index says {want}")));
    }
    if header.columns == *info.columns() {
        return Ok(());
    }
    let (have, want) = (describe(&header.columns), describe(info.columns()));
    Err(HeaderError::Disagrees(format!("it has columns {have}, the index says {want}")))
}

fn describe(columns: &Columns) -> String {
    let columns: Vec<_> = columns
        .iter()
        .map(|column| match column.size() {
            Some(size) => format!("`{}` {} of {size} bytes", column.name(), column.encoding()),
            None => format!("`{}` {}", column.name(), column.encoding()),
        })
        .collect();
    columns.join(", ")
}

#[inline]
fn pair(file: &[u8], i: u64) -> Option<(u32, u32)> {
    let at = usize::try_from(i).ok()?.checked_add(1)?.checked_mul(4)?;
    let bytes = file.get(at..)?.first_chunk::<8>()?;
    let [a, b, c, d, e, f, g, h] = *bytes;
    Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
}

fn read_u32(file: &[u8], at: u64) -> Option<u32> {
    let bytes = file.get(usize::try_from(at).ok()?..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}
