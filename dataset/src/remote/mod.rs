//! Datasets in other places: object stores and web servers.
//!
//! An [`Origin`] is where a dataset's files come from. `Remote` (feature `remote`) is the one for local paths, HTTP(S),
//! S3, Google Cloud Storage and Azure, each of the latter behind a feature of its own (`http`, `s3`, `gcs`, `azure`).
//! Anything else that can hand out named byte ranges can be an origin too.

mod origin;
mod sample;

#[cfg(feature = "remote")]
mod client;
#[cfg(feature = "remote")]
mod location;
#[cfg(feature = "remote")]
mod retry;
#[cfg(feature = "remote")]
mod runtime;

#[cfg(feature = "remote")]
pub use client::{Remote, RemoteOptions};
pub use origin::{Origin, Sink};
#[cfg(feature = "remote")]
pub use retry::Retry;
pub use sample::read_sample;
