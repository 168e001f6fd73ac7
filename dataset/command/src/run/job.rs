//! The job that the arguments and the environment describe, seen from one process.

use std::path::Path;

use anyhow::Context;
use lockstep_dataset::{Coordination, Dataset, NodeCoordination, State, Stream};
use lockstep_partition::ShuffleAlgorithm;
use lockstep_replication::{Mesh, Placement, Replication, UnknownPlacement};
use lockstep_world::{Detected, World};

use crate::outcome::Usage;
use crate::run::args::RunArgs;
use crate::run::child::Child;
use crate::run::legs::Legs;
use crate::run::rank::{self, Consumer, Source};
use crate::run::save::SaveFile;
use crate::run::workers::Workers;
use crate::run::{ROLE, SIMULATED, WORKER_ROLE, launch};

/// A dataset as one process of a job reads it.
pub(crate) struct Job {
    /// The dataset, at the position of a resumed state if there is one.
    pub(crate) dataset: Dataset,
    /// The epochs that the job reads.
    pub(crate) legs: Legs,
    world: World,
    /// What to know of the state that was resumed.
    warnings: Vec<String>,
    save: Option<SaveFile>,
    workers: u64,
}

impl Job {
    /// Opens the dataset for the process that `detected` describes.
    pub(crate) fn open(args: &RunArgs, detected: &Detected) -> anyhow::Result<Self> {
        let world = detected.world;
        let coordination = Coordination::Node(NodeCoordination::new(detected.job.as_str()));
        Self::open_as(args, world, coordination, std::env::var_os(SIMULATED).is_some())
    }

    /// Opens the dataset as rank 0 of a job that is to be launched here, to ask about it and not to read it.
    pub(crate) fn preview(args: &RunArgs, nodes: u64, ranks_per_node: u64) -> anyhow::Result<Self> {
        let world = World::new(nodes, ranks_per_node, 1, 0).map_err(Usage::error)?;
        Self::open_as(args, world, Coordination::None, true)
    }

    fn open_as(args: &RunArgs, world: World, coordination: Coordination, simulated: bool) -> anyhow::Result<Self> {
        let dataset = args.dataset(world, coordination, simulated)?;
        let mut warnings = Vec::new();
        if let Some(path) = &args.resume {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the state {} cannot be read", path.display()))?;
            let state =
                State::from_json(&text).with_context(|| format!("the state {} is not usable", path.display()))?;
            warnings = dataset.load(&state).with_context(|| format!("the state {} does not fit", path.display()))?;
        }
        let legs = Legs::new(&dataset, args.epochs, args.stop_after);
        // Not a process that the launcher here has started: the launcher saves, after the verdict.
        let saves = world.is_leader() && std::env::var_os(ROLE).is_none();
        let save = match args.save.as_deref().filter(|_| saves) {
            Some(path) => Some(SaveFile::new(path).with_context(|| unwritable(path))?),
            None => None,
        };
        Ok(Self { dataset, legs, world, warnings, save, workers: args.workers_per_rank })
    }

    /// Says what to know of the state that was resumed; for one process of the job to do.
    pub(crate) fn warn(&self) {
        self.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    }

    /// Reads what this rank must, itself or through worker processes. Returns the samples consumed in the last epoch.
    pub(crate) fn read(&self, arguments: &[String], consumer: &mut impl Consumer) -> anyhow::Result<u64> {
        let source = match self.workers {
            0 => Source::Own(Box::new(self.dataset.reader()?)),
            _ => Source::Workers(self.start_workers(arguments)?),
        };
        rank::consume(source, self.legs.clone(), consumer)
    }

    /// Writes the state after `consumed` samples of each rank in the last epoch, if that was asked for; for one process
    /// of the job to do, whose dataset was advanced to that epoch.
    pub(crate) fn save(&self, consumed: u64) -> anyhow::Result<()> {
        let Some(file) = &self.save else { return Ok(()) };
        file.write(&self.dataset.state(consumed).to_json()).context("the state cannot be saved")
    }

    fn start_workers(&self, arguments: &[String]) -> anyhow::Result<Workers> {
        let rank = self.world.rank();
        let start = |worker: u64| {
            let mut variables = launch::pairs(&self.world.with_workers(self.workers, worker)?.worker_variables());
            variables.push((ROLE, WORKER_ROLE.to_owned()));
            Child::start(format!("worker {worker} of rank {rank}"), arguments, variables)
        };
        Workers::new(self.dataset.clone(), (0..self.workers).map(start).collect::<anyhow::Result<_>>()?)
    }
}

fn unwritable(path: &Path) -> String {
    format!("the state {} cannot be written", path.display())
}

impl RunArgs {
    /// The dataset of these arguments, as the process that `world` describes reads it.
    fn dataset(&self, world: World, coordination: Coordination, simulated: bool) -> anyhow::Result<Dataset> {
        let mut builder = Dataset::builder()
            .stream(self.stream(&world, simulated)?)
            .batch_size(self.batch_size)
            .replication(self.replication()?)
            .placement(self.placement()?)
            .coordination(coordination);
        builder = match self.shuffle.as_deref() {
            None => builder,
            Some("none") => builder.sequential(),
            Some(name) => builder.shuffle(name.parse::<ShuffleAlgorithm>().map_err(Usage::error)?),
        };
        if let Some(seed) = self.seed {
            builder = builder.seed(seed);
        }
        if let Some(limit) = self.cache_limit {
            builder = builder.cache_limit(limit);
        }
        if let Some(nodes) = self.canonical_nodes {
            builder = builder.canonical_nodes(nodes);
        }
        builder.open(world).map_err(|error| if error.is_config() { Usage::error(error) } else { error.into() })
    }

    /// Where samples come from. Simulated nodes each have a directory of their own for what is fetched.
    fn stream(&self, world: &World, simulated: bool) -> anyhow::Result<Stream> {
        let stream = match (&self.dataset, &self.local, &self.remote) {
            (Some(dir), None, None) | (None, Some(dir), None) => Stream::local(dir),
            (None, Some(dir), Some(url)) if simulated && world.is_multinode() => {
                Stream::remote(url, dir.join(format!("node-{}", world.node())))
            }
            (None, Some(dir), Some(url)) => Stream::remote(url, dir),
            _ => return Err(Usage::error("a dataset is needed: its directory, or --remote URL and --local DIR")),
        };
        Ok(if self.follow_links { stream.follow_links() } else { stream })
    }

    /// Which ranks read the same samples.
    fn replication(&self) -> anyhow::Result<Replication> {
        match &self.mesh {
            Some(mesh) => mesh.parse().and_then(|mesh: Mesh| mesh.replicate(&self.replicate)).map_err(Usage::error),
            None => Ok(Replication::adjacent(self.replication.unwrap_or(1))),
        }
    }

    /// How replica groups are placed on nodes.
    fn placement(&self) -> anyhow::Result<Placement> {
        self.placement.parse().map_err(|error: UnknownPlacement| Usage::error(error))
    }
}
