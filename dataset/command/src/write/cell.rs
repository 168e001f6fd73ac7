//! Values from JSON and text, for columns of a given encoding.

use anyhow::{Context, bail, ensure};
use lockstep_dataset::Encoding;
use lockstep_dataset::value::{DType, NdArray, Scalar, Value};
use serde::Deserialize;

/// A value as it stands in the input.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field {
    /// A JSON text, from JSON lines.
    Json(String),
    /// Text, from a table: whatever the encoding makes of it.
    Text(String),
    /// A string, from Parquet.
    Str(String),
    /// Bytes, from Parquet.
    Bytes(Vec<u8>),
    /// An integer, from Parquet.
    Int(i128, &'static str),
    /// A floating-point number, from Parquet.
    Float(f64, &'static str),
    /// A value of a type that has no encoding, as Parquet prints it.
    Foreign(String),
}

/// A value that is ready to be written.
#[derive(Debug)]
pub(super) enum Cell {
    Text(String),
    Int(i64),
    Big(String),
    Float(f64),
    Bytes(Vec<u8>),
    Decimal(String),
    Json(String),
    Array { dtype: DType, shape: Vec<u64>, bytes: Vec<u8> },
}

/// The objects that stand for what JSON lacks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tagged {
    hex: Option<String>,
    dtype: Option<String>,
    shape: Option<Vec<u64>>,
    decimal: Option<String>,
    float: Option<String>,
}

impl Field {
    /// The encoding that a column gets if nobody says it: one that keeps the value. `text_only` leaves those of text
    /// formats.
    pub(super) fn guess(&self, text_only: bool) -> String {
        let float = if text_only { "float" } else { "float64" };
        match self {
            Self::Text(_) | Self::Str(_) => "str".into(),
            Self::Bytes(_) | Self::Foreign(_) => "bytes".into(),
            Self::Int(_, _) | Self::Float(_, _) if text_only => {
                if matches!(self, Self::Int(_, _)) {
                    "int".into()
                } else {
                    "float".into()
                }
            }
            Self::Int(_, encoding) | Self::Float(_, encoding) => (*encoding).into(),
            Self::Json(text) => match (text.as_bytes().first(), tagged(text)) {
                (Some(b'"'), _) => "str".into(),
                (_, Some(Tagged { dtype: Some(dtype), shape, .. })) => {
                    if shape.is_some() {
                        "ndarray".into()
                    } else {
                        dtype
                    }
                }
                (_, Some(Tagged { decimal: Some(_), .. })) => "str_decimal".into(),
                (_, Some(Tagged { float: Some(_), .. })) => float.into(),
                (_, Some(Tagged { hex: Some(_), .. })) => "bytes".into(),
                (Some(b'-' | b'0'..=b'9'), _) if text.contains(['.', 'e', 'E']) => float.into(),
                (Some(b'-' | b'0'..=b'9'), _) if text.parse::<i64>().is_ok() || text_only => "int".into(),
                (Some(b'-' | b'0'..=b'9'), _) => "str_int".into(),
                _ => "json".into(),
            },
        }
    }

    /// The value for a column of this encoding.
    pub(super) fn cell(&self, encoding: &Encoding) -> anyhow::Result<Cell> {
        match self {
            Self::Bytes(bytes) if matches!(encoding, Encoding::Json) => {
                let text = str::from_utf8(bytes).context("bytes that are not text are no JSON")?;
                Ok(Cell::Json(text.to_owned()))
            }
            Self::Bytes(bytes) => Ok(Cell::Bytes(bytes.clone())),
            Self::Int(int, _) if matches!(encoding, Encoding::Json) => Ok(Cell::Json(int.to_string())),
            Self::Int(int, _) => Ok(integer(&int.to_string(), encoding)),
            Self::Float(float, _) if matches!(encoding, Encoding::Json) => {
                ensure!(float.is_finite(), "JSON has no number {float}; write the column as float64");
                Ok(Cell::Json(serde_json::to_string(float)?))
            }
            Self::Float(float, _) => Ok(Cell::Float(*float)),
            Self::Str(text) if matches!(encoding, Encoding::Json) => Ok(Cell::Json(serde_json::to_string(text)?)),
            Self::Text(text) | Self::Str(text) => from_text(text, encoding),
            Self::Foreign(text) => {
                bail!("values such as {text} are not written; leave the column out by naming the others with --column")
            }
            Self::Json(text) => from_json(text, encoding),
        }
    }
}

fn tagged(text: &str) -> Option<Tagged> {
    text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()
}

/// An integer where the encoding wants a number of some kind.
fn integer(digits: &str, encoding: &Encoding) -> Cell {
    match (digits.parse::<i64>(), encoding) {
        (_, Encoding::StrDecimal) => Cell::Decimal(digits.to_owned()),
        (Ok(int), Encoding::StrFloat | Encoding::Float) if int.unsigned_abs() <= 1 << 53 => Cell::Float(int as f64),
        (Ok(int), _) => Cell::Int(int),
        (Err(_), _) => Cell::Big(digits.to_owned()),
    }
}

/// A cell of a table.
fn from_text(text: &str, encoding: &Encoding) -> anyhow::Result<Cell> {
    Ok(match encoding {
        Encoding::Bytes => Cell::Bytes(text.as_bytes().to_vec()),
        Encoding::Str => Cell::Text(text.to_owned()),
        Encoding::Json => Cell::Json(text.to_owned()),
        Encoding::StrDecimal => Cell::Decimal(text.to_owned()),
        Encoding::Array { .. }
        | Encoding::Image(_)
        | Encoding::ImageList(_)
        | Encoding::JpegArray
        | Encoding::Pickle => from_json(text, encoding)?,
        _ => number(text, encoding)?,
    })
}

fn number(text: &str, encoding: &Encoding) -> anyhow::Result<Cell> {
    let is_integer = text.strip_prefix(['-', '+']).unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    if is_integer && !text.is_empty() {
        return Ok(integer(text, encoding));
    }
    let float: f64 = text.parse().ok().with_context(|| format!("{text:?} is not a number"))?;
    Ok(Cell::Float(float))
}

/// A JSON value: plain where JSON has its like, else the object that `lockstep cat` prints for it.
fn from_json(text: &str, encoding: &Encoding) -> anyhow::Result<Cell> {
    if matches!(encoding, Encoding::Json) {
        return Ok(Cell::Json(text.to_owned()));
    }
    if let Some(tagged) = tagged(text) {
        return from_tagged(tagged);
    }
    match text.as_bytes().first() {
        Some(b'"') => from_text(&serde_json::from_str::<String>(text)?, encoding),
        Some(b'[') => nested(text, encoding),
        Some(b'-' | b'0'..=b'9') if matches!(encoding, Encoding::StrDecimal) => Ok(Cell::Decimal(text.to_owned())),
        Some(b'-' | b'0'..=b'9') => number(text, encoding),
        _ => bail!("{text} is no value of encoding {encoding}; write the column as json"),
    }
}

fn from_tagged(tagged: Tagged) -> anyhow::Result<Cell> {
    Ok(match tagged {
        Tagged { hex: Some(hex), dtype: Some(dtype), shape: Some(shape), .. } => {
            let dtype = DType::from_name(&dtype).with_context(|| format!("unknown type `{dtype}`"))?;
            Cell::Array { dtype, shape, bytes: unhex(&hex)? }
        }
        Tagged { hex: Some(hex), .. } => Cell::Bytes(unhex(&hex)?),
        Tagged { decimal: Some(decimal), .. } => Cell::Decimal(decimal),
        Tagged { float: Some(float), .. } => {
            Cell::Float(float.parse().ok().with_context(|| format!("{float:?} is not a number"))?)
        }
        _ => bail!("an object needs `hex`, `decimal` or `float` to be a value; write the column as json"),
    })
}

fn unhex(text: &str) -> anyhow::Result<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?));
    bytes.collect::<Option<_>>().with_context(|| format!("{text:?} is not pairs of hexadecimal digits"))
}

/// Nested lists of numbers into an array of the encoding's type.
fn nested(text: &str, encoding: &Encoding) -> anyhow::Result<Cell> {
    let Encoding::Array { dtype: Some(dtype), .. } = encoding else {
        bail!("a list is no value of encoding {encoding}; give the type as in ndarray:float32, or write it as json");
    };
    let value: serde_json::Value = serde_json::from_str(text)?;
    let mut shape = Vec::new();
    let mut inner = &value;
    while let Some(items) = inner.as_array() {
        shape.push(items.len() as u64);
        let Some(first) = items.first() else { break };
        inner = first;
    }
    let mut bytes = Vec::new();
    flatten(&value, &shape, *dtype, &mut bytes)?;
    Ok(Cell::Array { dtype: *dtype, shape, bytes })
}

fn flatten(value: &serde_json::Value, shape: &[u64], dtype: DType, out: &mut Vec<u8>) -> anyhow::Result<()> {
    if let Some((&len, inner)) = shape.split_first() {
        let items = value.as_array().filter(|items| items.len() as u64 == len);
        let items = items.context("the lists of an array have different lengths or depths")?;
        return items.iter().try_for_each(|item| flatten(item, inner, dtype, out));
    }
    let scalar = scalar(value, dtype).with_context(|| format!("{value} is no {dtype}"))?;
    out.extend(scalar.to_le_bytes().iter().take(usize::try_from(dtype.size())?));
    Ok(())
}

fn scalar(value: &serde_json::Value, dtype: DType) -> Option<Scalar> {
    let int = || value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    Some(match dtype {
        DType::UInt8 => Scalar::UInt8(int()?.try_into().ok()?),
        DType::Int8 => Scalar::Int8(int()?.try_into().ok()?),
        DType::UInt16 => Scalar::UInt16(int()?.try_into().ok()?),
        DType::Int16 => Scalar::Int16(int()?.try_into().ok()?),
        DType::UInt32 => Scalar::UInt32(int()?.try_into().ok()?),
        DType::Int32 => Scalar::Int32(int()?.try_into().ok()?),
        DType::UInt64 => Scalar::UInt64(int()?.try_into().ok()?),
        DType::Int64 => Scalar::Int64(int()?.try_into().ok()?),
        DType::Float16 | DType::Float32 | DType::Float64 => Scalar::from_f64(dtype, value.as_f64()?)?,
    })
}

impl Cell {
    pub(super) fn value(&self) -> anyhow::Result<Value<'_>> {
        Ok(match self {
            Self::Text(text) => Value::Str(text.into()),
            Self::Int(int) => Value::Int(*int),
            Self::Big(digits) => Value::BigInt(digits),
            Self::Float(float) => Value::Float(*float),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Decimal(digits) => Value::Decimal(digits),
            Self::Json(text) => Value::Json(text),
            Self::Array { dtype, shape, bytes } => {
                let array = NdArray::from_bytes(*dtype, shape, bytes);
                ensure!(array.is_some(), "{} bytes are no array of {dtype} and shape {shape:?}", bytes.len());
                array.map_or(Value::Bytes(bytes), Value::Array)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, encoding: &str) -> anyhow::Result<String> {
        let cell = Field::Json(text.into()).cell(&encoding.parse()?)?;
        Ok(format!("{:?}", cell.value()?))
    }

    #[test]
    fn json_is_taken_as_the_encoding_asks() -> anyhow::Result<()> {
        assert_eq!(cell("1", "int")?, "Int(1)");
        assert_eq!(cell("1", "str_float")?, "Float(1.0)");
        assert_eq!(cell("123456789012345678901234567890", "str_int")?, "BigInt(\"123456789012345678901234567890\")");
        assert_eq!(cell("1.50", "str_decimal")?, "Decimal(\"1.50\")");
        assert_eq!(cell(r#"{"hex": "00ff"}"#, "bytes")?, "Bytes([0, 255])");
        assert_eq!(cell(r#"{"float": "-inf"}"#, "float64")?, "Float(-inf)");
        assert!(
            cell("[[1, 2], [3, 4], [5, 6]]", "ndarray:int16")?.contains("bytes: [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]")
        );
        for (text, encoding) in [
            ("[[1], [2, 3]]", "ndarray:int16"),
            ("[1, 300]", "ndarray:uint8"),
            ("[1]", "ndarray"),
            ("null", "int"),
            ("[1]", "str"),
        ] {
            assert!(cell(text, encoding).is_err(), "{text} as {encoding}");
        }
        Ok(())
    }

    #[test]
    fn encodings_are_guessed_from_values() {
        for (text, encoding) in [
            ("1", "int"),
            ("99999999999999999999", "str_int"),
            ("1.0", "float64"),
            ("\"a\"", "str"),
            ("null", "json"),
            ("[1]", "json"),
            (r#"{"a": 1}"#, "json"),
            (r#"{"hex": ""}"#, "bytes"),
            (r#"{"dtype": "uint8", "hex": "00"}"#, "uint8"),
            (r#"{"dtype": "uint8", "shape": [1], "hex": "00"}"#, "ndarray"),
            (r#"{"decimal": "1"}"#, "str_decimal"),
        ] {
            assert_eq!(Field::Json(text.into()).guess(false), encoding);
        }
        assert_eq!(Field::Json("1.0".into()).guess(true), "float");
    }
}
