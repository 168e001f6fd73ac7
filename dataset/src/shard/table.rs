//! The table of offsets: where each sample lies.
//!
//! All formats have the same one, little-endian: the number of samples (`u32`), the offset of each sample and of the end
//! (`u32` each), a header (a JSON text like the shard's entry in the index, without its files). MDS has it at the start of
//! the data; the text formats in a file of its own, `.meta`, with offsets into the data.

use crate::index::{self, Columns, ShardInfo};

/// A table of offsets, checked as far as it can be without reading all of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    num_samples: u64,
    /// Where the first sample begins.
    samples_begin: u32,
}

/// Why a file has no table that fits the index.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("byte 0: {0} bytes are too many for offsets of 32 bits")]
    TooLong(u64),
    #[error("byte 0: {have} bytes have no room for the table of {samples} samples")]
    TooShort { have: usize, samples: u64 },
    #[error("byte 0: it has {have} samples, the index says {want}")]
    NumSamples { have: u32, want: u64 },
    #[error(
        "byte 4: its samples begin at byte {begin}, not between the table's end at {table_end} and its own at {len}"
    )]
    Begin { begin: u32, table_end: u64, len: usize },
    #[error("byte 4: its samples begin at byte {begin} of the data, not behind the first line of {want} bytes")]
    TextBegin { begin: u32, want: usize },
    #[error("byte {at}: its samples end at byte {end}, the file at {len}")]
    End { at: u64, end: u32, len: usize },
    #[error("byte {at}: its header is not understood: {what}")]
    Header { at: u64, what: String },
    #[error("byte {at}: its header disagrees with the index: {what}")]
    Disagrees { at: u64, what: String },
}

/// A table's ends: what it takes to check the rest.
struct Ends<'a> {
    num_samples: u64,
    begin: u32,
    /// Where the offsets end and the header begins.
    table_end: u64,
    /// All bytes behind the offsets.
    rest: &'a [u8],
}

impl Table {
    /// Checks the start of an MDS file, in time that depends on the header only.
    pub(super) fn of_mds(file: &[u8], info: &ShardInfo) -> Result<Self, TableError> {
        let Ends { num_samples, begin, table_end, rest } = ends(file, file.len(), info)?;
        let header = (begin as usize).checked_sub(file.len() - rest.len()).and_then(|len| rest.get(..len));
        let header = header.ok_or(TableError::Begin { begin, table_end, len: file.len() })?;
        check_header(header, table_end, info)?;
        Ok(Self { num_samples, samples_begin: begin })
    }

    /// Checks a `.meta` file whose data begins with `first_line` and has `data_len` bytes.
    pub(super) fn of_text(
        file: &[u8],
        first_line: usize,
        data_len: usize,
        info: &ShardInfo,
    ) -> Result<Self, TableError> {
        let Ends { num_samples, begin, table_end, rest } = ends(file, data_len, info)?;
        if begin as usize != first_line {
            return Err(TableError::TextBegin { begin, want: first_line });
        }
        check_header(rest, table_end, info)?;
        Ok(Self { num_samples, samples_begin: begin })
    }

    /// Where sample `i` begins in `data`, and its bytes; `None` if there is no such sample or its place is impossible.
    ///
    /// Every pair of neighbours that is read is compared, so a table that decreases anywhere is noticed by whoever reads
    /// there; nobody pays for what is not read.
    #[inline]
    pub(super) fn range<'a>(&self, table: &[u8], data: &'a [u8], i: u64) -> Option<(u64, &'a [u8])> {
        if i >= self.num_samples {
            return None;
        }
        let (begin, end) = pair(table, i)?;
        if begin < self.samples_begin {
            return None;
        }
        // Fails too where the offsets decrease.
        let bytes = data.get(begin as usize..end as usize)?;
        Some((u64::from(begin), bytes))
    }

    /// Why [`range`](Self::range) had nothing for a sample that is there: the byte of the table and what is wrong with it.
    pub(super) fn explain(&self, table: &[u8], data: &[u8], i: u64) -> Option<(u64, String)> {
        if i >= self.num_samples {
            return None;
        }
        let at = 4 * (i + 1);
        let Some((begin, end)) = pair(table, i) else {
            return Some((at, "the file ends before the offsets".into()));
        };
        let what = if begin < self.samples_begin {
            format!("the offset {begin} lies before the first sample's at {}", self.samples_begin)
        } else if end < begin {
            format!("the offsets decrease from {begin} to {end}")
        } else {
            format!("the offsets {begin} to {end} leave the file of {} bytes", data.len())
        };
        Some((at, what))
    }
}

/// Checks the number of samples and where the last one ends.
fn ends<'a>(file: &'a [u8], data_len: usize, info: &ShardInfo) -> Result<Ends<'a>, TableError> {
    let num_samples = info.num_samples();
    if u32::try_from(data_len).is_err() {
        return Err(TableError::TooLong(data_len as u64));
    }
    let too_short = TableError::TooShort { have: file.len(), samples: num_samples };
    let Some(have) = read_u32(file, 0) else {
        return Err(too_short);
    };
    if u64::from(have) != num_samples {
        return Err(TableError::NumSamples { have, want: num_samples });
    }
    let table_end = 4 * (num_samples + 2);
    let rest = usize::try_from(table_end).ok().and_then(|at| file.get(at..));
    let (Some(rest), Some(begin), Some(end)) = (rest, read_u32(file, 4), read_u32(file, table_end - 4)) else {
        return Err(too_short);
    };
    if end as usize != data_len {
        return Err(TableError::End { at: table_end - 4, end, len: data_len });
    }
    Ok(Ends { num_samples, begin, table_end, rest })
}

/// Compares what the header says of the samples with the index. Hashes, compression and the limit of size, which it also
/// has, may have been changed since without a change to the samples.
fn check_header(text: &[u8], at: u64, info: &ShardInfo) -> Result<(), TableError> {
    let header = index::header(text).map_err(|what| TableError::Header { at, what })?;
    let disagrees = |what| Err(TableError::Disagrees { at, what });
    if header.format != info.format() {
        let (have, want) = (header.format, info.format());
        return disagrees(format!("it is of format {have}, the index says {want}"));
    }
    if header.columns != *info.columns() {
        let (have, want) = (describe(&header.columns), describe(info.columns()));
        return disagrees(format!("it has columns {have}, the index says {want}"));
    }
    if (&header.newline, &header.separator) != (&info.layout.newline, &info.layout.separator) {
        let (have, want) = ((&header.newline, &header.separator), (&info.layout.newline, &info.layout.separator));
        return disagrees(format!("it has newline and separator {have:?}, the index says {want:?}"));
    }
    Ok(())
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
fn pair(table: &[u8], i: u64) -> Option<(u32, u32)> {
    let at = usize::try_from(i).ok()?.checked_add(1)?.checked_mul(4)?;
    let bytes = table.get(at..)?.first_chunk::<8>()?;
    let [a, b, c, d, e, f, g, h] = *bytes;
    Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
}

fn read_u32(file: &[u8], at: u64) -> Option<u32> {
    let bytes = file.get(usize::try_from(at).ok()?..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}
