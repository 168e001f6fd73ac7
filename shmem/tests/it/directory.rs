//! The directory of segments, and those who do not own it.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use lockstep_shmem::{Directory, SegmentError, SegmentName, Wait};
use nix::unistd::geteuid;

use crate::helper::{job, say};
use crate::participant::{Board, Space};

/// A user that owns nothing.
const NOBODY: u32 = 65534;

/// The outcome of opening a segment in a directory.
fn open(directory: &Directory) -> Result<(), SegmentError> {
    let board = Board::new(1);
    lockstep_shmem::Segment::open_or_create_in(directory, &SegmentName::new(&["job"]), &board.layout, Wait::Forever)
        .map(drop)
}

fn refusal(directory: &Directory) -> String {
    match open(directory) {
        Err(error @ SegmentError::NotOurs { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_made_for_its_user_alone() {
    let space = Space::new();
    let path = space.path().join("made");
    open(&Directory::at(&path)).expect("it is made");
    let metadata = fs::metadata(&path).expect("it stays");
    assert_eq!(metadata.mode() & 0o777, 0o700);
    assert_eq!(metadata.uid(), geteuid().as_raw());
    assert_eq!(fs::read_dir(&path).expect("it is there").count(), 0);
}

#[test]
fn a_link_is_refused_and_not_followed() {
    let space = Space::new();
    let (target, link) = (space.path().join("target"), space.path().join("link"));
    fs::DirBuilder::new().mode(0o700).create(&target).expect("it can be made");
    symlink(&target, &link).expect("it can be made");
    let text = refusal(&Directory::at(&link));
    assert!(text.contains("it is a symbolic link"), "{text}");
    assert!(text.contains("LOCKSTEP_SHM_DIR"), "what to do: {text}");
    assert_eq!(fs::read_dir(&target).expect("it is there").count(), 0);
    assert!(Directory::at(&link).segments().is_err(), "it is not looked into");
    assert!(Directory::at(&link).sweep().is_err(), "it is not cleaned");
}

#[test]
fn what_others_can_write_to_is_refused() {
    let space = Space::new();
    fs::set_permissions(space.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let text = refusal(&space.directory);
    assert!(text.contains("others may write to it (mode 777)"), "{text}");
}

#[test]
fn a_file_in_its_place_is_refused() {
    let space = Space::new();
    let path = space.path().join("file");
    fs::write(&path, "").expect("it can be made");
    let text = refusal(&Directory::at(&path));
    assert!(text.contains("it is not a directory"), "{text}");
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !geteuid().is_root() {
        return eprintln!("skipped: only root can give a directory away");
    }
    let space = Space::new();
    chown(space.path(), Some(NOBODY), None).expect("root can");
    let text = refusal(&space.directory);
    assert!(text.contains("it belongs to user 65534 and you are user 0"), "{text}");
}

/// What helper processes do here.
#[test]
fn helper_of_directories() {
    let Some(job) = job() else {
        // A directory that is nobody's job.
        return assert_eq!(Directory::at("/nowhere").path(), std::path::Path::new("/nowhere"));
    };
    let ["open the default", ..] = &job.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        panic!("no such job: {job:?}")
    };
    let directory = Directory::of_user();
    match open(&directory) {
        Ok(()) => say(&format!("opened in {}", directory.path().display())),
        Err(error) => say(&error.to_string()),
    }
}

/// Each user has a directory of its own, and it goes with the last segment.
#[test]
fn two_users_do_not_meet() {
    if !geteuid().is_root() {
        return eprintln!("skipped: only root can be two users");
    }
    // The program may lie where only root may go; another user gets a copy.
    let folder = tempfile::tempdir().expect("the temporary directory is writable");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().expect("a process knows its program"), &program).expect("there is room");
    for user in [0, NOBODY] {
        let mut command = Command::new(&program);
        command.args(["--exact", "directory::helper_of_directories", "--nocapture"]);
        command.env("LOCKSTEP_TEST_JOB", "open the default").env_remove("LOCKSTEP_SHM_DIR");
        command.current_dir("/").uid(user);
        let output = command.output().expect("it can be started");
        let text = String::from_utf8_lossy(&output.stdout);
        let path = format!("/dev/shm/lockstep-{user}");
        assert!(text.contains(&format!("opened in {path}")), "{text}");
    }
}
