//! `FileLock` between handles and processes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lockstep_filelock::{ByteLocks, FileLock, LockError, Wait};
use nix::unistd::{ForkResult, fork};

use crate::helper::{Helper, job, listen, say};

const AGES: Wait = Wait::For(Duration::from_secs(30));

/// What helper processes do here.
#[expect(clippy::zombie_processes, reason = "the grandchild is meant to outlive the helper")]
#[test]
fn helper_of_files() {
    let Some(job) = job() else {
        let helper = Helper::spawn("file::helper_of_files", &["speak"]);
        helper.expect("here");
        assert!(helper.finish(), "a helper ends with its input");
        return;
    };
    match &job.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["speak"] => {
            say("here");
            listen();
        }
        ["hold", path] => {
            let lock = FileLock::exclusive(path, AGES).expect("it becomes free");
            say("locked");
            listen();
            drop(lock);
            say("released");
            listen();
        }
        ["hold and start a program", path] => {
            let lock = FileLock::exclusive(path, AGES).expect("it becomes free");
            // A grandchild that outlives this process: it has the test's pipe as input, and ends with it.
            let child = Command::new("cat").stdout(Stdio::null()).spawn().expect("cat is everywhere");
            say(&format!("locked {}", child.id()));
            listen();
            drop(lock);
        }
        ["hold and fork", path] => hold_and_fork(path),
        other => panic!("no such job: {other:?}"),
    }
}

/// Forks with locks held. The child uses and drops everything it inherits, and lives until it is told not to.
#[expect(unsafe_code, reason = "fork is")]
fn hold_and_fork(path: &str) {
    let lock = FileLock::exclusive(path, AGES).expect("it becomes free");
    let bytes = ByteLocks::open(format!("{path}.bytes")).expect("it can be created");
    let byte = bytes.exclusive(7, AGES).expect("it becomes free");
    let (mut ours, theirs) = UnixStream::pair().expect("there are sockets");
    // SAFETY: the child uses nothing of the test harness, allocates by `malloc` alone, which the C library makes safe
    // after a fork, and ends without returning.
    if let ForkResult::Child = unsafe { fork() }.expect("there may be another process") {
        let refused = matches!(bytes.shared(8, Wait::Immediately), Err(LockError::Inherited { .. }))
            && matches!(bytes.query(7), Err(LockError::Inherited { .. }));
        drop((lock, byte, ours));
        let mut theirs = theirs;
        let _ = theirs.write_all(&[u8::from(refused)]);
        // Until the parent, the only other one that has the socket, ends.
        let _ = theirs.read(&mut [0]);
        // SAFETY: ends this process.
        unsafe { nix::libc::_exit(0) };
    }
    drop(theirs);
    let mut refused = [0];
    ours.read_exact(&mut refused).expect("the child lives");
    say(if refused == [1] { "dropped in the child" } else { "used in the child" });
    listen();
    drop((lock, byte));
    say("dropped in the parent");
    listen();
}

fn hold(path: &Path) -> Helper {
    let helper = Helper::spawn("file::helper_of_files", &["hold", path.to_str().expect("a plain path")]);
    helper.expect("locked");
    helper
}

#[test]
fn two_handles_of_a_process_exclude_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let exclusive = FileLock::exclusive(&path, Wait::Immediately).expect("it is free");
    assert!(exclusive.is_exclusive());
    assert_eq!(exclusive.path(), path);
    assert!(FileLock::exclusive(&path, Wait::Immediately).expect_err("it is held").is_held());
    assert!(FileLock::shared(&path, Wait::Immediately).expect_err("it is held").is_held());
    drop(exclusive);
    let shared = FileLock::shared(&path, Wait::Immediately).expect("it was released");
    let another = FileLock::shared(&path, Wait::Immediately).expect("it can be shared");
    assert!(FileLock::exclusive(&path, Wait::Immediately).expect_err("it is shared").is_held());
    drop((shared, another));
    drop(FileLock::exclusive(&path, Wait::Immediately).expect("it was released"));
}

#[test]
fn the_error_names_the_holder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let helper = hold(&path);
    let error = FileLock::exclusive(&path, Wait::Immediately).expect_err("it is held");
    let LockError::Held { holder: Some(holder), byte: None, .. } = &error else { panic!("{error:?}") };
    assert_eq!(holder.pid, helper.pid());
    assert!(error.to_string().contains(&format!("process {}", helper.pid())), "{error}");
}

#[test]
fn waiting_for_some_time_takes_that_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let _held = FileLock::exclusive(&path, Wait::Immediately).expect("it is free");
    let (started, time) = (Instant::now(), Duration::from_millis(40));
    let error = FileLock::shared(&path, Wait::For(time)).expect_err("it stays held");
    assert!(started.elapsed() >= time);
    assert!(matches!(error, LockError::Held { waited, .. } if waited >= time), "{error:?}");
}

#[test]
fn a_lock_is_released_to_those_who_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    for wait in [AGES, Wait::Forever] {
        let mut helper = hold(&path);
        let waiter = std::thread::spawn({
            let path = path.clone();
            move || FileLock::exclusive(path, wait).map(drop)
        });
        helper.tell("release");
        waiter.join().expect("the thread ends").expect("it is granted");
        helper.expect("released");
    }
}

#[test]
fn a_killed_process_holds_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    hold(&path).kill();
    drop(FileLock::exclusive(&path, Wait::Immediately).expect("the kernel took it back"));
}

#[test]
fn a_started_program_does_not_inherit_the_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    // The grandchild reads from the same pipe as the helper, and so lives until the test closes it.
    let job = ["hold and start a program", path.to_str().expect("a plain path")];
    let mut helper = Helper::spawn("file::helper_of_files", &job);
    let said = helper.hear();
    let grandchild = said.strip_prefix("locked ").expect("it says the number of the grandchild");
    helper.kill_only();
    assert!(Path::new("/proc").join(grandchild).exists(), "the grandchild outlives the holder");
    drop(FileLock::exclusive(&path, Wait::Immediately).expect("the grandchild has nothing"));
}

#[test]
fn a_forked_child_neither_releases_nor_keeps_the_locks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let mut helper = Helper::spawn("file::helper_of_files", &["hold and fork", path.to_str().expect("a plain path")]);
    let bytes = ByteLocks::open(folder.path().join("lock.bytes")).expect("it can be opened");
    helper.expect("dropped in the child");
    assert!(FileLock::shared(&path, Wait::Immediately).expect_err("it is the parent's").is_held());
    assert!(bytes.shared(7, Wait::Immediately).expect_err("it is the parent's").is_held());
    helper.tell("drop");
    helper.expect("dropped in the parent");
    // The child still lives, and has the files open.
    drop(FileLock::exclusive(&path, Wait::Immediately).expect("the parent has released it"));
    drop(bytes.exclusive(7, Wait::Immediately).expect("the parent has released it"));
}

#[test]
fn a_downgraded_lock_can_be_shared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let lock = FileLock::exclusive(&path, Wait::Immediately).expect("it is free").downgrade().expect("it is ours");
    assert!(!lock.is_exclusive());
    drop(FileLock::shared(&path, Wait::Immediately).expect("it is shared"));
    assert!(FileLock::exclusive(&path, Wait::Immediately).expect_err("it is shared").is_held());
    assert!(lock.remove().is_err(), "who shares a lock cannot remove it");
}

#[test]
fn a_removed_lock_file_fools_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    let lock = FileLock::exclusive(&path, Wait::Immediately).expect("it is free");
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                let lock = FileLock::exclusive(&path, AGES).expect("it is granted in the end");
                // Whoever is in here is alone: the file of this name is the one that is locked.
                assert!(FileLock::exclusive(&path, Wait::Immediately).expect_err("it is held").is_held());
                lock.remove().expect("it is there");
            })
        })
        .collect();
    lock.remove().expect("it is there");
    for waiter in waiters {
        waiter.join().expect("none of them met another");
    }
    assert!(!path.exists(), "the last one removed it");
}

#[test]
fn links_and_content_are_safe() {
    let folder = tempfile::tempdir().expect("a folder");
    let (precious, link) = (folder.path().join("precious"), folder.path().join("link"));
    fs::write(&precious, "content").expect("the folder is writable");
    symlink(&precious, &link).expect("the folder is writable");
    assert!(matches!(FileLock::exclusive(&link, Wait::Immediately), Err(LockError::Open { .. })));
    drop(FileLock::exclusive(&precious, Wait::Immediately).expect("any file can be locked"));
    assert_eq!(fs::read_to_string(&precious).expect("it is there"), "content");
}

#[test]
fn a_missing_folder_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = FileLock::exclusive(folder.path().join("none/lock"), Wait::Immediately).expect_err("no folder");
    assert!(matches!(error, LockError::Open { .. }));
}

#[test]
fn directories_can_be_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || File::open(folder.path()).expect("it is there");
    let lock = FileLock::exclusive_on(open(), folder.path(), Wait::Immediately).expect("it is free");
    assert!(FileLock::shared_on(open(), folder.path(), Wait::Immediately).expect_err("it is held").is_held());
    drop(lock);
    drop(FileLock::shared_on(open(), folder.path(), Wait::Immediately).expect("it was released"));
}
