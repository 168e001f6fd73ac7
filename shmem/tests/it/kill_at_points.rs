//! A process is stopped exactly at each point of the protocol, and killed there.

use lockstep_shmem::testing::Point;

use crate::helper::Helper;
use crate::participant::Space;

const PARTICIPANTS: usize = 3;
const VICTIM: usize = 2;

/// Joins, meets and leaves with all participants given.
fn live_happily(helpers: &mut [Helper]) {
    for step in ["join", "wait 1", "wait 2", "leave"] {
        for helper in &mut *helpers {
            helper.tell(step);
        }
        for helper in &*helpers {
            let waits = step.starts_with("wait");
            for expected in if waits { &["counted", "through"][..] } else { &[] } {
                helper.expect(expected);
            }
            if !waits {
                helper.expect(if step == "join" { "joined" } else { "left" });
            }
        }
    }
}

/// A complete run with a name of its own, after which nothing may be left.
fn clean_run(space: &Space) {
    let mut helpers: Vec<Helper> = (0..PARTICIPANTS).map(|me| space.participant("clean", PARTICIPANTS, me)).collect();
    live_happily(&mut helpers);
    space.check_empty();
}

/// Tells all to do something, without waiting for it.
fn tell_all(helpers: &mut [Helper], step: &str) {
    for helper in helpers {
        helper.tell(step);
    }
}

/// All but the victim.
fn others(space: &Space) -> Vec<Helper> {
    (0..VICTIM).map(|me| space.participant("job", PARTICIPANTS, me)).collect()
}

fn join_all(helpers: &mut [Helper]) {
    tell_all(helpers, "join");
    for helper in helpers {
        helper.expect("joined");
    }
}

/// Dies before it is a participant. The others wait for a lock at most, and somebody else can take its place.
fn dies_before_it_is_there(point: Point) {
    let space = Space::new();
    let mut victim = space.stopping_at(Some(point), "job", PARTICIPANTS, VICTIM);
    victim.tell("join");
    victim.expect("stopped");
    let mut helpers = others(&space);
    tell_all(&mut helpers, "join");
    victim.kill();
    for helper in &helpers {
        helper.expect("joined");
    }
    let mut heir = space.participant("job", PARTICIPANTS, VICTIM);
    heir.tell("join");
    heir.expect("joined");
    helpers.push(heir);
    for step in ["wait 1", "leave"] {
        tell_all(&mut helpers, step);
    }
    for helper in &helpers {
        for line in ["counted", "through", "left"] {
            helper.expect(line);
        }
    }
    space.check_empty();
    clean_run(&space);
}

/// Dies in a barrier. The others see the same: they get through this one, or none does; and nobody gets through the next.
fn dies_at_a_barrier(point: Point, last_to_come: bool) {
    let space = Space::new();
    let mut helpers = others(&space);
    let mut victim = space.stopping_at(Some(point), "job", PARTICIPANTS, VICTIM);
    join_all(&mut helpers);
    victim.tell("join");
    victim.expect("joined");

    if last_to_come {
        tell_all(&mut helpers, "wait 1");
        for helper in &helpers {
            helper.expect("counted");
        }
    }
    victim.tell("wait 1");
    if point == Point::BarrierReleased {
        victim.expect("counted");
    }
    victim.expect("stopped");
    if !last_to_come {
        tell_all(&mut helpers, "wait 1");
        for helper in &helpers {
            helper.expect("counted");
        }
    }
    victim.kill();
    let heard: Vec<String> = helpers.iter().map(Helper::hear).collect();
    assert!(heard.iter().all(|line| *line == heard[0]), "{point:?}: {heard:?}");
    if heard[0] == "through" {
        tell_all(&mut helpers, "wait 2");
        for helper in &helpers {
            helper.expect("counted");
        }
        for helper in &helpers {
            helper.expect("lost 2");
        }
    } else {
        assert_eq!(heard[0], "lost 2", "{point:?}");
        assert_ne!(point, Point::BarrierReleased, "what is decided stays so");
    }
    tell_all(&mut helpers, "leave");
    for helper in &helpers {
        helper.expect("left");
    }
    space.check_empty();
    clean_run(&space);
}

/// Dies when it is the last one, and about to be gone anyway.
fn dies_leaving(point: Point) {
    let space = Space::new();
    let mut victim = space.stopping_at(Some(point), "job", PARTICIPANTS, VICTIM);
    victim.tell("join");
    victim.expect("joined");
    victim.tell("leave");
    victim.expect("stopped");
    let mut helpers = others(&space);
    tell_all(&mut helpers, "join");
    victim.kill();
    for helper in &helpers {
        helper.expect("joined");
    }
    let mut heir = space.participant("job", PARTICIPANTS, VICTIM);
    heir.tell("join");
    heir.expect("joined");
    drop((helpers, heir));
    clean_run(&space);
}

#[test]
fn while_a_segment_is_made() {
    for point in [Point::CreationLockTaken, Point::FileCreated, Point::HeaderHalfWritten, Point::Ready] {
        dies_before_it_is_there(point);
    }
}

#[test]
fn while_a_place_is_taken() {
    dies_before_it_is_there(Point::RosterByteTaken);
}

#[test]
fn at_a_barrier_before_the_others() {
    for point in [Point::BarrierEntered, Point::BarrierArrived] {
        dies_at_a_barrier(point, false);
    }
}

#[test]
fn at_a_barrier_after_the_others() {
    for point in [Point::BarrierEntered, Point::BarrierArrived, Point::BarrierReleased] {
        dies_at_a_barrier(point, true);
    }
}

#[test]
fn while_the_last_one_leaves() {
    for point in [Point::LastOneLeaving, Point::SegmentRemoved] {
        dies_leaving(point);
    }
}

/// So that no point is forgotten above.
#[test]
fn every_point_is_visited() {
    let making = [Point::CreationLockTaken, Point::FileCreated, Point::HeaderHalfWritten, Point::Ready];
    let meeting = [Point::RosterByteTaken, Point::BarrierEntered, Point::BarrierArrived, Point::BarrierReleased];
    let leaving = [Point::LastOneLeaving, Point::SegmentRemoved];
    assert_eq!([&making[..], &meeting, &leaving].concat(), Point::ALL);
}
