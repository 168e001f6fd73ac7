//! One worker's places, in the order in which it reads them.

use std::ops::Range;

use crate::divisor::Divisor;
use crate::topology::{Coordinate, Topology};

/// The coordinates of one worker, batch by batch.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    worker: Coordinate,
    batch_size: Divisor,
    range: Range<u64>,
}

impl Places {
    /// All places of a worker that has `batches` batches; none for a worker that does not exist.
    pub(crate) fn new(topology: &Topology, batch_size: Divisor, batches: u64, worker: Coordinate) -> Self {
        let exists = topology.has_worker(worker.node, worker.rank, worker.worker);
        let end = if exists { batches * batch_size.get() } else { 0 };
        Self { worker, batch_size, range: 0..end }
    }

    #[inline]
    fn coordinate(&self, place: u64) -> Coordinate {
        let (batch, slot) = self.batch_size.divide(place);
        Coordinate { batch, slot, ..self.worker }
    }

    #[inline]
    pub(crate) fn nth(&mut self, skipped: usize) -> Option<Coordinate> {
        self.range.nth(skipped).map(|place| self.coordinate(place))
    }

    #[inline]
    pub(crate) fn nth_back(&mut self, skipped: usize) -> Option<Coordinate> {
        self.range.nth_back(skipped).map(|place| self.coordinate(place))
    }

    /// The places left, where they fit into a `usize`.
    pub(crate) fn left(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.range.end - self.range.start).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

/// Implements the iterators over a struct that has `source`, which answers `$get` for a coordinate, and `places`.
macro_rules! iterate_places {
    ($iterator:ident, $get:ident) => {
        impl Iterator for $iterator<'_> {
            type Item = Option<u64>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.nth(0)
            }

            #[inline]
            fn nth(&mut self, skipped: usize) -> Option<Self::Item> {
                self.places.nth(skipped).map(|place| self.source.$get(place))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.places.left()
            }

            fn count(self) -> usize {
                self.len()
            }

            fn last(mut self) -> Option<Self::Item> {
                self.next_back()
            }
        }

        impl DoubleEndedIterator for $iterator<'_> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                self.nth_back(0)
            }

            #[inline]
            fn nth_back(&mut self, skipped: usize) -> Option<Self::Item> {
                self.places.nth_back(skipped).map(|place| self.source.$get(place))
            }
        }

        impl ExactSizeIterator for $iterator<'_> {}

        impl std::iter::FusedIterator for $iterator<'_> {}
    };
}

pub(crate) use iterate_places;
