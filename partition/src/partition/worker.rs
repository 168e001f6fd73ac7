//! One worker's positions.

use super::Partition;
use crate::places::{Places, iterate_places};

/// The positions that one worker reads, batch by batch: see [`Partition::worker`].
///
/// Padded places are `None`. The length is exact where it fits into a `usize`, and skipping with `nth` takes constant
/// time, from both ends.
#[derive(Clone, Debug)]
pub struct WorkerPositions<'a> {
    pub(super) source: &'a Partition,
    pub(super) places: Places,
}

iterate_places!(WorkerPositions, get);
