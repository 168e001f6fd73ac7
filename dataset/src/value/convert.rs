//! Values into Rust's own types.

use std::borrow::Cow;

use super::{NdArray, Scalar, Value};
use crate::index::Encoding;

/// A value is not of the type that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} was asked for as {wanted}")]
pub struct Mismatch {
    found: &'static str,
    wanted: &'static str,
}

impl Mismatch {
    /// For implementations of [`FromValue`]: `value` cannot be had as `wanted`.
    pub fn new(value: &Value<'_>, wanted: &'static str) -> Self {
        Self { found: value.kind(), wanted }
    }
}

/// Types that a column's value can be had as.
///
/// Conversions keep the value: an integer fits any integer type that can hold it, a floating-point number only types as
/// wide. Text and bytes are borrowed or copied, as the type asks.
pub trait FromValue<'a>: Sized {
    /// Converts `value`.
    ///
    /// # Errors
    ///
    /// The value is of another kind or out of range.
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch>;

    /// A way around [`Value`] for what MDS stores just so; `None` sends the caller the long way, errors included.
    #[doc(hidden)]
    #[inline]
    fn from_stored(encoding: &Encoding, bytes: &'a [u8]) -> Option<Self> {
        let _ = (encoding, bytes);
        None
    }
}

impl<'a> FromValue<'a> for Value<'a> {
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        Ok(value)
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl FromValue<'_> for $type {
            fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
                let converted = match value {
                    Value::Int(int) => int.try_into().ok(),
                    Value::Scalar(scalar) => scalar.as_integer().and_then(|int| int.try_into().ok()),
                    Value::BigInt(digits) => digits.parse().ok(),
                    _ => None,
                };
                converted.ok_or_else(|| Mismatch::new(&value, stringify!($type)))
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, usize, isize);

impl FromValue<'_> for f64 {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        let converted = match value {
            Value::Float(float) => Some(float),
            Value::Scalar(scalar) => scalar.as_float(),
            _ => None,
        };
        converted.ok_or_else(|| Mismatch::new(&value, "f64"))
    }
}

impl FromValue<'_> for f32 {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        match value {
            Value::Scalar(Scalar::Float16(float)) => Ok(float.into()),
            Value::Scalar(Scalar::Float32(float)) => Ok(float),
            _ => Err(Mismatch::new(&value, "f32")),
        }
    }
}

impl FromValue<'_> for half::f16 {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        match value {
            Value::Scalar(Scalar::Float16(float)) => Ok(float),
            _ => Err(Mismatch::new(&value, "f16")),
        }
    }
}

impl<'a> FromValue<'a> for &'a str {
    #[inline]
    fn from_stored(encoding: &Encoding, bytes: &'a [u8]) -> Option<Self> {
        if matches!(encoding, Encoding::Str) { std::str::from_utf8(bytes).ok() } else { None }
    }

    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Str(Cow::Borrowed(text)) | Value::Json(text) | Value::Decimal(text) => Ok(text),
            Value::Str(Cow::Owned(_)) => Err(Mismatch::new(&value, "&str, which text with escapes cannot be")),
            _ => Err(Mismatch::new(&value, "&str")),
        }
    }
}

impl<'a> FromValue<'a> for Cow<'a, str> {
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Str(text) => Ok(text),
            Value::Json(text) | Value::Decimal(text) => Ok(text.into()),
            _ => Err(Mismatch::new(&value, "text")),
        }
    }
}

impl FromValue<'_> for String {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        Cow::<'_, str>::from_value(value).map(Cow::into_owned)
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    #[inline]
    fn from_stored(encoding: &Encoding, bytes: &'a [u8]) -> Option<Self> {
        matches!(encoding, Encoding::Bytes).then_some(bytes)
    }

    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Str(Cow::Borrowed(text)) => Ok(text.as_bytes()),
            Value::Image(image) => Ok(image.stored()),
            _ => Err(Mismatch::new(&value, "&[u8]")),
        }
    }
}

impl FromValue<'_> for Vec<u8> {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        <&[u8]>::from_value(value).map(<[u8]>::to_vec)
    }
}

impl<'a> FromValue<'a> for NdArray<'a> {
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Array(array) => Ok(array),
            _ => Err(Mismatch::new(&value, "an array")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fit_where_they_fit() {
        assert_eq!(u8::from_value(Value::Int(255)), Ok(255));
        assert!(u8::from_value(Value::Int(256)).is_err() && u64::from_value(Value::Int(-1)).is_err());
        assert_eq!(i64::from_value(Value::Scalar(Scalar::UInt8(7))), Ok(7));
        assert!(i64::from_value(Value::Scalar(Scalar::UInt64(u64::MAX))).is_err());
        assert_eq!(i128::from_value(Value::BigInt("-18446744073709551616")), Ok(-18446744073709551616));
        assert!(i64::from_value(Value::Float(1.0)).is_err() && f64::from_value(Value::Int(1)).is_err());
    }

    #[test]
    fn mismatches_name_both_sides() {
        let error = f32::from_value(Value::Scalar(Scalar::Float64(0.1))).unwrap_err();
        assert_eq!(error.to_string(), "float64 was asked for as f32");
    }
}
