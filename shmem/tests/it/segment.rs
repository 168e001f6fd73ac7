//! Segments: made, found, left and replaced.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use lockstep_filelock::FileLock;
use lockstep_shmem::{Layout, Segment, SegmentError, SegmentName, Wait};
use proptest::prelude::*;

use crate::helper::{Helper, job, listen, say};
use crate::participant::{AGES, Board, Space};

fn name() -> SegmentName {
    SegmentName::new(&["test", "job"])
}

fn open(space: &Space, layout: &Layout) -> Result<Segment, SegmentError> {
    Segment::open_or_create_in(&space.directory, &name(), layout, AGES)
}

#[test]
fn it_lives_as_long_as_its_users() {
    let space = Space::new();
    let mut layout = Layout::new(0);
    let number = layout.atomic::<AtomicU64>();
    let first = open(&space, &layout).expect("there is room");
    assert!(first.is_new());
    first.atomic(number).store(7, Ordering::Relaxed);
    let second = open(&space, &layout).expect("it is there");
    assert!(!second.is_new());
    let view = second.atomic(number);
    drop((first, second));
    assert_eq!(view.load(Ordering::Relaxed), 7, "what was made from a segment keeps it");
    assert!(!open(&space, &layout).expect("it is there").is_new());
    drop(view);
    space.check_empty();
    let fresh = open(&space, &layout).expect("there is room");
    assert!(fresh.is_new());
    assert_eq!(fresh.atomic(number).load(Ordering::Relaxed), 0, "it starts as zeros");
}

#[test]
fn whatever_lies_there_is_replaced() {
    let space = Space::new();
    let board = Board::new(3);
    let path = space.path().join(name().file_name());
    let good = {
        let _segment = open(&space, &board.layout).expect("there is room");
        fs::read(&path).expect("it is there")
    };
    let mut other_version = good.clone();
    other_version[8] = 99;
    for leftover in [good.clone(), good[..100].to_vec(), other_version, vec![0xaa; 1 << 20], Vec::new()] {
        fs::write(&path, &leftover).expect("it can be made");
        let segment = open(&space, &board.layout).expect("a leftover is no obstacle");
        assert!(segment.is_new(), "{} bytes", leftover.len());
        assert_eq!(segment.array(board.totals).get(0), 0);
        drop(segment);
        space.check_empty();
    }
}

#[test]
fn a_link_at_its_name_is_replaced_and_not_followed() {
    let space = Space::new();
    let path = space.path().join(name().file_name());
    let folder = tempfile::tempdir().expect("the temporary directory is writable");
    let precious = folder.path().join("precious");
    fs::write(&precious, "content").expect("it can be made");
    for target in [precious.as_path(), folder.path(), std::path::Path::new("nowhere")] {
        symlink(target, &path).expect("it can be made");
        drop(open(&space, &Layout::new(0)).expect("a link is no obstacle"));
        space.check_empty();
    }
    assert_eq!(fs::read_to_string(&precious).expect("it is there"), "content");
}

#[test]
fn what_is_no_file_is_refused() {
    let space = Space::new();
    let path = space.path().join(name().file_name());
    fs::create_dir(&path).expect("it can be made");
    assert!(open(&space, &Layout::new(0)).is_err());
    fs::remove_dir(&path).expect("it is still there");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("it can be made");
    assert!(matches!(open(&space, &Layout::new(0)), Err(SegmentError::NotOurs { .. })));
    fs::remove_file(&path).expect("it is still there");
}

#[test]
fn another_version_in_use_is_an_error() {
    let space = Space::new();
    let board = Board::new(3);
    let path = space.path().join(name().file_name());
    let mut content = {
        let _segment = open(&space, &board.layout).expect("there is room");
        fs::read(&path).expect("it is there")
    };
    content[8] = 99;
    for (content, version) in [(content, Some(99)), (vec![0xaa; 4096], None)] {
        fs::write(&path, content).expect("it can be made");
        let file = File::open(&path).expect("it is there");
        let user = FileLock::shared_on(file, &path, Wait::Immediately).expect("it is free");
        match open(&space, &board.layout) {
            Err(SegmentError::OtherVersion { found, expected: 1, .. }) => assert_eq!(found, version),
            other => panic!("{other:?}"),
        }
        drop(user);
        drop(open(&space, &board.layout).expect("nobody uses it any more"));
    }
    space.check_empty();
}

#[test]
fn another_layout_is_an_error() {
    let space = Space::new();
    let _segment = open(&space, &Board::new(3).layout).expect("there is room");
    let error = open(&space, &Board::new(4).layout).expect_err("it has three places");
    let SegmentError::OtherLayout { title, .. } = error else { panic!("{error:?}") };
    assert_eq!(title, "test / job");
}

#[test]
fn a_retired_segment_gives_up_its_name() {
    let space = Space::new();
    let board = Board::new(1);
    let old = open(&space, &board.layout).expect("there is room");
    old.array(board.totals).set(0, 7);
    old.retire(AGES).expect("the name is free");
    old.retire(AGES).expect("once more does nothing");
    let new = open(&space, &board.layout).expect("there is room");
    assert!(new.is_new());
    assert_eq!(new.array(board.totals).get(0), 0);
    assert_eq!(old.array(board.totals).get(0), 7);
    drop(old);
    assert!(!open(&space, &board.layout).expect("it is there").is_new(), "the old one took nothing along");
    drop(new);
    space.check_empty();
}

#[test]
fn leftovers_of_other_jobs_go_with_any_run() {
    let space = Space::new();
    for leftover in ["a.seg", "b.seg"] {
        fs::write(space.path().join(leftover), "rubbish").expect("it can be made");
    }
    let other = space.path().join("notes.txt");
    fs::write(&other, "not a segment").expect("it can be made");
    let segment = open(&space, &Layout::new(0)).expect("there is room");
    assert_eq!(space.directory.segments().expect("it can be listed").len(), 1);
    fs::write(space.path().join("c.seg"), "rubbish").expect("it can be made");
    drop(segment);
    fs::remove_file(&other).expect("what is not a segment stays");
    space.check_empty();
}

/// What helper processes do here.
#[expect(clippy::zombie_processes, reason = "the grandchild is meant to outlive the helper")]
#[test]
fn helper_of_segments() {
    let Some(job) = job() else {
        let helper = Helper::spawn("segment::helper_of_segments", &["speak"]);
        helper.expect("here");
        return assert!(helper.finish(), "a helper ends with its input");
    };
    match &job.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["speak"] => say("here"),
        ["start a program", folder] => {
            let board = Board::new(1);
            let segment = board.open(&lockstep_shmem::Directory::at(folder), "job");
            let _member = segment.roster(board.roster).join(0).expect("the place is free");
            Command::new("cat").stdout(Stdio::null()).spawn().expect("cat is everywhere");
            say("started");
            listen();
        }
        ["fork", folder] => fork_inside(folder),
        other => panic!("no such job: {other:?}"),
    }
}

/// Forks with a segment open, and drops everything in the child.
#[expect(unsafe_code, reason = "fork is")]
fn fork_inside(folder: &str) {
    let board = Board::new(1);
    let segment = board.open(&lockstep_shmem::Directory::at(folder), "job");
    let member = segment.roster(board.roster).join(0).expect("the place is free");
    // SAFETY: the child calls only what this library documents to be safe after a fork (and `malloc`, which the C library
    // makes safe), and ends without running anything of the test harness.
    match unsafe { nix::unistd::fork() }.expect("there may be another process") {
        nix::unistd::ForkResult::Child => {
            drop((segment, member));
            // SAFETY: ends this process.
            unsafe { nix::libc::_exit(0) };
        }
        nix::unistd::ForkResult::Parent { child } => {
            nix::sys::wait::waitpid(child, None).expect("it is our child");
            say("the child has dropped everything");
            listen();
            drop((segment, member));
            say("left");
            listen();
        }
    }
}

#[test]
fn a_started_program_does_not_keep_it() {
    let space = Space::new();
    let folder = space.path().to_str().expect("a plain path");
    let mut helper = Helper::spawn("segment::helper_of_segments", &["start a program", folder]);
    helper.expect("started");
    helper.kill_only();
    let swept = space.directory.sweep().expect("it can be swept");
    assert_eq!((swept.removed.len(), swept.kept.len()), (1, 0), "the program that lives on has no part in it");
}

#[test]
fn a_forked_child_cannot_give_it_away() {
    let space = Space::new();
    let folder = space.path().to_str().expect("a plain path");
    let mut helper = Helper::spawn("segment::helper_of_segments", &["fork", folder]);
    helper.expect("the child has dropped everything");
    let [segment] = &space.directory.segments().expect("it can be listed")[..] else { panic!("it is there") };
    assert_eq!(segment.participants, Some((1, 1)), "{segment:?}");
    assert_eq!(segment.holders, [helper.pid()]);
    helper.tell("leave");
    helper.expect("left");
    space.check_empty();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Arrays of every width hold what a vector holds.
    #[test]
    fn arrays_are_arrays(
        bytes in prop::collection::vec(any::<[u8; 3]>(), 1..50),
        halves in prop::collection::vec(any::<[u16; 3]>(), 1..50),
        words in prop::collection::vec(any::<[u32; 3]>(), 1..50),
        longs in prop::collection::vec(any::<[u64; 3]>(), 1..50),
        start in 0usize..50,
    ) {
        let space = Space::new();
        let mut layout = Layout::new(0);
        let places = (
            layout.array::<[u8; 3]>(bytes.len()),
            layout.array::<[u16; 3]>(halves.len()),
            layout.array::<[u32; 3]>(words.len()),
            layout.array::<[u64; 3]>(longs.len()),
        );
        let (here, there) = (open(&space, &layout).expect("room"), open(&space, &layout).expect("room"));
        macro_rules! check {
            ($place:expr, $values:expr) => {
                here.array($place).write(0, &$values);
                let array = there.array($place);
                let start = start % $values.len();
                let mut read = vec![Default::default(); $values.len() - start];
                array.read(start, &mut read);
                prop_assert_eq!(&read[..], &$values[start..]);
                prop_assert_eq!(array.get(start), $values[start]);
                prop_assert_eq!(array.len(), $values.len());
            };
        }
        check!(places.0, bytes);
        check!(places.1, halves);
        check!(places.2, words);
        check!(places.3, longs);
    }
}
