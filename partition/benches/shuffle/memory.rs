//! An allocator that keeps count.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, and how much of it is in use.
pub(crate) struct Counting {
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Counting {
    pub(crate) const fn new() -> Self {
        Self { used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// Begins to watch for a peak; returns what is in use now.
    pub(crate) fn start(&self) -> usize {
        let used = self.used.load(Relaxed);
        self.peak.store(used, Relaxed);
        used
    }

    /// The most that was in use since the watch began.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    fn add(&self, size: usize) {
        let used = self.used.fetch_add(size, Relaxed) + size;
        self.peak.fetch_max(used, Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it is; only the sizes are noted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the block came from `alloc` above, so from the system's allocator, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    // Not left to the default, which would hold the old and the new block at once where the system grows or shrinks one.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            self.add(size - layout.size());
        } else {
            self.used.fetch_sub(layout.size() - size, Relaxed);
        }
        // SAFETY: the block came from the system's allocator with this layout, and the caller vouches for the size.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
}
