//! Processes are killed at random times.

use std::time::Duration;

use crate::helper::Helper;
use crate::participant::Space;

const NODES: usize = 2;
const RANKS: usize = 4;
const WORKERS: usize = 2;
const PARTICIPANTS: usize = RANKS * WORKERS;

/// How many seconds participants wait for each other: where one may have died before it was there, which nobody notices
/// but a launcher, and where nobody dies.
const IMPATIENT: &str = "2";
const PATIENT: &str = "30";

/// A small generator (SplitMix64); the seed is printed with every failure.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("it is less than a usize")
    }
}

fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |value| value.parse().expect("a number"))
}

/// All participants of a job on all nodes.
fn start(space: &Space, job: &str, rounds: u64, patience: &str) -> Vec<Vec<Option<Helper>>> {
    let folder = space.path().to_str().expect("a plain path");
    let start = |node: usize, me: usize| {
        let (job, me) = (format!("{job} node {node}"), me.to_string());
        let words = ["rounds", folder, &job, &PARTICIPANTS.to_string(), &me, &rounds.to_string(), patience];
        Some(Helper::spawn("participant::helper_of_participants", &words))
    };
    (0..NODES).map(|node| (0..PARTICIPANTS).map(|me| start(node, me)).collect()).collect()
}

/// Those of a node that are left all end by themselves, and agree on why.
fn check_survivors(node: &[Option<Helper>], context: &str) {
    let dead: Vec<String> = (0..node.len()).filter(|&me| node[me].is_none()).map(|me| me.to_string()).collect();
    let heard: Vec<String> = node.iter().flatten().map(Helper::hear).collect();
    for line in &heard {
        let (what, who) = line.split_once(' ').unwrap_or((line, ""));
        let mut who = who.split(' ');
        let is_dead = |who: &str| dead.iter().any(|dead| dead == who);
        let right = match what {
            "lost" => who.all(is_dead),
            // Where the machine is slow, some that live are missing, too.
            "missing" => who.any(is_dead),
            _ => false,
        };
        assert!(right, "{context}: {heard:?} and dead are {dead:?}");
        assert!(heard[0].starts_with(what), "{context}: {heard:?}");
    }
}

fn check_complete_run(space: &Space, job: &str, context: &str) {
    for node in start(space, job, 10, PATIENT) {
        for helper in node.into_iter().flatten() {
            assert_eq!(helper.hear(), "done", "{context}, the run after it");
            assert!(helper.finish(), "{context}, the run after it");
        }
    }
    space.check_empty();
}

/// `LOCKSTEP_SOAK_ROUNDS` and `LOCKSTEP_SOAK_SEED` make it longer and different.
#[test]
fn soak_of_random_kills() {
    let (rounds, seed) = (number_from("LOCKSTEP_SOAK_ROUNDS", 20), number_from("LOCKSTEP_SOAK_SEED", 1));
    let space = Space::new();
    for round in 0..rounds {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(round));
        let context = format!("round {round} of seed {seed}");
        // More rounds than there is time for.
        let mut nodes = start(&space, &format!("job {round}"), 1_000_000, IMPATIENT);
        std::thread::sleep(Duration::from_micros(random.next() % 150_000));
        let victims = 1 + random.below(NODES * PARTICIPANTS);
        for _ in 0..victims {
            let (node, me) = (random.below(NODES), random.below(PARTICIPANTS));
            if let Some(victim) = nodes[node][me].take() {
                victim.kill();
            }
        }
        for node in &nodes {
            // A node without victims goes on; the launcher ends it.
            if node.iter().any(Option::is_none) {
                check_survivors(node, &context);
            }
        }
        drop(nodes);
        check_complete_run(&space, &format!("run {round}"), &context);
    }
}

#[test]
fn twenty_jobs_at_once_do_not_meet() {
    let space = Space::new();
    let jobs: Vec<Vec<Helper>> = (0..20)
        .map(|job| {
            let folder = space.path().to_str().expect("a plain path");
            let start = |me: usize| {
                let words = ["rounds", folder, &format!("job {job}"), "3", &me.to_string(), "20", PATIENT];
                Helper::spawn("participant::helper_of_participants", &words)
            };
            (0..3).map(start).collect()
        })
        .collect();
    for helper in jobs.into_iter().flatten() {
        helper.expect("done");
        assert!(helper.finish());
    }
    space.check_empty();
}
