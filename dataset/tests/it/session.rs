//! Sessions between threads and between processes.

use std::time::Duration;

use lockstep_dataset::session::{Participant, Session, SessionConfig};
use lockstep_dataset::{Error, Result};
use lockstep_shmem::Directory;

use crate::helper::{Helper, job, listen, say};

const AGES: Duration = Duration::from_secs(30);

const RANKS: [Participant; 3] = [Participant::Rank(0), Participant::Rank(1), Participant::Rank(2)];

fn config(participants: &[Participant], me: usize) -> SessionConfig<'_> {
    SessionConfig {
        job: "job",
        node: 0,
        dataset: "train",
        participants,
        me: participants[me],
        start_deadline: AGES,
        epoch_deadline: None,
    }
}

/// An own directory for segments. Its content is gone when the last session is; the test says so.
struct Space {
    folder: tempfile::TempDir,
    directory: Directory,
}

impl Space {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("the temporary directory is writable");
        let directory = Directory::at(folder.path());
        Self { folder, directory }
    }

    fn check_empty(&self) {
        assert!(
            self.directory.segments().expect("it can be listed").is_empty(),
            "the last one out removes the segment"
        );
    }

    /// A helper process that joins as a rank, and then starts an epoch for every line it is told.
    fn rank(&self, me: usize) -> Helper {
        let folder = self.folder.path().to_str().expect("a plain path");
        let helper = Helper::spawn("session::helper_of_sessions", &["rank", folder, &me.to_string()]);
        helper.expect("joined");
        helper
    }
}

/// Runs all participants as threads; returns what each has to say in the end.
fn together<T: Send>(participants: &[Participant], act: impl Fn(usize, &Session) -> T + Sync) -> Vec<T> {
    let space = Space::new();
    let (directory, act) = (&space.directory, &act);
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..participants.len())
            .map(|me| {
                scope.spawn(move || {
                    let session = Session::join_in(directory, &config(participants, me)).expect("it can join");
                    act(me, &session)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no participant panics")).collect()
    });
    space.check_empty();
    results
}

/// What helper processes do here.
#[test]
fn helper_of_sessions() {
    let Some(job) = job() else {
        let space = Space::new();
        let helpers: Vec<Helper> = (0..3).map(|me| space.rank(me)).collect();
        for helper in helpers {
            assert!(helper.finish(), "a helper ends with its input");
        }
        return;
    };
    let [_, folder, me] = &job[..] else { panic!("no such job: {job:?}") };
    let me = me.parse().expect("a number");
    let session = Session::join_in(&Directory::at(folder), &config(&RANKS, me)).expect("it can join");
    say("joined");
    loop {
        let line = listen_or_leave();
        let Some(line) = line else { return };
        let epoch = line.parse().expect("a number");
        say("waits");
        match session.begin_epoch(epoch, 0, 0) {
            Ok(()) => say("started"),
            Err(error) => say(&text(&error)),
        }
    }
}

/// A line from the test; `None` where there will be none, so that the session is left in order.
fn listen_or_leave() -> Option<String> {
    Some(listen()).filter(|line| line != "leave")
}

fn text(error: &Error) -> String {
    let kind = if error.is_peer_lost() { "lost" } else { "other" };
    format!("{kind}: {error}")
}

#[test]
fn all_go_on_together() {
    let counts =
        together(&RANKS, |_, session| (0..50).filter(|&epoch| session.begin_epoch(epoch, 0, 7).is_ok()).count());
    assert_eq!(counts, [50, 50, 50]);
}

#[test]
fn ranks_and_their_workers_are_participants() {
    let everybody: Vec<Participant> = (0..4)
        .flat_map(|rank| {
            let worker = move |worker| Participant::Worker { rank, worker };
            std::iter::once(Participant::Rank(rank)).chain((0..2).map(worker))
        })
        .collect();
    let outcomes = together(&everybody, |me, session| {
        assert_eq!(session.me(), session.participants()[me]);
        session.begin_epoch(0, 0, 0)
    });
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn who_differs_is_named_to_all() {
    type Plan = (u64, u64, u64);
    let cases: [(Plan, &str); 3] = [
        ((4, 0, 7), "rank 1 starts epoch 4 at position 0"),
        ((3, 96, 7), "rank 1 starts epoch 3 at position 96"),
        ((3, 0, 8), "rank 1 starts epoch 3 at position 0 with settings 0000000000000008"),
    ];
    for ((epoch, position, fingerprint), expected) in cases {
        let errors = together(&RANKS, |me, session| {
            let outcome =
                if me == 1 { session.begin_epoch(epoch, position, fingerprint) } else { session.begin_epoch(3, 0, 7) };
            outcome.expect_err("one differs")
        });
        for error in errors {
            assert!(error.is_diverged(), "{error:?}");
            let text = error.to_string();
            assert!(text.starts_with(expected), "{text}");
            assert!(
                text.contains("while rank 0 starts epoch 3 at position 0 with settings 0000000000000007"),
                "{text}"
            );
        }
    }
}

#[test]
fn who_dies_is_named_to_all() {
    let space = Space::new();
    let mut helpers: Vec<Helper> = (0..3).map(|me| space.rank(me)).collect();
    for helper in &mut helpers {
        helper.tell("0");
    }
    for helper in &helpers {
        helper.expect("waits");
        helper.expect("started");
    }
    let victim = helpers.pop().expect("there are three");
    for helper in &mut helpers {
        helper.tell("1");
        helper.expect("waits");
    }
    victim.kill();
    for helper in &helpers {
        let heard = helper.hear();
        assert!(heard.starts_with("lost: rank 2 died or left before the start of epoch 1"), "{heard}");
    }
}

#[test]
fn who_dies_waiting_is_named_to_all() {
    let space = Space::new();
    let mut helpers: Vec<Helper> = (0..3).map(|me| space.rank(me)).collect();
    let mut victim = helpers.remove(1);
    victim.tell("0");
    victim.expect("waits");
    helpers[0].tell("0");
    helpers[0].expect("waits");
    victim.kill();
    let heard = helpers[0].hear();
    assert!(heard.starts_with("lost: rank 1 died or left"), "{heard}");
    // Who comes later gets the same.
    helpers[1].tell("0");
    helpers[1].expect("waits");
    let heard = helpers[1].hear();
    assert!(heard.starts_with("lost: rank 1 died or left"), "{heard}");
}

#[test]
fn who_ends_early_waits_and_hangs_nobody() {
    let space = Space::new();
    let mut helpers: Vec<Helper> = (0..3).map(|me| space.rank(me)).collect();
    for helper in &mut helpers {
        helper.tell("0");
    }
    for helper in &helpers {
        helper.expect("waits");
        helper.expect("started");
    }
    helpers[2].tell("1");
    helpers[2].expect("waits");
    // The others take their time in epoch 0, undisturbed, and then find it waiting.
    for helper in &mut helpers[..2] {
        helper.tell("1");
        helper.expect("waits");
    }
    for helper in &helpers {
        helper.expect("started");
    }
    // It starts another epoch, which the others do not: they leave.
    helpers[2].tell("2");
    helpers[2].expect("waits");
    for helper in &mut helpers[..2] {
        helper.tell("leave");
    }
    let heard = helpers[2].hear();
    assert!(heard.starts_with("lost: rank ") && heard.contains("left before the start of epoch 2"), "{heard}");
}

#[test]
fn a_new_run_does_not_wait_for_the_old_one_to_notice() {
    let space = Space::new();
    let survivor = space.rank(0);
    space.rank(1).kill();
    // The same job again, its rank 1 first. It finds its own place deserted, and starts afresh.
    let mut second = space.rank(1);
    assert_eq!(space.directory.segments().expect("it can be listed").len(), 1, "the old one has lost its name");
    let mut others = [space.rank(0), space.rank(2)];
    for helper in others.iter_mut().chain([&mut second]) {
        helper.tell("0");
    }
    for helper in others.iter().chain([&second]) {
        helper.expect("waits");
        helper.expect("started");
    }
    drop(survivor);
}

#[test]
fn nobody_is_there_twice() {
    let space = Space::new();
    let first = space.rank(0);
    let config = SessionConfig { start_deadline: Duration::from_millis(50), ..config(&RANKS, 0) };
    let error = Session::join_in(&space.directory, &config).expect_err("somebody is rank 0");
    assert!(error.is_config(), "{error:?}");
    assert!(error.to_string().contains("rank 0 of node 0 is in another process of job job already"), "{error}");
    first.kill();
    drop(Session::join_in(&space.directory, &config).expect("the other is dead"));
    space.check_empty();
}

#[test]
fn jobs_nodes_and_datasets_are_apart() {
    let space = Space::new();
    let alone = &RANKS[..1];
    let base = config(alone, 0);
    let sessions: Vec<Session> = [
        base,
        SessionConfig { job: "another", ..base },
        SessionConfig { node: 1, ..base },
        SessionConfig { dataset: "eval", ..base },
    ]
    .iter()
    .map(|config| Session::join_in(&space.directory, config).expect("it is apart"))
    .collect();
    for session in &sessions {
        session.begin_epoch(0, 0, 0).expect("it waits for nobody");
    }
    drop(sessions);
    space.check_empty();
}

#[test]
fn missing_and_repeated_participants_are_refused() {
    let space = Space::new();
    for (participants, me) in [(&RANKS[..2], RANKS[2]), (&[RANKS[0], RANKS[0]][..], RANKS[0])] {
        let config = SessionConfig { me, ..config(participants, 0) };
        assert!(Session::join_in(&space.directory, &config).expect_err("the list is wrong").is_config());
    }
    space.check_empty();
}

#[test]
fn another_list_of_participants_is_a_divergence() {
    let space = Space::new();
    let _first = Session::join_in(&space.directory, &config(&RANKS, 0)).expect("it can join");
    let config = SessionConfig { start_deadline: Duration::from_millis(50), ..config(&RANKS[..2], 1) };
    let error = Session::join_in(&space.directory, &config).expect_err("the first one sees three");
    assert!(error.is_diverged(), "{error:?}");
}

#[test]
fn who_does_not_come_in_time_is_named() {
    let space = Space::new();
    let config = SessionConfig { start_deadline: Duration::from_millis(50), ..config(&RANKS, 1) };
    let session = Session::join_in(&space.directory, &config).expect("it can join");
    let error = session.begin_epoch(0, 0, 0).expect_err("nobody else is there");
    assert!(error.is_peer_lost(), "{error:?}");
    assert!(
        error.to_string().starts_with("rank 0, rank 2 did not come to the start of epoch 0 within 50ms"),
        "{error}"
    );
}
