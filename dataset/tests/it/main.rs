//! Integration tests, one binary; its modules mirror those of the crate.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail them")]

mod allocations;
mod bad_input;
#[cfg(feature = "compression")]
mod cache;
mod elastic;
mod fixtures;
mod fuzz;
#[path = "../../../filelock/tests/it/helper.rs"]
mod helper;
mod loader;
#[cfg(all(feature = "http", feature = "compression"))]
mod remote;
mod session;
mod shard;
mod support;
mod writer;
