//! How long it takes until 8 ranks and their 64 workers are in a session, from the first process that is started.
//!
//! `cargo bench -p lockstep-dataset --bench session_start`; `--quick` for a short form. The program starts itself once for
//! each participant. Beside it, in the same run: the same number of processes that do nothing, which is what starting them costs.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockstep_dataset::session::{Participant, Session, SessionConfig};
use lockstep_shmem::Directory;

/// What tells a process that it is a participant.
const JOB: &str = "LOCKSTEP_BENCH_JOB";

const RANKS: u64 = 8;
const WORKERS: u64 = 8;

fn main() {
    if let Ok(job) = std::env::var(JOB) {
        return participate(&job);
    }
    let quick = std::env::args().any(|argument| argument == "--quick");
    let repeats = if quick { 1 } else { 5 };
    let participants = participants().len();
    let median = |job: fn(usize, &str) -> String| {
        let mut times: Vec<Duration> = (0..repeats).map(|_| time(participants, job)).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let nothing = median(|_, _| "nothing".to_owned());
    let session = median(|me, folder| format!("join {me} {folder}"));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{RANKS} ranks with {WORKERS} workers each, {repeats} starts, {processors} processors\n");
    println!("{participants} processes that do nothing   {:>8.1} ms", nothing.as_secs_f64() * 1e3);
    println!("{participants} processes in a session      {:>8.1} ms", session.as_secs_f64() * 1e3);
    println!("ratio                             {:>8.2}", session.as_secs_f64() / nothing.as_secs_f64());
}

/// From the first start to the end of all, each of which ends when all are inside.
fn time(participants: usize, job: impl Fn(usize, &str) -> String) -> Duration {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory can be made");
    let path = folder.path().to_str().expect("a plain path");
    let started = Instant::now();
    let children: Vec<Child> = (0..participants)
        .map(|me| {
            let mut command = Command::new(std::env::current_exe().expect("a process knows its program"));
            command.env(JOB, job(me, path)).stdin(Stdio::null()).spawn().expect("it can be started")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it is our child").success(), "a participant failed");
    }
    started.elapsed()
}

fn participants() -> Vec<Participant> {
    let of_rank = |rank| {
        let workers = (0..WORKERS).map(move |worker| Participant::Worker { rank, worker });
        std::iter::once(Participant::Rank(rank)).chain(workers)
    };
    (0..RANKS).flat_map(of_rank).collect()
}

fn participate(job: &str) {
    let ["join", me, folder] = job.splitn(3, ' ').collect::<Vec<_>>()[..] else { return };
    let participants = participants();
    let config = SessionConfig {
        job: "bench",
        node: 0,
        dataset: "none",
        participants: &participants,
        me: participants[me.parse::<usize>().expect("a number")],
        start_deadline: Duration::from_secs(60),
        epoch_deadline: None,
    };
    let session = Session::join_in(&Directory::at(folder), &config).expect("it can join");
    session.begin_epoch(0, 0, 0).expect("all are inside");
}
