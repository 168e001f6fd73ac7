//! MDS: binary columns.
//!
//! A shard is one file, all integers little-endian: the number of samples (`u32`), the offset of each sample and of the
//! end (`u32` each), the header (a JSON text like the shard's entry in the index, without its files), the samples. A
//! sample is the sizes of its columns of variable size (`u32` each), then the values of all columns in order.

mod columns;
mod decode;
mod table;

pub(crate) use columns::{ColumnError, column};
pub(crate) use decode::{DecodeError, decode};
pub(crate) use table::MdsTable;
