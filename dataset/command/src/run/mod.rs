//! `lockstep run`: reads a dataset as a training job would, and checks what was read.
//!
//! One program plays three parts. The launcher starts a process for every rank; a rank starts a process for every
//! worker; each tells its parent what it read. Under another launcher the program is a rank from the start.

mod args;
mod audit;
mod child;
mod due;
mod job;
mod launch;
mod legs;
mod lifeline;
mod local;
mod rank;
mod report;
mod save;
mod tally;
mod trace;
mod under_launcher;
mod wire;
mod worker;
mod workers;

use lockstep_world::{Detected, Launcher, ProcessEnvironment, detect};

pub(crate) use crate::run::args::RunArgs;

use crate::outcome::{Outcome, Usage};
use crate::output::Output;
use crate::run::job::Job;
use crate::run::rank::Consumer;
use crate::run::tally::Summary;
use crate::run::wire::{BatchRead, Failure, Message};

/// The variable that tells a process which part it plays.
const ROLE: &str = "LOCKSTEP_RUN_ROLE";
const RANK_ROLE: &str = "rank";
const WORKER_ROLE: &str = "worker";

/// The variable by which the launcher tells its processes that the job's nodes are simulated on one machine. A worker
/// has a role under any launcher, but not this.
const SIMULATED: &str = "LOCKSTEP_RUN_SIMULATED_NODES";

/// Runs the part that the environment assigns. `arguments` are those of the command, for processes started anew.
pub(crate) fn run(args: &RunArgs, arguments: &[String], output: &mut Output) -> anyhow::Result<Outcome> {
    let detected = detect(&ProcessEnvironment)?;
    match std::env::var(ROLE).as_deref() {
        Ok(RANK_ROLE) => child(output, |output| play_rank(args, arguments, &detected, output)),
        Ok(WORKER_ROLE) => child(output, |output| play_worker(args, &detected, output)),
        _ if detected.launcher == Launcher::Alone || args.is_local_job(&detected.world) => {
            local::run(args, arguments, output)
        }
        _ => under_launcher::run(args, arguments, &detected, output),
    }
}

/// The arguments of this process, for those it starts anew.
pub(crate) fn own_arguments() -> anyhow::Result<Vec<String>> {
    let utf8 = |argument: std::ffi::OsString| {
        argument.into_string().map_err(|argument| Usage::error(format!("the argument {argument:?} is not UTF-8")))
    };
    std::env::args_os().skip(1).map(utf8).collect()
}

/// Plays a part that a parent listens to: errors go to it, through the pipe.
fn child(pipe: &mut Output, part: impl FnOnce(&mut Output) -> anyhow::Result<()>) -> anyhow::Result<Outcome> {
    lifeline::end_with_parent()?;
    match part(pipe) {
        Ok(()) => Ok(Outcome::Fine),
        Err(error) if worker::is_dismissed(&error) => Ok(Outcome::Fine),
        Err(error) => {
            wire::write(pipe, &Message::Failed(Failure::from_error(&error)))?;
            pipe.flush()?;
            Ok(Outcome::Failed)
        }
    }
}

fn play_worker(args: &RunArgs, detected: &Detected, pipe: &mut Output) -> anyhow::Result<()> {
    let job = Job::open(args, detected)?;
    worker::run(job.dataset.reader()?, args.epochs, pipe)
}

fn play_rank(args: &RunArgs, arguments: &[String], detected: &Detected, pipe: &mut Output) -> anyhow::Result<()> {
    let job = Job::open(args, detected)?;
    job.read(arguments, &mut ToLauncher { pipe })?;
    wire::write(pipe, &Message::Done)?;
    pipe.flush()
}

/// Passes everything on to the launcher.
struct ToLauncher<'a> {
    pipe: &'a mut Output,
}

impl Consumer for ToLauncher<'_> {
    fn batch(&mut self, batch: BatchRead) -> anyhow::Result<()> {
        Ok(wire::write(self.pipe, &Message::Batch(batch))?)
    }

    fn epoch_end(&mut self, summary: Summary) -> anyhow::Result<()> {
        wire::write(self.pipe, &Message::EpochEnd(summary))?;
        self.pipe.flush()
    }
}
