//! numpy scalars.

use half::f16;

use super::DType;

/// A numpy scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Scalar {
    UInt8(u8),
    Int8(i8),
    UInt16(u16),
    Int16(i16),
    Float16(f16),
    UInt32(u32),
    Int32(i32),
    Float32(f32),
    UInt64(u64),
    Int64(i64),
    Float64(f64),
}

impl Scalar {
    /// Its type.
    pub fn dtype(self) -> DType {
        match self {
            Self::UInt8(_) => DType::UInt8,
            Self::Int8(_) => DType::Int8,
            Self::UInt16(_) => DType::UInt16,
            Self::Int16(_) => DType::Int16,
            Self::Float16(_) => DType::Float16,
            Self::UInt32(_) => DType::UInt32,
            Self::Int32(_) => DType::Int32,
            Self::Float32(_) => DType::Float32,
            Self::UInt64(_) => DType::UInt64,
            Self::Int64(_) => DType::Int64,
            Self::Float64(_) => DType::Float64,
        }
    }

    /// Reads a value of type `dtype` from exactly its bytes, little-endian.
    pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Option<Self> {
        Some(match dtype {
            DType::UInt8 => Self::UInt8(u8::from_le_bytes(bytes.try_into().ok()?)),
            DType::Int8 => Self::Int8(i8::from_le_bytes(bytes.try_into().ok()?)),
            DType::UInt16 => Self::UInt16(u16::from_le_bytes(bytes.try_into().ok()?)),
            DType::Int16 => Self::Int16(i16::from_le_bytes(bytes.try_into().ok()?)),
            DType::Float16 => Self::Float16(f16::from_le_bytes(bytes.try_into().ok()?)),
            DType::UInt32 => Self::UInt32(u32::from_le_bytes(bytes.try_into().ok()?)),
            DType::Int32 => Self::Int32(i32::from_le_bytes(bytes.try_into().ok()?)),
            DType::Float32 => Self::Float32(f32::from_le_bytes(bytes.try_into().ok()?)),
            DType::UInt64 => Self::UInt64(u64::from_le_bytes(bytes.try_into().ok()?)),
            DType::Int64 => Self::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
            DType::Float64 => Self::Float64(f64::from_le_bytes(bytes.try_into().ok()?)),
        })
    }

    /// A floating-point number rounded to the precision of `dtype`; `None` for types of integers.
    pub fn from_f64(dtype: DType, value: f64) -> Option<Self> {
        match dtype {
            DType::Float16 => Some(Self::Float16(f16::from_f64(value))),
            #[expect(clippy::cast_possible_truncation, reason = "rounding to the type's precision is asked for")]
            DType::Float32 => Some(Self::Float32(value as f32)),
            DType::Float64 => Some(Self::Float64(value)),
            _ => None,
        }
    }

    /// The value's bytes, little-endian: the first `dtype().size()` of the array, whose rest is zero.
    pub fn to_le_bytes(self) -> [u8; 8] {
        fn widen<const N: usize>(bytes: [u8; N]) -> [u8; 8] {
            let mut wide = [0; 8];
            wide[..N].copy_from_slice(&bytes);
            wide
        }
        match self {
            Self::UInt8(value) => widen(value.to_le_bytes()),
            Self::Int8(value) => widen(value.to_le_bytes()),
            Self::UInt16(value) => widen(value.to_le_bytes()),
            Self::Int16(value) => widen(value.to_le_bytes()),
            Self::Float16(value) => widen(value.to_le_bytes()),
            Self::UInt32(value) => widen(value.to_le_bytes()),
            Self::Int32(value) => widen(value.to_le_bytes()),
            Self::Float32(value) => widen(value.to_le_bytes()),
            Self::UInt64(value) => value.to_le_bytes(),
            Self::Int64(value) => value.to_le_bytes(),
            Self::Float64(value) => value.to_le_bytes(),
        }
    }

    /// The value, if it is an integer. 128 bits hold those of every type.
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::UInt8(value) => Some(value.into()),
            Self::Int8(value) => Some(value.into()),
            Self::UInt16(value) => Some(value.into()),
            Self::Int16(value) => Some(value.into()),
            Self::UInt32(value) => Some(value.into()),
            Self::Int32(value) => Some(value.into()),
            Self::UInt64(value) => Some(value.into()),
            Self::Int64(value) => Some(value.into()),
            Self::Float16(_) | Self::Float32(_) | Self::Float64(_) => None,
        }
    }

    /// The value, if it is a floating-point number.
    pub fn as_float(self) -> Option<f64> {
        match self {
            Self::Float16(value) => Some(value.into()),
            Self::Float32(value) => Some(value.into()),
            Self::Float64(value) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_written_alike() {
        let bytes = [1, 0xfe, 0x3c, 0x7b, 5, 6, 0xf7, 8];
        for dtype in DType::ALL {
            let size = usize::try_from(dtype.size()).unwrap();
            let scalar = Scalar::from_le_bytes(dtype, &bytes[..size]).unwrap();
            assert_eq!(scalar.dtype(), dtype);
            assert_eq!(scalar.to_le_bytes()[..size], bytes[..size]);
            assert!(scalar.to_le_bytes()[size..].iter().all(|&byte| byte == 0));
            assert_eq!(Scalar::from_le_bytes(dtype, &bytes[..size - 1]), None);
            assert_ne!(scalar.as_integer().is_some(), scalar.as_float().is_some());
        }
    }
}
