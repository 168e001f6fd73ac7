//! By what the processes of one job on one node know each other.

use std::fmt;

use thiserror::Error;

use crate::launcher::{Launcher, agent_directory, step};
use crate::variable::Reader;
use crate::{DetectError, World};

/// The variable that gives the job id by hand.
pub const JOB_ID_VARIABLE: &str = "LOCKSTEP_JOB_ID";

/// What all processes of a job on a node share, and no other job on that node has.
///
/// It names what the processes of a node use together, such as shared memory. It need not be the same on all nodes, and
/// says nothing else. [`detect`](crate::detect()) derives it without communication, from the first of these that is there:
///
/// 1. `LOCKSTEP_JOB_ID`, as it is;
/// 2. torchrun and the like: the run id (unless it is `none`, which is torchrun's default for all), the restart count, the
///    address and port of the master, and the directory that the torchrun agent made for this attempt;
/// 3. Slurm: the job, the step and the restart count; MPI: the PMIx namespace, Open MPI's job number, or Hydra's port;
/// 4. the process that started this one, which is the launcher's, and when it was started.
///
/// A job of a single rank is told from others by that rank's process as well, because two of them may well be started
/// side by side by the same shell, in the same Slurm step: see [`Environment::process`](crate::Environment::process).
/// Processes that say they are workers (`LOCKSTEP_WORKERS_PER_RANK`) must have been started by their rank, then.
///
/// # When to set `LOCKSTEP_JOB_ID`
///
/// - Ranks that are started by hand, without a `MASTER_PORT`, by different processes.
/// - Ranks under Hydra that are each started through a wrapper script that does not end in `exec`.
/// - Several jobs at a time within a single `srun` or `mpirun`; or one after the other, if the first ranks of the second
///   may start before the last ones of the first have ended.
/// - Workers of a single rank that are started by something else than the rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

/// A [`JobId`] cannot be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a job id cannot be empty: give it a text that differs between jobs")]
pub struct EmptyJobId;

impl JobId {
    /// A job id given by hand.
    ///
    /// # Errors
    ///
    /// If it is empty.
    pub fn new(text: impl Into<String>) -> Result<Self, EmptyJobId> {
        let text = text.into();
        if text.is_empty() { Err(EmptyJobId) } else { Ok(Self(text)) }
    }

    /// The id as a text, of any length and with any characters: hash it where it becomes part of a name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Derives the id of the job that this process is of.
    pub(crate) fn derive(
        reader: &mut Reader<'_>,
        launcher: Launcher,
        world: &World,
        is_worker: bool,
    ) -> Result<Self, DetectError> {
        if let Some(given) = reader.text(JOB_ID_VARIABLE) {
            return Ok(Self(given.value().to_owned()));
        }
        let mut parts = vec![launcher.to_string()];
        let named = match launcher {
            Launcher::Torchrun => torchrun(reader),
            Launcher::Slurm => step(reader),
            Launcher::OpenMpi => first(reader, &[("PMIX_NAMESPACE", "namespace"), ("OMPI_MCA_ess_base_jobid", "job")]),
            Launcher::Hydra => first(reader, &[("PMIX_NAMESPACE", "namespace"), ("PMI_PORT", "port")]),
            Launcher::Alone => None,
        };
        let is_named = named.is_some();
        parts.extend(named);
        let environment = reader.environment();
        if world.num_ranks() == 1 {
            let rank = if is_worker { environment.parent() } else { environment.process() };
            parts.push(format!("process={}", rank.ok_or(DetectError::NoJobId)?));
        } else if !is_named {
            parts.push(format!("parent={}", environment.parent().ok_or(DetectError::NoJobId)?));
        }
        Ok(Self(parts.join(" ")))
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What torchrun and the like tell about the job.
fn torchrun(reader: &mut Reader<'_>) -> Option<String> {
    let run = reader.text("TORCHELASTIC_RUN_ID").filter(|run| run.value() != "none");
    let restart = reader.text("TORCHELASTIC_RESTART_COUNT");
    let address = reader.text("MASTER_ADDR");
    let port = reader.text("MASTER_PORT");
    let agent = agent_directory(reader);
    // Ports are taken by one job at a time, but only within a network namespace. Containers that share /dev/shm need
    // something more, and what torchrun starts in one pid namespace stays there.
    let namespace = reader.environment().process().and_then(|process| process.namespace);
    if run.is_none() && port.is_none() && agent.is_none() {
        return None;
    }
    let mut parts = Vec::new();
    let mut push = |name: &str, value: Option<String>| parts.extend(value.map(|value| format!("{name}={value}")));
    push("run", run.map(|run| run.value().to_owned()));
    push("restart", restart.map(|restart| restart.value().to_owned()));
    push("master", address.map(|address| address.value().to_owned()));
    push("port", port.map(|port| port.value().to_owned()));
    if agent.is_none() {
        push("namespace", namespace.map(|namespace| namespace.to_string()));
    }
    push("agent", agent);
    Some(parts.join(" "))
}

/// The first of the variables that is set, under the name that goes with it.
fn first(reader: &mut Reader<'_>, variables: &[(&'static str, &str)]) -> Option<String> {
    variables.iter().find_map(|(variable, name)| Some(format!("{name}={}", reader.text(variable)?.value())))
}
