//! Kills at random: whatever dies whenever, the rest ends by itself, the next run is right, and nothing is left.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::processes::{Job, kill};
use crate::support::{Result, finish, run};

const SHAPE: [&str; 8] = ["--nodes", "2", "--ranks-per-node", "4", "--workers-per-rank", "2", "--replication", "2"];

/// A number from the environment, for longer soaks than the tests'.
fn number(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => Ok(text.parse()?),
        Err(_) => Ok(default),
    }
}

/// All files below a directory that is private to this test.
fn files(dir: &Path) -> Result<BTreeSet<OsString>> {
    Ok(std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<std::io::Result<_>>()?)
}

#[test]
fn soak_kills_at_random_leave_nothing() -> Result {
    let rounds = number("LOCKSTEP_SOAK_ROUNDS", 8)?;
    let seed = number("LOCKSTEP_SOAK_SEED", 1)?;
    let mut random = StdRng::seed_from_u64(seed);
    let shared = tempfile::Builder::new().prefix("lockstep-soak-").tempdir_in("/dev/shm")?;
    for round in 0..rounds {
        let job = Job::start(run(&SHAPE).args(["--epochs", "1000000"]).env("LOCKSTEP_SHM_DIR", shared.path()))?;
        // Somewhere between the first process started and all of them reading.
        let due = random.random_range(0..=24);
        while job.everyone()?.len() < due {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(random.random_range(0..60)));
        let everyone = job.everyone()?;
        let mut all: Vec<u32> = everyone.iter().copied().collect();
        all.push(job.launcher());
        let victims = random.random_range(1..=all.len());
        for victim in all.sample(&mut random, victims) {
            kill(*victim)?;
        }
        let ended = job.end(&everyone)?;
        assert_ne!(ended.code(), Some(0), "round {round} of seed {seed}: {}", ended.out);
    }
    let ended = finish(run(&SHAPE).env("LOCKSTEP_SHM_DIR", shared.path()))?;
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    let left = files(shared.path())?;
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".seg")), "left: {left:?}");
    Ok(())
}
