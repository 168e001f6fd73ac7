//! Datasets on real servers, over real sockets, with faults in between.

mod faults;
#[cfg(feature = "s3")]
mod s3;
mod samples;
mod server;
