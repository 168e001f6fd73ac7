//! Processes that are killed: the loss is reported by name and the rest ends.

use crate::processes::{Job, children, kill};
use crate::support::{Result, run};

/// Starts 2 nodes x 2 ranks x 1 worker, in groups of 2, with more epochs than anyone waits for; all are running.
fn endless_job() -> Result<Job> {
    let shape = ["--nodes", "2", "--ranks-per-node", "2", "--workers-per-rank", "1", "--replication", "2"];
    let job = Job::start(run(&shape).args(["--epochs", "1000000"]))?;
    while job.ranks()?.len() < 4 || job.workers()?.len() < 4 {
        std::thread::yield_now();
    }
    Ok(job)
}

#[test]
fn a_killed_rank_is_named() -> Result {
    let job = endless_job()?;
    let everyone = job.everyone()?;
    kill(job.ranks()?[2])?;
    let ended = job.end(&everyone)?;
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err.starts_with("error: rank 2 was killed by signal 9 (SIGKILL)"), "{}", ended.err);
    Ok(())
}

#[test]
fn a_killed_worker_is_named() -> Result {
    let job = endless_job()?;
    let everyone = job.everyone()?;
    kill(children(job.ranks()?[1])?[0])?;
    let ended = job.end(&everyone)?;
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err.starts_with("error: worker 0 of rank 1 was killed by signal 9 (SIGKILL)"), "{}", ended.err);
    Ok(())
}

#[test]
fn nothing_outlives_a_killed_launcher() -> Result {
    let job = endless_job()?;
    let everyone = job.everyone()?;
    kill(job.launcher())?;
    let ended = job.end(&everyone)?;
    assert_eq!(ended.code(), None);
    Ok(())
}

#[test]
fn a_worker_killed_at_its_start_is_named() -> Result {
    for _ in 0..10 {
        let job = Job::start(run(&["--ranks-per-node", "1", "--workers-per-rank", "2"]).args(["--epochs", "1000000"]))?;
        // As soon as it is there: most likely before it has joined the others.
        let workers = loop {
            match job.workers()?.as_slice() {
                &[first, second] => break [first, second],
                _ => std::thread::yield_now(),
            }
        };
        let everyone = job.everyone()?;
        kill(workers[1])?;
        let ended = job.end(&everyone)?;
        assert_eq!(ended.code(), Some(1));
        assert!(ended.err.starts_with("error: worker 1 of rank 0 was killed by signal 9 (SIGKILL)"), "{}", ended.err);
    }
    Ok(())
}
