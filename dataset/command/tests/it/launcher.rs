//! The command under a launcher is one rank of its job.

use crate::support::{Result, finish, lockstep, run};

const RANK_1_OF_2: [(&str, &str); 7] = [
    ("RANK", "1"),
    ("WORLD_SIZE", "2"),
    ("LOCAL_RANK", "1"),
    ("LOCAL_WORLD_SIZE", "2"),
    ("MASTER_ADDR", "127.0.0.1"),
    ("MASTER_PORT", "29500"),
    ("LOCKSTEP_JOB_ID", "a job of two ranks"),
];

#[test]
fn world_tells_who_and_from_what() -> Result {
    let ended = finish(lockstep().arg("world").envs(RANK_1_OF_2))?;
    assert_eq!(ended.code(), Some(0), "{}", ended.err);
    assert!(ended.out.contains("rank      1 of 2, 1 of 2 on its node"), "{}", ended.out);
    assert!(ended.out.contains("  LOCAL_WORLD_SIZE=2"), "{}", ended.out);
    let ended = finish(lockstep().args(["world", "--json"]).envs(RANK_1_OF_2))?;
    let world: serde_json::Value = serde_json::from_str(&ended.out)?;
    assert_eq!(world["rank"], 1);
    assert_eq!(world["launcher"], "torchrun");
    Ok(())
}

#[test]
fn two_ranks_started_by_hand_read_halves() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("trace.jsonl");
    let start = |rank: &str| {
        let mut command = run(&["--batch-size", "16", "--trace"]);
        command.arg(&path).envs(RANK_1_OF_2).env("RANK", rank).env("LOCAL_RANK", rank);
        command
    };
    let (mut zero, mut one) = (start("0"), start("1"));
    let (zero, one) = std::thread::scope(|scope| {
        let zero = scope.spawn(|| finish(&mut zero).map_err(|error| error.to_string()));
        let one = scope.spawn(|| finish(&mut one).map_err(|error| error.to_string()));
        (zero.join(), one.join())
    });
    for ended in [zero, one] {
        let ended = ended.map_err(|_| "a thread panicked")??;
        assert_eq!(ended.code(), Some(0), "{}", ended.err);
        assert!(ended.out.contains("one rank of 2"), "{}", ended.out);
    }
    let mut seen: Vec<u64> = Vec::new();
    for rank in 0..2 {
        let lines = crate::support::trace(&dir.path().join(format!("trace.jsonl.{rank}")))?;
        assert_eq!((lines.len(), lines[0].rank), (1, rank));
        seen.extend(&lines[0].ids);
    }
    assert_eq!(seen.len(), 1798);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 1797);
    Ok(())
}

#[test]
fn rank_0_saves_the_state_and_no_other_does() -> Result {
    let dir = tempfile::tempdir()?;
    for (rank, saves) in [("0", true), ("1", false)] {
        let path = dir.path().join(rank);
        let mut command = run(&["--batch-size", "16", "--stop-after", "65", "--save"]);
        // Two nodes of one rank each, which need not meet.
        command.arg(&path).envs(RANK_1_OF_2).env("RANK", rank).env("LOCAL_RANK", "0").env("LOCAL_WORLD_SIZE", "1");
        let ended = finish(&mut command)?;
        assert_eq!(ended.code(), Some(0), "{}", ended.err);
        assert_eq!(path.exists(), saves, "rank {rank}");
    }
    let state: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.path().join("0"))?)?;
    assert_eq!((state["epoch"].as_u64(), state["sample_in_epoch"].as_u64()), (Some(0), Some(96)));
    Ok(())
}

#[test]
fn another_shape_than_the_launchers_is_refused() -> Result {
    let ended = finish(run(&["--ranks-per-node", "4"]).envs(RANK_1_OF_2))?;
    assert_eq!(ended.code(), Some(2));
    assert!(ended.err.contains("--ranks-per-node 4 was given, but the launcher has 2"), "{}", ended.err);
    Ok(())
}

#[test]
fn a_launcher_that_says_half_is_an_error_with_a_remedy() -> Result {
    let ended = finish(run(&[]).envs([("RANK", "1"), ("WORLD_SIZE", "16")]))?;
    assert_ne!(ended.code(), Some(0));
    assert!(ended.err.contains("LOCAL_WORLD_SIZE"), "{}", ended.err);
    Ok(())
}
