//! A batch of samples that were read.

use std::sync::Arc;

use crate::error::Result;
use crate::shard::{Sample, SampleCopy};
use crate::source::OpenShard;

/// Samples that were asked for together, in order.
///
/// It owns nothing but references to the mapped shards: the samples it hands out borrow from the shards' memory, and
/// the shards stay where they are as long as the batch lives. Only where a cache has too little room to keep the shards
/// of a batch for every reader, samples are copied out of them. A batch can be sent to another thread.
#[derive(Debug, Default)]
pub struct Batch {
    items: Vec<Item>,
}

#[derive(Debug)]
struct Item {
    id: u64,
    held: Held,
}

/// How a sample is kept.
#[derive(Debug)]
enum Held {
    Mapped { shard: Arc<OpenShard>, sample: u64 },
    Copied(SampleCopy),
}

impl Batch {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { items: Vec::with_capacity(capacity) }
    }

    pub(crate) fn push(&mut self, id: u64, shard: Arc<OpenShard>, sample: u64) {
        self.items.push(Item { id, held: Held::Mapped { shard, sample } });
    }

    pub(crate) fn push_copy(&mut self, id: u64, copy: SampleCopy) {
        self.items.push(Item { id, held: Held::Copied(copy) });
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The ids of the samples, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.items.iter().map(|item| item.id)
    }

    /// The samples with their ids, in order. Memory that the samples after the current one lie in is asked for early, so
    /// that a shuffled order waits less for it.
    ///
    /// # Errors
    ///
    /// A sample's bytes do not fit the format: the shard is corrupt there.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, Result<Sample<'_>>)> + '_ {
        self.items.iter().enumerate().map(|(i, item)| {
            self.expect(i);
            let sample = match &item.held {
                Held::Mapped { shard, sample } => shard.sample(*sample),
                Held::Copied(copy) => Ok(copy.sample()),
            };
            (item.id, sample)
        })
    }

    /// Asks for the memory of samples that will be read soon after item `i`.
    #[inline]
    fn expect(&self, i: usize) {
        if let Some(Held::Mapped { shard, sample }) = self.items.get(i + PLACE_AHEAD).map(|item| &item.held) {
            shard.expect_place(*sample);
        }
        if let Some(Held::Mapped { shard, sample }) = self.items.get(i + SAMPLE_AHEAD).map(|item| &item.held) {
            shard.expect(*sample);
        }
    }
}

/// How many samples ahead the table of a shard is asked for, and how many the sample itself: far enough for memory to
/// answer, and not so far that it is forgotten again. Measured with the `shuffled_read` benchmark.
const PLACE_AHEAD: usize = 12;
const SAMPLE_AHEAD: usize = 6;
