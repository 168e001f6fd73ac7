//! Reading a sample allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use lockstep_dataset::{Encoding, Shard};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: All work is done by the system's allocator; counting does not allocate, as the counter needs no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: The caller keeps the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: The caller keeps the contract of `dealloc`, which is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations of this thread while `work` runs.
pub(crate) fn count(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert!(count(|| drop(std::hint::black_box(vec![1_u8]))) >= 1);
}

#[test]
fn samples_and_their_columns_are_borrowed() {
    for name in ["mds_all_encodings", "mds_images", "csv", "jsonl"] {
        let (index, dir) = crate::support::open_fixture(name);
        for info in index.shards() {
            let shard = Shard::open(&dir, info).unwrap();
            let allocations = count(|| {
                for sample in shard.iter() {
                    let sample = sample.unwrap();
                    std::hint::black_box(sample.bytes());
                    for i in 0..sample.columns().len() {
                        // Text with escapes cannot be borrowed.
                        if name != "jsonl" || *sample.columns().get(i).unwrap().encoding() != Encoding::Str {
                            std::hint::black_box(sample.column_at(i).unwrap());
                        }
                    }
                }
            });
            assert_eq!(allocations, 0, "in {}", shard.path().display());
        }
    }
}
