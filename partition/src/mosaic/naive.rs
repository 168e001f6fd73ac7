//! `naive`: one shuffle of everything.

use super::{Id, Job};
use crate::shuffle::ShuffleError;

pub(super) fn shuffle<I: Id>(job: &Job<'_>) -> Result<Vec<I>, ShuffleError> {
    let mut ids = job.reserve(job.cut.samples())?;
    ids.extend((0..job.cut.samples()).map(I::new));
    job.epoch_rng().shuffle(&mut ids);
    if !job.subset.is_all() {
        keep_wanted(job, &mut ids);
    }
    Ok(ids)
}

/// Any id can have come to any place, so a part can only be had from the whole.
fn keep_wanted<I: Id>(job: &Job<'_>, ids: &mut Vec<I>) {
    let mut kept = 0;
    for node in job.subset.iter(job.cut.nodes()) {
        let range = job.cut.range(node);
        let index = |position: u64| usize::try_from(position).expect("a position in memory");
        let (start, end) = (index(range.start), index(range.end));
        ids.copy_within(start..end, kept);
        kept += end - start;
    }
    ids.truncate(kept);
    ids.shrink_to_fit();
}
