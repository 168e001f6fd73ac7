//! Which sample is read where and when: elastic partitions, shuffles, sampling and batching as pure arithmetic.
#![forbid(unsafe_code)]

mod canonical;
mod divisor;
pub mod numpy;
mod order;
mod partition;
mod places;
mod topology;
mod units;

pub use canonical::{CanonicalSubset, canonical_range};
pub use order::{Order, Sequential};
pub use partition::{Partition, PartitionAlgorithm, PartitionError, PartitionSpec, UnknownPartition, WorkerPositions};
pub use topology::{Coordinate, Topology};
pub use units::{Located, ShuffleUnits, UnitsError};
