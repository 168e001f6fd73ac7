//! `py1s`: shards, shard parts, and the samples of each part.

use super::{Id, Job};
use crate::shuffle::ShuffleError;

pub(super) fn shuffle<I: Id>(job: &Job<'_>) -> Result<Vec<I>, ShuffleError> {
    let mut rng = job.epoch_rng();
    let layout = job.layout(&mut rng)?;
    let mut ids = job.reserve(job.wanted_samples())?;
    for (node, parts) in layout.nodes() {
        let wanted = job.subset.contains(node);
        for part in parts {
            if wanted {
                let start = ids.len();
                ids.extend(part.ids::<I>());
                rng.shuffle(&mut ids[start..]);
            } else {
                rng.skip_shuffle(part.len);
            }
        }
    }
    Ok(ids)
}
