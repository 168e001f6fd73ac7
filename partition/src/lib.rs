//! Which sample is read where and when: elastic partitions, shuffles, sampling and batching as pure arithmetic.
//!
//! # Model
//!
//! An epoch is a sequence of *positions*. Three maps lead from a place in the reading to a stored sample:
//!
//! 1. a [`Partition`] says which position is read at a place, `(node, rank, worker, batch, slot)`;
//! 2. an [`Order`] says which *logical* sample stands at that position: a shuffle, or [`Sequential`];
//! 3. resampling says which *stored* sample is behind the logical one, where streams come in part or repeatedly.
//!
//! Positions are cut into *canonical nodes*, equal parts whose number does not change over a run. All that decides the order
//! is in an [`EpochRecipe`]; who reads is in a [`Topology`]; both together make an [`EpochPlan`], which answers for any place
//! without visiting others. So a run can stop after any global batch and go on with another topology.
//!
//! ```
//! use lockstep_partition::{EpochRecipe, Part, ShuffleUnits, Stream, Topology};
//!
//! let recipe = EpochRecipe::new(vec![Stream::new(ShuffleUnits::from_sizes([500, 300, 224])?)], 2);
//! let one = Topology { nodes: 1, ranks_per_node: 8, workers_per_rank: 1, batch_size: 4 };
//! let two = Topology { nodes: 2, ranks_per_node: 2, workers_per_rank: 3, batch_size: 8 };
//!
//! // The samples of the next global batch after three of them, whoever reads.
//! let next = |topology: &Topology| -> Result<Vec<u64>, lockstep_partition::EpochError> {
//!     let plan = recipe.plan(topology, 0, 3 * 32, Part::All)?;
//!     let ranks = (0..topology.nodes).flat_map(|node| (0..topology.ranks_per_node).map(move |rank| (node, rank)));
//!     let batch = usize::try_from(topology.batch_size).expect("small");
//!     let mut ids: Vec<u64> = ranks.flat_map(|(node, rank)| plan.worker(node, rank, 0).take(batch).flatten()).collect();
//!     ids.sort_unstable();
//!     Ok(ids)
//! };
//! assert_eq!(next(&one)?, next(&two)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - The counts of a [`Topology`] are those of ranks that read different samples. Which ranks read the same ones is decided
//!   elsewhere.
//! - **A plan for one node panics when it is asked about another**: see [`Part`].
//! - What is kept as mosaicml-streaming has it, where one could wish for better, is listed in the README.
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

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct ReadmeDoctests;
