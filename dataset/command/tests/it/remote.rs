//! Runs over a dataset elsewhere, kept in a directory within a limit.

use std::path::Path;

use crate::processes::Job;
use crate::support::{Result, digits, finish, lockstep};

/// A run over the digits as a remote dataset.
fn remote(local: &Path, more: &[&str]) -> Result<std::process::Command> {
    let url = format!("file://{}", digits().canonicalize()?.display());
    let mut command = lockstep();
    command.args(["run", "--remote", &url, "--local"]).arg(local).args(more);
    Ok(command)
}

/// The bytes of all shards below a directory, partly fetched ones included.
fn shard_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    // Files come and go between the listing and the look.
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("shard."))
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

#[test]
fn simulated_nodes_fetch_their_own_parts() -> Result {
    let dir = tempfile::tempdir()?;
    let ended =
        finish(&mut remote(dir.path(), &["--nodes", "2", "--ranks-per-node", "2", "--workers-per-rank", "1"])?)?;
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    let shards = |node: &str| -> Result<usize> {
        let entries = std::fs::read_dir(dir.path().join(node))?;
        Ok(entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(".mds")).count())
    };
    // 18 shards over 2 canonical nodes: at most one of them is cut and needed by both.
    let (first, second) = (shards("node-0")?, shards("node-1")?);
    assert!((18..=19).contains(&(first + second)), "{first} + {second} shards were fetched");
    let mut entries: Vec<_> =
        std::fs::read_dir(dir.path())?.flatten().map(|entry| entry.file_name().into_string()).collect();
    entries.sort();
    assert_eq!(entries, [Ok("node-0".to_owned()), Ok("node-1".to_owned())], "the launcher has no cache of its own");
    Ok(())
}

#[test]
fn a_node_of_a_real_launcher_has_the_directory_that_was_given() -> Result {
    let dir = tempfile::tempdir()?;
    let mut command = remote(dir.path(), &["--workers-per-rank", "1"])?;
    // Rank 0 of two nodes; the other one is elsewhere.
    command.envs([("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")]);
    command.envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29500"), ("LOCKSTEP_JOB_ID", "half a job")]);
    let ended = finish(&mut command)?;
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    assert!(shard_bytes(dir.path()) > 0, "nothing was fetched to the directory");
    assert!(!dir.path().join("node-0").exists(), "a node of its own was taken for a simulated one");
    Ok(())
}

#[test]
fn many_readers_share_a_cache_with_room_for_five_shards() -> Result {
    const LIMIT: u64 = 41_000;
    let dir = tempfile::tempdir()?;
    let limit = LIMIT.to_string();
    let shape = ["--ranks-per-node", "4", "--workers-per-rank", "2", "--epochs", "2", "--cache-limit", &limit];
    let job = Job::start(&mut remote(dir.path(), &shape)?)?;
    let mut most = 0;
    while job.is_running() {
        most = most.max(shard_bytes(dir.path()));
        std::thread::yield_now();
    }
    let ended = job.end(&std::collections::BTreeSet::new())?;
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    assert!(most > 0, "the cache was never seen in use");
    assert!(most <= LIMIT, "{most} bytes of shards were seen");
    Ok(())
}

#[test]
fn a_limit_below_one_shard_is_refused() -> Result {
    let dir = tempfile::tempdir()?;
    let ended = finish(&mut remote(dir.path(), &["--cache-limit", "1kb"])?)?;
    assert_eq!(ended.code(), Some(2));
    assert!(ended.err.contains("the cache limit of 1024 bytes is too small"), "{}", ended.err);
    assert!(ended.err.contains("set it to"), "{}", ended.err);
    let ended = finish(&mut remote(dir.path(), &["--cache-limit", "a lot"])?)?;
    assert_eq!(ended.code(), Some(2));
    assert!(ended.err.contains("invalid value 'a lot' for '--cache-limit"), "{}", ended.err);
    Ok(())
}

#[test]
fn a_remote_that_is_not_there_is_named() -> Result {
    let dir = tempfile::tempdir()?;
    let mut command = lockstep();
    command.args(["run", "--remote", "file:///nonexistent", "--local"]).arg(dir.path());
    let ended = finish(&mut command)?;
    assert_eq!(ended.code(), Some(2));
    assert!(ended.err.contains("there is no directory file:///nonexistent"), "{}", ended.err);
    Ok(())
}
