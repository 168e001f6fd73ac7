//! The element types of numpy scalars and arrays.

use std::fmt;

/// The type of a numpy scalar or of an array's elements. Stored little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum DType {
    UInt8,
    Int8,
    UInt16,
    Int16,
    Float16,
    UInt32,
    Int32,
    Float32,
    UInt64,
    Int64,
    Float64,
}

impl DType {
    pub(crate) const ALL: [Self; 11] = [
        Self::UInt8,
        Self::Int8,
        Self::UInt16,
        Self::Int16,
        Self::Float16,
        Self::UInt32,
        Self::Int32,
        Self::Float32,
        Self::UInt64,
        Self::Int64,
        Self::Float64,
    ];

    /// numpy's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::UInt8 => "uint8",
            Self::Int8 => "int8",
            Self::UInt16 => "uint16",
            Self::Int16 => "int16",
            Self::Float16 => "float16",
            Self::UInt32 => "uint32",
            Self::Int32 => "int32",
            Self::Float32 => "float32",
            Self::UInt64 => "uint64",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
        }
    }

    /// The type that numpy calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The size of a value in bytes.
    pub fn size(self) -> u64 {
        match self {
            Self::UInt8 | Self::Int8 => 1,
            Self::UInt16 | Self::Int16 | Self::Float16 => 2,
            Self::UInt32 | Self::Int32 | Self::Float32 => 4,
            Self::UInt64 | Self::Int64 | Self::Float64 => 8,
        }
    }

    /// The byte that stands for it in arrays that carry their own type: the number of bits, plus 1 if signed, 2 if
    /// floating-point.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::UInt8 => 8,
            Self::Int8 => 9,
            Self::UInt16 => 16,
            Self::Int16 => 17,
            Self::Float16 => 18,
            Self::UInt32 => 32,
            Self::Int32 => 33,
            Self::Float32 => 34,
            Self::UInt64 => 64,
            Self::Int64 => 65,
            Self::Float64 => 66,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.code() == code)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
