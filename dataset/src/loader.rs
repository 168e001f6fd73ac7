//! A rank's batches, read ahead by threads.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::dataset::{Dataset, Position};
use crate::error::{Error, ErrorKind, Result};
use crate::reader::Reader;
use crate::state::State;

/// Batches that each worker may be ahead of the rank.
const AHEAD: usize = 2;

/// Batches of a worker that may be alive at a time: those ahead, one that waits for a place there, one being read, and
/// two that the rank has in hand.
const KEPT: usize = AHEAD + 4;

/// How long the end of a loader waits for the end of its threads.
const PATIENCE: Duration = Duration::from_secs(1);

/// A rank's batches, read by worker threads and taken from them in turn, in the order in which PyTorch's `DataLoader`
/// takes them from its worker processes.
///
/// # Example
///
/// ```
/// use lockstep_dataset::{Dataset, Stream};
/// use lockstep_world::World;
///
/// let dataset = Dataset::builder().stream(Stream::local("data/digits")).batch_size(16).open(World::alone())?;
/// let mut loader = dataset.loader(2)?;
/// loader.begin_epoch()?;
/// let batch = loader.next_batch()?.expect("1797 samples are more than one batch");
/// assert_eq!(batch.len(), 16);
/// assert_eq!(loader.state().sample_in_epoch, 16);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Debug)]
pub struct Loader {
    dataset: Dataset,
    workers: Workers,
    consumed: u64,
}

#[derive(Debug)]
enum Workers {
    /// The rank reads itself.
    None(Box<Reader>),
    /// Threads read; `turns` has those that still have batches in this epoch, next in turn first.
    Threads { threads: Vec<Worker>, turns: VecDeque<usize> },
}

impl Loader {
    pub(crate) fn new(dataset: Dataset, workers: u64) -> Result<Self> {
        let workers = match workers {
            0 => Workers::None(Box::new(dataset.reader()?)),
            _ => {
                let threads = (0..workers).map(|worker| Worker::start(dataset.worker_reader(workers, worker, KEPT)?));
                Workers::Threads { threads: threads.collect::<Result<_>>()?, turns: VecDeque::new() }
            }
        };
        Ok(Self { dataset, workers, consumed: 0 })
    }

    /// Begins the next epoch: the one after the last, or the one that a loaded state goes on with. What is left of the
    /// last one is dropped.
    ///
    /// # Errors
    ///
    /// The epoch cannot be planned, or the processes of the node do not agree on it. With workers, such errors come
    /// with the first batch.
    pub fn begin_epoch(&mut self) -> Result<Position> {
        let position = self.dataset.upcoming();
        match &mut self.workers {
            Workers::None(reader) => reader.begin_at(position)?,
            Workers::Threads { threads, turns } => {
                turns.clear();
                for (i, worker) in threads.iter_mut().enumerate() {
                    worker.begin_at(position)?;
                    turns.push_back(i);
                }
            }
        }
        self.consumed = 0;
        Ok(self.dataset.advance())
    }

    /// The next batch, or `None` when the epoch has ended (or none was begun).
    ///
    /// # Errors
    ///
    /// As [`Reader::next_batch`]; the next call tries again.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let batch = match &mut self.workers {
            Workers::None(reader) => reader.next_batch()?,
            Workers::Threads { threads, turns } => take_turn(threads, turns)?,
        };
        self.consumed += batch.as_ref().map_or(0, |batch| batch.len() as u64);
        Ok(batch)
    }

    /// The state to save now: what the batches taken so far have consumed, over all replica groups. What workers have
    /// read ahead does not count.
    pub fn state(&self) -> State {
        self.dataset.state(self.consumed)
    }
}

/// The next batch of whoever is next in turn; workers that have no more are passed over.
fn take_turn(threads: &[Worker], turns: &mut VecDeque<usize>) -> Result<Option<Batch>> {
    while let Some(&worker) = turns.front() {
        // After an error it is still this worker's turn.
        let batch = threads[worker].next_batch()?;
        turns.pop_front();
        if batch.is_some() {
            turns.push_back(worker);
            return Ok(batch);
        }
    }
    Ok(None)
}

/// An epoch to read, and where its batches go: `Ok(None)` ends it.
type Order = (Position, SyncSender<Result<Option<Batch>>>);

/// A thread that reads one worker's part.
#[derive(Debug)]
struct Worker {
    /// `None` only while the worker is being dropped: that ends the thread.
    orders: Option<Sender<Order>>,
    batches: Receiver<Result<Option<Batch>>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(mut reader: Reader) -> Result<Self> {
        let (orders, incoming) = channel::<Order>();
        // Before the first epoch nothing comes.
        let (_, batches) = sync_channel(0);
        let thread = std::thread::Builder::new()
            .name("lockstep worker".into())
            .spawn(move || {
                while let Ok((position, outgoing)) = incoming.recv() {
                    read_epoch(&mut reader, position, &outgoing);
                }
            })
            .map_err(|error| Error::io("a worker thread could not be started", error))?;
        Ok(Self { orders: Some(orders), batches, thread: Some(thread) })
    }

    fn begin_at(&mut self, position: Position) -> Result<()> {
        let (outgoing, batches) = sync_channel(AHEAD);
        // The thread notices that nobody listens to the epoch before any more.
        self.batches = batches;
        let orders = self.orders.as_ref().ok_or_else(lost)?;
        orders.send((position, outgoing)).map_err(|_| lost())
    }

    fn next_batch(&self) -> Result<Option<Batch>> {
        // The thread says when an epoch ends; a channel that closes without that word is a thread that is gone.
        self.batches.recv().map_err(|_| lost())?
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        let (_, nothing) = sync_channel(0);
        self.batches = nothing;
        let Some(thread) = self.thread.take() else { return };
        // It ends as soon as it notices, unless it waits for other processes or for room: then it is left to do so.
        let deadline = Instant::now() + PATIENCE;
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            // A panic of the thread has been printed by it.
            let _ = thread.join();
        }
    }
}

/// Reads an epoch into the channel until it ends or nobody listens. What fails is tried again.
fn read_epoch(reader: &mut Reader, position: Position, outgoing: &SyncSender<Result<Option<Batch>>>) {
    if let Err(error) = reader.begin_at(position) {
        // Whether anybody listens or not, there is nothing to read.
        let _ = outgoing.send(Err(error));
        return;
    }
    loop {
        let batch = reader.next_batch();
        let last = matches!(batch, Ok(None));
        if outgoing.send(batch).is_err() || last {
            return;
        }
    }
}

#[cold]
fn lost() -> Error {
    Error::new(
        ErrorKind::PeerLost,
        "a worker thread of this rank has ended: by the error before this one, or by a panic",
    )
}
