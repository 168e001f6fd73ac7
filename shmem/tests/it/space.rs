//! Little room in `/dev/shm`, as in a container.

use lockstep_shmem::{Directory, Layout, Segment, SegmentError, SegmentName};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::helper::{Helper, job, listen, say};
use crate::participant::AGES;

const KIB: u64 = 1 << 10;

/// A mount namespace for this thread alone, with a `/dev/shm` of `size` bytes. `false` where that is not allowed.
fn enter_small_world(size: u64) -> bool {
    let none = None::<&str>;
    let options = format!("size={size}");
    unshare(CloneFlags::CLONE_NEWNS).is_ok()
        && mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).is_ok()
        && mount(Some("tmpfs"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).is_ok()
}

fn open(name: &str, bytes: u64) -> Result<Segment, SegmentError> {
    let mut layout = Layout::new(0);
    let array = layout.array::<u64>(usize::try_from(bytes / 8).expect("it is small"));
    let segment = Segment::open_or_create_in(&Directory::of_user(), &SegmentName::new(&[name]), &layout, AGES)?;
    // Every page is there: none is a bus error.
    let array = segment.array(array);
    for index in 0..array.len() {
        array.set(index, u64::MAX);
    }
    Ok(segment)
}

/// What helper processes do here.
#[test]
fn helper_in_a_small_world() {
    let Some(job) = job() else {
        let helper = Helper::spawn("space::helper_in_a_small_world", &["speak"]);
        helper.expect("here");
        return assert!(helper.finish(), "a helper ends with its input");
    };
    if job[0] == "speak" {
        return say("here");
    }
    let ["a world of", size] = &job.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        panic!("no such job: {job:?}")
    };
    let size = size.parse().expect("a number");
    if !enter_small_world(size) {
        say("not allowed");
        listen();
        return;
    }
    // Too much for it, whatever else is there.
    for bytes in [size, 2 * size, 1 << 30] {
        match open("large", bytes) {
            Err(SegmentError::NoSpace { needed, available, .. }) => {
                assert!(needed >= bytes && available < needed, "{needed} of {available}");
            }
            other => panic!("{other:?}"),
        }
    }
    // What failed has left nothing: there is room for what fits.
    let half = size / 2;
    let first = open("first", half).expect("it fits");
    match open("second", half) {
        Err(error @ SegmentError::NoSpace { .. }) => say(&error.to_string()),
        other => panic!("{other:?}"),
    }
    drop(first);
    // A leftover that takes all the room makes way.
    let directory = Directory::of_user();
    let keeper = open("keeper", 8).expect("it fits");
    let rubbish = vec![0xaa; usize::try_from(half).expect("it is small")];
    std::fs::write(directory.path().join("leftover.seg"), rubbish).expect("there is room");
    drop(open("third", half).expect("the leftover makes way"));
    drop(keeper);
    assert!(!directory.path().exists(), "nothing is left, not even the directory");
    say("fine");
    listen();
}

#[test]
fn no_space_is_an_error_and_not_a_bus_error() {
    for size in [64 * KIB, 1024 * KIB] {
        let helper = Helper::spawn("space::helper_in_a_small_world", &["a world of", &size.to_string()]);
        let heard = helper.hear();
        if heard == "not allowed" {
            return eprintln!("skipped: mounting is not allowed here");
        }
        assert!(heard.starts_with("no room for shared memory in /dev/shm/lockstep-"), "{heard}");
        assert!(heard.contains("bytes are needed and"), "{heard}");
        helper.expect("fine");
        assert!(helper.finish());
    }
}
