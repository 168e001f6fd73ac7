//! Reads sharded training datasets in lockstep: MDS, JSONL and CSV shards, local or remote, in an order that survives
//! restarts.

mod error;
pub mod remote;

pub use error::{Error, Result};
