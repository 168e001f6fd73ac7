//! One process's or thread's part of each epoch, batch by batch.

use std::sync::Arc;

use lockstep_partition::{Coordinate, EpochPlan};
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
    session: Option<Session>,
    epoch: Option<Epoch>,
}

/// The samples that are still to be read of an epoch.
#[derive(Clone, Debug)]
struct Epoch {
    plan: Arc<EpochPlan>,
    next: Coordinate,
}

impl Reader {
    /// For a process or thread that is one of `readers` on its node.
    pub(crate) fn new(dataset: Dataset, world: SampleWorld, readers: u64, session: Option<Session>) -> Self {
        Self { open: OpenShards::new(dataset.sources(), readers), dataset, world, session, epoch: None }
    }

    /// Begins the next epoch: the one after the last, or the one that a loaded state goes on with.
    ///
    /// # Errors
    ///
    /// The epoch cannot be planned, or the processes of the node do not agree on it.
    pub fn begin_epoch(&mut self) -> Result<Position> {
        let position = self.dataset.advance();
        self.begin_at(position)?;
        Ok(position)
    }

    /// Begins an epoch that somebody else chose.
    pub(crate) fn begin_at(&mut self, position: Position) -> Result<()> {
        self.epoch = None;
        if let Some(session) = &self.session {
            session.begin_epoch(position.epoch, position.sample_in_epoch, self.dataset.fingerprint())?;
        }
        let plan = Arc::new(self.dataset.plan(position, &self.world)?);
        let (node, rank, worker) = (self.world.node(), self.world.rank_of_node(), self.world.worker_of_rank());
        let epoch = Epoch { plan, next: Coordinate { node, rank, worker, batch: 0, slot: 0 } };
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
    /// A shard is missing or wrong.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let Some(epoch) = &mut self.epoch else { return Ok(None) };
        let (sources, size) = (self.dataset.sources(), self.dataset.batch_size());
        let mut batch = Batch::with_capacity(size);
        while batch.len() < size {
            let Some(id) = epoch.next() else { break };
            let (place, sample) = sources.catalog().locate(id)?;
            let may_lend = self.open.may_lend(size);
            let shard = self.open.get(sources, place)?;
            if may_lend {
                batch.push(id, Arc::clone(shard), sample);
            } else {
                batch.push_copy(id, shard.copy(sample)?);
            }
        }
        self.open.rest();
        let short = batch.is_empty() || (self.dataset.drops_last() && batch.len() < size);
        Ok(if short { None } else { Some(batch) })
    }
}

impl Iterator for Epoch {
    type Item = u64;

    /// The id of the next sample; places of padding are passed over.
    fn next(&mut self) -> Option<u64> {
        let [.., batches, size] = self.plan.shape();
        while self.next.batch < batches {
            let place = self.next;
            self.next.slot += 1;
            if self.next.slot == size {
                self.next.slot = 0;
                self.next.batch += 1;
            }
            if let Some(id) = self.plan.id(place) {
                return Some(id);
            }
        }
        None
    }
}
