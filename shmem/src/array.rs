//! Plain values and atomic numbers in shared memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use bytemuck::Pod;

use crate::layout::Place;
use crate::map::{Atomic, Mapping};
use crate::segment::Shared;

/// An array of plain values that all users of a segment see.
///
/// Values are copied in and out, in relaxed atomic steps as wide as the type's size allows. A value of up to eight bytes is
/// read whole if its size is a power of two; a larger one may be seen half-changed, unless writers and readers are kept apart by a
/// [`Barrier`](crate::Barrier) or another means of synchronisation. That is also what makes one's writes visible to others *in order*.
pub struct SharedArray<T> {
    shared: Arc<Shared>,
    place: Place<Self>,
    item: PhantomData<fn() -> T>,
}

impl<T: Pod> SharedArray<T> {
    pub(crate) fn new(shared: Arc<Shared>, place: Place<Self>) -> Self {
        Self { shared, place, item: PhantomData }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.place.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `index`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn get(&self, index: usize) -> T {
        let mut value = T::zeroed();
        self.read(index, std::slice::from_mut(&mut value));
        value
    }

    /// Changes the value at `index`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn set(&self, index: usize, value: T) {
        self.write(index, &[value]);
    }

    /// Copies the values from `start` on into `values`.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn read(&self, start: usize, values: &mut [T]) {
        let offset = self.offset(start, values.len());
        let bytes = bytemuck::cast_slice_mut::<T, u8>(values);
        let mapping = self.shared.mapping();
        match Self::WIDTH {
            8 => load::<u64, 8>(mapping, offset, bytes),
            4 => load::<u32, 4>(mapping, offset, bytes),
            2 => load::<u16, 2>(mapping, offset, bytes),
            _ => load::<u8, 1>(mapping, offset, bytes),
        }
    }

    /// Copies `values` to the place from `start` on.
    ///
    /// # Panics
    ///
    /// If there is no room for them.
    pub fn write(&self, start: usize, values: &[T]) {
        let offset = self.offset(start, values.len());
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        let mapping = self.shared.mapping();
        match Self::WIDTH {
            8 => store::<u64, 8>(mapping, offset, bytes),
            4 => store::<u32, 4>(mapping, offset, bytes),
            2 => store::<u16, 2>(mapping, offset, bytes),
            _ => store::<u8, 1>(mapping, offset, bytes),
        }
    }

    /// The widest word that divides the size of a value. Always the same for a place, so that no two accesses of
    /// different width ever meet.
    const WIDTH: usize = 1 << {
        let zeros = size_of::<T>().trailing_zeros();
        if zeros < 3 { zeros } else { 3 }
    };

    fn offset(&self, start: usize, len: usize) -> usize {
        let end = start.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.len()), "{len} values at {start} of {}", self.len());
        self.place.offset() + start * size_of::<T>()
    }
}

/// A word that memory is copied in.
trait Word<const WIDTH: usize> {
    type Cell: Atomic;
    fn load(cell: &Self::Cell) -> [u8; WIDTH];
    fn store(cell: &Self::Cell, bytes: [u8; WIDTH]);
}

macro_rules! word {
    ($($word:ty, $cell:ty, $width:literal);*) => { $(
        impl Word<$width> for $word {
            type Cell = $cell;
            fn load(cell: &$cell) -> [u8; $width] {
                cell.load(Ordering::Relaxed).to_ne_bytes()
            }
            fn store(cell: &$cell, bytes: [u8; $width]) {
                cell.store(<$word>::from_ne_bytes(bytes), Ordering::Relaxed);
            }
        }
    )* };
}

word!(u64, AtomicU64, 8; u32, AtomicU32, 4; u16, AtomicU16, 2; u8, AtomicU8, 1);

fn load<W: Word<N>, const N: usize>(mapping: &Mapping, offset: usize, bytes: &mut [u8]) {
    let cells = mapping.view::<W::Cell>(offset, bytes.len() / N);
    for (cell, chunk) in cells.iter().zip(bytes.chunks_exact_mut(N)) {
        chunk.copy_from_slice(&W::load(cell));
    }
}

fn store<W: Word<N>, const N: usize>(mapping: &Mapping, offset: usize, bytes: &[u8]) {
    let cells = mapping.view::<W::Cell>(offset, bytes.len() / N);
    for (cell, chunk) in cells.iter().zip(bytes.chunks_exact(N)) {
        let mut word = [0; N];
        word.copy_from_slice(chunk);
        W::store(cell, word);
    }
}

impl<T> Clone for SharedArray<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), place: self.place, item: PhantomData }
    }
}

impl<T> fmt::Debug for SharedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedArray").field("place", &self.place).finish_non_exhaustive()
    }
}

/// An atomic number that all users of a segment see; use it as the atomic that it is.
pub struct SharedAtomic<A> {
    shared: Arc<Shared>,
    place: Place<Self>,
    item: PhantomData<fn() -> A>,
}

impl<A: Atomic> SharedAtomic<A> {
    pub(crate) fn new(shared: Arc<Shared>, place: Place<Self>) -> Self {
        Self { shared, place, item: PhantomData }
    }
}

impl<A: Atomic> Deref for SharedAtomic<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.shared.mapping().view(self.place.offset(), 1)[0]
    }
}

impl<A> Clone for SharedAtomic<A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), place: self.place, item: PhantomData }
    }
}

impl<A> fmt::Debug for SharedAtomic<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedAtomic").field("place", &self.place).finish_non_exhaustive()
    }
}
