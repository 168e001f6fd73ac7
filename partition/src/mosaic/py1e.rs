//! `py1e`: shard parts whose samples are spread over a range around where they lie.

use super::{
    Id, Job,
    displace::{Displacement, Displacer},
    layout::Span,
};
use crate::{numpy::Generator, shuffle::ShuffleError};

pub(super) fn shuffle<I: Id>(job: &Job<'_>) -> Result<Vec<I>, ShuffleError> {
    let (samples, canonical_nodes) = (job.cut.samples(), job.cut.nodes());
    if samples < canonical_nodes {
        let algorithm = job.spec.algorithm;
        return Err(ShuffleError::FewerSamplesThanCanonicalNodes { algorithm, samples, canonical_nodes });
    }
    let sizes = job.block_sizes(1)?;
    let mut rng = job.epoch_rng();
    let layout = job.layout(&mut rng)?;
    let mut ids = job.reserve(job.wanted_samples())?;
    let mut displacer = Displacer::default();
    for (node, parts) in layout.nodes() {
        let range = job.cut.range(node);
        let displacement = Displacement { sizes: sizes.clone(), samples: range.end - range.start };
        if job.subset.contains(node) {
            let start = ids.len();
            for part in parts {
                let start = ids.len();
                ids.extend(part.ids::<I>());
                rng.shuffle(&mut ids[start..]);
            }
            displacer.displace(&mut rng, &displacement, parts, &mut ids[start..]);
        } else {
            skip(&mut rng, &displacement, parts);
        }
    }
    Ok(ids)
}

/// Draws what a canonical node draws.
fn skip(rng: &mut Generator, displacement: &Displacement, parts: &[Span]) {
    for part in parts {
        rng.skip_shuffle(part.len);
    }
    for part in parts {
        displacement.draw_block_size(rng);
        rng.skip_doubles(part.len);
    }
}
