//! Barriers between threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lockstep_shmem::{Barrier, BarrierError, Member, RosterError, SharedArray, Wait};

use crate::participant::{AGES, Board, Space};

/// Runs all participants as threads; returns what each has to say in the end.
fn together<T: Send>(participants: usize, act: impl Fn(usize, Barrier, SharedArray<u64>) -> T + Sync) -> Vec<T> {
    let (space, board) = (Space::new(), Board::new(participants));
    let (directory, board, act) = (&space.directory, &board, &act);
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..participants)
            .map(|me| {
                scope.spawn(move || {
                    let segment = board.open(directory, "threads");
                    let member = segment.roster(board.roster).join(me).expect("the place is free");
                    act(me, segment.barrier(board.barrier, &member), segment.array(board.totals))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no participant panics")).collect()
    });
    space.check_empty();
    results
}

#[test]
fn what_was_written_before_is_seen_after() {
    for participants in [1, 2, 5, 16] {
        let rounds = if participants == 16 { 200 } else { 1000 };
        together(participants, |me, mut barrier, totals| {
            for round in 0..rounds {
                totals.set(me, round);
                barrier.agree(round, AGES).expect("nobody is lost");
                for who in 0..participants {
                    assert_eq!(totals.get(who), round, "what {me} sees of {who}");
                }
                barrier.agree(round, AGES).expect("nobody is lost");
            }
        });
    }
}

#[test]
fn nobody_is_through_before_all_are_there() {
    let there = AtomicUsize::new(0);
    together(8, |_, mut barrier, _| {
        for round in 1..=100 {
            there.fetch_add(1, Ordering::SeqCst);
            barrier.wait(AGES).expect("nobody is lost");
            assert!(there.load(Ordering::SeqCst) >= 8 * round);
        }
    });
}

#[test]
fn the_fewer_have_diverged() {
    for (tokens, diverged) in [
        (vec![1, 2], vec![1]),
        (vec![1, 2, 2], vec![0]),
        (vec![7, 7, 8, 7, 9], vec![2, 4]),
        (vec![5, 6, 6, 5], vec![1, 2]),
    ] {
        let outcomes = together(tokens.len(), |me, mut barrier, _| {
            barrier.wait(AGES).expect("it begins well");
            (barrier.agree(tokens[me], AGES), barrier.agree(0, AGES))
        });
        for (first, later) in outcomes {
            assert_eq!(first, Err(BarrierError::Diverged { who: diverged.clone() }), "{tokens:?}");
            assert_eq!(later, first, "once failed, it has failed for good");
        }
    }
}

/// Two who differ are told so although a third never comes.
#[test]
fn divergence_does_not_wait_for_the_last() {
    let (space, board) = (Space::new(), Board::new(3));
    let segment = board.open(&space.directory, "job");
    let members: Vec<Member> =
        (0..3).map(|me| segment.roster(board.roster).join(me).expect("the place is free")).collect();
    std::thread::scope(|scope| {
        for member in &members[..2] {
            let mut barrier = segment.barrier(board.barrier, member);
            scope.spawn(move || {
                let outcome = barrier.agree(member.who() as u64, AGES);
                assert_eq!(outcome, Err(BarrierError::Diverged { who: vec![1] }));
            });
        }
    });
}

#[test]
fn who_leaves_is_lost() {
    let outcomes = together(3, |me, mut barrier, _| {
        barrier.wait(AGES).expect("it begins well");
        if me == 1 { Ok(()) } else { barrier.wait(AGES) }
    });
    let lost = Err(BarrierError::PeerLost { who: vec![1] });
    assert_eq!(outcomes, [lost.clone(), Ok(()), lost]);
}

#[test]
fn one_that_gives_up_ends_it_for_all() {
    let (space, board) = (Space::new(), Board::new(3));
    let segment = board.open(&space.directory, "job");
    let members: Vec<Member> =
        (0..2).map(|me| segment.roster(board.roster).join(me).expect("the place is free")).collect();
    let expected = Err(BarrierError::TimedOut { missing: vec![2] });
    std::thread::scope(|scope| {
        let mut patient = segment.barrier(board.barrier, &members[0]);
        let patient = scope.spawn(move || patient.wait(Wait::Forever));
        // Not before the other waits: it is somebody's time that is over, and the others' too.
        let mut impatient = segment.barrier(board.barrier, &members[1]);
        let (started, time) = (Instant::now(), Duration::from_millis(300));
        let mut glances = 0;
        let outcome = impatient.agree_watched(0, Wait::For(time), |waiting| {
            glances += 1;
            assert!(waiting.missing().contains(&2), "{waiting:?}");
        });
        assert!(started.elapsed() >= time);
        assert!(glances > 0, "one can watch oneself wait");
        assert_eq!(outcome, expected);
        assert_eq!(patient.join().expect("it does not panic"), expected);
    });
    // Who comes too late is told so.
    let late = segment.roster(board.roster).join(2).expect("the place is free");
    assert!(segment.barrier(board.barrier, &late).wait(AGES).is_err());
}

#[test]
fn places_are_taken_once() {
    let (space, board) = (Space::new(), Board::new(2));
    let segment = board.open(&space.directory, "job");
    let roster = segment.roster(board.roster);
    let member = roster.join(0).expect("the place is free");
    assert!(matches!(roster.join(0), Err(RosterError::Taken { who: 0 })));
    let another_handle = board.open(&space.directory, "job").roster(board.roster);
    assert!(matches!(another_handle.join(0), Err(RosterError::Taken { who: 0 })));
    assert!(matches!(roster.join(2), Err(RosterError::NoSuchPlace { who: 2, participants: 2 })));
    assert!(another_handle.is_alive(0).expect("the kernel tells"));
    assert_eq!(another_handle.gone(), []);
    drop(member);
    assert!(matches!(another_handle.join(0), Err(RosterError::Gone { who: 0 })));
    assert_eq!(roster.gone(), [0]);
    drop((segment, roster, another_handle));
    space.check_empty();
}
