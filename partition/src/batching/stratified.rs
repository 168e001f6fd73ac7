//! `stratified`: every global batch has the same number of samples of each stream.

use super::Source;
use crate::partition::Partition;
use crate::streams::truncate;

/// One stream's part of every global batch.
#[derive(Debug)]
pub(crate) struct Stratum {
    /// The stream's samples, dealt to a single node.
    pub(crate) partition: Partition,
    pub(crate) source: Source,
    /// Its samples in every global batch.
    pub(crate) portion: u64,
}

/// The parts of all streams.
#[derive(Debug)]
pub(crate) struct Stratified {
    strata: Vec<Stratum>,
    /// The places in a global batch before each stream's, and all.
    starts: Vec<u64>,
    global_batches: u64,
}

impl Stratified {
    /// The parts, in as many global batches as `steps` of their partitions fill.
    pub(crate) fn new(strata: Vec<Stratum>, steps: impl Fn(&Partition) -> u64) -> Self {
        let mut starts = vec![0];
        let mut before = 0;
        for stratum in &strata {
            before += stratum.portion;
            starts.push(before);
        }
        // What the first stream to run out has left over is dropped.
        let full = |stratum: &Stratum| steps(&stratum.partition) / stratum.portion;
        let global_batches = strata.iter().map(full).min().unwrap_or(0);
        Self { strata, starts, global_batches }
    }

    pub(super) const fn global_batches(&self) -> u64 {
        self.global_batches
    }

    pub(super) fn get(&self, batch: u64, place: u64) -> Option<u64> {
        let index = self.starts.partition_point(|&start| start <= place) - 1;
        let stratum = self.strata.get(index)?;
        let position = stratum.partition.dealt(0, batch * stratum.portion + (place - self.starts[index]))?;
        Some(stratum.source.id(position))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.strata.iter().map(|stratum| &stratum.source)
    }
}

/// How many samples of a global batch each stream gets.
///
/// Each gets its proportion rounded down, and the streams that lost most by rounding get one more until the batch is full.
/// Of streams that lost the same, the later comes first: the original turns round an ascending sort.
pub(crate) fn portions(proportions: &[f64], global_batch: u64) -> Option<Vec<u64>> {
    let exact: Vec<f64> = proportions.iter().map(|proportion| proportion * global_batch as f64).collect();
    let mut portions = exact.iter().map(|&part| truncate(part)).collect::<Option<Vec<u64>>>()?;
    let given = portions.iter().try_fold(0_u64, |sum, &portion| sum.checked_add(portion))?;
    let missing = usize::try_from(global_batch.checked_sub(given)?).ok()?;
    let mut losers: Vec<usize> = (0..portions.len()).collect();
    let lost = |stream: usize| exact[stream] - portions[stream] as f64;
    losers.sort_by(|&left, &right| lost(left).total_cmp(&lost(right)));
    let increments: Vec<usize> = losers.into_iter().rev().take(missing).collect();
    for stream in &increments {
        portions[*stream] += 1;
    }
    (increments.len() == missing).then_some(portions)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_losses_are_made_good() {
        assert_eq!(portions(&[0.5, 0.25, 0.25], 8), Some(vec![4, 2, 2]));
        assert_eq!(portions(&[0.6, 0.3, 0.1], 8), Some(vec![5, 2, 1]));
        assert_eq!(portions(&[0.5, 0.5], 3), Some(vec![1, 2]));
        assert_eq!(portions(&[0.1, 0.1], 3), None);
    }

    proptest! {
        #[test]
        fn portions_fill_the_batch(parts in prop::collection::vec(0.01_f64..1.0, 1..20), global_batch in 1_u64..100_000) {
            let sum: f64 = parts.iter().sum();
            let proportions: Vec<f64> = parts.iter().map(|part| part / sum).collect();
            let portions = portions(&proportions, global_batch).unwrap();
            prop_assert_eq!(portions.iter().sum::<u64>(), global_batch);
        }
    }
}
