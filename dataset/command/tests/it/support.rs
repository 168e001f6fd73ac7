//! Starting the command, under a watchdog, and reading what it wrote.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// No test waits longer for a process than this.
const WATCHDOG: Duration = Duration::from_secs(120);

/// The dataset that comes with the repository.
pub(crate) fn digits() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/digits")
}

/// How a process ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// The command with a clean slate of launchers' variables.
pub(crate) fn lockstep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["RANK", "WORLD_SIZE", "LOCAL_", "SLURM_", "OMPI_", "PMI", "LOCKSTEP_"]
            .iter()
            .any(|start| text.starts_with(start))
        {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs it to its end, or kills it and fails when the watchdog barks.
pub(crate) fn finish(command: &mut Command) -> Result<Ended> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait(child)
}

/// Waits for a process whose output is piped.
pub(crate) fn wait(mut child: Child) -> Result<Ended> {
    let out = drain(child.stdout.take());
    let err = drain(child.stderr.take());
    let deadline = Instant::now() + WATCHDOG;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(format!("still running after {WATCHDOG:?}").into());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |pipe: std::thread::JoinHandle<std::io::Result<String>>| pipe.join().map_err(|_| "a reader panicked");
    Ok(Ended { status, out: text(out)??, err: text(err)?? })
}

fn drain(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<std::io::Result<String>> {
    std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_string(&mut text)?;
        }
        Ok(text)
    })
}

/// The arguments of a run over the digits.
pub(crate) fn run(arguments: &[&str]) -> Command {
    let mut command = lockstep();
    command.arg("run").arg(digits()).args(arguments);
    command
}

/// One line of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) node: u64,
    pub(crate) rank: u64,
    pub(crate) group: u64,
    pub(crate) epoch: u64,
    pub(crate) ids: Vec<u64>,
}

/// Reads a trace, sorted by epoch and rank.
pub(crate) fn trace(path: &Path) -> Result<Vec<Line>> {
    let number = |value: &Value, name: &str| value[name].as_u64().ok_or(format!("no {name} in {value}"));
    let mut lines = Vec::new();
    for text in std::fs::read_to_string(path)?.lines() {
        let value: Value = serde_json::from_str(text)?;
        lines.push(Line {
            node: number(&value, "node")?,
            rank: number(&value, "rank")?,
            group: number(&value, "group")?,
            epoch: number(&value, "epoch")?,
            ids: serde_json::from_value(value["ids"].clone())?,
        });
    }
    lines.sort_by_key(|line| (line.epoch, line.rank));
    Ok(lines)
}
