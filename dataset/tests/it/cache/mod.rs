//! The cache: what is made local, what is evicted, what is never deleted, and what a crash leaves.

mod ahead;
mod failures;
mod index;
mod limit;
mod local;
mod processes;

pub(crate) mod support;
