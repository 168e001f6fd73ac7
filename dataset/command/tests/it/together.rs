//! Many jobs on one machine, over one dataset: they never meet.

use crate::support::{Result, finish, run};

#[test]
fn twenty_jobs_at_once() -> Result {
    let results: Vec<std::result::Result<(), String>> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let shape =
                        ["--nodes", "2", "--ranks-per-node", "2", "--workers-per-rank", "1", "--replication", "2"];
                    let ended = finish(&mut run(&shape)).map_err(|error| error.to_string())?;
                    if ended.code() == Some(0) { Ok(()) } else { Err(format!("{}{}", ended.out, ended.err)) }
                })
            })
            .collect();
        jobs.into_iter().map(|job| job.join().unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    for result in results {
        result?;
    }
    Ok(())
}
