//! The recipe of a run's epochs, and the making of a plan from it.

mod compose;

use thiserror::Error;

use crate::batching::BatchingMethod;
use crate::canonical::CanonicalSubset;
use crate::epoch::EpochPlan;
use crate::order::{Order, Sequential};
use crate::partition::{Partition, PartitionAlgorithm, PartitionError, PartitionSpec};
use crate::resample::{Draw, First, ResampleError, SampleMap, StreamMap};
use crate::sampling::SamplingMethod;
use crate::shuffle::{ShuffleAlgorithm, ShuffleError, ShuffleSpec};
use crate::streams::{Shares, Stream, WeightError};
use crate::topology::Topology;
use crate::units::UnitsError;

/// Everything that decides the samples of a run's epochs and their order, but not who reads them.
///
/// It stays the same for a whole run; what may change when a run goes on is the [`Topology`], as long as the global batch
/// stays the same size.
///
/// ```
/// use lockstep_partition::{Coordinate, EpochRecipe, Part, ShuffleUnits, Stream, Topology};
///
/// let shards = ShuffleUnits::from_runs([(4096, 1_000)])?;
/// let recipe = EpochRecipe::new(vec![Stream::new(shards)], 2);
/// let topology = Topology { nodes: 2, ranks_per_node: 8, workers_per_rank: 4, batch_size: 16 };
/// let plan = recipe.plan(&topology, 0, 0, Part::Node(1))?;
/// assert_eq!(plan.shape(), [2, 8, 4, 4000, 16]);
/// let place = Coordinate { node: 1, rank: 3, worker: 0, batch: 2, slot: 5 };
/// assert!(plan.id(place).is_some_and(|sample| sample < 4_096_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EpochRecipe {
    /// Where the samples come from.
    pub streams: Vec<Stream>,
    /// Samples of an epoch, where the streams have proportions or no weights; zero counts as `None`.
    pub epoch_size: Option<u64>,
    /// Whether streams that come in part give other samples every epoch.
    pub sampling: SamplingMethod,
    /// How many neighbours such a stream gives at a time.
    pub sampling_granularity: u64,
    /// How streams share batches.
    pub batching: BatchingMethod,
    /// The shuffle, or `None` for the order in which samples are stored.
    pub shuffle: Option<ShuffleAlgorithm>,
    /// What shuffles and draws are seeded with.
    pub seed: u64,
    /// Parts the epoch is cut into, whatever the number of nodes. The number of physical nodes of the run's beginning is a
    /// good one.
    pub canonical_nodes: u64,
    /// Over how many samples shards are mixed, or `None` for [`default_block_size`](Self::default_block_size).
    pub block_size: Option<u64>,
    /// How positions are dealt.
    pub partition: PartitionAlgorithm,
    /// Nodes at the beginning of the run, where this is a later part of it.
    pub initial_physical_nodes: Option<u64>,
}

/// Which nodes a plan is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of them.
    #[default]
    All,
    /// One. Shuffles that are held in memory are then held for what this node reads alone.
    Node(u64),
}

/// Why there is no plan of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EpochError {
    /// The weights make no epoch.
    #[error(transparent)]
    Weights(#[from] WeightError),
    /// The samples cannot be drawn or counted.
    #[error(transparent)]
    Resample(#[from] ResampleError),
    /// The epoch cannot be partitioned.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The epoch cannot be shuffled.
    #[error(transparent)]
    Shuffle(#[from] ShuffleError),
    /// There is no such node.
    #[error("there is no node {node}: nodes are numbered from 0, and there are {nodes}")]
    NoSuchNode {
        /// The node asked about.
        node: u64,
        /// How many nodes there are.
        nodes: u64,
    },
    /// A stream's share of a global batch is less than one sample.
    #[error(
        "stream {stream} has no sample in a global batch of {global_batch}; raise the batch size or the weight of the \
         stream, or use another batching method than `stratified`"
    )]
    NoShareOfBatch {
        /// Which stream.
        stream: usize,
        /// Samples of a batch of all ranks.
        global_batch: u64,
    },
    /// A stream has too few samples for a single batch of its own.
    #[error(
        "stream {stream} has too few samples for a batch of {batch} of its own; lower the batch size, raise the weight of \
         the stream, or use another batching method"
    )]
    NoBatch {
        /// Which stream.
        stream: usize,
        /// Samples that a batch takes.
        batch: u64,
    },
    /// A stream's share of a shuffle block is less than one sample.
    #[error(
        "stream {stream} has no sample in a shuffle block of {block_size}; raise the block size or the stream's weight"
    )]
    NoShareOfBlock {
        /// Which stream.
        stream: usize,
        /// Samples of a block.
        block_size: u64,
    },
    /// Nodes do not divide the canonical nodes, which the batching method asks for.
    #[error(
        "{canonical} canonical nodes cannot be dealt to {nodes} nodes evenly, which `device_per_stream` batching needs; use \
         a number of nodes that divides the canonical nodes"
    )]
    CanonicalNodes {
        /// Canonical nodes.
        canonical: u64,
        /// Nodes.
        nodes: u64,
    },
    /// Numbers do not fit into 64 bits, or turns of batches not into memory.
    #[error("the epoch is too large for its batching method; use fewer streams or ranks, or `random` batching")]
    TooLarge,
}

impl From<UnitsError> for EpochError {
    fn from(error: UnitsError) -> Self {
        Self::Resample(error.into())
    }
}

impl EpochRecipe {
    /// The seed of runs that are given none: that of mosaicml-streaming.
    pub const DEFAULT_SEED: u64 = 9176;

    /// Streams in the default order (`windowed`), with the defaults of mosaicml-streaming for all else.
    #[must_use]
    pub fn new(streams: Vec<Stream>, canonical_nodes: u64) -> Self {
        Self {
            streams,
            epoch_size: None,
            sampling: SamplingMethod::default(),
            sampling_granularity: 1,
            batching: BatchingMethod::default(),
            shuffle: Some(ShuffleAlgorithm::default()),
            seed: Self::DEFAULT_SEED,
            canonical_nodes,
            block_size: None,
            partition: PartitionAlgorithm::default(),
            initial_physical_nodes: None,
        }
    }

    /// The block size where none is given: four million samples over all canonical nodes, and at least 2^18 for each.
    ///
    /// ```
    /// use lockstep_partition::EpochRecipe;
    ///
    /// assert_eq!(EpochRecipe::default_block_size(8), 500_000);
    /// assert_eq!(EpochRecipe::default_block_size(64), 1 << 18);
    /// ```
    #[must_use]
    pub fn default_block_size(canonical_nodes: u64) -> u64 {
        4_000_000_u64.checked_div(canonical_nodes).unwrap_or(0).max(1 << 18)
    }

    /// The canonical nodes that mosaicml-streaming takes for a run that begins on this many nodes and names none: 64 for
    /// each node with `py1s` and `py2s`, else one. For runs that are to read what it would have read.
    #[must_use]
    pub fn mosaic_canonical_nodes(shuffle: Option<ShuffleAlgorithm>, nodes: u64) -> u64 {
        match shuffle {
            Some(ShuffleAlgorithm::Py1s | ShuffleAlgorithm::Py2s) => nodes.saturating_mul(64),
            _ => nodes,
        }
    }

    /// The block size, given or not.
    #[must_use]
    pub fn effective_block_size(&self) -> u64 {
        self.block_size.unwrap_or_else(|| Self::default_block_size(self.canonical_nodes))
    }

    /// The name of the order, with its version, as checkpoints have it.
    #[must_use]
    pub fn order_name(&self) -> &'static str {
        self.shuffle.map_or("sequential", ShuffleAlgorithm::versioned_name)
    }

    /// How much of an epoch each stream is.
    ///
    /// # Errors
    ///
    /// [`WeightError`] where the weights make no epoch.
    pub fn shares(&self) -> Result<Shares, WeightError> {
        Shares::new(&self.streams, self.epoch_size, self.seed)
    }

    /// Plans an epoch: which sample is read where and when.
    ///
    /// `sample_in_epoch` is where reading goes on, in samples that all ranks together have read of this epoch. The batching
    /// methods that know of streams go on at the beginning of the global batch it lies in.
    ///
    /// With a seekable shuffle or none this takes no time or memory that depends on the samples, as long as no stream comes
    /// in part. The mosaic family is held in memory for `part`.
    ///
    /// # Errors
    ///
    /// [`EpochError`] where the recipe makes no epoch for the topology.
    pub fn plan(
        &self,
        topology: &Topology,
        epoch: u64,
        sample_in_epoch: u64,
        part: Part,
    ) -> Result<EpochPlan, EpochError> {
        if let Some(what) = topology.zero() {
            return Err(PartitionError::Zero { what }.into());
        }
        if self.canonical_nodes == 0 {
            return Err(PartitionError::Zero { what: "canonical nodes" }.into());
        }
        if let Part::Node(node) = part
            && node >= topology.nodes
        {
            return Err(EpochError::NoSuchNode { node, nodes: topology.nodes });
        }
        let planning =
            Planning { recipe: self, topology: *topology, epoch, sample_in_epoch, part, shares: self.shares()? };
        let reading = match self.batching {
            BatchingMethod::Random => planning.random(),
            BatchingMethod::Stratified => planning.stratified(),
            BatchingMethod::PerStream => planning.per_stream(),
            BatchingMethod::DevicePerStream => planning.device_per_stream(),
        }?;
        EpochPlan::new(*topology, part, planning.shares, reading)
    }
}

/// One call of [`EpochRecipe::plan`].
struct Planning<'a> {
    recipe: &'a EpochRecipe,
    topology: Topology,
    epoch: u64,
    sample_in_epoch: u64,
    part: Part,
    shares: Shares,
}

impl Planning<'_> {
    /// Whether orders and draws are computed on demand.
    fn is_seekable(&self) -> bool {
        self.recipe.shuffle.is_some_and(ShuffleAlgorithm::is_seekable)
    }

    fn draw(&self) -> Draw {
        let EpochRecipe { sampling, sampling_granularity, seed, shuffle, .. } = *self.recipe;
        if self.is_seekable() {
            Draw::keyed(sampling, sampling_granularity, seed, self.epoch)
        } else {
            Draw::numpy(sampling, sampling_granularity, seed, self.epoch, shuffle.is_some())
        }
    }

    /// All streams, and where each begins.
    fn streams(&self) -> Result<Vec<(usize, &Stream, First)>, UnitsError> {
        let mut first = First::default();
        let place = |(index, stream)| {
            let begin = first;
            first = first.after(stream)?;
            Ok((index, stream, begin))
        };
        self.recipe.streams.iter().enumerate().map(place).collect()
    }

    fn resample(&self, index: usize, stream: &Stream, first: First, draw: &mut Draw) -> Result<StreamMap, EpochError> {
        Ok(StreamMap::new(stream, index as u64, self.shares.choose[index], first, draw)?)
    }

    fn spec(&self, num_samples: u64, topology: Topology, drop_first: u64) -> PartitionSpec {
        let EpochRecipe { partition, canonical_nodes, initial_physical_nodes, .. } = *self.recipe;
        PartitionSpec {
            algorithm: partition,
            num_samples,
            canonical_nodes,
            topology,
            drop_first,
            initial_physical_nodes,
        }
    }

    fn order(
        &self,
        samples: &SampleMap,
        block_size: u64,
        subset: CanonicalSubset,
    ) -> Result<Box<dyn Order>, EpochError> {
        let Some(algorithm) = self.recipe.shuffle else {
            return Ok(Box::new(Sequential::new(samples.len())));
        };
        let EpochRecipe { canonical_nodes, seed, .. } = *self.recipe;
        let spec = ShuffleSpec { algorithm, canonical_nodes, seed, epoch: self.epoch, block_size };
        Ok(spec.build(&samples.units()?, subset)?)
    }

    /// What the part reads of a partition.
    fn subset(&self, partition: &Partition) -> CanonicalSubset {
        match self.part {
            Part::All => CanonicalSubset::ALL,
            Part::Node(node) => partition.canonical_subset(node),
        }
    }
}
