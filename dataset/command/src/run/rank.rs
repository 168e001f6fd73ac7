//! One rank: takes its workers' batches in turn, as a training loop would, and counts what it consumed.

use std::collections::VecDeque;

use lockstep_dataset::{Dataset, Reader};

use crate::run::child::{self, Child, Pipe};
use crate::run::legs::Legs;
use crate::run::tally::{Summary, Tally};
use crate::run::wire::{self, BatchRead, Message};
use crate::run::worker;

/// Where a rank's batches come from.
pub(crate) enum Source {
    /// The rank reads itself.
    Own(Box<Reader>),
    /// Worker processes read; their batches are taken in turn.
    Workers(Workers),
}

/// What happens to batches that were consumed and epochs that ended.
pub(crate) trait Consumer {
    /// A batch was consumed.
    fn batch(&mut self, batch: BatchRead) -> anyhow::Result<()>;
    /// An epoch ended.
    fn epoch_end(&mut self, summary: Summary) -> anyhow::Result<()>;
}

/// Reads the legs and hands everything to the consumer. Returns the samples consumed in the last epoch that was begun.
pub(crate) fn consume(mut source: Source, legs: Legs, consumer: &mut impl Consumer) -> anyhow::Result<u64> {
    let mut consumed = 0;
    for leg in legs {
        let mut tally = Tally::start(source.begin_epoch()?);
        let mut left = leg.batches;
        while left != Some(0) {
            let Some(batch) = source.next_batch()? else { break };
            tally.add(&batch);
            consumer.batch(batch)?;
            left = left.map(|left| left - 1);
        }
        consumed = tally.samples();
        consumer.epoch_end(tally.finish())?;
    }
    source.finish();
    Ok(consumed)
}

impl Source {
    /// Starts the next epoch and returns its number.
    fn begin_epoch(&mut self) -> anyhow::Result<u64> {
        match self {
            Self::Own(reader) => Ok(reader.begin_epoch()?.epoch),
            Self::Workers(workers) => Ok(workers.begin_epoch()),
        }
    }

    /// Ends in order, whether all was read or not.
    fn finish(self) {
        match self {
            Self::Own(_) => {}
            Self::Workers(workers) => workers.finish(),
        }
    }

    fn next_batch(&mut self) -> anyhow::Result<Option<BatchRead>> {
        match self {
            Self::Own(reader) => Ok(worker::read_batch(reader)?),
            Self::Workers(workers) => workers.next_batch(),
        }
    }
}

/// The worker processes of a rank.
pub(crate) struct Workers {
    /// Counts the epochs as the workers do.
    dataset: Dataset,
    workers: Vec<(Child, Pipe)>,
    /// Who still has batches in this epoch, next in turn first.
    turns: VecDeque<usize>,
}

impl Workers {
    /// Takes over processes that run the worker's part.
    pub(crate) fn new(dataset: Dataset, workers: Vec<(Child, Pipe)>) -> Self {
        Self { dataset, workers, turns: VecDeque::new() }
    }

    fn begin_epoch(&mut self) -> u64 {
        self.turns = (0..self.workers.len()).collect();
        self.dataset.advance().epoch
    }

    /// The next batch of whoever is next in turn; workers that have no more are passed over.
    fn next_batch(&mut self) -> anyhow::Result<Option<BatchRead>> {
        while let Some(worker) = self.turns.pop_front() {
            let (child, pipe) = &mut self.workers[worker];
            match wire::read(pipe) {
                Ok(Some(Message::Batch(batch))) => {
                    self.turns.push_back(worker);
                    return Ok(Some(batch));
                }
                Ok(Some(Message::EpochEnd(_))) => {}
                Ok(Some(Message::Failed(failure))) => return Err(failure.into()),
                Ok(Some(Message::Done) | None) | Err(_) => return Err(child.autopsy().into()),
            }
        }
        Ok(None)
    }
}

impl Workers {
    /// Lets the workers end by themselves.
    fn finish(mut self) {
        let (children, pipes): (Vec<Child>, Vec<Pipe>) = std::mem::take(&mut self.workers).into_iter().unzip();
        // All pipes first: a worker may wait for another one to end.
        drop(pipes);
        child::dismiss(children);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // All of them first, so that they end side by side.
        for (child, _) in &mut self.workers {
            child.release();
        }
    }
}
