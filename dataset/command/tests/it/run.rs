//! Whole jobs, judged from their traces and not by the command itself.

use std::collections::BTreeSet;

use crate::support::{Line, Result, finish, lockstep, run, trace};

/// Runs a job over the digits and returns what each rank read.
fn traced(arguments: &[&str]) -> Result<Vec<Line>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("trace.jsonl");
    let ended = finish(run(arguments).arg("--trace").arg(&path))?;
    assert_eq!(ended.code(), Some(0), "{arguments:?}: {}{}", ended.out, ended.err);
    trace(&path)
}

/// Members of a group read the same, equally many, and all groups together every sample.
fn assert_lockstep(lines: &[Line], groups: u64, size: usize) {
    let mut seen = BTreeSet::new();
    let count = lines[0].ids.len();
    let mut total = 0;
    for group in 0..groups {
        let members: Vec<&Line> = lines.iter().filter(|line| line.group == group).collect();
        assert_eq!(members.len(), size, "group {group}");
        assert!(members.iter().all(|line| line.ids == members[0].ids), "group {group} disagrees");
        assert_eq!(members[0].ids.len(), count, "group {group} reads another number of samples");
        seen.extend(members[0].ids.iter().copied());
        total += members[0].ids.len() as u64;
    }
    assert_eq!(seen, (0..1797).collect(), "samples are missing");
    assert!(total - 1797 < groups + 16, "{} repeats are more than padding", total - 1797);
}

#[test]
fn adjacent_groups_in_every_order() -> Result {
    for shuffle in ["windowed", "global", "py1e", "py1br", "py1s", "py2s", "naive", "none"] {
        let lines = traced(&[
            "--nodes",
            "2",
            "--ranks-per-node",
            "2",
            "--workers-per-rank",
            "2",
            "--replication",
            "2",
            "--shuffle",
            shuffle,
        ])?;
        assert_lockstep(&lines, 2, 2);
    }
    Ok(())
}

#[test]
fn mesh_groups_need_not_be_adjacent() -> Result {
    let lines = traced(&["--nodes", "2", "--ranks-per-node", "4", "--mesh", "pp=2,dp=2,tp=2", "--replicate", "pp,tp"])?;
    assert_lockstep(&lines, 2, 4);
    let ranks = |group| lines.iter().filter(|line| line.group == group).map(|line| line.rank).collect::<Vec<_>>();
    assert_eq!(ranks(0), [0, 1, 4, 5]);
    assert_eq!(ranks(1), [2, 3, 6, 7]);
    Ok(())
}

#[test]
fn mosaic_placement_keeps_groups_too() -> Result {
    let lines = traced(&["--nodes", "4", "--ranks-per-node", "2", "--replication", "2", "--placement", "mosaic"])?;
    assert_lockstep(&lines, 4, 2);
    Ok(())
}

#[test]
fn workers_do_not_change_what_a_rank_reads() -> Result {
    let read = |workers| traced(&["--ranks-per-node", "2", "--workers-per-rank", workers, "--batch-size", "4"]);
    let alone = read("0")?;
    assert_eq!(alone, read("1")?);
    assert_eq!(alone, read("3")?);
    Ok(())
}

#[test]
fn replication_does_not_change_the_order() -> Result {
    let first_batch = |lines: &[Line], step: usize, size: usize| -> BTreeSet<u64> {
        lines.iter().step_by(step).flat_map(|line| line.ids[..size].iter().copied()).collect()
    };
    let shape = |k, size| traced(&["--nodes", "2", "--ranks-per-node", "4", "--replication", k, "--batch-size", size]);
    let alone = first_batch(&shape("1", "4")?, 1, 4);
    assert_eq!(alone.len(), 32);
    assert_eq!(alone, first_batch(&shape("2", "8")?, 2, 8));
    assert_eq!(alone, first_batch(&shape("4", "16")?, 4, 16));
    Ok(())
}

#[test]
fn every_epoch_is_whole_and_in_another_order() -> Result {
    let lines = traced(&["--ranks-per-node", "2", "--epochs", "3", "--workers-per-rank", "1"])?;
    let epochs: Vec<&[Line]> = lines.chunks(2).collect();
    assert_eq!(epochs.len(), 3);
    for epoch in &epochs {
        assert_lockstep(epoch, 2, 1);
    }
    assert_ne!(epochs[0][0].ids, epochs[1][0].ids);
    assert_ne!(epochs[1][0].ids, epochs[2][0].ids);
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_order_and_another_another() -> Result {
    let read = |seed| traced(&["--ranks-per-node", "2", "--seed", seed]);
    assert_eq!(read("7")?, read("7")?);
    assert_ne!(read("7")?, read("8")?);
    Ok(())
}

#[test]
fn demo_shows_a_table_and_ends_well() -> Result {
    let ended = finish(lockstep().arg("demo"))?;
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    let verdict = "ok: 8 ranks in 4 groups; each group read identical samples, no two groups the same ones but for the 3 \
                   that fill up the last batches\n";
    assert!(ended.out.ends_with(verdict), "{}", ended.out);
    assert!(ended.out.contains("1797 samples read to its end"), "{}", ended.out);
    Ok(())
}

#[test]
fn json_has_a_report_of_every_rank() -> Result {
    let ended = finish(run(&["--ranks-per-node", "3"]).arg("--json"))?;
    let report: serde_json::Value = serde_json::from_str(&ended.out)?;
    assert_eq!(report["ok"], true);
    assert_eq!(report["ranks"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["epochs"][0]["unique"], 1797);
    assert_eq!(report["ranks"][0]["samples"], 599);
    assert_eq!(report["faults"], serde_json::json!([]));
    let ended = finish(&mut run(&["--ranks-per-node", "3"]))?;
    assert!(ended.out.ends_with("no two groups the same ones\n"), "{}", ended.out);
    Ok(())
}
