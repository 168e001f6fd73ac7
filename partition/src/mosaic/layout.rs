//! Shards, and their parts in canonical nodes.

use super::Id;
use crate::{ShuffleUnits, shuffle::CanonicalCut};

/// A stretch of consecutive sample ids: a shard, or the part of one that fell to a canonical node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) len: u64,
}

impl Span {
    /// The ids, in order.
    pub(super) fn ids<I: Id>(self) -> impl Iterator<Item = I> {
        (self.start..self.start + self.len).map(I::new)
    }
}

/// The shards, in their stored order.
pub(super) fn spans(units: &ShuffleUnits) -> impl Iterator<Item = Span> + '_ {
    units.sizes().scan(0, |start, len| {
        let span = Span { start: *start, len };
        *start += len;
        Some(span)
    })
}

/// The parts of every canonical node.
pub(super) struct Layout {
    parts: Vec<Span>,
    /// Where the parts of each canonical node end.
    ends: Vec<usize>,
}

impl Layout {
    /// Cuts shards, laid end to end in the order given, at the bounds of canonical nodes. Fills `ends`.
    pub(super) fn new(shards: impl IntoIterator<Item = Span>, cut: &CanonicalCut, mut ends: Vec<usize>) -> Self {
        let mut shards = shards.into_iter();
        let mut parts = Vec::with_capacity(shards.size_hint().0);
        let mut next = shards.next();
        let mut filled = 0;
        for node in 0..cut.nodes() {
            let end = cut.start(node + 1);
            while let Some(shard) = next {
                if filled + shard.len > end {
                    let (fits, rest) = split(shard, end - filled);
                    // A part without samples counts for the shuffle of the parts, so none may be made up.
                    parts.extend((fits.len > 0).then_some(fits));
                    next = Some(rest);
                    filled = end;
                    break;
                }
                parts.push(shard);
                filled += shard.len;
                next = shards.next();
            }
            ends.push(parts.len());
        }
        Self { parts, ends }
    }

    /// Each canonical node and its parts.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u64, &[Span])> {
        let starts = std::iter::once(&0).chain(&self.ends);
        (0..).zip(starts.zip(&self.ends).map(|(&start, &end)| &self.parts[start..end]))
    }

    /// As [`nodes`](Self::nodes), to shuffle them.
    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = (u64, &mut [Span])> {
        let mut rest = self.parts.as_mut_slice();
        let mut start = 0;
        (0..).zip(self.ends.iter().map(move |&end| {
            let (parts, others) = std::mem::take(&mut rest).split_at_mut(end - start);
            (start, rest) = (end, others);
            parts
        }))
    }
}

const fn split(span: Span, len: u64) -> (Span, Span) {
    (Span { start: span.start, len }, Span { start: span.start + len, len: span.len - len })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(sizes: &[u64], nodes: u64) -> Vec<Vec<(u64, u64)>> {
        let units = ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap();
        let layout = Layout::new(spans(&units), &CanonicalCut::new(units.num_samples(), nodes), Vec::new());
        layout.nodes().map(|(_, parts)| parts.iter().map(|part| (part.start, part.len)).collect()).collect()
    }

    #[test]
    fn shards_are_cut_at_the_bounds_of_nodes() {
        assert_eq!(cut(&[4, 4, 2], 3), [vec![(0, 3)], vec![(3, 1), (4, 2)], vec![(6, 2), (8, 2)]]);
        assert_eq!(cut(&[3, 3], 2), [vec![(0, 3)], vec![(3, 3)]]);
    }

    #[test]
    fn empty_shards_and_empty_nodes_are_kept() {
        assert_eq!(cut(&[0, 2, 0], 2), [vec![(0, 0), (0, 1)], vec![(1, 1), (2, 0)]]);
        assert_eq!(cut(&[1], 3), [vec![], vec![], vec![(0, 1)]]);
        assert_eq!(cut(&[], 2), [vec![], vec![]]);
    }
}
