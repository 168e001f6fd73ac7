//! Values into the bytes of columns.

use super::decode::{DecodeError, decode};
use crate::index::Encoding;
use crate::json::Scanner;
use crate::json::python::{float_repr, integer_repr, redump};
use crate::value::{DType, NdArray, Scalar, Value};

/// Arrays with their own shape have at most this many axes: the number shares a byte with two other bits.
const MAX_AXES: usize = 63;

/// Why a value is not written in a column.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncodeError {
    #[error("it has encoding {encoding}, which does not take {kind}")]
    Kind { encoding: String, kind: &'static str },
    #[error("it has encoding {encoding}, which {value} does not fit")]
    Range { encoding: String, value: String },
    #[error("it has encoding {encoding}, which an array of {dtype} and shape {shape:?} does not fit")]
    Array { encoding: String, dtype: DType, shape: Vec<u64> },
    #[error("an array must have 1 to {MAX_AXES} axes and no empty one; it has shape {0:?}")]
    Shape(Vec<u64>),
    #[error("bytes that are no value of its encoding: {0}")]
    Bytes(#[from] DecodeError),
}

/// Appends the stored form of `value` to `out`. Bytes are taken as the stored form of any encoding, once checked.
pub(crate) fn encode(encoding: &Encoding, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match (encoding, value) {
        (Encoding::Pickle, Value::Bytes(bytes)) => out.extend(*bytes),
        (_, Value::Bytes(bytes)) => {
            decode(encoding, bytes)?;
            out.extend(*bytes);
        }
        (Encoding::Str, Value::Str(text)) => out.extend(text.as_bytes()),
        (Encoding::Int, _) => out.extend(int(encoding, value)?.to_le_bytes()),
        (Encoding::Scalar(dtype), _) => {
            let scalar = scalar(encoding, *dtype, value)?;
            out.extend(scalar.to_le_bytes().iter().take(usize::try_from(dtype.size()).unwrap_or(usize::MAX)));
        }
        (Encoding::Array { dtype, shape }, Value::Array(value)) => {
            array(encoding, *dtype, shape.as_deref(), value, out)?;
        }
        (Encoding::StrInt, Value::Int(int)) => out.extend(int.to_string().as_bytes()),
        (Encoding::StrInt, Value::BigInt(digits)) => {
            let digits = integer_repr(digits);
            super::integer(&digits)?;
            out.extend(digits.as_bytes());
        }
        (Encoding::StrFloat, Value::Float(float)) => out.extend(float_repr(*float).as_bytes()),
        (Encoding::StrDecimal, Value::Decimal(digits)) => {
            decode(encoding, digits.as_bytes())?;
            out.extend(digits.as_bytes());
        }
        (Encoding::Json, Value::Json(text)) => {
            Scanner::new(text).check().map_err(DecodeError::from)?;
            out.extend(redump(text));
        }
        (Encoding::Image(want), Value::Image(image)) if *want == image.encoding() => out.extend(image.stored()),
        (Encoding::ImageList(want), Value::Images(list)) if *want == list.encoding() => out.extend(list.stored()),
        _ => return Err(EncodeError::Kind { encoding: encoding.to_string(), kind: value.kind() }),
    }
    Ok(())
}

/// The value as a number that integers of every type fit in.
fn wide(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(int) => Some((*int).into()),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Scalar(scalar) => scalar.as_integer(),
        _ => None,
    }
}

fn int(encoding: &Encoding, value: &Value<'_>) -> Result<i64, EncodeError> {
    match wide(value) {
        Some(int) => i64::try_from(int).map_err(|_| range(encoding, &int)),
        None => Err(EncodeError::Kind { encoding: encoding.to_string(), kind: value.kind() }),
    }
}

/// Integers must fit. Floating-point numbers are rounded to the type's precision, as numpy does.
fn scalar(encoding: &Encoding, dtype: DType, value: &Value<'_>) -> Result<Scalar, EncodeError> {
    let kind = || EncodeError::Kind { encoding: encoding.to_string(), kind: value.kind() };
    let integer = || wide(value).ok_or_else(kind);
    // An integer is taken for a floating-point number if it is one exactly.
    let float = || match value {
        Value::Float(float) => Ok(*float),
        Value::Scalar(scalar) if scalar.as_float().is_some() => scalar.as_float().ok_or_else(kind),
        Value::Int(int) if int.unsigned_abs() <= 1 << 53 => Ok(*int as f64),
        _ => Err(kind()),
    };
    macro_rules! fit {
        ($variant:ident) => {{
            let int = integer()?;
            Scalar::$variant(int.try_into().map_err(|_| range(encoding, &int))?)
        }};
    }
    Ok(match dtype {
        DType::UInt8 => fit!(UInt8),
        DType::Int8 => fit!(Int8),
        DType::UInt16 => fit!(UInt16),
        DType::Int16 => fit!(Int16),
        DType::UInt32 => fit!(UInt32),
        DType::Int32 => fit!(Int32),
        DType::UInt64 => fit!(UInt64),
        DType::Int64 => fit!(Int64),
        DType::Float16 | DType::Float32 | DType::Float64 => Scalar::from_f64(dtype, float()?).ok_or_else(kind)?,
    })
}

fn range(encoding: &Encoding, value: &dyn std::fmt::Display) -> EncodeError {
    EncodeError::Range { encoding: encoding.to_string(), value: value.to_string() }
}

fn array(
    encoding: &Encoding,
    dtype: Option<DType>,
    shape: Option<&[u64]>,
    value: &NdArray<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let dimensions: Vec<u64> = value.shape().collect();
    if dtype.is_some_and(|dtype| dtype != value.dtype()) || shape.is_some_and(|shape| shape != dimensions) {
        return Err(EncodeError::Array { encoding: encoding.to_string(), dtype: value.dtype(), shape: dimensions });
    }
    if dtype.is_none() {
        out.push(value.dtype().code());
    }
    if shape.is_none() {
        write_shape(dimensions, out)?;
    }
    out.extend(value.bytes());
    Ok(())
}

/// Writes a shape in the smallest width that holds its largest dimension.
fn write_shape(dimensions: Vec<u64>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let axes = u8::try_from(dimensions.len()).ok().filter(|&axes| (1..=MAX_AXES).contains(&axes.into()));
    let (Some(axes), false) = (axes, dimensions.contains(&0)) else {
        return Err(EncodeError::Shape(dimensions));
    };
    let widest = dimensions.iter().copied().max().unwrap_or(0);
    let log_width: u8 = match widest {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        _ => 3,
    };
    out.push(axes << 2 | log_width);
    for dimension in dimensions {
        out.extend(dimension.to_le_bytes().iter().take(1 << log_width));
    }
    Ok(())
}
