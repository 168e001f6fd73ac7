//! `py1br`: shard parts laid end to end and shuffled in staggered blocks of varying size.

use std::ops::Range;

use super::{Id, Job};
use crate::{numpy::Generator, shuffle::ShuffleError};

pub(super) fn shuffle<I: Id>(job: &Job<'_>) -> Result<Vec<I>, ShuffleError> {
    // Three quarters of a block must be a sample at least: blocks are staggered by less than that.
    let sizes = job.block_sizes(2)?;
    let mut rng = job.epoch_rng();
    let layout = job.layout(&mut rng)?;
    let mut staggers = job.reserve(job.cut.nodes())?;
    staggers.extend((0..job.cut.nodes()).map(|_| rng.integers(0..sizes.start).cast_unsigned()));

    let mut ids = job.reserve(job.wanted_samples())?;
    for ((node, parts), stagger) in layout.nodes().zip(staggers) {
        let range = job.cut.range(node);
        let blocks = blocks(&mut rng, range.end - range.start, stagger, &sizes);
        if job.subset.contains(node) {
            let start = ids.len();
            for part in parts {
                ids.extend(part.ids::<I>());
            }
            for block in blocks {
                let index = |number: u64| usize::try_from(number).expect("a part of what is in memory");
                rng.shuffle(&mut ids[start..][index(block.start)..index(block.end)]);
            }
        } else {
            for block in blocks {
                rng.skip_shuffle(block.end - block.start);
            }
        }
    }
    Ok(ids)
}

/// The blocks of a canonical node of `samples`. The second can overlap the first: the original lets it.
fn blocks(rng: &mut Generator, samples: u64, stagger: u64, sizes: &Range<i64>) -> Vec<Range<u64>> {
    let mut blocks = Vec::new();
    let mut end = 0_u64;
    while end < samples {
        let size = rng.integers(sizes.clone()).cast_unsigned();
        let block = end.saturating_sub(stagger)..(end + size - stagger).min(samples);
        end += block.end - block.start;
        blocks.push(block);
    }
    blocks
}
