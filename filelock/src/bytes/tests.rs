//! Both backends against the rules of a lock that is shared or exclusive, and against each other.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use proptest::prelude::*;

use super::{files, ofd};
use crate::file::{Mode, open_lock_file};

/// What a backend can do; each handle excludes the others.
trait Kernel: Sized {
    fn open(path: &Path) -> Self;
    fn file(&self) -> &File;
    fn try_lock(&self, byte: u64, mode: Mode) -> io::Result<bool>;
    fn lock(&self, byte: u64, mode: Mode) -> io::Result<()>;
    fn unlock(&self, byte: u64) -> io::Result<()>;
    fn query(&self, byte: u64) -> io::Result<Option<Mode>>;
}

macro_rules! kernel {
    ($backend:ty) => {
        impl Kernel for $backend {
            fn open(path: &Path) -> Self {
                Self::new(open_lock_file(path).expect("the folder is writable"), path)
            }
            fn file(&self) -> &File {
                self.file()
            }
            fn try_lock(&self, byte: u64, mode: Mode) -> io::Result<bool> {
                self.try_lock(byte, mode)
            }
            fn lock(&self, byte: u64, mode: Mode) -> io::Result<()> {
                self.lock(byte, mode)
            }
            fn unlock(&self, byte: u64) -> io::Result<()> {
                self.unlock(byte)
            }
            fn query(&self, byte: u64) -> io::Result<Option<Mode>> {
                self.query(byte)
            }
        }
    };
}

kernel!(ofd::Backend);
kernel!(files::Backend);

#[derive(Clone, Copy, Debug)]
enum Step {
    Lock(usize, u64, Mode),
    Unlock(usize, u64),
    Query(usize, u64),
    /// Drop a handle with all its locks, as a death does, and open another.
    Reopen(usize),
}

const HANDLES: usize = 3;
const BYTES: u64 = 2;

fn step() -> impl Strategy<Value = Step> {
    let (handle, byte) = (0..HANDLES, 0..BYTES);
    prop_oneof![
        6 => (handle.clone(), byte.clone(), prop_oneof![Just(Mode::Shared), Just(Mode::Exclusive)])
            .prop_map(|(handle, byte, mode)| Step::Lock(handle, byte, mode)),
        3 => (handle.clone(), byte.clone()).prop_map(|(handle, byte)| Step::Unlock(handle, byte)),
        2 => (handle.clone(), byte).prop_map(|(handle, byte)| Step::Query(handle, byte)),
        1 => handle.prop_map(Step::Reopen),
    ]
}

fn check<K: Kernel>(steps: &[Step]) {
    let folder = tempfile::tempdir().expect("the temporary directory is writable");
    let path = folder.path().join("lock");
    let mut handles: Vec<K> = (0..HANDLES).map(|_| K::open(&path)).collect();
    let mut model: HashMap<(usize, u64), Mode> = HashMap::new();
    for &step in steps {
        match step {
            Step::Lock(handle, byte, mode) => {
                let allowed = model.iter().all(|(&(other, at), &held)| {
                    other == handle || at != byte || (held == Mode::Shared && mode == Mode::Shared)
                });
                let granted = handles[handle].try_lock(byte, mode).expect("the kernel has locks");
                assert_eq!(granted, allowed, "{step:?} with {model:?}");
                if granted {
                    model.insert((handle, byte), mode);
                }
            }
            Step::Unlock(handle, byte) => {
                handles[handle].unlock(byte).expect("unlocking works, locked or not");
                model.remove(&(handle, byte));
            }
            Step::Query(handle, byte) => {
                // A handle does not see itself; where it holds the byte, `ByteLocks` never asks.
                if !model.contains_key(&(handle, byte)) {
                    let held = model.iter().find(|((_, at), _)| *at == byte).map(|(_, &mode)| mode);
                    assert_eq!(handles[handle].query(byte).expect("the kernel has locks"), held, "{step:?}");
                }
            }
            Step::Reopen(handle) => {
                handles[handle] = K::open(&path);
                model.retain(|(other, _), _| *other != handle);
            }
        }
    }
    assert_eq!(handles[0].file().metadata().expect("it is open").len(), 0, "locking touches no byte");
}

/// A blocked request is granted when the holder goes.
fn check_blocking<K: Kernel + Send + 'static>() {
    let folder = tempfile::tempdir().expect("the temporary directory is writable");
    let path = folder.path().join("lock");
    let holder = K::open(&path);
    holder.lock(5, Mode::Exclusive).expect("it is free");
    let waiter = K::open(&path);
    assert!(!waiter.try_lock(5, Mode::Shared).expect("the kernel has locks"));
    let waiter = std::thread::spawn(move || {
        waiter.lock(5, Mode::Shared).expect("it is granted");
        waiter
    });
    drop(holder);
    let waiter = waiter.join().expect("the thread ends");
    assert_eq!(K::open(&path).query(5).expect("the kernel has locks"), Some(Mode::Shared));
    drop(waiter);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn open_file_description_locks_follow_the_rules(steps in prop::collection::vec(step(), 1..40)) {
        check::<ofd::Backend>(&steps);
    }

    #[test]
    fn locks_on_files_follow_the_rules(steps in prop::collection::vec(step(), 1..40)) {
        check::<files::Backend>(&steps);
    }
}

#[test]
fn who_waits_gets_the_lock() {
    check_blocking::<ofd::Backend>();
    check_blocking::<files::Backend>();
}

#[test]
fn no_byte_is_beyond_reach_but_those_of_no_file() {
    let file = tempfile::tempfile().expect("the temporary directory is writable");
    let backend = ofd::Backend::new(file, Path::new("lock"));
    let last = i64::MAX as u64 - 1;
    assert!(backend.try_lock(last, Mode::Exclusive).expect("the last byte of the largest file"));
    for byte in [last + 1, u64::MAX] {
        let error = backend.try_lock(byte, Mode::Exclusive).expect_err("there is no such byte");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
