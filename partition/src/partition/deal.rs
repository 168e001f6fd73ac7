//! How the sequence of an epoch is dealt to nodes, ranks and workers whose numbers fit the canonical nodes.

use super::rows::Rows;
use super::{PartitionError, divides};
use crate::canonical::CanonicalSubset;
use crate::topology::{Coordinate, Topology};

/// The places of one topology.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deal {
    rows: Rows,
    topology: Topology,
    drop_first: u64,
    /// Steps of the sequence that each node gets.
    own_steps: u64,
    /// Steps that each rank gets, repeats included.
    steps_per_rank: u64,
    batches_per_worker: u64,
    num_slots: u64,
    /// The step of a node that the first repeat is of, or `None` to begin anew at its first.
    repeat_from: Option<u64>,
}

impl Deal {
    pub(super) fn new(
        num_samples: u64,
        canonical_nodes: u64,
        topology: &Topology,
        drop_first: u64,
    ) -> Result<Self, PartitionError> {
        let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = *topology;
        if !divides(canonical_nodes, nodes) {
            return Err(PartitionError::CanonicalNodes { canonical: canonical_nodes, nodes });
        }
        let rows = Rows::new(num_samples, canonical_nodes, nodes).ok_or(PartitionError::TooLarge)?;
        let drop_first = (drop_first - drop_first % nodes).min(rows.len());
        let steps_per_node = (rows.len() - drop_first) / nodes;
        let steps_per_rank = steps_per_node.div_ceil(ranks_per_node);
        let num_slots = || {
            let dealt = steps_per_rank.checked_mul(ranks_per_node)?;
            let batches = steps_per_rank.div_ceil(batch_size.checked_mul(workers_per_rank)?);
            let ranks = nodes.checked_mul(ranks_per_node)?;
            let places = batches.checked_mul(batch_size)?.checked_mul(workers_per_rank)?.checked_mul(ranks)?;
            Some((batches, places, dealt - steps_per_node))
        };
        let (batches_per_worker, num_slots, repeats) = num_slots().ok_or(PartitionError::TooLarge)?;
        // The repeats are of the steps that end `ranks_per_node` before the last, so that no rank reads a sample twice
        // in a row.
        let repeat_from = steps_per_node.checked_sub(ranks_per_node - 1).and_then(|end| end.checked_sub(repeats));
        Ok(Self {
            rows,
            topology: *topology,
            drop_first,
            own_steps: steps_per_node,
            steps_per_rank,
            batches_per_worker,
            num_slots,
            repeat_from,
        })
    }

    pub(super) const fn batches_per_worker(&self) -> u64 {
        self.batches_per_worker
    }

    pub(super) const fn num_slots(&self) -> u64 {
        self.num_slots
    }

    pub(super) const fn drop_first(&self) -> u64 {
        self.drop_first
    }

    pub(super) const fn samples_per_rank(&self) -> u64 {
        self.steps_per_rank
    }

    pub(super) const fn full_batches(&self) -> u64 {
        self.steps_per_rank / self.topology.batch_size
    }

    /// Samples that each rank has left after the full batches.
    pub(super) const fn last_batch(&self) -> u64 {
        self.steps_per_rank % self.topology.batch_size
    }

    pub(super) const fn num_yielded(&self) -> u64 {
        self.steps_per_rank * self.topology.ranks_per_node * self.topology.nodes
    }

    /// The position at a place of the topology.
    #[inline]
    pub(super) fn get(&self, place: Coordinate) -> Option<u64> {
        let Topology { ranks_per_node, workers_per_rank, batch_size, .. } = self.topology;
        // No overflow: the place is one of `num_slots`, and the steps are not more than the sequence and one per rank.
        let step_of_rank = (place.batch * workers_per_rank + place.worker) * batch_size + place.slot;
        if step_of_rank >= self.steps_per_rank {
            return None;
        }
        Some(self.at(place.node, step_of_rank * ranks_per_node + place.rank))
    }

    /// The position at a step of what a node deals to its ranks, repeats included.
    #[inline]
    pub(super) fn dealt(&self, node: u64, step: u64) -> Option<u64> {
        (step < self.steps_per_node()).then(|| self.at(node, step))
    }

    /// How many such steps there are.
    pub(super) const fn steps_per_node(&self) -> u64 {
        self.steps_per_rank * self.topology.ranks_per_node
    }

    #[inline]
    fn at(&self, node: u64, step: u64) -> u64 {
        let own = if step < self.own_steps { step } else { self.repeated(step - self.own_steps) };
        self.rows.at(self.drop_first + own * self.topology.nodes + node)
    }

    pub(super) const fn reads_whole_parts(&self) -> bool {
        self.drop_first == 0 && self.topology.nodes <= self.canonical_nodes() && self.rows.holds_parts()
    }

    pub(super) const fn unpadded_len(&self) -> u64 {
        self.rows.unpadded_len()
    }

    pub(super) const fn canonical_nodes(&self) -> u64 {
        self.rows.canonical_nodes()
    }

    pub(super) fn canonical_node_of(&self, position: u64) -> u64 {
        self.rows.row_of(position)
    }

    /// The step of a node that repeat number `repeat` is of.
    const fn repeated(&self, repeat: u64) -> u64 {
        match self.repeat_from {
            Some(first) => first + repeat,
            None => repeat % self.own_steps,
        }
    }

    /// The canonical nodes of `count` neighbouring nodes.
    pub(super) const fn canonical_subset(&self, first: u64, count: u64) -> CanonicalSubset {
        let canonical_nodes = self.rows.canonical_nodes();
        let nodes = self.topology.nodes;
        if !self.rows.holds_parts() {
            return CanonicalSubset::ALL;
        }
        let step = if nodes < canonical_nodes { nodes } else { canonical_nodes };
        CanonicalSubset::strided(first, count, step)
    }
}
