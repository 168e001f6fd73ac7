//! What lies where in a segment.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::barrier::{self, Barrier};
use crate::header;
use crate::map::Atomic;
use crate::name::mix;
use crate::roster::{self, Roster};
use crate::{SharedArray, SharedAtomic};

/// Everything starts on a cache line of its own. Two lines, since processors fetch lines in pairs.
pub(crate) const LINE: usize = 128;

/// What lies in a segment. Its users must all build the same one, in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    size: usize,
    fingerprint: u64,
    roster: Option<Place<Roster>>,
}

/// Where something lies in the segments of a layout.
pub struct Place<T: ?Sized> {
    offset: usize,
    len: usize,
    what: PhantomData<fn() -> T>,
}

impl Layout {
    /// An empty layout. `fingerprint` stands for whatever else the users of a segment must agree on; who comes with
    /// another one is refused.
    pub fn new(fingerprint: u64) -> Self {
        Self { size: header::SIZE.next_multiple_of(LINE), fingerprint, roster: None }
    }

    /// `len` values of a plain type.
    ///
    /// # Panics
    ///
    /// If that is more than an address space holds; so do the other methods.
    pub fn array<T: Pod>(&mut self, len: usize) -> Place<SharedArray<T>> {
        self.place(1, size_of::<T>(), len, 0)
    }

    /// An atomic number.
    pub fn atomic<A: Atomic>(&mut self) -> Place<SharedAtomic<A>> {
        self.place(2, size_of::<A>(), 1, 0)
    }

    /// Places for `participants` participants.
    pub fn roster(&mut self, participants: usize) -> Place<Roster> {
        let place = self.place(3, roster::ENTRY_SIZE, participants, 0);
        self.roster.get_or_insert(place);
        place
    }

    /// A barrier for all participants of a roster.
    pub fn barrier(&mut self, roster: Place<Roster>) -> Place<Barrier> {
        self.place(4, barrier::SLOT_SIZE, roster.len, barrier::FIXED_SIZE)
    }

    /// The size of a segment, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The first roster, for who looks at segments from outside.
    pub(crate) fn first_roster(&self) -> Option<Place<Roster>> {
        self.roster
    }

    fn place<T: ?Sized>(&mut self, kind: u64, item: usize, len: usize, fixed: usize) -> Place<T> {
        let offset = self.size;
        let size = item.checked_mul(len).and_then(|size| size.checked_add(fixed)).and_then(|size| {
            let end = offset.checked_add(size)?.checked_next_multiple_of(LINE)?;
            // Objects of more than half of the address space do not exist.
            isize::try_from(end).ok().map(|_| end)
        });
        self.size = size.expect("a segment must fit into the address space");
        for value in [kind, item as u64, len as u64] {
            self.fingerprint = mix(self.fingerprint, value);
        }
        Place { offset, len, what: PhantomData }
    }
}

impl<T: ?Sized> Place<T> {
    pub(crate) fn new(offset: usize, len: usize) -> Self {
        Self { offset, len, what: PhantomData }
    }

    pub(crate) fn offset(self) -> usize {
        self.offset
    }

    pub(crate) fn len(self) -> usize {
        self.len
    }
}

impl<T: ?Sized> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Place<T> {}

impl<T: ?Sized> PartialEq for Place<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.offset, self.len) == (other.offset, other.len)
    }
}

impl<T: ?Sized> Eq for Place<T> {}

impl<T: ?Sized> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("offset", &self.offset).field("len", &self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn places_are_apart() {
        let mut layout = Layout::new(0);
        let bytes = layout.array::<u8>(3);
        let number = layout.atomic::<AtomicU64>();
        let words = layout.array::<u64>(100);
        let end = layout.size();
        assert!(bytes.offset() >= header::SIZE);
        assert!(number.offset() >= bytes.offset() + 3);
        assert!(words.offset() >= number.offset() + 8);
        assert!(end >= words.offset() + 800);
        for offset in [bytes.offset(), number.offset(), words.offset(), end] {
            assert!(offset.is_multiple_of(LINE));
        }
    }

    #[test]
    fn layouts_differ_by_what_is_in_them() {
        let build = |seed, fill: &dyn Fn(&mut Layout)| {
            let mut layout = Layout::new(seed);
            fill(&mut layout);
            layout.fingerprint()
        };
        let variants = [
            build(0, &|_| ()),
            build(1, &|_| ()),
            build(0, &|layout| {
                layout.array::<u64>(2);
            }),
            build(0, &|layout| {
                layout.array::<u32>(4);
            }),
            build(0, &|layout| {
                layout.array::<u64>(3);
            }),
            build(0, &|layout| {
                layout.roster(4);
            }),
            build(0, &|layout| {
                layout.atomic::<AtomicU64>();
            }),
        ];
        for (i, a) in variants.iter().enumerate() {
            assert!(!variants[..i].contains(a), "variant {i}");
        }
    }

    #[test]
    #[should_panic(expected = "must fit into the address space")]
    fn what_cannot_exist_is_refused() {
        Layout::new(0).array::<u64>(usize::MAX / 8);
    }
}
