//! A dataset as one process of a job reads it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockstep_partition::{EpochPlan, EpochRecipe, LastBatch, Part, Topology};
use lockstep_replication::{Assignment, SampleWorld};
use lockstep_world::World;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::reader::Reader;
use crate::session::{Participant, Session, SessionConfig};
use crate::settings::{Coordination, DatasetBuilder, NodeCoordination};
use crate::source::Sources;
use crate::state::{State, Terms, mismatch};
use crate::stream::Stream;

/// A dataset as one process of a job reads it.
///
/// Cheap to clone; clones share everything, the position in the data included.
///
/// **One reader or loader per dataset.** Its readers and loaders share that position as well: whichever begins an epoch
/// moves it on. Open the dataset again for another one.
///
/// # Example
///
/// ```
/// use lockstep_dataset::{Dataset, Stream};
/// use lockstep_world::World;
///
/// let dataset = Dataset::builder().stream(Stream::local("data/digits")).batch_size(16).open(World::alone())?;
/// let mut reader = dataset.reader()?;
/// reader.begin_epoch()?;
/// let mut seen = 0;
/// while let Some(batch) = reader.next_batch()? {
///     for (_id, sample) in batch.iter() {
///         let _label: u8 = sample?.get("label")?;
///         seen += 1;
///     }
/// }
/// assert_eq!(seen, 1797);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    sources: Sources,
    /// Of the streams' weights and of everything stored in them.
    digest: u64,
    world: World,
    assignment: Assignment,
    batch_size: usize,
    last_batch: LastBatch,
    coordination: Coordination,
    /// Settings that the caller gave and a state must not overrule.
    fixed: Fixed,
    course: Mutex<Course>,
}

/// What the caller insists on.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    seed: Option<u64>,
    canonical_nodes: Option<u64>,
}

/// Where in the data the process is. Changed by [`Dataset::load`] and by the start of an epoch.
#[derive(Clone, Debug)]
struct Course {
    recipe: Arc<EpochRecipe>,
    /// The epoch that is being read, if one was begun.
    current: Option<Position>,
    /// Where the next epoch to be begun starts.
    next: Position,
}

/// A place in the data: an epoch and the unique samples consumed in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Which epoch, from 0.
    pub epoch: u64,
    /// Unique samples of it that were consumed before, over all replica groups.
    pub sample_in_epoch: u64,
}

impl Dataset {
    /// Starts to collect how a dataset is to be read.
    pub fn builder() -> DatasetBuilder {
        DatasetBuilder::new()
    }

    pub(crate) fn open(settings: DatasetBuilder, world: World) -> Result<Self> {
        if settings.streams.is_empty() {
            return Err(Error::config("a dataset needs a stream: give one with `stream`"));
        }
        let assignment = Assignment::for_world(&world, &settings.replication, settings.placement).map_err(config)?;
        let sources = Sources::open(&settings.streams, &settings.cache)?;
        let batch_size = usize::try_from(settings.batch_size).map_err(config)?;
        let recipe = settings.recipe(sources.catalog().shard_sizes()?, &assignment);
        let course = Course { recipe: Arc::new(recipe), current: None, next: Position::default() };
        let fixed = Fixed { seed: settings.seed, canonical_nodes: settings.canonical_nodes };
        let dataset = Self {
            shared: Arc::new(Shared {
                digest: digest(&settings.streams, &sources),
                sources,
                world,
                assignment,
                batch_size,
                last_batch: settings.last_batch,
                coordination: settings.coordination,
                fixed,
                course: Mutex::new(course),
            }),
        };
        // What cannot be planned is better said now than at the first epoch.
        dataset.samples_per_rank(0)?;
        Ok(dataset)
    }

    /// Samples stored in all streams; ids are below it.
    pub fn num_samples(&self) -> u64 {
        self.shared.sources.catalog().num_samples()
    }

    /// Which ranks read what: groups, and the world of samples.
    pub fn assignment(&self) -> &Assignment {
        &self.shared.assignment
    }

    /// Samples in a batch over all replica groups.
    pub fn global_batch(&self) -> u64 {
        self.shared.batch_size as u64 * self.shared.assignment.num_groups()
    }

    /// Samples in an epoch, padding not counted.
    pub fn epoch_size(&self) -> u64 {
        let shares = self.course().recipe.shares();
        shares.expect("the weights made an epoch when the dataset was opened").epoch_size
    }

    /// Samples that each rank reads in an epoch of which `sample_in_epoch` unique ones were consumed before, repeats
    /// included: the most of any rank, and the same for all of them, with the exceptions that
    /// [`EpochPlan::samples_of_rank`] names.
    ///
    /// # Errors
    ///
    /// The epoch cannot be planned so.
    pub fn samples_per_rank(&self, sample_in_epoch: u64) -> Result<u64> {
        let recipe = Arc::clone(&self.course().recipe);
        let plan = self.outline(&recipe, sample_in_epoch)?;
        Ok(match self.shared.last_batch {
            LastBatch::Keep => plan.samples_per_rank(),
            LastBatch::Drop => plan.batches_of_rank(0, 0, LastBatch::Drop) * self.shared.batch_size as u64,
        })
    }

    /// Batches that each rank reads, as [`samples_per_rank`](Self::samples_per_rank) counts samples.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn batches_per_rank(&self, sample_in_epoch: u64) -> Result<u64> {
        Ok(self.samples_per_rank(sample_in_epoch)?.div_ceil(self.shared.batch_size as u64))
    }

    /// A plan to ask about numbers only: it does without the order, which may be costly to make.
    fn outline(&self, recipe: &EpochRecipe, sample_in_epoch: u64) -> Result<EpochPlan> {
        let in_order = EpochRecipe { shuffle: None, ..recipe.clone() };
        in_order.plan(&self.topology(1), 0, sample_in_epoch, Part::All).map_err(config)
    }

    /// Where the process is: the epoch being read and where it was entered, or where the first one will be.
    pub fn position(&self) -> Position {
        let course = self.course();
        course.current.unwrap_or(course.next)
    }

    /// Where the next epoch to be begun starts.
    pub(crate) fn upcoming(&self) -> Position {
        self.course().next
    }

    /// Begins the next epoch without reading it: for a rank whose samples are read by other processes.
    /// [`Reader::begin_epoch`] and [`Loader::begin_epoch`] do it by themselves.
    pub fn advance(&self) -> Position {
        let mut course = self.course();
        let position = course.next;
        course.current = Some(position);
        course.next = Position { epoch: position.epoch.saturating_add(1), sample_in_epoch: 0 };
        position
    }

    /// The state to save after this rank has consumed `samples` since the current epoch was begun, or resumed.
    ///
    /// It counts unique samples over all replica groups and is the same on every rank that consumed as many. Between
    /// [`load`](Self::load) and the next epoch that is begun, it is the state that was loaded, whatever `samples` is.
    pub fn state(&self, samples: u64) -> State {
        self.state_of(&self.course(), samples)
    }

    fn state_of(&self, course: &Course, samples: u64) -> State {
        let consumed = samples.saturating_mul(self.shared.assignment.num_groups());
        let (position, consumed) = course.current.map_or((course.next, 0), |position| (position, consumed));
        State {
            epoch: position.epoch,
            sample_in_epoch: position.sample_in_epoch.saturating_add(consumed),
            num_canonical_nodes: course.recipe.canonical_nodes,
            shuffle_seed: course.recipe.seed,
            initial_physical_nodes: Some(self.initial_nodes(&course.recipe)),
            lockstep: Some(self.terms(&course.recipe)),
        }
    }

    /// Goes on from `state` with the next epoch that is begun, whatever was read before. Returns what to know that is
    /// not an error.
    ///
    /// # Errors
    ///
    /// The state means another order of samples than this dataset's: everything in which they differ is named.
    pub fn load(&self, state: &State) -> Result<Vec<String>> {
        let mut course = self.course();
        let here = self.terms(&course.recipe);
        let mut differences = state.lockstep.as_ref().map_or(Vec::new(), |saved| saved.differences(&here));
        let mut insists = |name: &str, saved: u64, given: Option<u64>| {
            if let Some(given) = given.filter(|given| *given != saved) {
                differences.push(format!("{name} was {saved} and is {given}"));
            }
        };
        insists("shuffle_seed", state.shuffle_seed, self.shared.fixed.seed);
        insists("num_canonical_nodes", state.num_canonical_nodes, self.shared.fixed.canonical_nodes);
        if !differences.is_empty() {
            return Err(mismatch(&differences));
        }
        if state.epoch == u64::MAX {
            return Err(Error::config(format!("the saved state is of epoch {}: no run comes so far", state.epoch)));
        }
        let recipe = EpochRecipe {
            seed: state.shuffle_seed,
            canonical_nodes: state.num_canonical_nodes,
            initial_physical_nodes: state.initial_physical_nodes,
            ..(*course.recipe).clone()
        };
        let sample_in_epoch = self.outline(&recipe, state.sample_in_epoch)?.sample_in_epoch();
        course.recipe = Arc::new(recipe);
        course.current = None;
        course.next = Position { epoch: state.epoch, sample_in_epoch };
        Ok(self.warnings(state))
    }

    /// The settings on which the order depends, for a checkpoint.
    fn terms(&self, recipe: &EpochRecipe) -> Terms {
        Terms {
            version: Terms::VERSION,
            shuffle: recipe.order_name().to_owned(),
            shuffle_block_size: recipe.block_size,
            batching_method: recipe.batching.to_string(),
            partition_algo: recipe.partition.to_string(),
            sampling_method: recipe.sampling.to_string(),
            sampling_granularity: recipe.sampling_granularity,
            epoch_size: recipe.epoch_size,
            global_batch: self.global_batch(),
            dataset: format!("{:016x}", self.shared.digest),
        }
    }

    /// The logical nodes of the run's beginning.
    fn initial_nodes(&self, recipe: &EpochRecipe) -> u64 {
        recipe.initial_physical_nodes.unwrap_or_else(|| self.shared.assignment.shape().0)
    }

    fn warnings(&self, state: &State) -> Vec<String> {
        let (global_batch, mut warnings) = (self.global_batch(), Vec::new());
        if let Some(saved) = state.lockstep.as_ref().filter(|saved| saved.global_batch != global_batch) {
            warnings.push(format!(
                "the global batch was {} samples and is {global_batch}: the same samples follow, in other batches",
                saved.global_batch
            ));
        }
        warnings
    }

    /// Reads this process's part of each epoch: that of the rank, or of one of its workers.
    ///
    /// # Errors
    ///
    /// This rank reads nothing, or the other processes of the node cannot be joined.
    pub fn reader(&self) -> Result<Reader> {
        // One batch in hand while the next is read.
        self.reader_as(&self.shared.world, 2)
    }

    /// Reads this rank's part of each epoch with `workers` threads, whose batches it takes in turn; with 0 the rank
    /// reads itself.
    ///
    /// # Errors
    ///
    /// As [`reader`](Self::reader).
    pub fn loader(&self, workers: u64) -> Result<Loader> {
        Loader::new(self.clone(), workers)
    }

    /// The reader of one of a rank's workers, of which `kept` batches may be alive at a time.
    pub(crate) fn worker_reader(&self, workers: u64, worker: u64, kept: usize) -> Result<Reader> {
        self.reader_as(&self.shared.world.with_workers(workers, worker).map_err(config)?, kept)
    }

    fn reader_as(&self, world: &World, kept: usize) -> Result<Reader> {
        let sample_world =
            self.shared.assignment.sample_world(world).ok_or_else(|| {
                Error::config(format!("rank {} reads nothing: do not ask it for samples", world.rank()))
            })?;
        let session = match &self.shared.coordination {
            Coordination::None => None,
            Coordination::Node(node) => Some(self.join(node, world)?),
        };
        Ok(Reader::new(self.clone(), sample_world, world.workers_per_node(), kept, session))
    }

    /// Joins the processes of this node that read.
    fn join(&self, node: &NodeCoordination, world: &World) -> Result<Session> {
        let participant = |rank: u64, worker: u64| match world.workers_per_rank() {
            1 => Participant::Rank(rank),
            _ => Participant::Worker { rank, worker },
        };
        let first = world.node() * world.ranks_per_node();
        let participants: Vec<Participant> = (first..first + world.ranks_per_node())
            .filter(|rank| self.shared.assignment.group_of(*rank).is_some())
            .flat_map(|rank| (0..world.workers_per_rank()).map(move |worker| participant(rank, worker)))
            .collect();
        Session::join(&SessionConfig {
            job: &node.job,
            node: world.node(),
            dataset: &format!("{} {:016x}", node.purpose, self.shared.digest),
            participants: &participants,
            me: participant(world.rank(), world.worker_of_rank()),
            start_deadline: node.start_deadline,
            epoch_deadline: node.epoch_deadline,
        })
    }

    /// What all processes of a job must have alike, for the session of a node.
    pub(crate) fn fingerprint(&self) -> u64 {
        let course = self.course();
        let state = State { epoch: 0, sample_in_epoch: 0, ..self.state_of(&course, 0) };
        xxh3_64(format!("{}\n{:?}", state.to_json(), self.shared.assignment).as_bytes())
    }

    /// What one worker's node reads of an epoch.
    pub(crate) fn plan(&self, position: Position, world: &SampleWorld) -> Result<EpochPlan> {
        let recipe = Arc::clone(&self.course().recipe);
        let topology = self.topology(world.workers_per_rank());
        recipe.plan(&topology, position.epoch, position.sample_in_epoch, Part::Node(world.node())).map_err(config)
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.shared.sources
    }

    pub(crate) fn batch_size(&self) -> usize {
        self.shared.batch_size
    }

    pub(crate) fn last_batch(&self) -> LastBatch {
        self.shared.last_batch
    }

    fn topology(&self, workers_per_rank: u64) -> Topology {
        let (nodes, ranks_per_node) = self.shared.assignment.shape();
        Topology { nodes, ranks_per_node, workers_per_rank, batch_size: self.shared.batch_size as u64 }
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        // No panic can leave it half changed: every change is a single assignment.
        self.shared.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn config(error: impl std::fmt::Display) -> Error {
    Error::config(error.to_string())
}

/// What a checkpoint knows the data by. Where it is stored may change.
fn digest(streams: &[Stream], sources: &Sources) -> u64 {
    let mut digest = Xxh3::new();
    digest.update(&sources.catalog().digest().to_le_bytes());
    for stream in streams {
        digest.update(format!("{:?}", stream.weight()).as_bytes());
    }
    digest.digest()
}
