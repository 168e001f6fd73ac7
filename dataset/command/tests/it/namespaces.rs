//! Two nodes that share nothing: each with mounts, shared memory and network of its own.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use crate::support::{Result, digits, finish, lockstep, trace, wait};

const RANKS_PER_NODE: u64 = 2;

/// Starts the ranks of one node side by side and waits for all of them. `$1` is the node, the rest the command.
const NODE: &str = r#"
mount -t tmpfs tmpfs /dev/shm || exit 77
node=$1; shift
for local in 0 1; do
  RANK=$((node * 2 + local)) LOCAL_RANK=$local "$@" & pids="$pids $!"
done
for pid in $pids; do wait $pid || exit 1; done
"#;

/// A shell in namespaces of its own, if this machine lets us have one.
fn apart() -> Option<Command> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--ipc", "--net", "sh", "-c"]);
    let mut probe = Command::new("unshare");
    probe.args(["--mount", "--ipc", "--net", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm"]);
    let allowed = finish(&mut probe).is_ok_and(|ended| ended.code() == Some(0));
    allowed.then_some(command)
}

#[test]
fn nodes_that_share_nothing_read_one_epoch() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("trace.jsonl");
    let mut nodes = Vec::new();
    for node in 0..2 {
        let Some(mut command) = apart() else {
            println!("skipped: namespaces of one's own are not allowed here");
            return Ok(());
        };
        let program = lockstep();
        command.arg(NODE).arg("node").arg(node.to_string()).arg(program.get_program());
        command.arg("run").arg(digits());
        command.args(["--replication", "2", "--workers-per-rank", "2", "--epochs", "2", "--trace"]).arg(&path);
        command.env("WORLD_SIZE", "4").env("LOCAL_WORLD_SIZE", "2");
        command.env("MASTER_ADDR", "10.0.0.1").env("MASTER_PORT", "29500").env("LOCKSTEP_JOB_ID", "two nodes");
        command.env("LOCKSTEP_LAUNCHER", "torchrun");
        nodes.push(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?);
    }
    for node in nodes {
        let ended = wait(node)?;
        assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.err);
    }
    let mut lines = Vec::new();
    for rank in 0..2 * RANKS_PER_NODE {
        lines.extend(trace(&dir.path().join(format!("trace.jsonl.{rank}")))?);
    }
    for epoch in 0..2 {
        let ids =
            |rank| &lines.iter().find(|line| (line.rank, line.epoch) == (rank, epoch)).expect("it was traced").ids;
        assert_eq!(ids(0), ids(1));
        assert_eq!(ids(2), ids(3));
        let seen: BTreeSet<u64> = ids(0).iter().chain(ids(2)).copied().collect();
        assert_eq!(seen.len(), 1797, "epoch {epoch}");
    }
    Ok(())
}
