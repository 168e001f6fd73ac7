//! One process's or thread's part of each epoch, batch by batch.

use std::sync::Arc;

use lockstep_partition::{Coordinate, EpochPlan, LastBatch};
use lockstep_replication::SampleWorld;

use crate::batch::Batch;
use crate::dataset::{Dataset, Position};
use crate::error::Result;
use crate::session::Session;
use crate::source::OpenShards;

/// Reads one worker's part of each epoch.
///
/// [`begin_epoch`](Self::begin_epoch), then [`next_batch`](Self::next_batch) until it gives `None`, then the next
/// epoch. An epoch may be left early.
#[derive(Debug)]
pub struct Reader {
    dataset: Dataset,
    world: SampleWorld,
    open: OpenShards,
    /// Whether batches keep the shards of their samples, or copies of the samples.
    lends: bool,
    session: Option<Session>,
    epoch: Option<Epoch>,
}

/// The samples that are still to be read of an epoch.
#[derive(Clone, Debug)]
struct Epoch {
    plan: Arc<EpochPlan>,
    next: Coordinate,
    /// How many of them there are.
    left: u64,
}

impl Reader {
    /// For a process or thread that is one of `readers` on its node. `kept` batches may be alive at a time.
    pub(crate) fn new(
        dataset: Dataset,
        world: SampleWorld,
        readers: u64,
        kept: usize,
        session: Option<Session>,
    ) -> Self {
        let open = OpenShards::new(dataset.sources(), readers);
        let lends = open.may_lend(dataset.batch_size().saturating_mul(kept));
        Self { open, lends, dataset, world, session, epoch: None }
    }

    /// Begins the next epoch: the one after the last, or the one that a loaded state goes on with.
    ///
    /// # Errors
    ///
    /// The epoch cannot be planned, or the processes of the node do not agree on it. It is still the next one, then.
    pub fn begin_epoch(&mut self) -> Result<Position> {
        let position = self.dataset.upcoming();
        self.begin_at(position)?;
        Ok(self.dataset.advance())
    }

    /// Begins an epoch that somebody else chose.
    pub(crate) fn begin_at(&mut self, position: Position) -> Result<()> {
        self.epoch = None;
        if let Some(session) = &self.session {
            session.begin_epoch(position.epoch, position.sample_in_epoch, self.dataset.fingerprint())?;
        }
        let plan = Arc::new(self.dataset.plan(position, &self.world)?);
        let epoch = Epoch::new(plan, &self.world, self.dataset.last_batch());
        self.dataset.sources().fetch_ahead(self.world.worker_of_rank(), &epoch);
        self.epoch = Some(epoch);
        Ok(())
    }

    /// The next batch, or `None` when the epoch has ended (or none was begun).
    ///
    /// The last batch may be smaller than the others, unless such batches are dropped.
    ///
    /// # Errors
    ///
    /// A shard is missing or wrong, or cannot be had now. Nothing is skipped: the next call tries the same batch again.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let Some(mut epoch) = self.epoch.take() else { return Ok(None) };
        let begin = epoch.clone();
        let batch = self.read_batch(&mut epoch);
        self.open.rest();
        self.epoch = Some(if batch.is_ok() { epoch } else { begin });
        batch.map(|batch| Some(batch).filter(|batch| !batch.is_empty()))
    }

    fn read_batch(&mut self, epoch: &mut Epoch) -> Result<Batch> {
        let sources = self.dataset.sources();
        let size = usize::try_from(epoch.left).unwrap_or(usize::MAX).min(self.dataset.batch_size());
        let mut batch = Batch::with_capacity(size);
        for id in epoch.take(size) {
            let (place, sample) = sources.catalog().locate(id)?;
            let shard = self.open.get(sources, place)?;
            if self.lends {
                batch.push(id, Arc::clone(shard), sample);
            } else {
                batch.push_copy(id, shard.copy(sample)?);
            }
        }
        Ok(batch)
    }
}

impl Epoch {
    fn new(plan: Arc<EpochPlan>, world: &SampleWorld, last: LastBatch) -> Self {
        let (node, rank, worker) = (world.node(), world.rank_of_node(), world.worker_of_rank());
        let [.., size] = plan.shape();
        let left = match last {
            LastBatch::Keep => plan.samples_of_worker(node, rank, worker),
            LastBatch::Drop => plan.batches_of_worker(node, rank, worker, last) * size,
        };
        Self { plan, next: Coordinate { node, rank, worker, batch: 0, slot: 0 }, left }
    }
}

impl Iterator for Epoch {
    type Item = u64;

    /// The id of the next sample; places of padding are passed over.
    fn next(&mut self) -> Option<u64> {
        let [.., batches, size] = self.plan.shape();
        while self.left > 0 && self.next.batch < batches {
            let place = self.next;
            self.next.slot += 1;
            if self.next.slot == size {
                self.next.slot = 0;
                self.next.batch += 1;
            }
            if let Some(id) = self.plan.id(place) {
                self.left -= 1;
                return Some(id);
            }
        }
        None
    }
}
