//! The elastic partition: who reads which position of an epoch, in closed form.

mod deal;
mod regroup;
mod rows;
mod worker;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use self::deal::Deal;
use self::regroup::Regroup;
pub use self::worker::WorkerPositions;
use crate::canonical::CanonicalSubset;
use crate::divisor::Divisor;
use crate::places::Places;
use crate::topology::{Coordinate, Topology};

/// How positions are dealt to nodes, ranks and workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PartitionAlgorithm {
    /// The number of canonical nodes and the number of nodes must divide one another.
    Orig,
    /// As [`Orig`](Self::Orig) at the start of a run. A resumed run may also have any other number of nodes, as long as
    /// the global batch can be cut along the ranks that the first nodes would have: it reads what those would have read,
    /// cut anew.
    #[default]
    Relaxed,
}

impl fmt::Display for PartitionAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Orig => "orig",
            Self::Relaxed => "relaxed",
        })
    }
}

/// A name that is no partition algorithm's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no partition algorithm `{name}`; use `orig` or `relaxed`")]
pub struct UnknownPartition {
    name: String,
}

impl FromStr for PartitionAlgorithm {
    type Err = UnknownPartition;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "orig" => Ok(Self::Orig),
            "relaxed" => Ok(Self::Relaxed),
            _ => Err(UnknownPartition { name: name.to_owned() }),
        }
    }
}

/// What a [`Partition`] is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartitionSpec {
    /// How positions are dealt.
    pub algorithm: PartitionAlgorithm,
    /// Positions of the epoch.
    pub num_samples: u64,
    /// Equal parts the epoch is cut into, whatever the number of nodes. Constant over a run.
    pub canonical_nodes: u64,
    /// Who reads.
    pub topology: Topology,
    /// Samples of the epoch that have been read already, by all ranks together. Rounded down to a multiple of the nodes.
    pub drop_first: u64,
    /// Nodes at the start of the run, where this is a later part of it. Only [`PartitionAlgorithm::Relaxed`] asks.
    pub initial_physical_nodes: Option<u64>,
}

/// Why an epoch cannot be partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// A count is zero.
    #[error("{what}: 0 is not enough; give at least 1")]
    Zero {
        /// The count's name.
        what: &'static str,
    },
    /// Canonical and physical nodes do not divide one another.
    #[error(
        "{canonical} canonical nodes cannot be dealt to {nodes} nodes; one number must divide the other (a resumed run \
         can also use the `relaxed` partition and name the nodes it began with)"
    )]
    CanonicalNodes {
        /// Canonical nodes.
        canonical: u64,
        /// Nodes they are dealt to.
        nodes: u64,
    },
    /// The global batch cannot be cut along the ranks that the first nodes would have.
    #[error(
        "a global batch of {global_batch} samples cannot be cut over the {ranks} ranks of the {initial_nodes} nodes the \
         run began with; keep the global batch size of the run"
    )]
    GlobalBatch {
        /// Samples of a batch of all ranks now.
        global_batch: u64,
        /// Nodes at the start of the run.
        initial_nodes: u64,
        /// The ranks those would have.
        ranks: u64,
    },
    /// The position lies behind the end of the epoch, padding included.
    #[error(
        "cannot resume at sample {drop_first} of an epoch of {num_samples}; the position must be one of the same dataset \
         and weights, read with the same global batch size"
    )]
    PastTheEnd {
        /// Where to resume.
        drop_first: u64,
        /// Samples of the epoch.
        num_samples: u64,
    },
    /// A number does not fit into 64 bits.
    #[error("the epoch takes more than 2^64 - 1 places; use fewer samples, ranks, workers or smaller batches")]
    TooLarge,
}

/// An epoch's positions, dealt to nodes, ranks and workers so that the order is the same for any number of them.
///
/// The positions `0..num_samples` are cut into [canonical nodes](crate::canonical_range). Reading goes over the
/// canonical nodes in turn, one position each, and the resulting sequence is dealt out: position by position to the
/// nodes, from there to their ranks, batch by batch to their workers. So each global batch is a stretch of one sequence
/// that does not depend on who reads, and each node reads canonical nodes of its own.
///
/// Nothing is stored: any place is computed from the arguments in constant time. Where ranks would differ in count,
/// samples from near the end are repeated until they do not; where workers' last batches are not full, their places are
/// `None`.
///
/// ```
/// use lockstep_partition::{Coordinate, Partition, PartitionAlgorithm, PartitionSpec, Topology};
///
/// let topology = Topology { nodes: 2, ranks_per_node: 2, workers_per_rank: 1, batch_size: 3 };
/// let partition = Partition::new(&PartitionSpec {
///     algorithm: PartitionAlgorithm::Orig,
///     num_samples: 17,
///     canonical_nodes: 2,
///     topology,
///     drop_first: 0,
///     initial_physical_nodes: None,
/// })?;
/// assert_eq!(partition.shape(), [2, 2, 1, 2, 3]);
/// let first_rank: Vec<_> = partition.worker(0, 0, 0).collect();
/// assert_eq!(first_rank, [Some(0), Some(2), Some(4), Some(6), Some(7), None]);
/// let place = Coordinate { node: 1, rank: 1, batch: 1, slot: 0, ..Coordinate::default() };
/// assert_eq!(partition.get(place), Some(15));
/// # Ok::<(), lockstep_partition::PartitionError>(())
/// ```
///
/// # Source
///
/// Equal to the `orig` and `relaxed` partitions of mosaicml-streaming 0.13 for all arguments for which those return.
/// They build the whole epoch as an array; here its indices are solved for. Where they fail inside numpy for want of
/// samples to pad with, the samples of a canonical node are repeated from its beginning.
#[derive(Clone, Debug)]
pub struct Partition {
    topology: Topology,
    batch_size: Divisor,
    deal: Deal,
    regroup: Option<Regroup>,
}

impl Partition {
    /// Solves the partition. Time and memory do not depend on any of the numbers.
    ///
    /// # Errors
    ///
    /// [`PartitionError`] where a count is zero, the nodes do not fit the canonical nodes, the position lies behind the
    /// end, or numbers do not fit into 64 bits.
    pub fn new(spec: &PartitionSpec) -> Result<Self, PartitionError> {
        let topology = spec.topology;
        let zero = if spec.num_samples == 0 {
            Some("samples")
        } else if spec.canonical_nodes == 0 {
            Some("canonical nodes")
        } else if spec.initial_physical_nodes == Some(0) {
            Some("initial nodes")
        } else {
            topology.zero()
        };
        if let Some(what) = zero {
            return Err(PartitionError::Zero { what });
        }
        check_position(spec)?;
        let regroup = match (spec.algorithm, spec.initial_physical_nodes) {
            (PartitionAlgorithm::Relaxed, Some(initial)) if !divides(spec.canonical_nodes, topology.nodes) => {
                Some(Regroup::new(&topology, initial)?)
            }
            _ => None,
        };
        let dealt_to = regroup.as_ref().map_or(topology, Regroup::initial_topology);
        let deal = Deal::new(spec.num_samples, spec.canonical_nodes, &dealt_to, spec.drop_first)?;
        let batch_size = Divisor::new(topology.batch_size).ok_or(PartitionError::Zero { what: "batch size" })?;
        Ok(Self { topology, batch_size, deal, regroup })
    }

    /// `[nodes, ranks per node, workers per rank, batches per worker, batch size]`.
    #[must_use]
    pub const fn shape(&self) -> [u64; 5] {
        let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = self.topology;
        [nodes, ranks_per_node, workers_per_rank, self.deal.batches_per_worker(), batch_size]
    }

    /// Who reads.
    #[must_use]
    pub const fn topology(&self) -> Topology {
        self.topology
    }

    /// The product of the [`shape`](Self::shape): all places, padded ones included.
    #[must_use]
    pub const fn num_slots(&self) -> u64 {
        self.deal.num_slots()
    }

    /// Where the reading begins: `drop_first`, rounded down to a multiple of the nodes (of those the run began with, where
    /// what they would have read is cut anew), and at most the length of the sequence.
    ///
    /// Whoever counts samples for a checkpoint counts on from here.
    #[must_use]
    pub const fn drop_first(&self) -> u64 {
        self.deal.drop_first()
    }

    /// The position at a place, or `None` where the place is padding or outside the [`shape`](Self::shape).
    #[must_use]
    #[inline]
    pub fn get(&self, place: Coordinate) -> Option<u64> {
        let worker = self.topology.has_worker(place.node, place.rank, place.worker);
        if !worker || place.batch >= self.deal.batches_per_worker() || place.slot >= self.topology.batch_size {
            return None;
        }
        match &self.regroup {
            None => self.deal.get(place),
            Some(regroup) => self.deal.get(regroup.initial(place)),
        }
    }

    /// The places of one worker in the order in which it reads them. Empty for a worker that does not exist.
    #[must_use]
    pub fn worker(&self, node: u64, rank: u64, worker: u64) -> WorkerPositions<'_> {
        let worker = Coordinate { node, rank, worker, ..Coordinate::default() };
        let places = Places::new(&self.topology, self.batch_size, self.deal.batches_per_worker(), worker);
        WorkerPositions { source: self, places }
    }

    /// How many samples a rank reads in the rest of the epoch, repeats included, padding not.
    ///
    /// The same for every rank, except where a run was resumed on a number of nodes that does not fit the canonical ones:
    /// then the last global batch is cut anew as it is, and some ranks get more of its padding than others.
    #[must_use]
    pub fn samples_of_rank(&self, node: u64, rank: u64) -> u64 {
        if !self.topology.has_worker(node, rank, 0) {
            return 0;
        }
        let (full, last) = self.batches_of_rank(node, rank);
        full * self.topology.batch_size + last
    }

    /// How many samples a worker reads in the rest of the epoch, repeats included, padding not.
    #[must_use]
    pub fn samples_of_worker(&self, node: u64, rank: u64, worker: u64) -> u64 {
        if !self.topology.has_worker(node, rank, worker) {
            return 0;
        }
        let (full, last) = self.batches_of_rank(node, rank);
        let workers = self.topology.workers_per_rank;
        // Its batches of the rank are those whose number leaves `worker` when divided by the workers.
        let own = full / workers + u64::from(full % workers > worker);
        let own_last = if full % workers == worker { last } else { 0 };
        own * self.topology.batch_size + own_last
    }

    /// The most that any rank reads: see [`samples_of_rank`](Self::samples_of_rank).
    #[must_use]
    pub fn samples_per_rank(&self) -> u64 {
        match &self.regroup {
            None => self.deal.samples_per_rank(),
            Some(regroup) => self.full_batches() * self.topology.batch_size + regroup.most_in(self.deal.last_batch()),
        }
    }

    /// Global batches in which no place is padding. They come before any other.
    #[must_use]
    pub const fn full_batches(&self) -> u64 {
        self.deal.full_batches()
    }

    /// Samples read by all ranks together, repeats included, padding not.
    #[must_use]
    pub const fn num_yielded(&self) -> u64 {
        self.deal.num_yielded()
    }

    /// The canonical nodes whose positions a node reads.
    #[must_use]
    pub fn canonical_subset(&self, node: u64) -> CanonicalSubset {
        let (first, count) = self.regroup.as_ref().map_or((node, 1), |regroup| regroup.initial_nodes_of(node));
        self.deal.canonical_subset(first, count)
    }

    /// The position at a step of what a node deals to its ranks, repeats included: step `s` is the rank's that is `s` modulo
    /// the ranks. Only for partitions whose nodes fit the canonical ones.
    #[inline]
    pub(crate) fn dealt(&self, node: u64, step: u64) -> Option<u64> {
        debug_assert!(self.regroup.is_none(), "the steps of a node that is cut anew");
        self.deal.dealt(node, step)
    }

    /// How many such steps there are on each node.
    pub(crate) const fn steps_per_node(&self) -> u64 {
        self.deal.steps_per_node()
    }

    /// Whether every node reads whole canonical nodes, all of them from their beginning.
    pub(crate) const fn reads_whole_parts(&self) -> bool {
        self.regroup.is_none() && self.deal.reads_whole_parts()
    }

    /// How many steps the sequence has before it is padded for nodes and ranks, which does not depend on these.
    pub(crate) const fn unpadded_len(&self) -> u64 {
        self.deal.unpadded_len()
    }

    /// The canonical node of a position.
    pub(crate) fn canonical_node_of(&self, position: u64) -> u64 {
        self.deal.canonical_node_of(position)
    }

    /// How many canonical nodes there are.
    pub(crate) const fn canonical_nodes(&self) -> u64 {
        self.deal.canonical_nodes()
    }

    /// Full batches of a rank, and the samples in the batch after them.
    fn batches_of_rank(&self, node: u64, rank: u64) -> (u64, u64) {
        let last = self.deal.last_batch();
        let own = self.regroup.as_ref().map_or(last, |regroup| regroup.share_of(node, rank, last));
        (self.full_batches(), own)
    }
}

/// Whether one number divides the other.
const fn divides(canonical_nodes: u64, nodes: u64) -> bool {
    if nodes <= canonical_nodes { canonical_nodes.is_multiple_of(nodes) } else { nodes.is_multiple_of(canonical_nodes) }
}

/// Refuses positions behind any end that the epoch can have.
///
/// An epoch is padded to a length that depends on who reads, so where it ended on one topology may lie behind the end on
/// another. With an equal global batch of `G` samples, `C` canonical nodes of at most `S` samples each, and any nodes and
/// ranks, it ends before `C S + G`.
fn check_position(spec: &PartitionSpec) -> Result<(), PartitionError> {
    let PartitionSpec { num_samples, drop_first, topology, .. } = *spec;
    let ranks = u128::from(topology.nodes) * u128::from(topology.ranks_per_node);
    let here = u128::from(num_samples) + (ranks - u128::from(num_samples) % ranks);
    let canonical_nodes = u128::from(spec.canonical_nodes);
    let longest = canonical_nodes * u128::from(num_samples.div_ceil(spec.canonical_nodes));
    let anywhere = longest.saturating_add(ranks.saturating_mul(u128::from(topology.batch_size))) - 1;
    if u128::from(drop_first) > here.max(anywhere) {
        return Err(PartitionError::PastTheEnd { drop_first, num_samples });
    }
    Ok(())
}
