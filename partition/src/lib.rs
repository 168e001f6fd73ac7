//! Which sample is read where and when: elastic partitions, shuffles, sampling and batching as pure arithmetic.
#![forbid(unsafe_code)]

mod batching;
mod canonical;
mod divisor;
mod epoch;
mod mosaic;
pub mod numpy;
mod order;
mod partition;
mod places;
mod recipe;
mod resample;
mod sampling;
mod seekable;
mod shards;
pub mod shuffle;
mod streams;
mod topology;
mod units;

pub use batching::{BatchingMethod, UnknownBatching};
pub use canonical::{CanonicalSubset, canonical_range};
pub use epoch::{Egress, EpochPlan, LastBatch, WorkerSamples};
pub use order::{Order, Sequential};
pub use partition::{Partition, PartitionAlgorithm, PartitionError, PartitionSpec, UnknownPartition, WorkerPositions};
pub use recipe::{EpochError, EpochRecipe, Part};
pub use resample::ResampleError;
pub use sampling::{SamplingError, SamplingMethod, UnknownSampling, choose_per_shard};
pub use seekable::{Global, Permutation, Windowed};
pub use shards::ShardSet;
pub use shuffle::{ShuffleAlgorithm, ShuffleError, ShuffleSpec};
pub use streams::{Shares, Stream, Weight, WeightError};
pub use topology::{Coordinate, Topology};
pub use units::{Located, ShuffleUnits, UnitsError};
