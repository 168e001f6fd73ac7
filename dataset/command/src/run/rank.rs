//! One rank: takes its workers' batches in turn, as a training loop would, and counts what it consumed.

use lockstep_dataset::Reader;

use crate::run::legs::Legs;
use crate::run::tally::{Summary, Tally};
use crate::run::wire::BatchRead;
use crate::run::worker;
use crate::run::workers::Workers;

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
