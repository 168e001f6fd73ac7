//! Looking and cleaning beside a live job.

use std::fs;

use lockstep_shmem::{SegmentState, Swept};

use crate::helper::Helper;
use crate::participant::Space;

#[test]
fn a_live_job_is_seen_and_left_alone() {
    let space = Space::new();
    let mut helpers: Vec<Helper> = (0..2).map(|me| space.participant("job", 3, me)).collect();
    for helper in &mut helpers {
        helper.tell("join");
        helper.expect("joined");
    }
    let leftover = space.path().join("00.seg");
    fs::write(&leftover, "rubbish").expect("it can be made");

    let segments = space.directory.segments().expect("it can be listed");
    let [left, used] = &segments[..] else { panic!("{segments:?}") };
    assert_eq!((left.state, &left.title, &left.holders, left.size), (SegmentState::Left, &None, &vec![], 7));
    assert_eq!(used.state, SegmentState::InUse);
    assert_eq!(used.title.as_deref(), Some("test / job"));
    assert_eq!(used.participants, Some((2, 3)));
    let mut pids: Vec<u32> = helpers.iter().map(Helper::pid).collect();
    pids.sort_unstable();
    assert_eq!(used.holders, pids);
    assert!(pids.contains(&used.creator.expect("it is known")));

    let swept = space.directory.sweep().expect("it can be swept");
    assert_eq!((swept.removed, swept.kept), (vec![leftover], vec![used.path.clone()]));

    // The job goes on, and can be joined.
    let mut third = space.participant("job", 3, 2);
    third.tell("join");
    third.expect("joined");
    helpers.push(third);
    for helper in &mut helpers {
        helper.tell("wait 1");
    }
    for helper in &helpers {
        helper.expect("counted");
        helper.expect("through");
    }
    for helper in helpers {
        helper.kill();
    }
    let [left] = &space.directory.segments().expect("it can be listed")[..] else { panic!("it is left") };
    assert_eq!((left.state, left.participants), (SegmentState::Left, Some((0, 3))));
    assert_eq!(space.directory.sweep().expect("it can be swept").removed.len(), 1);
    space.check_empty();
}

#[test]
fn where_nothing_is_nothing_is_found() {
    let space = Space::new();
    let directory = lockstep_shmem::Directory::at(space.path().join("none"));
    assert_eq!(directory.segments().expect("it is empty"), []);
    assert_eq!(directory.sweep().expect("it is empty"), Swept::default());
    assert!(!directory.path().exists(), "looking makes nothing");
}
