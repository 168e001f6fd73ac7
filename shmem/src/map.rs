//! The mapping of a segment's file: the one place where shared memory becomes references.

#![expect(unsafe_code, reason = "memory that other processes write to is outside the language")]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use memmap2::{MmapOptions, MmapRaw};

/// An atomic that may lie in shared memory: plain memory in which every pattern of bits is a value.
pub trait Atomic: sealed::Sealed + Sync + 'static {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! atomic {
    ($($atomic:ty),*) => { $(
        impl sealed::Sealed for $atomic {}
        impl Atomic for $atomic {}
    )* };
}

atomic!(AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicI32, AtomicI64);

/// A file mapped shared and writable.
pub(crate) struct Mapping {
    raw: MmapRaw,
}

impl Mapping {
    /// Maps the first `size` bytes. The file must be that long, or touching the rest is SIGBUS.
    pub(crate) fn new(file: &File, size: usize) -> io::Result<Self> {
        Ok(Self { raw: MmapOptions::new().len(size).map_raw(file)? })
    }

    /// The memory at `offset` as `len` atomics.
    ///
    /// # Panics
    ///
    /// If that is outside of the mapping or not aligned.
    pub(crate) fn view<A: Atomic>(&self, offset: usize, len: usize) -> &[A] {
        let end = size_of::<A>().checked_mul(len).and_then(|size| offset.checked_add(size));
        assert!(end.is_some_and(|end| end <= self.raw.len()), "the place is outside of the segment");
        assert!(offset.is_multiple_of(align_of::<A>()), "the place is not aligned");
        // SAFETY: the range lies in the mapping, which lives as long as the returned borrow and starts at a page, so the
        // pointer is valid and aligned. `A` is one of the atomics above: every content is a value of it, and whatever
        // others write to it at the same time, here or in another process, they write atomically, since all access to
        // the memory goes through this function. What is not of this protocol and writes to the file is excluded by the
        // file's permissions.
        unsafe { std::slice::from_raw_parts(self.raw.as_ptr().add(offset).cast::<A>(), len) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn mapping(size: usize) -> Mapping {
        let file = tempfile::tempfile().expect("the temporary directory is writable");
        file.set_len(size as u64).expect("a file can grow");
        Mapping::new(&file, size).expect("a file can be mapped")
    }

    #[test]
    fn views_are_the_same_memory() {
        let mapping = mapping(64);
        mapping.view::<AtomicU64>(8, 2)[1].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(mapping.view::<AtomicU8>(16, 1)[0].load(Ordering::Relaxed), u8::MAX);
        assert_eq!(mapping.view::<AtomicU8>(24, 1)[0].load(Ordering::Relaxed), 0);
        assert!(mapping.view::<AtomicU32>(64, 0).is_empty(), "nothing fits at the end");
    }

    #[test]
    fn what_lies_outside_or_askew_is_refused() {
        for (offset, len) in [(60, 2), (64, 1), (0, 17), (usize::MAX - 3, 1), (0, usize::MAX), (2, 1)] {
            let outcome = std::panic::catch_unwind(|| {
                mapping(64).view::<AtomicU32>(offset, len);
            });
            assert!(outcome.is_err(), "{len} at {offset}");
        }
    }
}
