#![doc = include_str!("../README.md")]

mod batch;
pub mod cache;
mod catalog;
mod compression;
mod dataset;
#[cfg(feature = "digits")]
pub mod digits;
mod error;
mod hashing;
mod index;
mod json;
mod loader;
mod mds;
mod reader;
mod regular_file;
pub mod remote;
pub mod session;
mod settings;
mod shard;
mod source;
mod state;
mod stream;
pub mod value;
mod verify;
pub mod writer;
mod xsv;

pub use batch::Batch;
pub use compression::{Compression, CompressionAlgorithm};
pub use dataset::{Dataset, Position};
pub use error::{Error, Result};
pub use hashing::{Digest, FileCheck, HashAlgorithm, Hasher};
pub use index::{
    Column, Columns, Encoding, FileHash, FileInfo, FilePair, Format, INDEX_BASENAME, ImageEncoding, Index, Place,
    ShardInfo,
};
pub use loader::Loader;
pub use lockstep_partition as partition;
pub use lockstep_replication as replication;
pub use lockstep_world as world;
pub use reader::Reader;
pub use settings::{
    CachePolicy, Coordination, DEFAULT_SEED, DatasetBuilder, NodeCoordination, default_canonical_nodes,
};
pub use shard::{Links, Sample, Shard};
pub use state::{State, Terms};
pub use stream::Stream;
pub use value::{FromValue, NdArray, Pickled, Value};
pub use verify::{Fault, ShardReport, verify};

#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
struct WorkspaceReadmeDoctests;
