//! A process that this one started and reads messages from.

use std::io::{self, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::Signal;

use crate::run::wire::Failure;

/// How long a process may take to be gone after its pipe closed.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A rank or worker process, ended when this is dropped.
pub(crate) struct Child {
    name: String,
    process: process::Child,
    /// Closing it ends the child: see `lifeline`.
    lifeline: Option<ChildStdin>,
}

/// What the child prints.
pub(crate) type Pipe = BufReader<ChildStdout>;

impl Child {
    /// Starts `lockstep` anew with these arguments and variables; `name` is how errors call it.
    pub(crate) fn start(
        name: String,
        arguments: &[String],
        variables: impl IntoIterator<Item = (&'static str, String)>,
    ) -> anyhow::Result<(Self, Pipe)> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let mut process = Command::new(program)
            .args(arguments)
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} could not be started"))?;
        let pipe = process.stdout.take().expect("standard output is piped");
        let lifeline = process.stdin.take();
        Ok((Self { name, process, lifeline }, BufReader::with_capacity(1 << 16, pipe)))
    }

    /// Why the child ended without a word: waits for it, briefly.
    pub(crate) fn autopsy(&mut self) -> Failure {
        let message = match self.reap(Instant::now() + LAST_BREATH) {
            Ok(status) => format!("{} {}", self.name, describe(status)),
            Err(error) => format!("{} is lost: {error}", self.name),
        };
        Failure { message, peer_lost: false }
    }

    /// Makes the child end at once, without waiting for it.
    pub(crate) fn release(&mut self) {
        self.lifeline = None;
    }

    /// Waits for a child that is about to end, and ends one that has not by then.
    fn reap(&mut self, deadline: Instant) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.process.kill()?;
        self.process.wait()
    }
}

/// Waits for children that end by themselves, now that nobody reads their pipes: so they can leave what they share in
/// order. All of them have the same time.
pub(crate) fn dismiss(children: Vec<Child>) {
    let deadline = Instant::now() + LAST_BREATH;
    for mut child in children {
        // Whatever it ends with, it has said all it had to say.
        let _ = child.reap(deadline);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.release();
        // It is gone already, or goes now; neither can fail in a way that matters here.
        let _ = self.reap(Instant::now() + LAST_BREATH);
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(number), _) => match Signal::try_from(number) {
            Ok(signal) => format!("was killed by signal {number} ({signal})"),
            Err(_) => format!("was killed by signal {number}"),
        },
        (None, Some(code)) => format!("ended early with exit status {code}"),
        (None, None) => "ended early".into(),
    }
}
