//! The barrier between processes, beside a process-shared `pthread_barrier_t` in the same run.
//!
//! `cargo bench -p lockstep-shmem`; `--quick` for a short form. The program starts itself once for each participant. Times are of one
//! passage, as participant 0 sees it; both kinds take turns, and the ratio is of the medians.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockstep_shmem::{Directory, Layout, Segment, SegmentName, Wait};

/// What tells a process that it is a participant.
const JOB: &str = "LOCKSTEP_BENCH_JOB";

/// Passages before the clock runs.
const WARM_UP: usize = 50;

#[derive(Clone, Copy)]
enum Kind {
    Ours,
    Pthread,
}

fn main() {
    if let Ok(job) = std::env::var(JOB) {
        return participate(&job);
    }
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, repeats) = if quick { (200, 1) } else { (2_000, 5) };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    println!("barrier between processes, {rounds} passages x {repeats}, {processors} processors\n");
    println!("processes   lockstep p50      p95   pthread p50      p95   ratio of p50");
    for participants in [2, 8, 16, 72] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..repeats {
            for (kind, times) in [Kind::Ours, Kind::Pthread].into_iter().zip(&mut times) {
                times.extend(run(kind, participants, rounds));
            }
        }
        let [ours, pthread] = times.map(|mut times| {
            times.sort_unstable();
            [times[times.len() / 2], times[times.len() * 95 / 100]]
        });
        let ratio = ours[0].as_secs_f64() / pthread[0].as_secs_f64();
        let [p50, p95, pthread_p50, pthread_p95] =
            [ours[0], ours[1], pthread[0], pthread[1]].map(|time| format!("{:.2} us", time.as_secs_f64() * 1e6));
        println!("{participants:>9} {p50:>14} {p95:>8} {pthread_p50:>13} {pthread_p95:>8} {ratio:>14.2}");
    }
}

/// Starts the participants; returns the times that the first one has measured.
fn run(kind: Kind, participants: usize, rounds: usize) -> Vec<Duration> {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory can be made");
    let place = folder.path().join("pthread");
    if let Kind::Pthread = kind {
        pthread::Barrier::create(&place, participants);
    }
    let name = match kind {
        Kind::Ours => "ours",
        Kind::Pthread => "pthread",
    };
    let mut children: Vec<Child> = (0..participants)
        .map(|me| {
            let job = format!("{name}\n{}\n{participants}\n{me}\n{rounds}", folder.path().display());
            let mut command = Command::new(std::env::current_exe().expect("a process knows its program"));
            command.env(JOB, job).stdout(Stdio::piped()).spawn().expect("it can be started")
        })
        .collect();
    let output = children[0].stdout.take().expect("it is piped");
    let times = BufReader::new(output)
        .lines()
        .map(|line| Duration::from_nanos(line.expect("it can be read").parse().expect("a number")))
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it is our child").success(), "a participant failed");
    }
    times
}

fn participate(job: &str) {
    let [kind, folder, participants, me, rounds] = job.split('\n').collect::<Vec<_>>()[..] else {
        panic!("five words")
    };
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let (participants, me, rounds) = (number(participants), number(me), number(rounds));
    let times = if kind == "ours" {
        let mut layout = Layout::new(0);
        let roster = layout.roster(participants);
        let barrier = layout.barrier(roster);
        let name = SegmentName::new(&["bench"]);
        let segment = Segment::open_or_create_in(&Directory::at(folder), &name, &layout, Wait::Forever)
            .expect("the segment can be had");
        let member = segment.roster(roster).join(me).expect("the place is free");
        let mut barrier = segment.barrier(barrier, &member);
        measure(rounds, || barrier.wait(Wait::Forever).expect("nobody is lost"))
    } else {
        let barrier = pthread::Barrier::open(&Path::new(folder).join("pthread"));
        measure(rounds, || barrier.wait())
    };
    if me == 0 {
        let lines: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
        println!("{}", lines.join("\n"));
    }
}

fn measure(rounds: usize, mut pass: impl FnMut()) -> Vec<Duration> {
    for _ in 0..WARM_UP {
        pass();
    }
    let mut times = Vec::with_capacity(rounds);
    let mut before = Instant::now();
    for _ in 0..rounds {
        pass();
        let now = Instant::now();
        times.push(now - before);
        before = now;
    }
    times
}

/// What is measured against.
mod pthread {
    #![expect(unsafe_code, reason = "it is C")]

    use std::fs::OpenOptions;
    use std::mem::MaybeUninit;
    use std::path::Path;

    use memmap2::MmapRaw;

    pub(super) struct Barrier {
        memory: MmapRaw,
    }

    impl Barrier {
        pub(super) fn create(path: &Path, participants: usize) {
            let barrier = Self::open(path);
            let participants = u32::try_from(participants).expect("a small number");
            // SAFETY: the attributes are initialised before use, and the memory is large and aligned enough.
            let outcome = unsafe {
                let mut attributes = MaybeUninit::uninit();
                libc::pthread_barrierattr_init(attributes.as_mut_ptr());
                libc::pthread_barrierattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
                libc::pthread_barrier_init(barrier.memory.as_mut_ptr().cast(), attributes.as_ptr(), participants)
            };
            assert_eq!(outcome, 0, "the barrier can be made");
        }

        pub(super) fn open(path: &Path) -> Self {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(path).expect("it is ours");
            file.set_len(4096).expect("there is room");
            Self { memory: MmapRaw::map_raw(&file).expect("it can be mapped") }
        }

        pub(super) fn wait(&self) {
            // SAFETY: the memory holds a barrier that `create` has initialised.
            unsafe { libc::pthread_barrier_wait(self.memory.as_mut_ptr().cast()) };
        }
    }
}
