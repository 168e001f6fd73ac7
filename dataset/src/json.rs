//! JSON lines, and JSON texts in general.
//!
//! What Python's `json` writes is read: JSON (RFC 8259), and `NaN`, `Infinity` and `-Infinity` besides.

pub(crate) mod python;
mod scan;

pub(crate) use scan::{ScanError, Scanner};

use std::borrow::Cow;

use serde::Deserialize;

use crate::index::Encoding;
use crate::mds::{DecodeError, float, integer};
use crate::value::Value;

/// Why a line is no sample.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("it does not end with the newline {0:?}")]
    Newline(String),
    #[error("it is not UTF-8 from its byte {0} on")]
    Utf8(usize),
    #[error("it is no JSON object: {0}")]
    Json(#[from] ScanError),
    #[error("it has no `{0}`")]
    Missing(String),
}

/// The JSON text of a line.
pub(crate) fn text<'a>(line: &'a [u8], newline: &str) -> Result<&'a str, LineError> {
    let text = std::str::from_utf8(line).map_err(|error| LineError::Utf8(error.valid_up_to()))?;
    text.strip_suffix(newline).ok_or_else(|| LineError::Newline(newline.to_owned()))
}

/// The text of the value called `name` in an object, all of which is checked. Of several with that name the last counts.
pub(crate) fn member<'a>(text: &'a str, name: &str) -> Result<&'a str, LineError> {
    let mut wanted = None;
    Scanner::new(text).object(|key, value| {
        if key == name || (key.contains('\\') && unescape(key).is_some_and(|key| key == name)) {
            wanted = Some(value);
        }
    })?;
    wanted.ok_or_else(|| LineError::Missing(name.to_owned()))
}

/// A string between quotes, with its escapes replaced.
fn unescape(key: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{key}\"")).ok()
}

/// The value of a column whose text is `text`.
pub(crate) fn decode<'a>(encoding: &Encoding, text: &'a str) -> Result<Value<'a>, DecodeError> {
    /// Borrows where there are no escapes.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    match encoding {
        Encoding::Str => match serde_json::from_str(text) {
            Ok(Text(text)) => Ok(Value::Str(text)),
            Err(error) => Err(DecodeError::String(error)),
        },
        Encoding::Int => integer(text),
        _ => match text {
            "NaN" => Ok(Value::Float(f64::NAN)),
            "Infinity" => Ok(Value::Float(f64::INFINITY)),
            "-Infinity" => Ok(Value::Float(f64::NEG_INFINITY)),
            _ => float(text).map(Value::Float),
        },
    }
}

/// Writes a text that has been checked in one line, with what is not JSON in it as objects: `{"float": "nan"}`.
pub(crate) fn compact(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '"' => string_len(rest),
            'N' => token(out, "nan", "NaN".len()),
            'I' => token(out, "inf", "Infinity".len()),
            '-' if rest.starts_with("-I") => token(out, "-inf", "-Infinity".len()),
            _ => c.len_utf8(),
        };
        let (head, tail) = rest.split_at_checked(len).unwrap_or((rest, ""));
        if !matches!(c, ' ' | '\t' | '\n' | '\r' | 'N' | 'I') && !head.starts_with("-I") {
            out.extend(head.as_bytes());
        }
        rest = tail;
    }
}

fn token(out: &mut Vec<u8>, name: &str, len: usize) -> usize {
    out.extend(format!("{{\"float\": \"{name}\"}}").as_bytes());
    len
}

/// The length of the string at the start of `text`, quotes and all.
fn string_len(text: &str) -> usize {
    let mut escaped = true; // The first quote does not end it.
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}
