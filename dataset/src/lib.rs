//! Reads sharded training datasets in lockstep: MDS, JSONL and CSV shards, local or remote, in an order that survives
//! restarts.

pub mod cache;
mod compression;
mod error;
mod hashing;
mod index;
mod json;
mod mds;
pub mod remote;
pub mod session;
mod shard;
pub mod value;
mod verify;
pub mod writer;
mod xsv;

pub use compression::{Compression, CompressionAlgorithm};
pub use error::{Error, Result};
pub use hashing::{Digest, FileCheck, HashAlgorithm, Hasher};
pub use index::{
    Column, Columns, Encoding, FileHash, FileInfo, FilePair, Format, INDEX_BASENAME, ImageEncoding, Index, Place,
    ShardInfo,
};
pub use shard::{Links, Sample, Shard};
pub use value::{FromValue, NdArray, Pickled, Value};
pub use verify::{Fault, ShardReport, verify};
