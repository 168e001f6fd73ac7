//! Stopped anywhere, gone on with another shape: the same global batches.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{Result, digits, finish, lockstep, run, trace};

/// Runs a job in groups of `k` ranks and batches of `size`; returns the global batches of its first epoch, ids sorted.
fn batches(shape: &[&str], k: usize, size: usize, more: &[&str]) -> Result<Vec<Vec<u64>>> {
    Ok(epochs(shape, k, size, more)?.remove(&0).unwrap_or_default())
}

/// The full global batches of each epoch of a job.
fn epochs(shape: &[&str], k: usize, size: usize, more: &[&str]) -> Result<BTreeMap<u64, Vec<Vec<u64>>>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("trace.jsonl");
    let mut command = run(shape);
    command.args(["--replication", &k.to_string(), "--batch-size", &size.to_string(), "--trace"]).arg(&path).args(more);
    let ended = finish(&mut command)?;
    assert_eq!(ended.code(), Some(0), "{shape:?} {more:?}: {}{}", ended.out, ended.err);
    let lines = trace(&path)?;
    let mut epochs: BTreeMap<u64, Vec<&[u64]>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.rank % (k as u64) == 0) {
        epochs.entry(line.epoch).or_default().push(&line.ids);
    }
    Ok(epochs.into_iter().map(|(epoch, leaders)| (epoch, global_batches(&leaders, size))).collect())
}

fn global_batches(leaders: &[&[u64]], size: usize) -> Vec<Vec<u64>> {
    let full = leaders.first().map_or(0, |ids| ids.len() / size);
    (0..full)
        .map(|batch| {
            let mut ids: Vec<u64> =
                leaders.iter().flat_map(|ids| &ids[batch * size..(batch + 1) * size]).copied().collect();
            ids.sort_unstable();
            ids
        })
        .collect()
}

/// Whether two sequences of batches are the same; they are too long to print.
fn assert_same(parts: &[Vec<u64>], whole: &[Vec<u64>], what: &str) {
    let differs = parts.iter().zip(whole).position(|(part, whole)| part != whole);
    assert_eq!((parts.len(), differs), (whole.len(), None), "{what}: batches, and the first that differs");
}

fn text(path: &Path) -> Result<&str> {
    Ok(path.to_str().ok_or("a path that is not UTF-8")?)
}

const TWO_BY_FOUR: [&str; 6] = ["--nodes", "2", "--ranks-per-node", "4", "--workers-per-rank", "2"];
const FOUR_BY_FOUR: [&str; 6] = ["--nodes", "4", "--ranks-per-node", "4", "--workers-per-rank", "0"];
const ONE_BY_TWO: [&str; 6] = ["--nodes", "1", "--ranks-per-node", "2", "--workers-per-rank", "3"];

#[test]
fn three_shapes_read_one_epoch() -> Result {
    for shuffle in ["windowed", "global", "py1e", "py1br", "py1s", "none"] {
        let order = ["--canonical-nodes", "4", "--seed", "5", "--shuffle", shuffle];
        let whole = batches(&TWO_BY_FOUR, 2, 8, &order)?;
        let dir = tempfile::tempdir()?;
        let (first, second) = (dir.path().join("first.json"), dir.path().join("second.json"));
        let (first, second) = (text(&first)?, text(&second)?);
        let mut parts = batches(&TWO_BY_FOUR, 2, 8, &[&order[..], &["--stop-after", "320", "--save", first]].concat())?;
        assert_eq!(parts.len(), 10, "{shuffle}");
        let more = ["--resume", first, "--stop-after", "320", "--save", second];
        parts.extend(batches(&FOUR_BY_FOUR, 4, 8, &[&order[..], &more].concat())?);
        assert_eq!(parts.len(), 20, "{shuffle}");
        parts.extend(batches(&ONE_BY_TWO, 1, 16, &[&order[..], &["--resume", second]].concat())?);
        // The last global batch is filled up with other repeats on other shapes.
        let last = whole.len() - 1;
        assert_same(&parts[..last], &whole[..last], shuffle);
    }
    Ok(())
}

#[test]
fn a_finished_epoch_is_gone_on_from_with_the_next() -> Result {
    let dir = tempfile::tempdir()?;
    let state = dir.path().join("state.json");
    let state = text(&state)?;
    let shape = ["--ranks-per-node", "2"];
    let both = epochs(&shape, 1, 8, &["--epochs", "2"])?;
    batches(&shape, 1, 8, &["--save", state])?;
    // Of the finished epoch nothing is left; the second follows.
    let rest = epochs(&shape, 1, 8, &["--resume", state, "--epochs", "2"])?;
    assert!(rest[&0].is_empty());
    assert_same(&rest[&1], &both[&1], "the second epoch");
    Ok(())
}

#[test]
fn what_differs_from_a_state_is_named() -> Result {
    let dir = tempfile::tempdir()?;
    let state = dir.path().join("state.json");
    let state = text(&state)?;
    batches(&["--ranks-per-node", "2"], 1, 8, &["--stop-after", "64", "--save", state, "--seed", "3"])?;
    let ended = finish(&mut run(&["--ranks-per-node", "2", "--resume", state, "--shuffle", "py1e", "--seed", "4"]))?;
    assert_eq!(ended.code(), Some(1));
    for difference in ["shuffle was windowed-v1 and is py1e", "shuffle_seed was 3 and is 4"] {
        assert!(ended.err.contains(difference), "{}", ended.err);
    }
    // What is not given is taken from the state.
    let ended = finish(&mut run(&["--ranks-per-node", "2", "--resume", state]))?;
    assert_eq!(ended.code(), Some(0), "{}", ended.err);
    Ok(())
}

#[test]
fn stop_after_counts_unique_samples_over_epochs() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("state.json");
    let state = text(&path)?;
    // 29 batches of 64 end the first epoch of 1797 samples; 59 more are one batch of the second.
    for workers in ["0", "2"] {
        let shape = ["--ranks-per-node", "2", "--workers-per-rank", workers];
        let more = ["--epochs", "3", "--stop-after", "1856", "--save", state];
        let read = epochs(&shape, 1, 32, &more)?;
        assert_eq!(read.keys().collect::<Vec<_>>(), [&0, &1]);
        assert_eq!(read[&1].len(), 1);
        let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        assert_eq!((saved["epoch"].as_u64(), saved["sample_in_epoch"].as_u64()), (Some(1), Some(64)));
    }
    Ok(())
}

#[test]
fn no_state_is_saved_of_a_run_that_went_wrong() -> Result {
    let dir = tempfile::tempdir()?;
    let (state, cache) = (dir.path().join("state.json"), dir.path().join("cache"));
    let node = cache.join("node-1");
    std::fs::create_dir_all(&node)?;
    // The second node finds shards that differ in their last pixel.
    for entry in std::fs::read_dir(digits())? {
        let entry = entry?;
        let mut bytes = std::fs::read(entry.path())?;
        if entry.file_name().to_string_lossy().ends_with(".mds") {
            *bytes.last_mut().ok_or("an empty shard")? ^= 1;
        }
        std::fs::write(node.join(entry.file_name()), bytes)?;
    }
    let mut command = lockstep();
    command.args(["run", "--nodes", "2", "--ranks-per-node", "1", "--replication", "2"]);
    command.args(["--remote", &format!("file://{}", digits().canonicalize()?.display()), "--local"]).arg(&cache);
    let ended = finish(command.arg("--save").arg(&state))?;
    assert_eq!(ended.code(), Some(1), "{}{}", ended.out, ended.err);
    assert!(
        ended.out.contains("rank 1 differs from rank 0 of its group 0: the same ids with other bytes"),
        "{}",
        ended.out
    );
    assert!(!state.exists(), "a state was saved of a run that went wrong");
    Ok(())
}

#[test]
fn a_warning_is_given_once() -> Result {
    let dir = tempfile::tempdir()?;
    let state = dir.path().join("state.json");
    let state = text(&state)?;
    batches(&["--ranks-per-node", "2"], 1, 8, &["--stop-after", "64", "--save", state])?;
    let other = ["--ranks-per-node", "2", "--workers-per-rank", "2", "--batch-size", "16", "--resume", state];
    let ended = finish(&mut run(&other))?;
    assert_eq!(ended.code(), Some(0), "{}", ended.err);
    assert_eq!(ended.err.matches("warning: the global batch was 16 samples and is 32").count(), 1, "{}", ended.err);
    let rank = [("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")];
    let mut command = run(&["--workers-per-rank", "2", "--batch-size", "32", "--resume", state]);
    command.envs(rank).envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29500"), ("LOCKSTEP_JOB_ID", "warned")]);
    let ended = finish(&mut command)?;
    assert_eq!(ended.code(), Some(0), "{}", ended.err);
    assert_eq!(ended.err.matches("warning:").count(), 1, "{}", ended.err);
    Ok(())
}

#[test]
fn ranks_that_cannot_all_have_as_many_may_differ_in_the_last_batch() -> Result {
    let dir = tempfile::tempdir()?;
    let (state, path) = (dir.path().join("state.json"), dir.path().join("trace.jsonl"));
    let state = text(&state)?;
    batches(&TWO_BY_FOUR, 2, 8, &["--canonical-nodes", "4", "--stop-after", "320", "--save", state])?;
    // Three nodes do not fit the state's four canonical ones.
    let mut command = run(&["--nodes", "3", "--ranks-per-node", "4", "--replication", "4", "--batch-size", "8"]);
    let ended = finish(command.args(["--epochs", "2", "--resume", state, "--trace"]).arg(&path))?;
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    let counts: Vec<usize> = trace(&path)?.iter().filter(|line| line.epoch == 0).map(|line| line.ids.len()).collect();
    let (least, most) = (counts.iter().min().ok_or("no rank")?, counts.iter().max().ok_or("no rank")?);
    assert!(least < most && most - least < 8, "{counts:?}");
    Ok(())
}

#[test]
fn a_state_that_cannot_be_written_is_refused_before_anything_is_read() -> Result {
    let dir = tempfile::tempdir()?;
    let ended = finish(run(&["--ranks-per-node", "2", "--save"]).arg(dir.path().join("missing/state.json")))?;
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err.contains("missing/state.json cannot be written"), "{}", ended.err);
    assert!(ended.out.is_empty());
    Ok(())
}
