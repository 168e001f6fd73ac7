//! Which epochs a run reads and how much of each: known beforehand, to every rank and to the launcher alike.

use lockstep_dataset::{Dataset, Position};

/// What is read of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    /// Which epoch.
    pub(crate) epoch: u64,
    /// Unique samples of it that were consumed before this run, over all groups.
    pub(crate) before: u64,
    /// Unique samples that are left of it.
    pub(crate) left: u64,
    /// Batches of each rank after which to stop; `None` to read to the end.
    pub(crate) batches: Option<u64>,
}

/// The epochs of a run, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Legs {
    next: Position,
    epochs: u64,
    /// Unique samples still to be read, if the run is to stop early.
    wanted: Option<u64>,
    epoch_size: u64,
    global_batch: u64,
}

impl Legs {
    /// Of `epochs` epochs from where the dataset is, and of no more than `stop_after` unique samples over all groups,
    /// rounded up to whole global batches.
    pub(crate) fn new(dataset: &Dataset, epochs: u64, stop_after: Option<u64>) -> Self {
        Self {
            next: dataset.position(),
            epochs,
            wanted: stop_after,
            epoch_size: dataset.epoch_size(),
            global_batch: dataset.global_batch(),
        }
    }
}

impl Iterator for Legs {
    type Item = Leg;

    fn next(&mut self) -> Option<Leg> {
        if self.epochs == 0 || self.wanted == Some(0) {
            return None;
        }
        let Position { epoch, sample_in_epoch: before } = self.next;
        let left = self.epoch_size.saturating_sub(before);
        let batches = self.wanted.filter(|wanted| *wanted < left).map(|wanted| wanted.div_ceil(self.global_batch));
        self.epochs -= 1;
        self.wanted = self.wanted.map(|wanted| wanted.saturating_sub(left));
        self.next = Position { epoch: epoch + 1, sample_in_epoch: 0 };
        Some(Leg { epoch, before, left, batches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legs(before: u64, epochs: u64, wanted: Option<u64>) -> Vec<(u64, u64, Option<u64>)> {
        let next = Position { epoch: 3, sample_in_epoch: before };
        let legs = Legs { next, epochs, wanted, epoch_size: 1797, global_batch: 64 };
        legs.map(|leg| (leg.epoch, leg.left, leg.batches)).collect()
    }

    #[test]
    fn all_epochs_are_read_where_nothing_stops_them() {
        assert_eq!(legs(0, 2, None), [(3, 1797, None), (4, 1797, None)]);
        assert_eq!(legs(1000, 2, None), [(3, 797, None), (4, 1797, None)]);
    }

    #[test]
    fn a_run_stops_after_whole_batches() {
        assert_eq!(legs(0, 1, Some(320)), [(3, 1797, Some(5))]);
        assert_eq!(legs(0, 1, Some(321)), [(3, 1797, Some(6))]);
    }

    #[test]
    fn the_end_of_an_epoch_counts_what_is_left_of_it_and_no_padding() {
        // 29 batches of 64 are 1856 places for 1797 samples: 59 are still wanting.
        assert_eq!(legs(0, 2, Some(1856)), [(3, 1797, None), (4, 1797, Some(1))]);
        assert_eq!(legs(0, 2, Some(1797)), [(3, 1797, None)]);
        assert_eq!(legs(1797, 2, Some(64)), [(3, 0, None), (4, 1797, Some(1))]);
    }
}
