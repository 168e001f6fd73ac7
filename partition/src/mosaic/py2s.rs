//! `py2s`: shards and their samples for the run, shard parts and their samples for the epoch.

use super::{
    Id, Job,
    layout::{self, Layout, Span},
};
use crate::{numpy::Generator, shuffle::ShuffleError};

pub(super) fn shuffle<I: Id>(job: &Job<'_>) -> Result<Vec<I>, ShuffleError> {
    let mut run_rng = job.run_rng();
    let mut shards = job.reserve(job.units.len())?;
    shards.extend(layout::spans(job.units));
    run_rng.shuffle(&mut shards);

    let mut layout = Layout::new(places(&shards), &job.cut, job.reserve(job.cut.nodes())?);
    let mut scattered = Scattered::<I, _> { shards: shards.into_iter(), rng: run_rng, open: Vec::new(), used: 0 };
    let mut epoch_rng = job.epoch_rng();
    let mut ids = job.reserve(job.wanted_samples())?;
    let mut node_ids = Vec::new();
    for (node, parts) in layout.nodes_mut() {
        let range = job.cut.range(node);
        let samples = range.end - range.start;
        epoch_rng.shuffle(parts);
        if !job.subset.contains(node) {
            scattered.read(samples, None);
            for part in parts {
                epoch_rng.skip_shuffle(part.len);
            }
            continue;
        }
        node_ids.clear();
        scattered.read(samples, Some(&mut node_ids));
        for part in parts {
            let (start, from) = (ids.len(), index(part.start - range.start));
            ids.extend_from_slice(&node_ids[from..from + index(part.len)]);
            epoch_rng.shuffle(&mut ids[start..]);
        }
    }
    Ok(ids)
}

/// Where shards lie when they are laid end to end in the order given.
fn places(shards: &[Span]) -> impl Iterator<Item = Span> {
    shards.iter().scan(0, |start, shard| {
        let place = Span { start: *start, len: shard.len };
        *start += shard.len;
        Some(place)
    })
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a part of what is in memory")
}

/// The samples of shards laid end to end, those of each shard shuffled. Read in one pass; shards that lie wholly in what
/// is skipped are not made.
struct Scattered<I, S> {
    shards: S,
    rng: Generator,
    /// The shard that reading stopped in, and how much of it has been read.
    open: Vec<I>,
    used: usize,
}

impl<I: Id, S: Iterator<Item = Span>> Scattered<I, S> {
    /// Reads the next `count` ids: appends them to `out`, or passes over them where there is none.
    fn read(&mut self, count: u64, mut out: Option<&mut Vec<I>>) {
        let mut missing = self.read_open(count, out.as_deref_mut());
        while missing > 0 {
            let shard = self.shards.next().expect("shards hold as many samples as canonical nodes do");
            if shard.len > missing {
                self.open(shard);
                missing = self.read_open(missing, out.as_deref_mut());
                continue;
            }
            if let Some(out) = out.as_deref_mut() {
                let start = out.len();
                out.extend(shard.ids::<I>());
                self.rng.shuffle(&mut out[start..]);
            } else {
                self.rng.skip_shuffle(shard.len);
            }
            missing -= shard.len;
        }
    }

    fn open(&mut self, shard: Span) {
        self.open.clear();
        self.open.extend(shard.ids::<I>());
        self.rng.shuffle(&mut self.open);
        self.used = 0;
    }

    /// Reads up to `count` ids of the open shard; returns how many are still to be found.
    fn read_open(&mut self, count: u64, out: Option<&mut Vec<I>>) -> u64 {
        let rest = &self.open[self.used..];
        let found = usize::try_from(count).unwrap_or(usize::MAX).min(rest.len());
        if let Some(out) = out {
            out.extend_from_slice(&rest[..found]);
        }
        self.used += found;
        count - found as u64
    }
}
