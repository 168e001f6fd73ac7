//! The columns inside a sample.

use crate::index::Columns;

/// Why a column's bytes cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ColumnError {
    #[error("there is no such column")]
    NoColumn,
    #[error("{have} bytes have no room for the sizes of {columns} columns")]
    NoSizes { have: usize, columns: u32 },
    #[error("it has {have} bytes; the sizes of its columns add up to {need}")]
    Sizes { have: usize, need: u64 },
}

/// The bytes of column number `i` of a sample.
///
/// Every size in the sample is added up and compared with what is there, so a size that lies is noticed whichever column
/// is asked for. That is one addition per column of variable size.
#[inline]
pub(crate) fn column<'a>(columns: &Columns, sample: &'a [u8], i: usize) -> Result<&'a [u8], ColumnError> {
    let column = columns.get(i).ok_or(ColumnError::NoColumn)?;
    let num_variable = columns.num_variable();
    let head = 4 * num_variable as usize;
    let no_sizes = || ColumnError::NoSizes { have: sample.len(), columns: num_variable };
    let (sizes, values) = sample.split_at_checked(head).ok_or_else(no_sizes)?;
    let (sizes, _) = sizes.as_chunks::<4>();
    let sum = |sizes: &[[u8; 4]]| sizes.iter().map(|&size| u64::from(u32::from_le_bytes(size))).sum::<u64>();
    let (before, after) = sizes.split_at(column.variable_before() as usize);
    let begin = column.fixed_before() + sum(before);
    let end = match (column.size(), after.first()) {
        (Some(size), _) => begin + u64::from(size),
        (None, size) => begin + u64::from(size.map_or(0, |&size| u32::from_le_bytes(size))),
    };
    let need = columns.fixed_bytes() + sum(before) + sum(after);
    if need != values.len() as u64 {
        return Err(ColumnError::Sizes { have: sample.len(), need: need + head as u64 });
    }
    let range = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
    // What adds up to the length lies inside it.
    Ok(range.and_then(|(begin, end)| values.get(begin..end)).unwrap_or_default())
}
