//! Values of columns, borrowed from the shard they are stored in.

mod convert;
mod de;
mod dtype;
mod image;
mod json;
mod ndarray;
#[cfg(feature = "image")]
mod pixels;
mod scalar;

use std::borrow::Cow;

pub use convert::{FromValue, Mismatch};
pub(crate) use de::SampleDeserializer;
pub use dtype::DType;
pub use image::{Image, ImageList, PilImage};
pub(crate) use image::{ImageError, ListLayout};
pub use json::Pickled;
pub(crate) use ndarray::ArrayError;
pub use ndarray::{Element, NdArray};
pub use scalar::Scalar;

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Bytes as they are.
    Bytes(&'a [u8]),
    /// Text. Borrowed unless it is from JSON and has escapes in it.
    Str(Cow<'a, str>),
    /// An integer.
    Int(i64),
    /// An integer beyond 64 bits, as decimal digits behind an optional sign.
    BigInt(&'a str),
    /// A floating-point number.
    Float(f64),
    /// A decimal number as it was written, such as `12.50`, `1E+3` or `NaN`.
    Decimal(&'a str),
    /// A numpy scalar.
    Scalar(Scalar),
    /// A numpy array.
    Array(NdArray<'a>),
    /// A JSON text that has been checked to be one.
    Json(&'a str),
    /// An image.
    Image(Image<'a>),
    /// Images.
    Images(ImageList<'a>),
}

impl Value<'_> {
    /// What kind of value it is, for error texts.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Str(_) => "text",
            Self::Int(_) => "an integer",
            Self::BigInt(_) => "an integer beyond 64 bits",
            Self::Float(_) => "a floating-point number",
            Self::Decimal(_) => "a decimal number",
            Self::Scalar(scalar) => scalar.dtype().name(),
            Self::Array(_) => "an array",
            Self::Json(_) => "JSON",
            Self::Image(_) => "an image",
            Self::Images(_) => "a list of images",
        }
    }
}
