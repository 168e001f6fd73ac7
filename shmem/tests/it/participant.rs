//! A participant as the tests know it: a process that does what it is told, or a thread that does the same.

use std::path::Path;
use std::time::Duration;

use lockstep_shmem::testing::{self, Point};
use lockstep_shmem::{
    Barrier, BarrierError, Directory, Layout, Place, Roster, Segment, SegmentName, SharedArray, Wait,
};

use crate::helper::{Helper, job, listen, say};

/// Longer than anything takes; a hang becomes a failure.
pub(crate) const AGES: Wait = Wait::For(Duration::from_secs(30));

/// What the segments of these tests hold.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    pub(crate) layout: Layout,
    pub(crate) roster: Place<Roster>,
    pub(crate) barrier: Place<Barrier>,
    pub(crate) totals: Place<SharedArray<u64>>,
}

impl Board {
    pub(crate) fn new(participants: usize) -> Self {
        let mut layout = Layout::new(1);
        let roster = layout.roster(participants);
        let barrier = layout.barrier(roster);
        let totals = layout.array(participants);
        Self { layout, roster, barrier, totals }
    }

    pub(crate) fn open(&self, directory: &Directory, job: &str) -> Segment {
        let name = SegmentName::new(&["test", job]);
        Segment::open_or_create_in(directory, &name, &self.layout, AGES).expect("the segment can be had")
    }
}

/// An own directory for segments, and the processes in it.
pub(crate) struct Space {
    folder: tempfile::TempDir,
    pub(crate) directory: Directory,
}

impl Space {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.expect("a directory can be made");
        let directory = Directory::at(folder.path());
        Self { folder, directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a process that will be participant `me`.
    pub(crate) fn participant(&self, job: &str, participants: usize, me: usize) -> Helper {
        self.stopping_at(None, job, participants, me)
    }

    /// Starts a process that will be participant `me`, and that stops where it reaches `point`.
    pub(crate) fn stopping_at(&self, point: Option<Point>, job: &str, participants: usize, me: usize) -> Helper {
        let point = point.map_or_else(String::new, |point| format!("{point:?}"));
        let folder = self.path().to_str().expect("a plain path");
        let words = ["participant", folder, job, &participants.to_string(), &me.to_string(), &point];
        Helper::spawn("participant::helper_of_participants", &words)
    }

    /// That nothing is left: no segment, and nothing else.
    pub(crate) fn check_empty(&self) {
        let left: Vec<_> = std::fs::read_dir(self.path()).expect("it is there").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// What helper processes do in these tests.
#[test]
fn helper_of_participants() {
    let Some(job) = job() else {
        let space = Space::new();
        let mut helper = space.participant("job", 1, 0);
        for (told, heard) in [("join", "joined"), ("wait 1", "counted"), ("-", "through"), ("leave", "left")] {
            if told != "-" {
                helper.tell(told);
            }
            helper.expect(heard);
        }
        assert!(helper.finish(), "a helper ends with its input");
        space.check_empty();
        return;
    };
    match &job.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["participant", folder, job, participants, me, point] => {
            let (participants, me) = (participants.parse().expect("a number"), me.parse().expect("a number"));
            obey(&Directory::at(folder), job, participants, me, point);
        }
        ["rounds", folder, job, participants, me, rounds, patience] => {
            let (participants, me) = (participants.parse().expect("a number"), me.parse().expect("a number"));
            let (rounds, patience) = (rounds.parse().expect("a number"), patience.parse().expect("a number"));
            let patience = Wait::For(Duration::from_secs(patience));
            play_rounds(&Directory::at(folder), job, participants, me, rounds, patience);
        }
        other => panic!("no such job: {other:?}"),
    }
}

/// Does what is told, line by line.
fn obey(directory: &Directory, job: &str, participants: usize, me: usize, stop: &str) {
    let stop = stop.to_owned();
    testing::set_hook(move |point| {
        if format!("{point:?}") == stop {
            say("stopped");
            loop {
                listen();
            }
        }
        if point == Point::BarrierArrived {
            say("counted");
        }
    });
    let board = Board::new(participants);
    let mut barrier = None;
    loop {
        match listen().split(' ').collect::<Vec<_>>()[..] {
            ["join"] => {
                let segment = board.open(directory, job);
                let member = segment.roster(board.roster).join(me).expect("the place is free");
                barrier = Some(segment.barrier(board.barrier, &member));
                drop((segment, member));
                say("joined");
            }
            ["wait", token] => {
                let barrier = barrier.as_mut().expect("it has joined");
                let outcome = barrier.agree(token.parse().expect("a number"), Wait::Forever);
                say(&outcome.map_or_else(|error| describe(&error), |()| "through".to_owned()));
            }
            ["leave"] => {
                barrier = None;
                say("left");
            }
            ref other => panic!("what does {other:?} mean?"),
        }
    }
}

/// Plays rounds with the others as fast as it can: everybody writes, everybody reads what all have written.
fn play_rounds(directory: &Directory, job: &str, participants: usize, me: usize, rounds: u64, patience: Wait) {
    let board = Board::new(participants);
    let segment = board.open(directory, job);
    let member = match segment.roster(board.roster).join(me) {
        Ok(member) => member,
        Err(error) => return say(&format!("refused: {error}")),
    };
    let (mut barrier, totals) = (segment.barrier(board.barrier, &member), segment.array(board.totals));
    for round in 0..rounds {
        totals.set(me, round * me as u64);
        let outcome = barrier.agree(round, patience).and_then(|()| {
            let sum: u64 = (0..participants).map(|who| totals.get(who)).sum();
            let expected = round * (0..participants as u64).sum::<u64>();
            assert_eq!(sum, expected, "in round {round}, what participant {me} sees");
            barrier.agree(round, patience)
        });
        if let Err(error) = outcome {
            return say(&describe(&error));
        }
    }
    // Here and not later: the end of a process may come before its output is read, but not before the drop.
    drop((barrier, totals, member, segment));
    say("done");
}

/// An outcome in a word and numbers.
pub(crate) fn describe(error: &BarrierError) -> String {
    let (what, who) = match error {
        BarrierError::PeerLost { who } => ("lost", who),
        BarrierError::Diverged { who } => ("diverged", who),
        BarrierError::TimedOut { missing } => ("missing", missing),
        other => return other.to_string(),
    };
    let who: Vec<String> = who.iter().map(usize::to_string).collect();
    format!("{what} {}", who.join(" "))
}
