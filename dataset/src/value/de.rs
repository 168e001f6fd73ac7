//! Samples and values into types that derive serde's `Deserialize`.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::{NdArray, Scalar, Value};
use crate::error::Error;
use crate::shard::Sample;

/// Why a sample is not what was asked for: the data's fault, which is complete, or the type's, which needs the place.
#[derive(Debug)]
pub(crate) enum DeError {
    Data(Error),
    Type(String),
}

impl DeError {
    pub(crate) fn into_error(self, place: impl FnOnce(String) -> Error) -> Error {
        match self {
            Self::Data(error) => error,
            Self::Type(message) => place(message),
        }
    }
}

impl de::Error for DeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Type(message.to_string())
    }
}

impl fmt::Display for DeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(error) => error.fmt(f),
            Self::Type(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for DeError {}

/// A sample as a map of its columns.
#[derive(Debug)]
pub(crate) struct SampleDeserializer<'de> {
    sample: Sample<'de>,
    /// The number of the next column.
    next: usize,
}

impl<'de> SampleDeserializer<'de> {
    pub(crate) fn new(sample: Sample<'de>) -> Self {
        Self { sample, next: 0 }
    }
}

impl<'de> Deserializer<'de> for SampleDeserializer<'de> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        MapAccessDeserializer::new(self).deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for SampleDeserializer<'de> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DeError> {
        let Some(column) = self.sample.columns().get(self.next) else {
            return Ok(None);
        };
        seed.deserialize(BorrowedStrDeserializer::new(column.name())).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DeError> {
        let column = self.next;
        self.next += 1;
        seed.deserialize(ColumnDeserializer { sample: self.sample, column }).map_err(|error| match error {
            DeError::Data(error) => DeError::Data(error),
            DeError::Type(message) => {
                let name = self.sample.columns().get(column).map_or("", |column| column.name());
                DeError::Type(format!("column `{name}`: {message}"))
            }
        })
    }
}

/// A column of a sample, which is decoded only if somebody wants it.
struct ColumnDeserializer<'de> {
    sample: Sample<'de>,
    column: usize,
}

impl<'de> ColumnDeserializer<'de> {
    fn value(&self) -> Result<ValueDeserializer<'de>, DeError> {
        self.sample.column_at(self.column).map(ValueDeserializer).map_err(DeError::Data)
    }

    fn is_pickled(&self) -> bool {
        self.sample.columns().get(self.column).is_some_and(|column| *column.encoding() == crate::Encoding::Pickle)
    }
}

macro_rules! forward_to_value {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
            self.value()?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for ColumnDeserializer<'de> {
    type Error = DeError;

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_unit()
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.is_pickled() {
            return visitor.visit_borrowed_bytes(self.sample.bytes_at(self.column).map_err(DeError::Data)?);
        }
        self.value()?.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, DeError> {
        self.value()?.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DeError> {
        self.value()?.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.value()?.deserialize_tuple_struct(name, len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.value()?.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.value()?.deserialize_enum(name, variants, visitor)
    }

    forward_to_value! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_option deserialize_unit deserialize_seq
        deserialize_map deserialize_identifier
    }
}

/// A value of a column.
struct ValueDeserializer<'de>(Value<'de>);

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.0 {
            Value::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Value::Str(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Value::Str(Cow::Owned(text)) => visitor.visit_string(text),
            Value::Int(int) => visitor.visit_i64(int),
            Value::BigInt(digits) => big_integer(digits, visitor),
            Value::Float(float) => visitor.visit_f64(float),
            Value::Decimal(digits) => visitor.visit_borrowed_str(digits),
            Value::Scalar(value) => scalar(value, visitor),
            Value::Array(array) => visitor.visit_seq(Axis { array, axis: 0, begin: 0, left: array.shape().next() }),
            Value::Json(text) => {
                let mut json = serde_json::Deserializer::from_str(text);
                json.deserialize_any(visitor).map_err(de::Error::custom)
            }
            Value::Image(image) => visitor.visit_borrowed_bytes(image.stored()),
            Value::Images(list) => {
                let images: Vec<_> = list.iter().map(|image| ValueDeserializer(Value::Image(image))).collect();
                visitor.visit_seq(SeqDeserializer::new(images.into_iter()))
            }
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.0 {
            Value::Array(array) => visitor.visit_borrowed_bytes(array.bytes()),
            Value::Images(list) => visitor.visit_borrowed_bytes(list.stored()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_bytes(visitor)
    }

    /// `Vec<u8>` asks for a sequence.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.0 {
            Value::Bytes(bytes) => visitor.visit_seq(SeqDeserializer::new(bytes.iter().copied())),
            Value::Image(image) => visitor.visit_seq(SeqDeserializer::new(image.stored().iter().copied())),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_seq(visitor)
    }

    /// No column is ever missing.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.0 {
            Value::Json("null") => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match self.0 {
            Value::Str(text) => visitor.visit_enum(text.into_deserializer()),
            Value::Json(text) => {
                let mut json = serde_json::Deserializer::from_str(text);
                json.deserialize_enum(name, variants, visitor).map_err(de::Error::custom)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct tuple_struct map struct
        identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, DeError> for ValueDeserializer<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn big_integer<'de, V: Visitor<'de>>(digits: &'de str, visitor: V) -> Result<V::Value, DeError> {
    if let Ok(int) = digits.parse::<u64>() {
        visitor.visit_u64(int)
    } else if let Ok(int) = digits.parse::<i128>() {
        visitor.visit_i128(int)
    } else if let Ok(int) = digits.parse::<u128>() {
        visitor.visit_u128(int)
    } else {
        visitor.visit_borrowed_str(digits)
    }
}

fn scalar<'de, V: Visitor<'de>>(value: Scalar, visitor: V) -> Result<V::Value, DeError> {
    match value {
        Scalar::UInt8(value) => visitor.visit_u8(value),
        Scalar::Int8(value) => visitor.visit_i8(value),
        Scalar::UInt16(value) => visitor.visit_u16(value),
        Scalar::Int16(value) => visitor.visit_i16(value),
        Scalar::Float16(value) => visitor.visit_f32(value.into()),
        Scalar::UInt32(value) => visitor.visit_u32(value),
        Scalar::Int32(value) => visitor.visit_i32(value),
        Scalar::Float32(value) => visitor.visit_f32(value),
        Scalar::UInt64(value) => visitor.visit_u64(value),
        Scalar::Int64(value) => visitor.visit_i64(value),
        Scalar::Float64(value) => visitor.visit_f64(value),
    }
}

/// What lies along one axis of an array: elements, or the next axis.
struct Axis<'de> {
    array: NdArray<'de>,
    axis: usize,
    /// The byte at which the next item begins.
    begin: usize,
    /// How many items are left; `None` for arrays without axes, which are one number.
    left: Option<u64>,
}

impl<'de> SeqAccess<'de> for Axis<'de> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DeError> {
        let Some(left) = self.left.unwrap_or(0).checked_sub(1) else {
            return Ok(None);
        };
        self.left = Some(left);
        let mut inner = self.array.shape().skip(self.axis + 1);
        let size = usize::try_from(inner.clone().product::<u64>() * self.array.dtype().size()).unwrap_or(usize::MAX);
        let begin = self.begin;
        self.begin += size;
        let item = match inner.next() {
            None => Item::Scalar(
                self.array
                    .bytes()
                    .get(begin..self.begin)
                    .and_then(|bytes| Scalar::from_le_bytes(self.array.dtype(), bytes))
                    .expect("the array's size was checked against its shape"),
            ),
            next => Item::Axis(Self { array: self.array, axis: self.axis + 1, begin, left: next }),
        };
        seed.deserialize(item).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        self.left.and_then(|left| usize::try_from(left).ok())
    }
}

enum Item<'de> {
    Scalar(Scalar),
    Axis(Axis<'de>),
}

impl<'de> Deserializer<'de> for Item<'de> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self {
            Self::Scalar(value) => scalar(value, visitor),
            Self::Axis(axis) => visitor.visit_seq(axis),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
