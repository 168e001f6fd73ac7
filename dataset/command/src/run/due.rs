//! What the ranks together must have read of an epoch: counts, told from the job's shape alone.

use std::ops::RangeInclusive;

use lockstep_dataset::Dataset;

use crate::run::legs::Leg;

/// What is due of one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Which epoch.
    pub(crate) epoch: u64,
    /// Whether it is read to its end.
    pub(crate) complete: bool,
    /// Samples that each rank reads, repeats included. Where the ranks cannot all have as many, some have fewer.
    pub(crate) samples: RangeInclusive<u64>,
    /// Different samples over all groups.
    pub(crate) unique: RangeInclusive<u64>,
    /// The most samples that may be read a second time, over all groups: padding.
    pub(crate) repeats: u64,
}

/// The numbers of a job on which it depends.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    groups: u64,
    batch_size: u64,
    /// Whether ranks can differ in the last global batch.
    uneven: bool,
}

impl Due {
    /// What the ranks of the dataset's job must read on this leg.
    pub(crate) fn of(dataset: &Dataset, leg: Leg) -> lockstep_dataset::Result<Self> {
        let groups = dataset.assignment().num_groups();
        let (nodes, _) = dataset.assignment().shape();
        let canonical_nodes = dataset.state(0).num_canonical_nodes;
        // A resumed run may have any number of nodes; see `EpochPlan::samples_of_rank`.
        let uneven = !canonical_nodes.is_multiple_of(nodes) && !nodes.is_multiple_of(canonical_nodes);
        let numbers = Numbers { groups, batch_size: dataset.global_batch() / groups, uneven };
        Ok(Self::from_numbers(numbers, leg, dataset.samples_per_rank(leg.before)?))
    }

    /// `most` is how many samples a rank reads from the start of the leg to the end of the epoch.
    fn from_numbers(numbers: Numbers, leg: Leg, most: u64) -> Self {
        let Numbers { groups, batch_size, uneven } = numbers;
        let padding = (most * groups).saturating_sub(leg.left);
        let samples = leg.batches.map_or(most, |batches| most.min(batches.saturating_mul(batch_size)));
        let complete = samples == most;
        let unique = match (complete, leg.before) {
            (true, 0) => leg.left..=leg.left,
            // What fills up the groups may have been read before the state was saved.
            (true, _) => leg.left..=leg.left + padding,
            (false, _) => (samples * groups).saturating_sub(padding)..=samples * groups,
        };
        let least = if uneven && complete { samples.saturating_sub(1) / batch_size * batch_size } else { samples };
        Self { epoch: leg.epoch, complete, samples: least..=samples, unique, repeats: padding }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR_GROUPS: Numbers = Numbers { groups: 4, batch_size: 8, uneven: false };

    fn leg(before: u64, batches: Option<u64>) -> Leg {
        Leg { epoch: 2, before, left: 1797 - before, batches }
    }

    #[test]
    fn a_whole_epoch_is_exact() {
        let due = Due::from_numbers(FOUR_GROUPS, leg(0, None), 450);
        let expected = Due { epoch: 2, complete: true, samples: 450..=450, unique: 1797..=1797, repeats: 3 };
        assert_eq!(due, expected);
    }

    #[test]
    fn the_rest_has_the_padding_of_the_rest() {
        // 1477 samples are left, which 4 groups read as 4 x 370 = 1480.
        let due = Due::from_numbers(FOUR_GROUPS, leg(320, None), 370);
        assert_eq!((due.samples, due.unique, due.repeats), (370..=370, 1477..=1480, 3));
    }

    #[test]
    fn a_part_has_its_batches() {
        let due = Due::from_numbers(FOUR_GROUPS, leg(320, Some(10)), 370);
        assert_eq!((due.complete, due.samples, due.unique), (false, 80..=80, 317..=320));
        assert!(Due::from_numbers(FOUR_GROUPS, leg(320, Some(47)), 370).complete);
    }

    #[test]
    fn only_the_last_batch_of_the_epoch_may_be_uneven() {
        let numbers = Numbers { uneven: true, ..FOUR_GROUPS };
        assert_eq!(Due::from_numbers(numbers, leg(320, None), 370).samples, 368..=370);
        assert_eq!(Due::from_numbers(numbers, leg(320, None), 368).samples, 360..=368);
        assert_eq!(Due::from_numbers(numbers, leg(320, Some(10)), 370).samples, 80..=80);
        assert_eq!(Due::from_numbers(numbers, leg(1797, None), 0).samples, 0..=0);
    }
}
