//! How a dataset is to be read: the builder.

use std::time::Duration;

use lockstep_partition::{
    BatchingMethod, EpochRecipe, LastBatch, PartitionAlgorithm, SamplingMethod, ShuffleAlgorithm, ShuffleUnits,
};
use lockstep_replication::{Assignment, Placement, Replication};
use lockstep_world::World;

use crate::cache::{Ahead, KeepZip, Verify};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::stream::Stream;

/// The seed of the order where none is given; mosaicml-streaming has the same.
pub const DEFAULT_SEED: u64 = EpochRecipe::DEFAULT_SEED;

/// How the processes of a node keep in step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Coordination {
    /// Not at all: each reads on its own.
    #[default]
    None,
    /// They agree on epoch, position and settings at the start of every epoch, and hear of each other's death.
    Node(NodeCoordination),
}

/// What the processes of a node need to find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCoordination {
    /// What tells this job from others on the machine; see [`lockstep_world::JobId`].
    pub job: String,
    /// What this dataset is for, if the job has several: `train` and `eval`, say.
    pub purpose: String,
    /// How long the others may take to start.
    pub start_deadline: Duration,
    /// How long they may take to come to a later epoch; `None` for ever, because whoever dies is noticed anyway.
    pub epoch_deadline: Option<Duration>,
}

impl NodeCoordination {
    /// For the only dataset of a job, whose processes all start within ten minutes.
    pub fn new(job: impl Into<String>) -> Self {
        Self { job: job.into(), purpose: String::new(), start_deadline: Duration::from_secs(600), epoch_deadline: None }
    }
}

/// How shards that are not simply there are fetched, checked and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePolicy {
    /// The most bytes that all streams' local directories may take together; `None` for no limit.
    pub limit: Option<u64>,
    /// Whether to keep compressed files after unpacking.
    pub keep_zip: KeepZip,
    /// What is compared with the index when a file arrives.
    pub verify: Verify,
    /// How much to fetch ahead of use.
    pub ahead: Ahead,
    /// How long to wait for what others do: finish a download, or give up room.
    pub wait: Duration,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            limit: None,
            keep_zip: KeepZip::default(),
            verify: Verify::default(),
            ahead: Ahead::default(),
            wait: Duration::from_secs(600),
        }
    }
}

/// Collects how a dataset is to be read. Made by [`Dataset::builder`], used up by [`open`](Self::open).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `open`"]
pub struct DatasetBuilder {
    pub(crate) streams: Vec<Stream>,
    pub(crate) batch_size: u64,
    pub(crate) shuffle: Option<ShuffleAlgorithm>,
    pub(crate) seed: Option<u64>,
    pub(crate) canonical_nodes: Option<u64>,
    pub(crate) shuffle_block_size: Option<u64>,
    pub(crate) partition: PartitionAlgorithm,
    pub(crate) batching: BatchingMethod,
    pub(crate) sampling: SamplingMethod,
    pub(crate) sampling_granularity: u64,
    pub(crate) epoch_size: Option<u64>,
    pub(crate) replication: Replication,
    pub(crate) placement: Placement,
    pub(crate) cache: CachePolicy,
    pub(crate) last_batch: LastBatch,
    pub(crate) coordination: Coordination,
}

impl DatasetBuilder {
    pub(crate) fn new() -> Self {
        Self {
            streams: Vec::new(),
            batch_size: 1,
            shuffle: Some(ShuffleAlgorithm::default()),
            seed: None,
            canonical_nodes: None,
            shuffle_block_size: None,
            partition: PartitionAlgorithm::Relaxed,
            batching: BatchingMethod::Random,
            sampling: SamplingMethod::Balanced,
            sampling_granularity: 1,
            epoch_size: None,
            replication: Replication::none(),
            placement: Placement::NodeLocal,
            cache: CachePolicy::default(),
            last_batch: LastBatch::Keep,
            coordination: Coordination::None,
        }
    }

    /// Adds a source of samples. Ids number the samples of all streams in the order in which the streams were added.
    pub fn stream(mut self, stream: Stream) -> Self {
        self.streams.push(stream);
        self
    }

    /// Samples in a batch of one rank; 1 where it is not set.
    pub fn batch_size(mut self, samples: u64) -> Self {
        self.batch_size = samples;
        self
    }

    /// The order of samples; windowed where it is not set.
    pub fn shuffle(mut self, algorithm: ShuffleAlgorithm) -> Self {
        self.shuffle = Some(algorithm);
        self
    }

    /// Reads the samples in the order in which they are stored, cut into canonical nodes.
    pub fn sequential(mut self) -> Self {
        self.shuffle = None;
        self
    }

    /// Where the order starts from: the same seed gives the same order. [`DEFAULT_SEED`] where it is not set.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Equal parts that an epoch is cut into, whatever the number of nodes; that of the first run's physical nodes
    /// where it is not set.
    pub fn canonical_nodes(mut self, nodes: u64) -> Self {
        self.canonical_nodes = Some(nodes);
        self
    }

    /// Samples in a window of the shuffle; `max(4_000_000 / canonical nodes, 262_144)` where it is not set.
    pub fn shuffle_block_size(mut self, samples: u64) -> Self {
        self.shuffle_block_size = Some(samples);
        self
    }

    /// How the epoch is dealt out to ranks; relaxed where it is not set.
    pub fn partition(mut self, algorithm: PartitionAlgorithm) -> Self {
        self.partition = algorithm;
        self
    }

    /// How the streams' samples are mixed in batches; at random where it is not set.
    pub fn batching(mut self, method: BatchingMethod) -> Self {
        self.batching = method;
        self
    }

    /// Which samples are taken where a stream is taken in part, this many from a shard at a time.
    pub fn sampling(mut self, method: SamplingMethod, granularity: u64) -> Self {
        self.sampling = method;
        self.sampling_granularity = granularity;
        self
    }

    /// Samples in an epoch, where streams have proportions.
    pub fn epoch_size(mut self, samples: u64) -> Self {
        self.epoch_size = Some(samples);
        self
    }

    /// Which ranks read the same samples; none where it is not set.
    pub fn replication(mut self, replication: Replication) -> Self {
        self.replication = replication;
        self
    }

    /// How replica groups are placed on nodes; node-local where it is not set.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// The most bytes that the shards of remote streams may take in their local directories together, whoever of this
    /// node put them there.
    pub fn cache_limit(mut self, bytes: u64) -> Self {
        self.cache.limit = Some(bytes);
        self
    }

    /// How the shards of remote and compressed streams are fetched, checked and kept.
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.cache = policy;
        self
    }

    /// Leaves out a last batch that is not full.
    pub fn drop_last(mut self, drop: bool) -> Self {
        self.last_batch = if drop { LastBatch::Drop } else { LastBatch::Keep };
        self
    }

    /// How the processes of a node keep in step; not at all where it is not set.
    pub fn coordination(mut self, coordination: Coordination) -> Self {
        self.coordination = coordination;
        self
    }

    /// Opens the dataset for the process that `world` describes.
    ///
    /// # Errors
    ///
    /// Settings that cannot work, alone or together ([`Error::is_config`](crate::Error::is_config)), or an index that
    /// is missing or wrong ([`Error::is_corrupt`](crate::Error::is_corrupt)).
    pub fn open(self, world: World) -> Result<Dataset> {
        Dataset::open(self, world)
    }

    /// The recipe of epochs over streams of these shards.
    pub(crate) fn recipe(&self, shards: Vec<ShuffleUnits>, assignment: &Assignment) -> EpochRecipe {
        let stream = |(shards, stream): (ShuffleUnits, &Stream)| {
            lockstep_partition::Stream::new(shards).with_weight(stream.weight())
        };
        EpochRecipe {
            streams: shards.into_iter().zip(&self.streams).map(stream).collect(),
            epoch_size: self.epoch_size,
            sampling: self.sampling,
            sampling_granularity: self.sampling_granularity,
            batching: self.batching,
            shuffle: self.shuffle,
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            canonical_nodes: self
                .canonical_nodes
                .unwrap_or_else(|| default_canonical_nodes(self.placement, self.shuffle, assignment)),
            block_size: self.shuffle_block_size,
            partition: self.partition,
            initial_physical_nodes: None,
        }
    }
}

/// The number of canonical nodes of a run that begins and names none.
///
/// It is the number of physical nodes, so that the order does not depend on the replication; but what mosaicml-streaming
/// would take, where its placement is asked for together with one of its orders (the sequential one is among them).
pub fn default_canonical_nodes(
    placement: Placement,
    shuffle: Option<ShuffleAlgorithm>,
    assignment: &Assignment,
) -> u64 {
    match (placement, shuffle) {
        (Placement::Mosaic, shuffle) if !shuffle.is_some_and(ShuffleAlgorithm::is_seekable) => {
            EpochRecipe::mosaic_canonical_nodes(shuffle, assignment.shape().0)
        }
        _ => assignment.default_canonical_nodes(),
    }
}
