//! The configuration file of `lockstep plan`: an epoch, described by numbers.

use std::str::FromStr;

use anyhow::Context;
use lockstep_partition::{EpochRecipe, ShuffleAlgorithm, ShuffleUnits, Stream, Topology, Weight};
use lockstep_replication::{Assignment, Mesh, Placement, Replication};
use serde::{Deserialize, Deserializer};

/// What the file says. Everything but the streams, the world and the batch size may be absent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) streams: Vec<StreamConfig>,
    pub(crate) world: WorldConfig,
    pub(crate) batch_size: u64,
    #[serde(default)]
    pub(crate) replication: Option<u64>,
    /// Such as `"pp=2,dp=4,tp=2"`.
    #[serde(default)]
    pub(crate) mesh: Option<String>,
    /// Axes of the mesh over which samples are the same: `"pp,tp"` or `["pp", "tp"]`.
    #[serde(default)]
    pub(crate) replicate: Option<Axes>,
    #[serde(default)]
    pub(crate) placement: Option<String>,
    #[serde(default)]
    pub(crate) epoch_size: Option<u64>,
    #[serde(default)]
    pub(crate) batching_method: Option<String>,
    /// Absent for the default order, `null` for a sequential one.
    #[serde(default, deserialize_with = "given")]
    pub(crate) shuffle: Option<Option<String>>,
    #[serde(default)]
    pub(crate) seed: Option<u64>,
    #[serde(default)]
    pub(crate) epoch: u64,
    #[serde(default)]
    pub(crate) num_canonical_nodes: Option<u64>,
    #[serde(default)]
    pub(crate) shuffle_block_size: Option<u64>,
    #[serde(default)]
    pub(crate) sampling_method: Option<String>,
    #[serde(default)]
    pub(crate) sampling_granularity: Option<u64>,
    #[serde(default)]
    pub(crate) sample_in_epoch: u64,
    #[serde(default)]
    pub(crate) partition_algo: Option<String>,
    #[serde(default)]
    pub(crate) initial_physical_nodes: Option<u64>,
    /// A line of recorded results carries what came out; it is not read.
    #[serde(default, rename = "result")]
    _result: serde::de::IgnoredAny,
}

/// The number of nodes, ranks and workers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorldConfig {
    pub(crate) num_nodes: u64,
    pub(crate) ranks_per_node: u64,
    #[serde(default = "one")]
    pub(crate) workers_per_rank: u64,
}

/// The shards of a stream and how much of it an epoch takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamConfig {
    #[serde(default)]
    shard_sizes: Option<Vec<u64>>,
    #[serde(default)]
    shards: Option<u64>,
    #[serde(default)]
    samples_per_shard: Option<u64>,
    #[serde(default)]
    proportion: Option<f64>,
    #[serde(default)]
    repeat: Option<f64>,
    #[serde(default)]
    choose: Option<u64>,
}

/// Names of axes, as one text or as a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Axes {
    Text(String),
    List(Vec<String>),
}

impl Axes {
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => text.split(',').map(str::trim).collect(),
            Self::List(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

fn one() -> u64 {
    1
}

/// Tells a field that is `null` from one that is absent.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Config {
    /// Which ranks read what.
    pub(crate) fn assignment(&self) -> anyhow::Result<Assignment> {
        let replication = match (&self.mesh, &self.replicate) {
            (Some(_), _) if self.replication.is_some_and(|replication| replication != 1) => {
                anyhow::bail!("`mesh` and `replication` exclude one another: a mesh has its groups from `replicate`")
            }
            (Some(mesh), axes) => {
                let axes =
                    axes.as_ref().context("a mesh needs `replicate`: the axes over which samples are the same")?;
                mesh.parse::<Mesh>()?.replicate(axes.names())?
            }
            (None, Some(_)) => anyhow::bail!("`replicate` names axes of a `mesh`, and there is none"),
            (None, None) => Replication::adjacent(self.replication.unwrap_or(1)),
        };
        let WorldConfig { num_nodes, ranks_per_node, .. } = self.world;
        Ok(Assignment::new(num_nodes, ranks_per_node, &replication, self.placement()?)?)
    }

    fn placement(&self) -> anyhow::Result<Placement> {
        match self.placement.as_deref() {
            None => Ok(Placement::NodeLocal),
            Some(name) => Ok(name.replace('_', "-").parse()?),
        }
    }

    /// Who reads, in the world of samples.
    pub(crate) fn topology(&self, assignment: &Assignment) -> Topology {
        let (nodes, ranks_per_node) = assignment.shape();
        Topology { nodes, ranks_per_node, workers_per_rank: self.world.workers_per_rank, batch_size: self.batch_size }
    }

    /// What is read.
    pub(crate) fn recipe(&self, assignment: &Assignment) -> anyhow::Result<EpochRecipe> {
        let streams =
            self.streams.iter().enumerate().map(|(i, stream)| stream.stream().with_context(|| format!("stream {i}")));
        let shuffle = match &self.shuffle {
            None => Some(ShuffleAlgorithm::default()),
            Some(None) => None,
            Some(Some(name)) => Some(name.parse()?),
        };
        let canonical_nodes = match self.num_canonical_nodes {
            Some(nodes) => nodes,
            None => self.default_canonical_nodes(shuffle, assignment)?,
        };
        let mut recipe = EpochRecipe::new(streams.collect::<anyhow::Result<_>>()?, canonical_nodes);
        recipe.epoch_size = self.epoch_size;
        recipe.shuffle = shuffle;
        recipe.block_size = self.shuffle_block_size;
        recipe.initial_physical_nodes = self.initial_physical_nodes;
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        recipe.sampling_granularity = self.sampling_granularity.unwrap_or(recipe.sampling_granularity);
        recipe.batching = parsed(self.batching_method.as_deref(), recipe.batching)?;
        recipe.sampling = parsed(self.sampling_method.as_deref(), recipe.sampling)?;
        recipe.partition = parsed(self.partition_algo.as_deref(), recipe.partition)?;
        Ok(recipe)
    }

    fn default_canonical_nodes(
        &self,
        shuffle: Option<ShuffleAlgorithm>,
        assignment: &Assignment,
    ) -> anyhow::Result<u64> {
        Ok(lockstep_dataset::default_canonical_nodes(self.placement()?, shuffle, assignment))
    }
}

/// The value that a name stands for, if there is one.
fn parsed<T: FromStr>(name: Option<&str>, default: T) -> anyhow::Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    Ok(name.map(str::parse).transpose()?.unwrap_or(default))
}

impl StreamConfig {
    fn stream(&self) -> anyhow::Result<Stream> {
        let shards = match (&self.shard_sizes, self.shards, self.samples_per_shard) {
            (Some(sizes), None, None) => ShuffleUnits::from_sizes(sizes.iter().copied())?,
            (None, Some(shards), Some(samples)) => ShuffleUnits::from_runs([(samples, shards)])?,
            _ => anyhow::bail!("either `shard_sizes` is wanted, or `shards` and `samples_per_shard`"),
        };
        let weights =
            [self.proportion.map(Weight::Proportion), self.repeat.map(Weight::Repeat), self.choose.map(Weight::Choose)];
        let mut weights = weights.into_iter().flatten();
        let weight = weights.next().unwrap_or_default();
        anyhow::ensure!(weights.next().is_none(), "at most one of `proportion`, `repeat` and `choose` is wanted");
        Ok(Stream::new(shards).with_weight(weight))
    }
}
