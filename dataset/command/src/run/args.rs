//! The arguments of `lockstep run`, and the job they describe.

use std::path::PathBuf;

use clap::{Args, value_parser};
use lockstep_world::World;

use crate::size;

/// Reads a dataset as a training job would, and checks that every rank read what it should.
///
/// Without a launcher it starts all ranks and workers as processes of this machine. Under torchrun, Slurm or MPI it is
/// one rank of that job.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The dataset's directory: the one with `index.json`.
    #[arg(required_unless_present = "local")]
    pub(crate) dataset: Option<PathBuf>,

    /// Follow links out of the dataset's directory, as in a directory of links that was made on purpose.
    #[arg(long)]
    pub(crate) follow_links: bool,

    /// Nodes to simulate on this machine.
    #[arg(long, value_name = "N")]
    pub(crate) nodes: Option<u64>,
    /// Ranks on each node.
    #[arg(long, value_name = "N")]
    pub(crate) ranks_per_node: Option<u64>,
    /// Loading workers of each rank; with 0 the rank reads itself.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) workers_per_rank: u64,

    /// How many consecutive ranks read the same samples.
    #[arg(long, value_name = "K", conflicts_with = "mesh")]
    pub(crate) replication: Option<u64>,
    /// A device mesh, last axis fastest, such as `pp=2,dp=4,tp=2`.
    #[arg(long, value_name = "AXES", requires = "replicate")]
    pub(crate) mesh: Option<String>,
    /// The axes of the mesh over which samples are the same, such as `pp,tp`.
    #[arg(long, value_name = "AXES", requires = "mesh", value_delimiter = ',')]
    pub(crate) replicate: Vec<String>,
    /// How replica groups are placed on nodes: `node-local` or `mosaic`.
    #[arg(long, value_name = "PLACEMENT", default_value = "node-local")]
    pub(crate) placement: String,

    /// Samples in a batch of one rank.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) batch_size: u64,
    /// Epochs to read.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    pub(crate) epochs: u64,
    /// The order of samples: `windowed` (the default), `global`, `py1e`, `py1br`, `py1s`, `py2s`, `naive` or `none`.
    #[arg(long, value_name = "ALGO")]
    pub(crate) shuffle: Option<String>,
    /// Where the order starts from: the same seed gives the same order.
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// Equal parts that an epoch is cut into, whatever the number of nodes.
    #[arg(long, value_name = "N")]
    pub(crate) canonical_nodes: Option<u64>,

    /// Where the dataset is stored, if not in a local directory: `s3://`, `gs://`, `az://`, `http://`, `file://`.
    #[arg(long, value_name = "URL", requires = "local")]
    pub(crate) remote: Option<String>,
    /// The directory that holds the shards, or keeps those that were fetched from `--remote`.
    #[arg(long, value_name = "DIR", conflicts_with = "dataset")]
    pub(crate) local: Option<PathBuf>,
    /// The most that fetched shards may take in the local directory of a node, such as `500mb`.
    #[arg(long, value_name = "BYTES", requires = "remote", value_parser = size::parse)]
    pub(crate) cache_limit: Option<u64>,

    /// Stop after this many unique samples over all groups, rounded up to whole global batches.
    #[arg(long, value_name = "SAMPLES", value_parser = value_parser!(u64).range(1..))]
    pub(crate) stop_after: Option<u64>,
    /// Write the state in which the run ended, if all was read as it should be.
    #[arg(long, value_name = "STATE.json")]
    pub(crate) save: Option<PathBuf>,
    /// Go on from a saved state.
    #[arg(long, value_name = "STATE.json")]
    pub(crate) resume: Option<PathBuf>,
    /// Write which ids each rank read, one JSON line a rank and epoch.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl RunArgs {
    /// Whether a whole job is asked for inside an allocation of a single rank, such as an interactive Slurm shell.
    pub(crate) fn is_local_job(&self, world: &World) -> bool {
        world.num_ranks() == 1 && (self.nodes.is_some() || self.ranks_per_node.is_some())
    }
}
