//! Shards of one size, arranged by arithmetic.

use super::{
    Keys, Purpose,
    arrangement::{OutOfMemory, Sizes, reserve},
    keys::spread,
    memo::Memo,
    permutation::Domain,
};
use crate::{divisor::Divisor, shuffle::CanonicalCut};

/// Shards of one size, but for a last one that may be shorter.
///
/// Places in a canonical node are slots of one shard size each, were it not for the few parts that are shorter than a
/// shard: its first and its last one, and that of the shorter shard. What is missing in the slots before a place is added
/// to the place, and a division tells its slot.
#[derive(Debug)]
pub(super) struct Regular {
    shards: Domain,
    size: Divisor,
    /// In the order of the run, the shorter shard's place, and how much it lacks.
    run_short: Gap,
    run_keys: Keys,
    epoch_keys: Keys,
    nodes: Vec<Node>,
    /// The shards of parts.
    memo: Memo,
}

/// A slot that is not full.
#[derive(Clone, Copy, Debug)]
struct Gap {
    slot: u64,
    /// Where its samples end, not counting what is missing.
    end: u64,
    missing: u64,
}

impl Gap {
    /// None at all: behind everything.
    const NONE: Self = Self { slot: u64::MAX, end: u64::MAX, missing: 0 };
}

/// The parts of a canonical node.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u64,
    /// The first part's shard, in the order of the run.
    first: u64,
    /// How much of that shard belongs to the node before.
    skip: u64,
    /// The slot of the first part in this epoch.
    first_slot: u64,
    /// The node's number: with `first` and a slot it makes a key that no other part has.
    number: u64,
    parts: Domain,
    tweak: u64,
    gaps: [Gap; 3],
}

impl Regular {
    pub(super) fn new(sizes: Sizes, cut: &CanonicalCut, seed: u64, epoch: u64) -> Result<Self, OutOfMemory> {
        let run_keys = Keys::new(seed, 0, Purpose::Shards);
        let shards = Domain::new(sizes.shards);
        let slot = run_keys.invert(shards, 0, sizes.shards - 1);
        let run_short = Gap { slot, end: (slot + 1) * sizes.size - sizes.short, missing: sizes.short };
        let mut regular = Self {
            shards,
            size: Divisor::new(sizes.size).expect("shards that are not empty"),
            run_short,
            run_keys,
            epoch_keys: Keys::new(seed, epoch, Purpose::Parts),
            nodes: Vec::new(),
            memo: Memo::new(),
        };
        let mut nodes = reserve(cut.nodes())?;
        nodes.extend((0..cut.nodes()).map(|node| regular.node(node, cut)));
        regular.nodes = nodes;
        Ok(regular)
    }

    fn node(&self, node: u64, cut: &CanonicalCut) -> Node {
        let (range, tweak) = (cut.range(node), spread(node));
        if range.is_empty() {
            return Node {
                start: range.start,
                first: 0,
                skip: 0,
                first_slot: 0,
                number: node,
                parts: Domain::new(0),
                tweak,
                gaps: [Gap::NONE; 3],
            };
        }
        let (first, skip) = self.run_slot(range.start);
        let (last, last_offset) = self.run_slot(range.end - 1);
        let parts = Domain::new(last - first + 1);
        let short = self.run_short;
        let last_size = self.size.get() - if last == short.slot { short.missing } else { 0 };
        let missing = [(first, skip), (last, last_size - last_offset - 1), (short.slot, short.missing)];
        let mut gaps = missing.map(|(run_slot, missing)| {
            let part = run_slot.wrapping_sub(first);
            if missing == 0 || part >= parts.len() {
                return Gap::NONE;
            }
            Gap { slot: self.epoch_keys.invert(parts, tweak, part), end: u64::MAX, missing }
        });
        gaps.sort_unstable_by_key(|gap| gap.slot);
        let mut missing = 0;
        for index in 0..gaps.len() {
            let gap = gaps[index];
            missing += gap.missing;
            if gap.slot == u64::MAX {
                continue;
            }
            // Gaps of one slot all lie at its end.
            let others: u64 =
                gaps[index + 1..].iter().filter(|other| other.slot == gap.slot).map(|other| other.missing).sum();
            gaps[index].end = (gap.slot + 1) * self.size.get() - missing - others;
        }
        let first_slot = self.epoch_keys.invert(parts, tweak, 0);
        Node { start: range.start, first, skip, first_slot, number: node, parts, tweak, gaps }
    }

    /// The shard at this place of the run's order, and the offset in it.
    fn run_slot(&self, place: u64) -> (u64, u64) {
        self.size.divide(place + if place >= self.run_short.end { self.run_short.missing } else { 0 })
    }

    #[inline]
    pub(super) fn id_at(&self, node: u64, place: u64) -> u64 {
        let node = &self.nodes[index(node)];
        let mut padded = place - node.start;
        let local = padded;
        for gap in &node.gaps {
            padded += if local >= gap.end { gap.missing } else { 0 };
        }
        let (slot, offset) = self.size.divide(padded);
        let key = node.first + node.number + slot;
        let shard = self.memo.get(key, || self.shard(node, slot));
        shard * self.size.get() + offset + if slot == node.first_slot { node.skip } else { 0 }
    }

    /// The shard of the part in this slot.
    fn shard(&self, node: &Node, slot: u64) -> u64 {
        let part = self.epoch_keys.permute(node.parts, node.tweak, slot);
        self.run_keys.permute(self.shards, 0, node.first + part)
    }

    pub(super) fn place_of(&self, cut: &CanonicalCut, id: u64) -> u64 {
        let (shard, offset) = self.size.divide(id);
        let run_slot = self.run_keys.invert(self.shards, 0, shard);
        let lacking = if run_slot > self.run_short.slot { self.run_short.missing } else { 0 };
        let node = cut.node_of(run_slot * self.size.get() - lacking + offset);
        let node = &self.nodes[index(node)];
        let part = run_slot - node.first;
        let slot = self.epoch_keys.invert(node.parts, node.tweak, part);
        let missing: u64 = node.gaps.iter().filter(|gap| gap.slot < slot).map(|gap| gap.missing).sum();
        let offset = offset - if part == 0 { node.skip } else { 0 };
        node.start + slot * self.size.get() - missing + offset
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "an index of a list in memory")]
const fn index(number: u64) -> usize {
    number as usize
}
