//! What a shuffle is made from, and its making.

use thiserror::Error;

use super::ShuffleAlgorithm;
use crate::{CanonicalSubset, Order, ShuffleUnits, mosaic, seekable};

/// Everything an order of an epoch depends on, besides its shards.
///
/// Nothing about nodes, ranks or workers: the order is the same on every topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleSpec {
    /// Which algorithm.
    pub algorithm: ShuffleAlgorithm,
    /// Into how many equal parts the samples are cut; they are shuffled within each. At least 1.
    pub canonical_nodes: u64,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the epoch.
    pub epoch: u64,
    /// Over how many samples shards are mixed. Only `py1e`, `py1br` and `windowed` make use of it.
    pub block_size: u64,
}

impl ShuffleSpec {
    /// The order of the samples of these shards.
    ///
    /// The mosaic family is held in memory, and only for the canonical nodes of `subset`: the order answers for their
    /// positions alone. All of `naive` has to be made even so, before the rest is let go. The seekable family answers
    /// for every position.
    ///
    /// # Errors
    ///
    /// [`ShuffleError`] where the algorithm has no order for these numbers, or not the memory for it.
    pub fn build(&self, units: &ShuffleUnits, subset: CanonicalSubset) -> Result<Box<dyn Order>, ShuffleError> {
        if self.canonical_nodes == 0 {
            return Err(ShuffleError::NoCanonicalNodes);
        }
        if units.num_samples() > 1 << 63 {
            return Err(ShuffleError::TooManySamples { samples: units.num_samples() });
        }
        match self.algorithm {
            ShuffleAlgorithm::Windowed => seekable::Windowed::new(self, units).map(|order| Box::new(order) as _),
            ShuffleAlgorithm::Global => Ok(Box::new(seekable::Global::new(units.num_samples(), self.seed, self.epoch))),
            _ => mosaic::build(self, units, subset).map(|order| Box::new(order) as _),
        }
    }
}

/// Why there is no such shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShuffleError {
    /// No canonical nodes.
    #[error("cannot shuffle for 0 canonical nodes; use at least 1")]
    NoCanonicalNodes,
    /// Canonical nodes would be empty, and the algorithm has no order then.
    #[error(
        "{algorithm} cannot shuffle {samples} samples for {canonical_nodes} canonical nodes; use at most as many \
         canonical nodes as there are samples"
    )]
    FewerSamplesThanCanonicalNodes {
        /// Which algorithm.
        algorithm: ShuffleAlgorithm,
        /// How many samples there are.
        samples: u64,
        /// How many canonical nodes were asked for.
        canonical_nodes: u64,
    },
    /// A block size out of range.
    #[error("{algorithm} cannot shuffle in blocks of {block_size} samples; use at least {least} and at most {most}")]
    BlockSize {
        /// Which algorithm.
        algorithm: ShuffleAlgorithm,
        /// The size asked for.
        block_size: u64,
        /// The smallest block size.
        least: u64,
        /// The largest block size.
        most: u64,
    },
    /// More samples than ids.
    #[error("cannot shuffle {samples} samples; use at most 2^63")]
    TooManySamples {
        /// How many samples there are.
        samples: u64,
    },
    /// Not enough memory for what the order holds.
    #[error(
        "cannot get the memory to shuffle {samples} samples with {algorithm}; use fewer canonical nodes, or global, which takes \
         no memory"
    )]
    OutOfMemory {
        /// Which algorithm.
        algorithm: ShuffleAlgorithm,
        /// How many samples were to be shuffled, or held.
        samples: u64,
    },
}
