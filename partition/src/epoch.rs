//! The plan of an epoch: which sample is read where and when.

mod egress;

pub use self::egress::Egress;
use crate::batching::{Composed, Source};
use crate::divisor::Divisor;
use crate::partition::Partition;
use crate::places::{Places, iterate_places};
use crate::recipe::{EpochError, Part};
use crate::streams::Shares;
use crate::topology::{Coordinate, Topology};

/// What to do with a last batch that is not full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LastBatch {
    /// It is read as it is.
    #[default]
    Keep,
    /// It is left out, on all ranks alike: also on one that would happen to have all of it.
    Drop,
}

/// One epoch of an [`EpochRecipe`](crate::EpochRecipe) on one topology, from a position on.
///
/// Answers in constant time (logarithmic in the number of shards, where these are of different sizes), in any order. The
/// sample ids are those of the stored samples, counted over all shards of all streams.
#[derive(Debug)]
pub struct EpochPlan {
    topology: Topology,
    batch_size: Divisor,
    part: Part,
    shares: Shares,
    reading: Reading,
}

/// How the epoch is read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// All streams as one.
    Random { partition: Partition, source: Source },
    /// Global batch by global batch.
    Composed(Composed),
}

impl EpochPlan {
    pub(crate) fn new(topology: Topology, part: Part, shares: Shares, reading: Reading) -> Result<Self, EpochError> {
        let batch_size = Divisor::new(topology.batch_size).ok_or(EpochError::TooLarge)?;
        Ok(Self { topology, batch_size, part, shares, reading })
    }

    /// `[nodes, ranks per node, workers per rank, batches per worker, batch size]`.
    #[must_use]
    pub const fn shape(&self) -> [u64; 5] {
        let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = self.topology;
        [nodes, ranks_per_node, workers_per_rank, self.batches_per_worker(), batch_size]
    }

    /// Who reads.
    #[must_use]
    pub const fn topology(&self) -> Topology {
        self.topology
    }

    /// How much of the epoch each stream is, and how many samples it has.
    #[must_use]
    pub const fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Samples of the whole epoch, before any padding: [`Shares::epoch_size`].
    #[must_use]
    pub const fn epoch_size(&self) -> u64 {
        self.shares.epoch_size
    }

    /// All places, padded ones included: the product of the [`shape`](Self::shape).
    #[must_use]
    pub const fn num_slots(&self) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.num_slots(),
            Reading::Composed(composed) => composed.num_slots(),
        }
    }

    /// Samples that all ranks together read from here on, repeats included, padding not.
    #[must_use]
    pub fn num_yielded(&self) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.num_yielded(),
            Reading::Composed(composed) => composed.num_yielded(),
        }
    }

    /// Where reading begins, in samples of the epoch that all ranks together have read.
    ///
    /// This is the position that was asked for, rounded down to one where the topology and the batching method can go on.
    /// Who counts samples for a checkpoint counts on from here.
    #[must_use]
    pub fn sample_in_epoch(&self) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.drop_first(),
            Reading::Composed(composed) => {
                let global_batch = self.topology.global_batch_size().expect("checked when the plan was made");
                composed.first() * global_batch
            }
        }
    }

    /// The stored sample at a place, or `None` where the place is padding or outside of the [`shape`](Self::shape).
    ///
    /// # Panics
    ///
    /// May panic for a node that the plan was not asked about: see [`Part`].
    #[must_use]
    #[inline]
    pub fn id(&self, place: Coordinate) -> Option<u64> {
        if let Part::Node(node) = self.part {
            assert!(place.node == node, "the plan is for node {node} alone, and knows nothing of node {}", place.node);
        }
        match &self.reading {
            Reading::Random { partition, source } => partition.get(place).map(|position| source.id(position)),
            Reading::Composed(composed) => composed.get(place),
        }
    }

    /// The samples of one worker in the order in which it reads them, `None` where padded. Empty for a worker that does not
    /// exist. `nth` takes constant time.
    ///
    /// # Panics
    ///
    /// The iterator panics as [`id`](Self::id) does.
    #[must_use]
    pub fn worker(&self, node: u64, rank: u64, worker: u64) -> WorkerSamples<'_> {
        let worker = Coordinate { node, rank, worker, ..Coordinate::default() };
        let places = Places::new(&self.topology, self.batch_size, self.batches_per_worker(), worker);
        WorkerSamples { source: self, places }
    }

    /// The most samples that any rank reads from here on, repeats included: see [`samples_of_rank`](Self::samples_of_rank).
    #[must_use]
    pub fn samples_per_rank(&self) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.samples_per_rank(),
            // The first rank is handed batches before all others.
            Reading::Composed(composed) => composed.batches_of_rank(0, 0) * self.topology.batch_size,
        }
    }

    /// How many samples a rank reads from here on, repeats included, padding not.
    ///
    /// Every rank has the same number, with two exceptions that are the original's: a run that was resumed on a number of
    /// nodes that does not fit its canonical ones, and `device_per_stream` batching in an order of the mosaic family, both
    /// in the last global batch alone.
    #[must_use]
    pub fn samples_of_rank(&self, node: u64, rank: u64) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.samples_of_rank(node, rank),
            Reading::Composed(_) => self.batches_of_rank(node, rank, LastBatch::Keep) * self.topology.batch_size,
        }
    }

    /// How many samples a worker reads from here on, repeats included, padding not.
    #[must_use]
    pub fn samples_of_worker(&self, node: u64, rank: u64, worker: u64) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.samples_of_worker(node, rank, worker),
            Reading::Composed(_) => {
                self.batches_of_worker(node, rank, worker, LastBatch::Keep) * self.topology.batch_size
            }
        }
    }

    /// How many batches a rank reads from here on. The last one can be smaller than the others.
    #[must_use]
    pub fn batches_of_rank(&self, node: u64, rank: u64, last: LastBatch) -> u64 {
        if !self.topology.has_worker(node, rank, 0) {
            return 0;
        }
        match &self.reading {
            Reading::Random { partition, .. } => {
                let full = partition.full_batches();
                let kept =
                    last == LastBatch::Keep && partition.samples_of_rank(node, rank) > full * self.topology.batch_size;
                full + u64::from(kept)
            }
            Reading::Composed(composed) => composed.batches_of_rank(node, rank),
        }
    }

    /// How many batches a worker reads from here on.
    #[must_use]
    pub fn batches_of_worker(&self, node: u64, rank: u64, worker: u64, last: LastBatch) -> u64 {
        if !self.topology.has_worker(node, rank, worker) {
            return 0;
        }
        let batches = self.batches_of_rank(node, rank, last);
        let workers = self.topology.workers_per_rank;
        batches / workers + u64::from(batches % workers > worker)
    }

    const fn batches_per_worker(&self) -> u64 {
        match &self.reading {
            Reading::Random { partition, .. } => partition.shape()[3],
            Reading::Composed(composed) => composed.batches_per_worker(),
        }
    }

    /// The sources of samples, in the order of the streams.
    fn sources(&self) -> Vec<&Source> {
        match &self.reading {
            Reading::Random { source, .. } => vec![source],
            Reading::Composed(composed) => composed.sources(),
        }
    }
}

/// The samples that one worker reads, batch by batch: see [`EpochPlan::worker`].
///
/// Padded places are `None`. The length is exact where it fits into a `usize`, and skipping with `nth` takes constant
/// time, from both ends.
#[derive(Clone, Debug)]
pub struct WorkerSamples<'a> {
    source: &'a EpochPlan,
    places: Places,
}

iterate_places!(WorkerSamples, id);
