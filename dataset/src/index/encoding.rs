//! The encodings of columns and their names.

use std::fmt;

use crate::value::DType;

/// How a column's values are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// `bytes`: as they are.
    Bytes,
    /// `str`: UTF-8.
    Str,
    /// `int`: a signed 64-bit integer; in text formats, digits of any number.
    Int,
    /// `float`: digits; text formats only.
    Float,
    /// `uint8` to `float64`: a numpy scalar.
    Scalar(DType),
    /// `ndarray`, `ndarray:DTYPE` or `ndarray:DTYPE:SHAPE`: a numpy array; what the name leaves open is stored with
    /// each value.
    Array {
        /// The type of all values of the column, if they have one in common.
        dtype: Option<DType>,
        /// The shape of all values of the column, if they have one in common.
        shape: Option<Box<[u64]>>,
    },
    /// `str_int`: an integer of any size as digits.
    StrInt,
    /// `str_float`: a floating-point number as digits.
    StrFloat,
    /// `str_decimal`: a decimal number as digits.
    StrDecimal,
    /// `json`: a JSON text.
    Json,
    /// `pil`, `png` or `jpeg`: an image.
    Image(ImageEncoding),
    /// `list[pil]`, `list[png]` or `list[jpeg]`: images.
    ImageList(ImageEncoding),
    /// `jpeg_array` or `jpegarray`: JPEG images in an older layout.
    JpegArray,
    /// `pkl`: a pickled Python object. Unpickling runs code that comes with the data, so Lockstep hands out its bytes
    /// only, when asked for them.
    Pickle,
}

/// How an image is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageEncoding {
    /// Uncompressed pixels behind a header with width, height and mode; see [`PilImage`](crate::value::PilImage).
    Pil,
    /// A PNG file.
    Png,
    /// A JPEG file.
    Jpeg,
}

/// Why the name of an encoding is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EncodingError {
    #[error(
        "unknown encoding `{0}`; known are bytes, str, int, uint8 to uint64, int8 to int64, float16 to float64, str_int, \
         str_float, str_decimal, ndarray[:DTYPE[:SHAPE]], json, pil, png, jpeg, list[pil], list[png], list[jpeg], \
         jpeg_array and pkl"
    )]
    Unknown(String),
    #[error("encoding `{0}` is not one of text formats; these have str, int and float")]
    NotText(String),
    #[error("encoding `{0}` has an unknown type; known are uint8 to uint64, int8 to int64 and float16 to float64")]
    DType(String),
    #[error("encoding `{0}` has a shape that is not a list of positive numbers below 2^64 in all, as in 8,8")]
    Shape(String),
}

impl Encoding {
    /// Parses the name of an encoding of MDS columns.
    pub(crate) fn mds(name: &str) -> Result<Self, EncodingError> {
        if let Some(dtype) = DType::from_name(name) {
            return Ok(Self::Scalar(dtype));
        }
        Ok(match name {
            "bytes" => Self::Bytes,
            "str" => Self::Str,
            "int" => Self::Int,
            "str_int" => Self::StrInt,
            "str_float" => Self::StrFloat,
            "str_decimal" => Self::StrDecimal,
            "json" => Self::Json,
            "pil" => Self::Image(ImageEncoding::Pil),
            "png" => Self::Image(ImageEncoding::Png),
            "jpeg" => Self::Image(ImageEncoding::Jpeg),
            "list[pil]" => Self::ImageList(ImageEncoding::Pil),
            "list[png]" => Self::ImageList(ImageEncoding::Png),
            "list[jpeg]" => Self::ImageList(ImageEncoding::Jpeg),
            "jpeg_array" | "jpegarray" => Self::JpegArray,
            "pkl" => Self::Pickle,
            "ndarray" => Self::Array { dtype: None, shape: None },
            _ => match name.strip_prefix("ndarray:") {
                Some(rest) => array(name, rest)?,
                None => return Err(EncodingError::Unknown(name.to_owned())),
            },
        })
    }

    /// Parses the name of an encoding of JSON, CSV, TSV and XSV columns.
    pub(crate) fn text(name: &str) -> Result<Self, EncodingError> {
        match name {
            "str" => Ok(Self::Str),
            "int" => Ok(Self::Int),
            "float" => Ok(Self::Float),
            _ => Err(EncodingError::NotText(name.to_owned())),
        }
    }

    /// The size in bytes of every value in MDS, if it is always the same.
    pub fn fixed_size(&self) -> Option<u64> {
        match self {
            Self::Int => Some(8),
            Self::Scalar(dtype) => Some(dtype.size()),
            // The product was checked when the name was parsed.
            Self::Array { dtype: Some(dtype), shape: Some(shape) } => {
                Some(shape.iter().product::<u64>() * dtype.size())
            }
            _ => None,
        }
    }
}

/// Parses what follows `ndarray:`.
fn array(name: &str, rest: &str) -> Result<Encoding, EncodingError> {
    if rest.is_empty() {
        return Ok(Encoding::Array { dtype: None, shape: None });
    }
    let (dtype, shape) = match rest.split_once(':') {
        Some((dtype, shape)) => (dtype, Some(shape)),
        None => (rest, None),
    };
    let dtype = DType::from_name(dtype).ok_or_else(|| EncodingError::DType(name.to_owned()))?;
    let shape = shape.map(|shape| parse_shape(shape, dtype).ok_or_else(|| EncodingError::Shape(name.to_owned())));
    Ok(Encoding::Array { dtype: Some(dtype), shape: shape.transpose()? })
}

fn parse_shape(text: &str, dtype: DType) -> Option<Box<[u64]>> {
    let mut bytes = dtype.size();
    text.split(',')
        .map(|dim| {
            let dim: u64 = dim.trim().parse().ok().filter(|&dim| dim > 0)?;
            bytes = bytes.checked_mul(dim)?;
            Some(dim)
        })
        .collect()
}

impl std::str::FromStr for Encoding {
    type Err = crate::Error;

    /// Parses the name of an encoding of MDS columns, such as `ndarray:uint8:8,8`.
    fn from_str(name: &str) -> crate::Result<Self> {
        Self::mds(name).map_err(|error| crate::Error::config(error.to_string()))
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => f.write_str("bytes"),
            Self::Str => f.write_str("str"),
            Self::Int => f.write_str("int"),
            Self::Float => f.write_str("float"),
            Self::Scalar(dtype) => dtype.fmt(f),
            Self::Array { dtype, shape } => {
                f.write_str("ndarray")?;
                if let Some(dtype) = dtype {
                    write!(f, ":{dtype}")?;
                }
                for (i, dim) in shape.iter().flatten().enumerate() {
                    write!(f, "{}{dim}", if i == 0 { ':' } else { ',' })?;
                }
                Ok(())
            }
            Self::StrInt => f.write_str("str_int"),
            Self::StrFloat => f.write_str("str_float"),
            Self::StrDecimal => f.write_str("str_decimal"),
            Self::Json => f.write_str("json"),
            Self::Image(image) => image.fmt(f),
            Self::ImageList(image) => write!(f, "list[{image}]"),
            Self::JpegArray => f.write_str("jpeg_array"),
            Self::Pickle => f.write_str("pkl"),
        }
    }
}

impl fmt::Display for ImageEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pil => "pil",
            Self::Png => "png",
            Self::Jpeg => "jpeg",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_shown_alike() {
        for name in [
            "bytes",
            "str",
            "int",
            "uint8",
            "float16",
            "int64",
            "str_int",
            "str_float",
            "str_decimal",
            "ndarray",
            "ndarray:float32",
            "ndarray:uint8:8,8",
            "json",
            "pil",
            "png",
            "jpeg",
            "list[pil]",
            "list[png]",
            "list[jpeg]",
            "jpeg_array",
            "pkl",
        ] {
            assert_eq!(Encoding::mds(name).unwrap().to_string(), name);
        }
        assert_eq!(Encoding::mds("jpegarray"), Ok(Encoding::JpegArray));
        assert_eq!(Encoding::mds("ndarray:"), Encoding::mds("ndarray"));
    }

    #[test]
    fn fixed_sizes_are_those_of_the_values() {
        let size = |name| Encoding::mds(name).unwrap().fixed_size();
        assert_eq!(size("int"), Some(8));
        assert_eq!(size("float16"), Some(2));
        assert_eq!(size("ndarray:float32:2,3"), Some(24));
        assert_eq!(size("ndarray:float32"), None);
        assert_eq!(size("str_int"), None);
    }

    #[test]
    fn rubbish_is_refused_by_name() {
        for name in ["", "Bytes", "int128", "ndarray8", "ndarray::3", "ndarray:bool", "list[str]", "float"] {
            assert!(Encoding::mds(name).unwrap_err().to_string().contains(&format!("`{name}`")), "{name}");
        }
        for shape in ["", "0", "-1", "3,", "3,,3", "x", "3:3", "4294967296,4294967296", "9223372036854775808"] {
            let name = format!("ndarray:int16:{shape}");
            assert_eq!(Encoding::mds(&name), Err(EncodingError::Shape(name)));
        }
        assert!(Encoding::text("bytes").is_err() && Encoding::text("float").is_ok());
    }
}
