//! MDS: binary columns in one file with its own table of offsets.
//!
//! A sample is the sizes of its columns of variable size (`u32` each), then the values of all columns in order.

mod columns;
mod decode;
mod encode;

pub(crate) use columns::{ColumnError, column};
pub(crate) use decode::{DecodeError, decode, float, integer};
pub(crate) use encode::encode;
