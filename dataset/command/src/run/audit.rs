//! Whether a job read what it should have: groups agree, the rest is disjoint and complete.
//!
//! The audit knows what the ranks report to have read, how the job was laid out and how much was due; it does not ask
//! the plan which ids these were.

use std::collections::BTreeMap;

use crate::run::due::Due;
use crate::run::tally::Summary;

/// How the job was laid out.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The replica group of each rank; `None` for a rank that reads nothing.
    pub(crate) group_of_rank: Vec<Option<u64>>,
    /// Samples stored in the dataset; ids are below it.
    pub(crate) num_samples: u64,
}

/// What one rank read in one epoch. `ids` are there for the first rank of each group at least.
#[derive(Clone, Debug)]
pub(crate) struct RankEpoch {
    /// The counts and digests, as the rank reported them.
    pub(crate) summary: Summary,
    /// The ids in the order read.
    pub(crate) ids: Vec<u64>,
}

/// The verdict on one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Which epoch.
    pub(crate) epoch: u64,
    /// Whether it was to be read to its end.
    pub(crate) complete: bool,
    /// Distinct samples read, over all groups.
    pub(crate) unique: u64,
    /// Samples read once more than needed, over all groups: padding.
    pub(crate) repeats: u64,
    /// What is wrong, the culprits named; empty when all is well.
    pub(crate) faults: Vec<String>,
}

/// At most this many examples of one kind of fault are named.
const EXAMPLES: usize = 3;

impl Layout {
    /// Judges one epoch from what each rank read, in rank order; `None` for ranks that read nothing by design.
    pub(crate) fn judge(&self, due: &Due, ranks: &[Option<RankEpoch>]) -> Verdict {
        let mut verdict = Verdict { epoch: due.epoch, complete: due.complete, ..Verdict::default() };
        counts(due, ranks, &mut verdict.faults);
        let leaders = self.agree(ranks, &mut verdict.faults);
        self.disjoint(due, &leaders, &mut verdict);
        verdict
    }

    /// Members of a group must have the same counts and digests. Returns each group's first rank.
    fn agree<'a>(&self, ranks: &'a [Option<RankEpoch>], faults: &mut Vec<String>) -> Vec<(usize, &'a RankEpoch)> {
        let mut first: BTreeMap<u64, (usize, &RankEpoch)> = BTreeMap::new();
        for (rank, read) in ranks.iter().enumerate() {
            let (Some(group), Some(read)) = (self.group_of_rank[rank], read) else { continue };
            let (leader, expected) = *first.entry(group).or_insert((rank, read));
            if let Some(difference) = difference(&expected.summary, &read.summary) {
                faults.push(format!("rank {rank} differs from rank {leader} of its group {group}: {difference}"));
            }
        }
        first.into_values().collect()
    }

    /// Different groups must read different samples, padding aside, and together all that was asked for.
    fn disjoint(&self, due: &Due, leaders: &[(usize, &RankEpoch)], verdict: &mut Verdict) {
        let size = usize::try_from(self.num_samples).expect("the samples of a dataset on this machine are countable");
        let mut reader = vec![UNREAD; size];
        let mut shared: Vec<(u64, usize, usize)> = Vec::new();
        for &(rank, read) in leaders {
            for &id in &read.ids {
                let Some(first) = usize::try_from(id).ok().and_then(|id| reader.get_mut(id)) else {
                    verdict.faults.push(format!("rank {rank} read sample {id}, but there are only {size}"));
                    return;
                };
                if *first == UNREAD {
                    *first = u32::try_from(rank).expect("a job on this machine has fewer than 2^32 ranks");
                    verdict.unique += 1;
                } else {
                    shared.push((id, *first as usize, rank));
                    verdict.repeats += 1;
                }
            }
        }
        let (least, most) = (*due.unique.start(), *due.unique.end());
        if verdict.unique < least {
            let mut fault = format!("{} of {least} samples were read by nobody", least - verdict.unique);
            if least == self.num_samples {
                let missing: Vec<String> = (0..)
                    .zip(&reader)
                    .filter(|(_, first)| **first == UNREAD)
                    .take(EXAMPLES)
                    .map(|(id, _): (u64, _)| id.to_string())
                    .collect();
                fault += &format!(", sample {} among them", missing.join(", "));
            }
            for (id, first, second) in shared.iter().take(EXAMPLES) {
                fault += &format!("; sample {id} was read by rank {first} and by rank {second}");
            }
            verdict.faults.push(fault);
        }
        if verdict.unique > most {
            verdict.faults.push(format!("{} samples were read where {most} were due", verdict.unique));
        }
        padding_only(due, &shared, verdict);
    }
}

/// No more may be read again than fills up the groups to equal counts.
fn padding_only(due: &Due, shared: &[(u64, usize, usize)], verdict: &mut Verdict) {
    if verdict.repeats <= due.repeats {
        return;
    }
    let (id, first, second) = shared[0];
    verdict.faults.push(format!(
        "{} samples were read again where equal counts need {}: sample {id} by rank {first} and by rank {second}",
        verdict.repeats, due.repeats
    ));
}

/// No rank has read the sample.
const UNREAD: u32 = u32::MAX;

/// Every rank must have read as many samples as were due.
fn counts(due: &Due, ranks: &[Option<RankEpoch>], faults: &mut Vec<String>) {
    let (least, most) = (*due.samples.start(), *due.samples.end());
    let expected = if least == most { most.to_string() } else { format!("{least} to {most}") };
    for (rank, read) in ranks.iter().enumerate() {
        let Some(samples) = read.as_ref().map(|read| read.summary.samples) else { continue };
        if !due.samples.contains(&samples) {
            faults.push(format!("rank {rank} read {samples} samples where {expected} were due"));
        }
    }
}

fn difference(expected: &Summary, read: &Summary) -> Option<String> {
    if read.samples != expected.samples {
        Some(format!("{} samples instead of {}", read.samples, expected.samples))
    } else if read.ids_digest != expected.ids_digest {
        Some("other samples, or in another order".into())
    } else if read.contents_digest != expected.contents_digest || read.bytes != expected.bytes {
        Some("the same ids with other bytes".into())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tally::Tally;
    use crate::run::wire::{BatchRead, SampleRead};

    fn read(ids: &[u64]) -> Option<RankEpoch> {
        let mut tally = Tally::start(0);
        let samples = ids.iter().map(|&id| SampleRead { id, digest: id * 31 }).collect();
        tally.add(&BatchRead { bytes: ids.len() as u64, samples });
        Some(RankEpoch { summary: tally.finish(), ids: ids.to_vec() })
    }

    fn pairs() -> Layout {
        Layout { group_of_rank: vec![Some(0), Some(0), Some(1), Some(1)], num_samples: 5 }
    }

    /// 5 samples for 2 groups: 3 each, one of them again.
    fn whole() -> Due {
        Due { epoch: 7, complete: true, samples: 3..=3, unique: 5..=5, repeats: 1 }
    }

    /// 3 of the samples are left: 2 for each group, one of them again.
    fn rest() -> Due {
        Due { epoch: 7, complete: true, samples: 2..=2, unique: 3..=4, repeats: 1 }
    }

    fn faults(due: &Due, ranks: &[Option<RankEpoch>]) -> Vec<String> {
        pairs().judge(due, ranks).faults
    }

    #[test]
    fn a_right_epoch_has_its_padding_counted() {
        let ranks = [read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[3, 4, 4]), read(&[3, 4, 4])];
        let verdict = pairs().judge(&whole(), &ranks);
        assert_eq!(verdict, Verdict { epoch: 7, complete: true, unique: 5, repeats: 1, faults: vec![] });
    }

    #[test]
    fn members_that_differ_are_named() {
        let ranks = [read(&[0, 1, 2]), read(&[0, 2, 1]), read(&[3, 4, 4]), read(&[3, 4])];
        assert_eq!(
            faults(&whole(), &ranks),
            [
                "rank 3 read 2 samples where 3 were due",
                "rank 1 differs from rank 0 of its group 0: other samples, or in another order",
                "rank 3 differs from rank 2 of its group 1: 2 samples instead of 3",
            ]
        );
    }

    #[test]
    fn other_bytes_under_the_same_ids_are_named() {
        let mut other = read(&[0, 1, 2]);
        other.as_mut().unwrap().summary.contents_digest ^= 1;
        let ranks = [read(&[0, 1, 2]), other, read(&[3, 4, 4]), read(&[3, 4, 4])];
        assert_eq!(
            faults(&whole(), &ranks),
            ["rank 1 differs from rank 0 of its group 0: the same ids with other bytes"]
        );
    }

    #[test]
    fn groups_that_share_and_samples_that_nobody_reads_are_named() {
        let ranks = [read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[2, 3, 1]), read(&[2, 3, 1])];
        assert_eq!(
            faults(&whole(), &ranks),
            [
                "1 of 5 samples were read by nobody, sample 4 among them; sample 2 was read by rank 0 and by rank 2; \
                 sample 1 was read by rank 0 and by rank 2",
                "2 samples were read again where equal counts need 1: sample 2 by rank 0 and by rank 2",
            ]
        );
    }

    #[test]
    fn unequal_counts_are_named() {
        let ranks = [read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[3, 4]), read(&[3, 4])];
        let expected = ["rank 2 read 2 samples where 3 were due", "rank 3 read 2 samples where 3 were due"];
        assert_eq!(faults(&whole(), &ranks), expected);
        // Unless the ranks cannot all have as many.
        assert!(faults(&Due { samples: 2..=3, ..whole() }, &ranks).is_empty());
    }

    #[test]
    fn ids_outside_the_dataset_are_named() {
        let ranks = [read(&[0, 1, 5]), read(&[0, 1, 5]), read(&[3, 4, 2]), read(&[3, 4, 2])];
        assert_eq!(faults(&whole(), &ranks), ["rank 0 read sample 5, but there are only 5"]);
    }

    #[test]
    fn the_rest_after_a_resume_must_be_complete() {
        let ranks = |second: &[u64]| [read(&[0, 1]), read(&[0, 1]), read(second), read(second)];
        assert!(faults(&rest(), &ranks(&[4, 4])).is_empty());
        assert!(faults(&rest(), &ranks(&[3, 4])).is_empty(), "padding is read from what was consumed before");
        let fault = "1 of 3 samples were read by nobody; sample 0 was read by rank 0 and by rank 2; \
                     sample 1 was read by rank 0 and by rank 2";
        assert_eq!(faults(&rest(), &ranks(&[0, 1]))[0], fault);
    }

    #[test]
    fn a_resume_that_ignored_its_state_is_wrong() {
        let ranks = [read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[3, 4, 4]), read(&[3, 4, 4])];
        let faults = faults(&rest(), &ranks);
        assert_eq!(faults[0], "rank 0 read 3 samples where 2 were due");
        assert_eq!(faults[4], "5 samples were read where 4 were due");
        assert_eq!(faults.len(), 5);
    }

    #[test]
    fn a_part_may_not_repeat() {
        let part = Due { complete: false, unique: 5..=6, ..whole() };
        let ranks = [read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[0, 1, 2])];
        assert_eq!(
            faults(&part, &ranks).last().unwrap(),
            "3 samples were read again where equal counts need 1: sample 0 by rank 0 and by rank 2"
        );
    }

    #[test]
    fn ranks_that_read_nothing_take_no_part() {
        let mut layout = pairs();
        layout.group_of_rank.push(None);
        let ranks = [read(&[0, 1, 2]), read(&[0, 1, 2]), read(&[3, 4, 4]), read(&[3, 4, 4]), None];
        assert!(layout.judge(&whole(), &ranks).faults.is_empty());
    }
}
