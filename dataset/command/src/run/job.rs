//! The job that the arguments and the environment describe, seen from one process.

use anyhow::Context;
use bytesize::ByteSize;
use lockstep_dataset::{Coordination, Dataset, NodeCoordination, State, Stream};
use lockstep_partition::ShuffleAlgorithm;
use lockstep_replication::{Mesh, Placement, Replication, UnknownPlacement};
use lockstep_world::{Detected, World};

use crate::outcome::Usage;
use crate::run::args::RunArgs;
use crate::run::child::Child;
use crate::run::rank::{self, Consumer, Source, Span, Workers};
use crate::run::{ROLE, WORKER_ROLE, launch};

/// A dataset as one process of a job reads it.
pub(crate) struct Job {
    /// The dataset, at the position of a resumed state if there is one.
    pub(crate) dataset: Dataset,
    world: World,
    span: Span,
    save: Option<std::path::PathBuf>,
    workers: u64,
}

impl Job {
    /// Opens the dataset for the process that `detected` describes.
    pub(crate) fn open(args: &RunArgs, detected: &Detected) -> anyhow::Result<Self> {
        let world = detected.world;
        let coordination = Coordination::Node(NodeCoordination::new(detected.job.as_str()));
        Self::open_as(args, world, coordination)
    }

    /// Opens the dataset as rank 0 of the job, to ask about it and not to read it.
    pub(crate) fn preview(args: &RunArgs, nodes: u64, ranks_per_node: u64) -> anyhow::Result<Self> {
        let world = World::new(nodes, ranks_per_node, 1, 0).map_err(Usage::error)?;
        Self::open_as(args, world, Coordination::None)
    }

    fn open_as(args: &RunArgs, world: World, coordination: Coordination) -> anyhow::Result<Self> {
        let dataset = args.dataset(world, coordination)?;
        if let Some(path) = &args.resume {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the state {} cannot be read", path.display()))?;
            let state =
                State::from_json(&text).with_context(|| format!("the state {} is not usable", path.display()))?;
            let warnings =
                dataset.load(&state).with_context(|| format!("the state {} does not fit", path.display()))?;
            if world.is_leader() {
                warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            }
        }
        let span = Span {
            epochs: args.epochs,
            batches: args.stop_after.map(|samples| samples.div_ceil(dataset.global_batch())),
        };
        Ok(Self { dataset, world, span, save: args.save.clone(), workers: args.workers_per_rank })
    }

    /// Reads what this rank must, itself or through worker processes; rank 0 saves the state in which it stopped.
    pub(crate) fn read(&self, arguments: &[String], consumer: &mut impl Consumer) -> anyhow::Result<()> {
        let source = match self.workers {
            0 => Source::Own(Box::new(self.dataset.reader()?)),
            _ => Source::Workers(self.start_workers(arguments)?),
        };
        let consumed = rank::consume(source, self.span, consumer)?;
        if let Some(path) = self.save.as_deref().filter(|_| self.world.is_leader()) {
            let text = self.dataset.state(consumed).to_json();
            write_whole(path, &text).with_context(|| format!("the state {} cannot be written", path.display()))?;
        }
        Ok(())
    }

    fn start_workers(&self, arguments: &[String]) -> anyhow::Result<Workers> {
        let rank = self.world.rank();
        let start = |worker: u64| {
            let mut variables = launch::pairs(&self.world.with_workers(self.workers, worker)?.worker_variables());
            variables.push((ROLE, WORKER_ROLE.to_owned()));
            Child::start(format!("worker {worker} of rank {rank}"), arguments, variables)
        };
        Ok(Workers::new(self.dataset.clone(), (0..self.workers).map(start).collect::<anyhow::Result<_>>()?))
    }
}

/// Writes a file that is there whole or not at all.
fn write_whole(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

impl RunArgs {
    /// The dataset of these arguments, as the process that `world` describes reads it.
    fn dataset(&self, world: World, coordination: Coordination) -> anyhow::Result<Dataset> {
        let mut builder = Dataset::builder()
            .stream(self.stream(&world)?)
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
        if let Some(limit) = &self.cache_limit {
            builder = builder.cache_limit(bytes(limit)?);
        }
        if let Some(nodes) = self.canonical_nodes {
            builder = builder.canonical_nodes(nodes);
        }
        builder.open(world).map_err(|error| if error.is_config() { Usage::error(error) } else { error.into() })
    }

    /// Where samples come from. Simulated nodes each have a directory of their own for what is fetched.
    fn stream(&self, world: &World) -> anyhow::Result<Stream> {
        match (&self.dataset, &self.local, &self.remote) {
            (Some(dir), None, None) | (None, Some(dir), None) => Ok(Stream::local(dir)),
            (None, Some(dir), Some(url)) if std::env::var_os(ROLE).is_some() && world.is_multinode() => {
                Ok(Stream::remote(url, dir.join(format!("node-{}", world.node()))))
            }
            (None, Some(dir), Some(url)) => Ok(Stream::remote(url, dir)),
            _ => Err(Usage::error("a dataset is needed: its directory, or --remote URL and --local DIR")),
        }
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

/// Bytes as people write them: `500mb`, `2 GiB`, `1000000`.
fn bytes(text: &str) -> anyhow::Result<u64> {
    let size = text
        .parse::<ByteSize>()
        .map_err(|error| Usage::error(format!("{text:?} is not a number of bytes: {error}")))?;
    Ok(size.as_u64())
}
