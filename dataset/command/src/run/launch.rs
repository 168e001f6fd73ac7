//! The launcher: starts a process for every rank, listens to all of them, and ends all when one is lost.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use lockstep_world::{JOB_ID_VARIABLE, Variable, World};

use crate::run::child::{Child, Pipe};
use crate::run::wire::{self, Failure, Message};

/// The shape of the job to launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Nodes, simulated on this machine.
    pub(crate) nodes: u64,
    /// Ranks on each.
    pub(crate) ranks_per_node: u64,
}

/// After a failure, how long others may still say why they failed: the first to be heard is not always the cause.
const GRACE: Duration = Duration::from_millis(500);

/// Messages that may wait here before the ranks have to.
const BACKLOG: usize = 1024;

struct Event {
    rank: usize,
    /// `None` where the pipe ended without a last word.
    message: Option<Message>,
}

/// Runs `arguments` as every rank of the job and hands all messages to `listen` until every rank is done.
///
/// # Errors
///
/// A rank died or failed; the others have been ended.
pub(crate) fn run(
    shape: Shape,
    job: &str,
    arguments: &[String],
    mut listen: impl FnMut(usize, Message) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (sender, events) = sync_channel(BACKLOG);
    let mut children = Children(Vec::new());
    for rank in 0..shape.nodes * shape.ranks_per_node {
        let world = World::new(shape.nodes, shape.ranks_per_node, 1, rank).context("the shape of the job")?;
        let (child, pipe) = Child::start(format!("rank {rank}"), arguments, variables(job, world))?;
        forward(children.0.len(), pipe, sender.clone())?;
        children.0.push(child);
    }
    drop(sender);
    children.listen(&events, &mut listen)
}

/// What torchrun would set, and which part of the run the process plays.
fn variables(job: &str, world: World) -> Vec<(&'static str, String)> {
    let mut variables: Vec<_> = pairs(&world.rank_variables());
    variables.extend([
        ("TORCHELASTIC_RUN_ID", job.to_owned()),
        ("TORCHELASTIC_RESTART_COUNT", "0".to_owned()),
        (JOB_ID_VARIABLE, job.to_owned()),
        (super::ROLE, super::RANK_ROLE.to_owned()),
        (super::SIMULATED, "1".to_owned()),
    ]);
    variables
}

/// Variables in the form in which a process is given them.
pub(crate) fn pairs(variables: &[Variable]) -> Vec<(&'static str, String)> {
    variables.iter().map(|variable| (variable.name(), variable.value().to_owned())).collect()
}

/// A thread that turns a rank's pipe into events.
fn forward(rank: usize, mut pipe: Pipe, events: SyncSender<Event>) -> anyhow::Result<()> {
    thread::Builder::new().name(format!("rank {rank}")).stack_size(1 << 17).spawn(move || {
        loop {
            // A pipe that breaks off inside a message says as little as one that ends.
            let message = wire::read(&mut pipe).unwrap_or(None);
            let last = !matches!(message, Some(Message::Batch(_) | Message::EpochEnd(_)));
            // The launcher stops listening when it has given up.
            if events.send(Event { rank, message }).is_err() || last {
                return;
            }
        }
    })?;
    Ok(())
}

struct Children(Vec<Child>);

impl Children {
    fn listen(
        &mut self,
        events: &Receiver<Event>,
        listen: &mut impl FnMut(usize, Message) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        loop {
            // All senders are gone once every rank has said its last word.
            let Ok(event) = events.recv() else { return Ok(()) };
            match event.message {
                Some(Message::Failed(failure)) => return Err(self.cause(failure, events).into()),
                None => {
                    let failure = self.0[event.rank].autopsy();
                    return Err(self.cause(failure, events).into());
                }
                Some(message) => listen(event.rank, message)?,
            }
        }
    }

    /// The failure to report: one that is not merely the loss of another process, if there is one.
    fn cause(&mut self, first: Failure, events: &Receiver<Event>) -> Failure {
        let deadline = Instant::now() + GRACE;
        let mut best = first;
        while best.peer_lost {
            let event = match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            best = match event.message {
                Some(Message::Failed(failure)) if !failure.peer_lost => failure,
                None => self.0[event.rank].autopsy(),
                _ => continue,
            };
        }
        best
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        // All of them first, so that they end side by side.
        for child in &mut self.0 {
            child.release();
        }
    }
}
