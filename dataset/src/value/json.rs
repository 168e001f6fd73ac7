//! Samples as JSON.

use std::io::{self, Write};

use super::{NdArray, Scalar, Value};
use crate::error::{Error, Result};
use crate::index::Encoding;
use crate::json::compact;
use crate::shard::Sample;

/// What becomes of pickled objects where a sample is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pickled {
    /// They are an error: unpickling runs code that comes with the data.
    #[default]
    Refuse,
    /// Their bytes are shown.
    AsBytes,
}

impl Sample<'_> {
    /// Writes the sample as one line of JSON, without a newline.
    ///
    /// Text, integers of any size, floating-point numbers and JSON are plain JSON. For the rest:
    ///
    /// | value | JSON |
    /// | --- | --- |
    /// | bytes, images | `{"hex": "00ff"}` |
    /// | numpy scalars | `{"dtype": "uint8", "hex": "ff"}`, the bytes little-endian |
    /// | arrays | `{"dtype": "int16", "shape": [1, 2], "hex": "01000200"}` |
    /// | decimals | `{"decimal": "1.50"}` |
    /// | floating-point numbers that JSON lacks | `{"float": "nan"}`, `"inf"`, `"-inf"` |
    /// | lists of images | a list of such |
    ///
    /// # Errors
    ///
    /// The sample is damaged or has a pickled column that is refused, or `out` fails.
    pub fn write_json(&self, out: &mut impl Write, pickled: Pickled) -> Result<()> {
        let mut line = Vec::new();
        if let Some(text) = self.json_line() {
            // Checks that the columns are there.
            self.check()?;
            compact(text?, &mut line);
        } else {
            line.push(b'{');
            for (i, column) in self.columns().iter().enumerate() {
                let value = match (column.encoding(), pickled) {
                    (Encoding::Pickle, Pickled::AsBytes) => Value::Bytes(self.bytes_at(i)?),
                    _ => self.column_at(i)?,
                };
                let separator = if i == 0 { "" } else { ", " };
                write_member(&mut line, separator, column.name(), &value)
                    .map_err(|error| Error::io("cannot write JSON", error))?;
            }
            line.push(b'}');
        }
        out.write_all(&line).map_err(|error| Error::io("cannot write a sample", error))
    }
}

fn write_member(out: &mut Vec<u8>, separator: &str, name: &str, value: &Value<'_>) -> io::Result<()> {
    out.write_all(separator.as_bytes())?;
    serde_json::to_writer(&mut *out, name)?;
    out.write_all(b": ")?;
    write_value(out, value)
}

fn write_value(out: &mut Vec<u8>, value: &Value<'_>) -> io::Result<()> {
    match value {
        Value::Bytes(bytes) => write_hex_object(out, bytes),
        Value::Str(text) => Ok(serde_json::to_writer(out, text)?),
        Value::Int(int) => write!(out, "{int}"),
        Value::BigInt(digits) => write_integer(out, digits),
        Value::Float(float) => write_float(out, *float),
        Value::Decimal(digits) => write!(out, "{{\"decimal\": \"{digits}\"}}"),
        Value::Scalar(scalar) => write_scalar(out, *scalar),
        Value::Array(array) => write_array(out, array),
        Value::Json(text) => {
            compact(text, out);
            Ok(())
        }
        Value::Image(image) => write_hex_object(out, image.stored()),
        Value::Images(list) => {
            for (i, image) in list.iter().enumerate() {
                out.write_all(if i == 0 { b"[" } else { b", " })?;
                write_hex_object(out, image.stored())?;
            }
            out.write_all(if list.is_empty() { b"[]" } else { b"]" })
        }
    }
}

/// JSON's integers have neither a plus sign nor zeros in front.
fn write_integer(out: &mut Vec<u8>, digits: &str) -> io::Result<()> {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.strip_prefix('+').unwrap_or(digits)),
    };
    let digits = digits.trim_start_matches('0');
    write!(out, "{sign}{}", if digits.is_empty() { "0" } else { digits })
}

fn write_float(out: &mut Vec<u8>, float: f64) -> io::Result<()> {
    if float.is_finite() {
        return Ok(serde_json::to_writer(out, &float)?);
    }
    let name = if float.is_nan() {
        "nan"
    } else if float > 0.0 {
        "inf"
    } else {
        "-inf"
    };
    write!(out, "{{\"float\": \"{name}\"}}")
}

fn write_scalar(out: &mut Vec<u8>, scalar: Scalar) -> io::Result<()> {
    write!(out, "{{\"dtype\": \"{}\", \"hex\": \"", scalar.dtype())?;
    let size = usize::try_from(scalar.dtype().size()).unwrap_or(usize::MAX);
    write_hex(out, scalar.to_le_bytes().get(..size).unwrap_or_default());
    out.write_all(b"\"}")
}

fn write_array(out: &mut Vec<u8>, array: &NdArray<'_>) -> io::Result<()> {
    write!(out, "{{\"dtype\": \"{}\", \"shape\": {:?}, \"hex\": \"", array.dtype(), array.shape().collect::<Vec<_>>())?;
    write_hex(out, array.bytes());
    out.write_all(b"\"}")
}

fn write_hex_object(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"{\"hex\": \"")?;
    write_hex(out, bytes);
    out.write_all(b"\"}")
}

fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|&byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: &Value<'_>) -> String {
        let mut out = Vec::new();
        write_value(&mut out, value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_those_of_json() {
        assert_eq!(json(&Value::BigInt("+0099999999999999999999")), "99999999999999999999");
        assert_eq!(json(&Value::BigInt("-000000000000000000000000")), "-0");
        assert_eq!(json(&Value::Float(0.1)), "0.1");
        assert_eq!(json(&Value::Float(-0.0)), "-0.0");
        assert_eq!(json(&Value::Float(f64::NEG_INFINITY)), r#"{"float": "-inf"}"#);
        assert_eq!(json(&Value::Json("{\"a\" : [NaN,\n1 ]}")), r#"{"a":[{"float": "nan"},1]}"#);
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(json(&Value::Bytes(b"\x00\xff\x1a")), r#"{"hex": "00ff1a"}"#);
        assert_eq!(json(&Value::Scalar(Scalar::Int16(-2))), r#"{"dtype": "int16", "hex": "feff"}"#);
    }
}
