//! Which sample is read where and when: elastic partitions, shuffles, sampling and batching as pure arithmetic.
#![forbid(unsafe_code)]

mod canonical;
mod divisor;
mod mosaic;
pub mod numpy;
mod order;
mod partition;
mod places;
mod seekable;
pub mod shuffle;
mod topology;
mod units;

pub use canonical::{CanonicalSubset, canonical_range};
pub use order::{Order, Sequential};
pub use partition::{Partition, PartitionAlgorithm, PartitionError, PartitionSpec, UnknownPartition, WorkerPositions};
pub use seekable::{Global, Permutation, Windowed};
pub use shuffle::{ShuffleAlgorithm, ShuffleError, ShuffleSpec};
pub use topology::{Coordinate, Topology};
pub use units::{Located, ShuffleUnits, UnitsError};
