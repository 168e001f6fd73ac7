//! The ranks of a group.

use std::ops::Range;

use crate::Assignment;

/// The ranks of a group, one after the other. See [`Assignment::members`].
#[derive(Debug, Clone)]
pub struct Members<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) group: u64,
    pub(crate) places: Range<u64>,
}

impl Iterator for Members<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        self.places.nth(n).map(|place| self.assignment.rank_at(self.group, place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl DoubleEndedIterator for Members<'_> {
    fn next_back(&mut self) -> Option<u64> {
        self.places.next_back().map(|place| self.assignment.rank_at(self.group, place))
    }
}
