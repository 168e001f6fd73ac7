//! `ByteLocks` between handles, threads and processes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockstep_filelock::{ByteLocks, ByteState, LockError, Wait};

use crate::helper::{Helper, job, listen, say};

const AGES: Wait = Wait::For(Duration::from_secs(30));

/// What helper processes do here.
#[test]
fn helper_of_bytes() {
    let Some(job) = job() else {
        let helper = Helper::spawn("bytes::helper_of_bytes", &["speak"]);
        helper.expect("here");
        assert!(helper.finish(), "a helper ends with its input");
        return;
    };
    match &job.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["speak"] => {
            say("here");
            listen();
        }
        ["exclusive, then shared", path, byte] => {
            let byte = byte.parse().expect("a number");
            let locks = ByteLocks::open(path).expect("it can be opened");
            let exclusive = locks.exclusive(byte, AGES).expect("it becomes free");
            say("exclusive");
            listen();
            let shared = exclusive.downgrade().expect("it is ours");
            say("shared");
            listen();
            drop(shared);
            say("released");
            listen();
        }
        other => panic!("no such job: {other:?}"),
    }
}

fn hold(path: &Path, byte: u64) -> Helper {
    let path = path.to_str().expect("a plain path");
    let helper = Helper::spawn("bytes::helper_of_bytes", &["exclusive, then shared", path, &byte.to_string()]);
    helper.expect("exclusive");
    helper
}

#[test]
fn a_process_holds_converts_and_releases() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shards.lock");
    let locks = ByteLocks::open(&path).expect("it can be created");
    let mut helper = hold(&path, 1000);
    let ByteState::Exclusive { holder: Some(holder) } = locks.query(1000).expect("it can be asked") else {
        panic!("the helper is written down")
    };
    assert_eq!(holder.pid, helper.pid());
    assert_eq!(locks.query(999).expect("it can be asked"), ByteState::Free);
    let error = locks.shared(1000, Wait::Immediately).expect_err("it is held");
    assert!(error.to_string().contains("byte 1000 of"), "{error}");
    assert!(error.to_string().contains(&format!("process {}", helper.pid())), "{error}");

    helper.tell("share");
    helper.expect("shared");
    assert_eq!(locks.query(1000).expect("it can be asked"), ByteState::Shared);
    drop(locks.shared(1000, Wait::Immediately).expect("it is shared"));
    assert!(locks.exclusive(1000, Wait::Immediately).expect_err("it is shared").is_held());

    helper.tell("release");
    helper.expect("released");
    drop(locks.exclusive(1000, Wait::Immediately).expect("it was released"));
    assert_eq!(locks.query(1000).expect("it can be asked"), ByteState::Free);
}

#[test]
fn a_killed_process_holds_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shards.lock");
    let locks = ByteLocks::open(&path).expect("it can be created");
    hold(&path, 3).kill();
    assert_eq!(locks.query(3).expect("it can be asked"), ByteState::Free);
    drop(locks.exclusive(3, Wait::Immediately).expect("the kernel took it back"));
}

#[test]
fn who_waits_takes_over_from_the_dead() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shards.lock");
    for wait in [AGES, Wait::Forever] {
        let helper = hold(&path, 3);
        let locks = ByteLocks::open(&path).expect("it can be opened");
        let waiter = std::thread::spawn(move || locks.exclusive(3, wait).map(drop));
        helper.kill();
        waiter.join().expect("the thread ends").expect("the byte is free");
    }
}

#[test]
fn users_of_one_handle_exclude_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let locks = ByteLocks::open(folder.path().join("shards.lock")).expect("it can be created");
    let clone = locks.clone();
    let exclusive = locks.exclusive(0, Wait::Immediately).expect("it is free");
    assert_eq!(exclusive.byte(), 0);
    assert!(clone.shared(0, Wait::Immediately).expect_err("it is held").is_held());
    assert!(matches!(clone.query(0).expect("it can be asked"), ByteState::Exclusive { .. }));
    drop(clone.exclusive(1, Wait::Immediately).expect("other bytes are free"));

    let first = exclusive.downgrade().expect("it is ours");
    let second = clone.shared(0, Wait::Immediately).expect("it is shared");
    let other = ByteLocks::open(locks.path()).expect("it can be opened");
    drop(first);
    assert_eq!(other.query(0).expect("it can be asked"), ByteState::Shared, "one user is left");
    assert_eq!(second.byte(), 0);
    drop(second);
    assert_eq!(other.query(0).expect("it can be asked"), ByteState::Free);
}

#[test]
fn an_upgrade_needs_to_be_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shards.lock");
    let (here, there) = (ByteLocks::open(&path).expect("a handle"), ByteLocks::open(&path).expect("a handle"));
    let shared = here.shared(9, Wait::Immediately).expect("it is free");
    let remote = there.shared(9, Wait::Immediately).expect("it is shared");
    let (shared, error) = shared.try_upgrade().expect_err("another handle shares it");
    assert!(error.is_held());
    drop(remote);
    let local = here.shared(9, Wait::Immediately).expect("it is shared");
    let (shared, error) = shared.try_upgrade().expect_err("another user of this handle shares it");
    assert!(error.is_held());
    assert_eq!(there.query(9).expect("it can be asked"), ByteState::Shared, "a failed upgrade loses nothing");
    drop(local);
    let exclusive = shared.try_upgrade().expect("it is alone now");
    assert!(there.shared(9, Wait::Immediately).expect_err("it is held").is_held());
    drop(exclusive);
}

#[test]
fn waiting_for_some_time_takes_that_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let locks = ByteLocks::open(folder.path().join("shards.lock")).expect("it can be created");
    let another_handle = ByteLocks::open(locks.path()).expect("it can be opened");
    let _held = locks.exclusive(0, Wait::Immediately).expect("it is free");
    let time = Duration::from_millis(30);
    for handle in [locks.clone(), another_handle] {
        let started = Instant::now();
        let error = handle.shared(0, Wait::For(time)).expect_err("it stays held");
        assert!(started.elapsed() >= time);
        assert!(matches!(error, LockError::Held { waited, .. } if waited >= time), "{error:?}");
    }
}

/// A counter that is read and written apart, under the lock: any overlap loses a count.
#[test]
fn no_two_threads_are_ever_inside() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 100;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shards.lock");
    let shared_handle = ByteLocks::open(&path).expect("it can be created");
    let counter = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (path, handle, counter) = (&path, shared_handle.clone(), &counter);
            scope.spawn(move || {
                // Half of them share a handle, the others have their own.
                let locks = if thread % 2 == 0 { handle } else { ByteLocks::open(path).expect("it can be opened") };
                for _ in 0..ROUNDS {
                    let guard = locks.exclusive(0, AGES).expect("it becomes free");
                    let before = counter.load(Ordering::Relaxed);
                    std::thread::yield_now();
                    counter.store(before + 1, Ordering::Relaxed);
                    drop(guard);
                }
            });
        }
    });
    assert_eq!(counter.load(Ordering::Relaxed), THREADS * ROUNDS);
}

#[test]
fn a_file_that_is_not_ours_is_locked_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    fs::write(&path, "precious content of another").expect("the folder is writable");
    let locks = ByteLocks::open(&path).expect("any file can be locked");
    let guard = locks.exclusive(2, Wait::Immediately).expect("it is free");
    let another = ByteLocks::open(&path).expect("it can be opened");
    assert_eq!(another.query(2).expect("it can be asked"), ByteState::Exclusive { holder: None });
    drop(guard);
    let file = fs::File::options().read(true).write(true).open(&path).expect("it is there");
    drop(ByteLocks::on(file, &path).exclusive(2, Wait::Immediately).expect("it is free"));
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "precious content of another");
}
