//! Moving samples by random distances: the sort at the heart of `py1e`.

use std::ops::Range;

use super::{Id, layout::Span};
use crate::numpy::Generator;

/// How far samples of a canonical node are moved.
pub(super) struct Displacement {
    /// The sizes that blocks are drawn from.
    pub(super) sizes: Range<i64>,
    /// The samples of the canonical node, which none of them leaves.
    pub(super) samples: u64,
}

impl Displacement {
    /// The size of the range over which a part is spread.
    pub(super) fn draw_block_size(&self, rng: &mut Generator) -> i64 {
        rng.integers(self.sizes.clone())
    }

    /// The lowest and the highest distance for the samples of a part that lies at `offset`. Parts larger than a block
    /// stay where they are.
    #[expect(clippy::cast_precision_loss, reason = "the original computes in doubles")]
    fn bounds(&self, block_size: i64, offset: u64, len: u64) -> (f64, f64) {
        let cutoff = ((block_size - len.cast_signed()) as f64 / 2.0).max(0.0);
        let room = self.samples - offset - len;
        ((-cutoff).max(-(offset as f64)), cutoff.min(room as f64))
    }

    /// No sample is moved by more than this.
    fn reach(&self) -> u64 {
        self.sizes.end.cast_unsigned() / 2 + 1
    }
}

/// Samples per bucket.
const WIDTH: usize = 512;
/// Finer divisions of a sample's place, for the sort of a bucket.
const FINENESS: usize = 2;
/// Entries per chunk of a bucket.
const CHUNK: usize = 128;
/// After how many samples buckets are looked at that can be closed.
const STRIDE: u64 = 1 << 14;

/// A sample on its way to its new place.
#[derive(Clone, Copy, Default)]
struct Entry<I> {
    position: f64,
    id: I,
}

/// Sorts samples by their displaced positions, in a single pass.
///
/// The distances are bounded, so samples are dealt into buckets of neighbouring positions, and a bucket is sorted and
/// written back as soon as no later sample can fall into it. What is in flight is at most the samples within reach on
/// both sides, however large the canonical node; the result takes the place of the input.
///
/// The original sorts positions with an unstable sort, so that samples with equal positions come in an order that depends
/// on the processor. Here they keep their order. Doubles that differ in 32 bits and more below the point make such samples
/// a rarity: about one in 10^9.
pub(super) struct Displacer<I> {
    buckets: Buckets<I>,
    sorter: Sorter<I>,
}

impl<I: Id> Default for Displacer<I> {
    fn default() -> Self {
        Self { buckets: Buckets::default(), sorter: Sorter::default() }
    }
}

impl<I: Id> Displacer<I> {
    /// Draws a distance for each sample of the parts, which lie end to end in `ids`, and moves the samples.
    pub(super) fn displace(&mut self, rng: &mut Generator, by: &Displacement, parts: &[Span], ids: &mut [I]) {
        assert!(by.samples <= 1 << 48, "more samples than memory");
        self.buckets.reset(ids.len());
        let mut settled = Settled { bucket: 0, written: 0 };
        let mut offset = 0;
        for part in parts {
            let block_size = by.draw_block_size(rng);
            let (low, high) = by.bounds(block_size, offset, part.len);
            let end = offset + part.len;
            while offset < end {
                // Whatever comes from here on is moved down by at most the reach.
                let open = bucket_index(offset.saturating_sub(by.reach()));
                self.settle(&mut settled, open, ids);
                let stop = end.min(offset + STRIDE);
                for (position, &id) in (offset..stop).zip(&ids[index(offset)..index(stop)]) {
                    #[expect(clippy::cast_precision_loss, reason = "below 2^48")]
                    let position = position as f64 + rng.uniform(low, high);
                    self.buckets.push(Entry { position, id });
                }
                offset = stop;
            }
        }
        self.settle(&mut settled, self.buckets.len(), ids);
    }

    /// Writes back the buckets before `open`.
    fn settle(&mut self, settled: &mut Settled, open: usize, ids: &mut [I]) {
        while settled.bucket < open {
            let sorted = self.sorter.sort(settled.bucket, &mut self.buckets);
            for (id, entry) in ids[settled.written..].iter_mut().zip(sorted) {
                *id = entry.id;
            }
            settled.written += sorted.len();
            settled.bucket += 1;
        }
    }
}

/// How far the result is written.
struct Settled {
    bucket: usize,
    written: usize,
}

/// A number that grows with the position, in steps of `1 / FINENESS`.
#[inline]
fn fine_index(position: f64) -> usize {
    // Adding 2^52 leaves the rounded number in the low bits. Faster than a conversion, and as good: it is monotonic.
    const SHIFT: f64 = (1_u64 << 52) as f64;
    let shifted = position * FINENESS as f64 + SHIFT;
    index(shifted.to_bits() & ((1 << 52) - 1))
}

/// The first bucket for which there can be positions from `position` on.
fn bucket_index(position: u64) -> usize {
    index(position) / WIDTH
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "positions of samples in memory")]
const fn index(number: u64) -> usize {
    number as usize
}

/// Entries by position, in chunks that are used again.
struct Buckets<I> {
    entries: Vec<Entry<I>>,
    /// The chunk before each chunk in its bucket. Chunks count from 1: chunk 0 is none.
    before: Vec<usize>,
    free: Vec<usize>,
    /// The next free entry of each bucket; at the start of a chunk where there is none.
    next: Vec<usize>,
}

impl<I: Id> Default for Buckets<I> {
    fn default() -> Self {
        Self { entries: vec![Entry::default(); CHUNK], before: vec![0], free: Vec::new(), next: Vec::new() }
    }
}

impl<I: Id> Buckets<I> {
    fn reset(&mut self, samples: usize) {
        self.next.clear();
        self.next.resize(samples / WIDTH + 1, 0);
    }

    fn len(&self) -> usize {
        self.next.len()
    }

    #[inline]
    fn push(&mut self, entry: Entry<I>) {
        let bucket = fine_index(entry.position) / (WIDTH * FINENESS);
        let mut slot = self.next[bucket];
        if slot.is_multiple_of(CHUNK) {
            slot = self.add_chunk(slot);
        }
        self.entries[slot] = entry;
        self.next[bucket] = slot + 1;
    }

    /// A chunk that follows the one that ends at `end`. Returns its first entry.
    #[cold]
    fn add_chunk(&mut self, end: usize) -> usize {
        let chunk = self.free.pop().unwrap_or_else(|| {
            self.before.push(0);
            self.entries.resize(self.entries.len() + CHUNK, Entry::default());
            self.before.len() - 1
        });
        self.before[chunk] = (end / CHUNK).saturating_sub(1);
        chunk * CHUNK
    }

    /// The chunks of a bucket, in the order in which they were filled, and the end of the last one.
    fn chunks(&self, bucket: usize, chunks: &mut Vec<usize>) -> usize {
        let end = self.next[bucket];
        chunks.clear();
        let mut chunk = end.div_ceil(CHUNK).saturating_sub(1);
        while chunk > 0 {
            chunks.push(chunk);
            chunk = self.before[chunk];
        }
        chunks.reverse();
        end
    }
}

/// Sorts one bucket after the other.
struct Sorter<I> {
    chunks: Vec<usize>,
    /// For each fine index of a bucket where the next entry with it goes.
    places: Box<[u32; WIDTH * FINENESS]>,
    sorted: Vec<Entry<I>>,
}

impl<I: Id> Default for Sorter<I> {
    fn default() -> Self {
        Self { chunks: Vec::new(), places: Box::new([0; WIDTH * FINENESS]), sorted: Vec::new() }
    }
}

impl<I: Id> Sorter<I> {
    /// Takes all entries out of a bucket, sorted by position; equal ones in the order in which they came.
    fn sort(&mut self, bucket: usize, buckets: &mut Buckets<I>) -> &[Entry<I>] {
        let end = buckets.chunks(bucket, &mut self.chunks);
        let Some((&last, full)) = self.chunks.split_last() else { return &[] };
        let runs =
            || full.iter().map(|&chunk| chunk * CHUNK..(chunk + 1) * CHUNK).chain(std::iter::once(last * CHUNK..end));

        // A counting sort by fine index leaves little to do:
        self.places.fill(0);
        let place = |entry: &Entry<I>| fine_index(entry.position) % (WIDTH * FINENESS);
        for run in runs() {
            for entry in &buckets.entries[run] {
                self.places[place(entry)] += 1;
            }
        }
        let mut len = 0;
        for count in self.places.iter_mut() {
            len += std::mem::replace(count, len);
        }
        if self.sorted.len() < len as usize {
            self.sorted.resize(len as usize, Entry::default());
        }
        let sorted = &mut self.sorted[..len as usize];
        for run in runs() {
            for entry in &buckets.entries[run] {
                let place = &mut self.places[place(entry)];
                sorted[*place as usize] = *entry;
                *place += 1;
            }
        }
        buckets.free.append(&mut self.chunks);
        insertion_sort(sorted);
        sorted
    }
}

/// Sorts entries most of which are in order.
///
/// Which neighbours are out of order is as good as random, so a branch for each would be mispredicted often. They are
/// collected as bits first, without branches, and then visited one after the other.
fn insertion_sort<I: Id>(entries: &mut [Entry<I>]) {
    let mut start = 1;
    while start < entries.len() {
        let end = entries.len().min(start + 64);
        let mut inverted = 0_u64;
        for (bit, pair) in entries[start - 1..end].windows(2).enumerate() {
            inverted |= u64::from(pair[0].position > pair[1].position) << bit;
        }
        while inverted != 0 {
            let bit = inverted.trailing_zeros() as usize;
            inverted &= inverted - 1;
            insert_from(entries, start + bit);
        }
        start = end;
    }
}

/// Moves the entry at `place` to where it belongs among those before it, and likewise those behind it that are out of
/// order because of that: a larger one has come to stand before them.
fn insert_from<I: Id>(entries: &mut [Entry<I>], mut place: usize) {
    while place < entries.len() && entries[place - 1].position > entries[place].position {
        let entry = entries[place];
        let mut target = place;
        while target > 0 && entries[target - 1].position > entry.position {
            entries[target] = entries[target - 1];
            target -= 1;
        }
        entries[target] = entry;
        place += 1;
    }
}
