//! The values of columns.

use crate::index::{Encoding, ImageEncoding};
use crate::json::{ScanError, Scanner};
use crate::value::{ArrayError, Image, ImageError, ImageList, ListLayout, NdArray, Scalar, Value};

/// Why the bytes of a column are no value of its encoding.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("{have} bytes are not the {need} of a value of type {encoding}")]
    Size { encoding: String, have: usize, need: u64 },
    #[error("text that is not UTF-8 from its byte {0} on")]
    Utf8(usize),
    #[error("{0:?} is not an integer")]
    Integer(String),
    #[error("{0:?} is not a floating-point number")]
    Float(String),
    #[error("{0:?} is not a decimal number")]
    Decimal(String),
    #[error("no JSON: {0}")]
    Json(#[from] ScanError),
    #[error("no JSON string: {0}")]
    String(serde_json::Error),
    #[error("{0}")]
    Array(#[from] ArrayError),
    #[error("{0}")]
    Image(#[from] ImageError),
    #[error("a pickled object, and unpickling runs code that comes with the data: ask for the column's bytes instead")]
    Pickle,
}

/// Decodes the bytes of a column.
pub(crate) fn decode<'a>(encoding: &'a Encoding, bytes: &'a [u8]) -> Result<Value<'a>, DecodeError> {
    Ok(match encoding {
        Encoding::Bytes => Value::Bytes(bytes),
        Encoding::Str => Value::Str(text(bytes)?.into()),
        Encoding::Int => match bytes.try_into() {
            Ok(bytes) => Value::Int(i64::from_le_bytes(bytes)),
            Err(_) => return Err(wrong_size(encoding, bytes, 8)),
        },
        Encoding::Scalar(dtype) => match Scalar::from_le_bytes(*dtype, bytes) {
            Some(scalar) => Value::Scalar(scalar),
            None => return Err(wrong_size(encoding, bytes, dtype.size())),
        },
        Encoding::Array { dtype, shape } => Value::Array(NdArray::decode(*dtype, shape.as_deref(), bytes)?),
        Encoding::StrInt => integer(text(bytes)?)?,
        Encoding::StrFloat | Encoding::Float => Value::Float(float(text(bytes)?)?),
        Encoding::StrDecimal => Value::Decimal(decimal(text(bytes)?)?),
        Encoding::Json => Value::Json(json(text(bytes)?)?),
        Encoding::Image(image) => Value::Image(Image::decode(*image, bytes)?),
        Encoding::ImageList(image) => Value::Images(ImageList::decode(*image, ListLayout::Reserved, bytes)?),
        Encoding::JpegArray => Value::Images(ImageList::decode(ImageEncoding::Jpeg, ListLayout::Plain, bytes)?),
        Encoding::Pickle => return Err(DecodeError::Pickle),
    })
}

#[cold]
fn wrong_size(encoding: &Encoding, bytes: &[u8], need: u64) -> DecodeError {
    DecodeError::Size { encoding: encoding.to_string(), have: bytes.len(), need }
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|error| DecodeError::Utf8(error.valid_up_to()))
}

/// An integer of any size: digits behind an optional sign.
pub(crate) fn integer(text: &str) -> Result<Value<'_>, DecodeError> {
    if let Ok(int) = text.parse() {
        return Ok(Value::Int(int));
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DecodeError::Integer(shorten(text)));
    }
    Ok(Value::BigInt(text))
}

/// A floating-point number as Python and Rust write it, with `inf` and `nan`.
pub(crate) fn float(text: &str) -> Result<f64, DecodeError> {
    text.parse().map_err(|_| DecodeError::Float(shorten(text)))
}

/// A decimal number as Python's `decimal` writes it: `-1.50`, `1E+3`, `Infinity`, `NaN`, `sNaN12`.
fn decimal(text: &str) -> Result<&str, DecodeError> {
    fn is_decimal(text: &str) -> bool {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        if unsigned == "Infinity" {
            return true;
        }
        if let Some(payload) = unsigned.strip_prefix("NaN").or_else(|| unsigned.strip_prefix("sNaN")) {
            return digits(payload);
        }
        let (number, exponent) = match unsigned.split_once(['E', 'e']) {
            Some((number, exponent)) => (number, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let exponent_fits = exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent)
        });
        !(whole.is_empty() && fraction.is_empty()) && digits(whole) && digits(fraction) && exponent_fits
    }

    if is_decimal(text) { Ok(text) } else { Err(DecodeError::Decimal(shorten(text))) }
}

fn json(text: &str) -> Result<&str, DecodeError> {
    Scanner::new(text).check()?;
    Ok(text)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_text_are_checked() {
        assert_eq!(integer("-12").unwrap(), Value::Int(-12));
        assert_eq!(integer("99999999999999999999").unwrap(), Value::BigInt("99999999999999999999"));
        for text in ["", "-", "1_000", " 1", "1.0", "0x1", "१"] {
            assert!(integer(text).is_err(), "{text:?}");
        }
        for text in ["0", "-1.50", "1E+3", "1E-28", ".5", "5.", "Infinity", "-Infinity", "NaN", "sNaN12", "+7"] {
            assert_eq!(decimal(text).unwrap(), text);
        }
        for text in ["", ".", "-", "E5", "1E", "1E+", "1.2.3", "inf", "1,5", "NaNx"] {
            assert!(decimal(text).is_err(), "{text:?}");
        }
        assert_eq!(float("1e-05").unwrap(), 1e-5);
        assert!(float("nan").unwrap().is_nan() && float("-inf").unwrap() == f64::NEG_INFINITY && float("1,0").is_err());
    }
}
