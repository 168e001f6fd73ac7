//! The worker processes of a rank: their batches taken in turn, and all of them listened to at once.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use lockstep_dataset::Dataset;

use crate::run::child::{self, Child, Pipe};
use crate::run::wire::{self, BatchRead, Failure, Message};

/// Messages of a worker that may wait here before it has to.
const BACKLOG: usize = 4;

/// While one worker is waited for, how often to look whether another one is lost.
const LOOK: Duration = Duration::from_millis(50);

/// After a failure, how long others may still say why they failed: the first to be heard is not always the cause.
const GRACE: Duration = Duration::from_millis(300);

/// The worker processes of a rank.
pub(crate) struct Workers {
    /// Counts the epochs as the workers do.
    dataset: Dataset,
    children: Vec<Child>,
    messages: Vec<Receiver<Message>>,
    /// Which worker has failed or died, and what it said of it.
    losses: Receiver<Loss>,
    /// Who still has batches in this epoch, next in turn first.
    turns: VecDeque<usize>,
}

/// A worker that failed, or died without a word.
struct Loss {
    worker: usize,
    failure: Option<Failure>,
}

impl Workers {
    /// Listens to processes that play the worker's part.
    pub(crate) fn new(dataset: Dataset, workers: Vec<(Child, Pipe)>) -> anyhow::Result<Self> {
        let (report, losses) = channel();
        let (mut children, mut messages) = (Vec::new(), Vec::new());
        for (worker, (child, pipe)) in workers.into_iter().enumerate() {
            let (sender, receiver) = sync_channel(BACKLOG);
            let report = report.clone();
            thread::Builder::new()
                .name(format!("worker {worker}"))
                .stack_size(1 << 17)
                .spawn(move || listen(worker, pipe, &sender, &report))?;
            children.push(child);
            messages.push(receiver);
        }
        Ok(Self { dataset, children, messages, losses, turns: VecDeque::new() })
    }

    /// Begins the next epoch and returns its number.
    pub(crate) fn begin_epoch(&mut self) -> u64 {
        self.turns = (0..self.children.len()).collect();
        self.dataset.advance().epoch
    }

    /// The next batch of whoever is next in turn; workers that have no more are passed over.
    ///
    /// # Errors
    ///
    /// Any of the workers failed or died, whether it is its turn or not.
    pub(crate) fn next_batch(&mut self) -> anyhow::Result<Option<BatchRead>> {
        while let Some(&worker) = self.turns.front() {
            match self.messages[worker].recv_timeout(LOOK) {
                Ok(Message::Batch(batch)) => {
                    self.turns.rotate_left(1);
                    return Ok(Some(batch));
                }
                Ok(_) => {
                    self.turns.pop_front();
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Ok(loss) = self.losses.try_recv() {
                        return Err(self.cause(loss).into());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let loss = self.losses.recv_timeout(GRACE).unwrap_or(Loss { worker, failure: None });
                    return Err(self.cause(loss).into());
                }
            }
        }
        Ok(None)
    }

    /// The failure to report: one that is not merely the loss of another process, if there is one.
    fn cause(&mut self, first: Loss) -> Failure {
        let deadline = Instant::now() + GRACE;
        let mut best = self.explain(first);
        while best.peer_lost
            && let Ok(loss) = self.losses.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            best = Some(self.explain(loss)).filter(|failure| !failure.peer_lost).unwrap_or(best);
        }
        best
    }

    fn explain(&mut self, loss: Loss) -> Failure {
        loss.failure.unwrap_or_else(|| self.children[loss.worker].autopsy())
    }

    /// Lets the workers end by themselves.
    pub(crate) fn finish(mut self) {
        // Nobody listens any more, which the workers notice at their next word.
        self.messages.clear();
        child::dismiss(std::mem::take(&mut self.children));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // All of them first, so that they end side by side.
        self.children.iter_mut().for_each(Child::release);
    }
}

/// Passes on what a worker says until its last word, or until nobody listens.
fn listen(worker: usize, mut pipe: Pipe, messages: &SyncSender<Message>, losses: &Sender<Loss>) {
    let failure = loop {
        match wire::read(&mut pipe) {
            Ok(Some(Message::Done)) => return,
            Ok(Some(Message::Failed(failure))) => break Some(failure),
            Ok(Some(message)) => {
                if messages.send(message).is_err() {
                    return;
                }
            }
            // A pipe that breaks off inside a message says as little as one that ends.
            Ok(None) | Err(_) => break None,
        }
    };
    // The rank may have ended already.
    let _ = losses.send(Loss { worker, failure });
}
