//! CSV, TSV and XSV: lines of values between separators, without quoting.
//!
//! The data is a line of the columns' names, then a line per sample. Values cannot contain the separator or the newline;
//! quotes have no meaning.

use crate::index::{Column, Columns, Encoding, Layout};
use crate::mds::{DecodeError, float, integer};
use crate::value::Value;

/// Why a line is no sample.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("it does not end with the newline {0:?}")]
    Newline(String),
    #[error("it is not UTF-8 from its byte {0} on")]
    Utf8(usize),
    #[error("it has {have} values, not {want}")]
    Values { have: usize, want: usize },
}

/// The line before the samples.
pub(crate) fn first_line(columns: &Columns, layout: &Layout) -> String {
    let names: Vec<_> = columns.iter().map(Column::name).collect();
    names.join(&layout.separator) + &layout.newline
}

/// Value number `i` of a line, which is checked to have one for each column.
pub(crate) fn value<'a>(layout: &Layout, line: &'a [u8], i: usize) -> Result<&'a str, LineError> {
    let text = std::str::from_utf8(line).map_err(|error| LineError::Utf8(error.valid_up_to()))?;
    let text = text.strip_suffix(&*layout.newline).ok_or_else(|| LineError::Newline(layout.newline.to_string()))?;
    let mut wanted = None;
    let mut have = 0;
    for value in text.split(&*layout.separator) {
        if have == i {
            wanted = Some(value);
        }
        have += 1;
    }
    match wanted {
        Some(value) if have == layout.columns.len() => Ok(value),
        _ => Err(LineError::Values { have, want: layout.columns.len() }),
    }
}

/// A value of a column.
pub(crate) fn decode<'a>(encoding: &Encoding, text: &'a str) -> Result<Value<'a>, DecodeError> {
    match encoding {
        Encoding::Str => Ok(Value::Str(text.into())),
        Encoding::Int => integer(text),
        _ => float(text).map(Value::Float),
    }
}
