//! Shuffles: orders that mix the samples of an epoch.
//!
//! They come in two families behind one [`Order`](crate::Order):
//!
//! | family | algorithms | memory | start of an epoch |
//! | --- | --- | --- | --- |
//! | seekable | `windowed` (default), `global` | O(shards) | nothing to build |
//! | mosaic | `naive py1s py2s py1e py1br` | 4 or 8 bytes a sample held | O(samples) |
//!
//! The mosaic family equals mosaicml-streaming's sample for sample, so that a run can move over in the middle of an
//! epoch. The seekable family is for new runs.
//!
//! ```
//! use lockstep_partition::{CanonicalSubset, Order, ShuffleUnits};
//! use lockstep_partition::shuffle::{ShuffleAlgorithm, ShuffleSpec};
//!
//! let units = ShuffleUnits::from_runs([(4096, 1_000_000)])?;
//! let spec = ShuffleSpec {
//!     algorithm: "windowed".parse()?,
//!     canonical_nodes: 8,
//!     seed: 9176,
//!     epoch: 3,
//!     block_size: 1 << 18,
//! };
//! let order = spec.build(&units, CanonicalSubset::ALL)?;
//! assert_eq!(order.name(), "windowed-v1");
//! let id = order.at(3_000_000_000);
//! assert!(id < units.num_samples());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod cut;
mod spec;

pub use algorithm::{ParseShuffleAlgorithmError, ShuffleAlgorithm};
pub(crate) use cut::CanonicalCut;
pub use spec::{ShuffleError, ShuffleSpec};
