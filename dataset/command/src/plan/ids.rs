//! The ids of a plan or of one worker's part of it, one after another.

use std::io::Write;
use std::ops::Range;

use lockstep_partition::{Coordinate, EpochPlan};
use sha2::{Digest, Sha256};

use crate::plan::npy;

/// The part of a plan that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    nodes: Range<u64>,
    ranks: Range<u64>,
    workers: Range<u64>,
    batches: Range<u64>,
    batch_size: u64,
    is_whole: bool,
}

impl Window {
    /// All of it.
    pub(crate) fn whole(plan: &EpochPlan) -> Self {
        let [nodes, ranks, workers, batches, batch_size] = plan.shape();
        Self { nodes: 0..nodes, ranks: 0..ranks, workers: 0..workers, batches: 0..batches, batch_size, is_whole: true }
    }

    /// Some batches of one worker.
    pub(crate) fn worker(plan: &EpochPlan, node: u64, rank: u64, worker: u64, batches: Range<u64>) -> Self {
        let [.., batch_size] = plan.shape();
        let one = |i: u64| i..i + 1;
        Self { nodes: one(node), ranks: one(rank), workers: one(worker), batches, batch_size, is_whole: false }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn shape(&self) -> [u64; 5] {
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        [length(&self.nodes), length(&self.ranks), length(&self.workers), length(&self.batches), self.batch_size]
    }

    /// How many places there are.
    pub(crate) fn num_places(&self) -> u64 {
        self.shape().iter().fold(1, |places, length| places.saturating_mul(*length))
    }

    /// Every place, the last dimension fastest.
    pub(crate) fn places(&self) -> impl Iterator<Item = Coordinate> + '_ {
        self.nodes.clone().flat_map(move |node| {
            self.ranks.clone().flat_map(move |rank| {
                self.workers.clone().flat_map(move |worker| {
                    self.batches.clone().flat_map(move |batch| {
                        (0..self.batch_size).map(move |slot| Coordinate { node, rank, worker, batch, slot })
                    })
                })
            })
        })
    }
}

/// The id at a place as the array has it: -1 where padded.
fn id(plan: &EpochPlan, place: Coordinate) -> i64 {
    plan.id(place).map_or(-1, u64::cast_signed)
}

/// The ids in memory.
pub(crate) fn collect(plan: &EpochPlan, window: &Window) -> anyhow::Result<Vec<i64>> {
    let slots = window.shape().iter().try_fold(1_u64, |slots, length| slots.checked_mul(*length));
    let slots = slots.and_then(|slots| usize::try_from(slots).ok());
    let mut ids = Vec::new();
    let room = slots.is_some_and(|slots| ids.try_reserve_exact(slots).is_ok());
    anyhow::ensure!(room, "the ids of {:?} do not fit into memory; ask for one worker's part", window.shape());
    ids.extend(window.places().map(|place| id(plan, place)));
    Ok(ids)
}

/// The digest of the ids as little-endian i64.
pub(crate) fn sha256(plan: &EpochPlan, window: &Window) -> String {
    let mut digest = Sha256::new();
    for place in window.places() {
        digest.update(id(plan, place).to_le_bytes());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The ids as a NumPy file.
pub(crate) fn write_npy(plan: &EpochPlan, window: &Window, out: &mut impl Write) -> anyhow::Result<()> {
    npy::header(out, window.shape())?;
    for place in window.places() {
        out.write_all(&id(plan, place).to_le_bytes())?;
    }
    Ok(())
}

/// `2..5` as a range.
pub(crate) fn parse_range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once("..")?;
    let (start, end) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    (start <= end).then_some(start..end)
}
