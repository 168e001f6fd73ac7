//! Orders: bijections from the positions of an epoch to its logical sample ids.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The order in which the samples of an epoch come: a bijection of `0..len`.
///
/// A partition says which *position* is read where and when; an order says which logical sample
/// id stands at that position. Shuffles are orders, and so is [`Sequential`], the absence of a shuffle.
///
/// # Contract
///
/// - `at` is a bijection of `0..len()` onto itself, the same one for as long as the value lives.
/// - An order may hold only a part of an epoch (the canonical nodes it was asked for); it then answers for the positions
///   of that part alone and says so in its own documentation.
/// - The name identifies the algorithm *and its version*. It goes into checkpoints, so an order whose values change gets
///   another name.
pub trait Order: Send + Sync + Debug {
    /// How many positions there are.
    fn len(&self) -> u64;

    /// The logical sample id at `position`.
    ///
    /// # Panics
    ///
    /// May panic where `position` is not below [`len`](Self::len), or not in the part of the epoch that is held.
    fn at(&self, position: u64) -> u64;

    /// Algorithm and version, such as `py1e` or `windowed-v1`.
    fn name(&self) -> &str;

    /// Two positions, of the canonical nodes in which the first and the last sample of a shuffle unit come, or `None`
    /// where the order does not keep units together.
    ///
    /// An order that lays units end to end and cuts the whole into canonical nodes has the samples of a unit in these two
    /// nodes and all nodes between them. This is how the shards behind a node's part of an epoch are counted without
    /// visiting its samples.
    fn ends_of_unit(&self, unit: Range<u64>) -> Option<[u64; 2]> {
        let _ = unit;
        None
    }

    /// Whether there are no positions at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The order of the stored samples themselves: position `i` is logical sample `i`.
///
/// ```
/// use lockstep_partition::{Order, Sequential};
///
/// let order = Sequential::new(10);
/// assert_eq!(order.at(7), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequential {
    len: u64,
}

impl Sequential {
    /// The identity on `0..len`.
    #[must_use]
    pub const fn new(len: u64) -> Self {
        Self { len }
    }
}

impl Order for Sequential {
    fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    fn at(&self, position: u64) -> u64 {
        debug_assert!(position < self.len, "position {position} of an order of {}", self.len);
        position
    }

    fn name(&self) -> &'static str {
        "sequential"
    }

    fn ends_of_unit(&self, unit: Range<u64>) -> Option<[u64; 2]> {
        Some([unit.start, unit.end.checked_sub(1)?])
    }
}

/// Forwards to the order behind a pointer.
macro_rules! forward {
    ($($pointer:ty),+) => {$(
        impl<T: Order + ?Sized> Order for $pointer {
            fn len(&self) -> u64 {
                (**self).len()
            }

            #[inline]
            fn at(&self, position: u64) -> u64 {
                (**self).at(position)
            }

            fn name(&self) -> &str {
                (**self).name()
            }

            fn ends_of_unit(&self, unit: Range<u64>) -> Option<[u64; 2]> {
                (**self).ends_of_unit(unit)
            }
        }
    )+};
}

forward!(&T, Box<T>, Arc<T>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_is_the_identity() {
        let order = Sequential::new(5);
        assert_eq!((0..5).map(|position| order.at(position)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!((order.len(), order.is_empty(), order.name()), (5, false, "sequential"));
        assert_eq!((order.ends_of_unit(1..4), order.ends_of_unit(0..0)), (Some([1, 3]), None));
        assert!(Sequential::new(0).is_empty());
    }

    #[test]
    fn pointers_to_orders_are_orders() {
        fn third(order: impl Order) -> (u64, u64, String) {
            (order.len(), order.at(3), order.name().to_owned())
        }
        let expected = (u64::MAX, 3, "sequential".to_owned());
        let order = Sequential::new(u64::MAX);
        assert_eq!(third(&order as &dyn Order), expected);
        assert_eq!(third(Box::new(order) as Box<dyn Order>), expected);
        assert_eq!(third(Arc::new(order)), expected);
    }
}
