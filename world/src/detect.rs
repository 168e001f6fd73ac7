//! From an environment to a world.

use crate::variable::Reader;
use crate::{DetectError, Environment, JobId, Launcher, Variable, World};

/// The variable that picks a launcher by hand: `torchrun`, `open-mpi`, `hydra`, `slurm` or `alone`.
pub const LAUNCHER_VARIABLE: &str = "LOCKSTEP_LAUNCHER";

/// The variable that tells a worker how many workers its rank has. Read with [`WORKER_OF_RANK_VARIABLE`] or not at all.
pub const WORKERS_PER_RANK_VARIABLE: &str = "LOCKSTEP_WORKERS_PER_RANK";

/// The variable that tells a worker which of its rank's workers it is, from 0.
pub const WORKER_OF_RANK_VARIABLE: &str = "LOCKSTEP_WORKER_OF_RANK";

/// What an environment says about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detected {
    /// Who the process is.
    pub world: World,
    /// What started it.
    pub launcher: Launcher,
    /// The variables that say so, in the order in which they were read.
    pub variables: Vec<Variable>,
    /// Which job it is of.
    pub job: JobId,
}

/// Finds out who this process is.
///
/// The innermost launcher whose variables are there counts: torchrun, Open MPI, Hydra, Slurm, in this order. None of them
/// means that the process is alone. `LOCKSTEP_LAUNCHER` picks one by hand, and then no other is looked at. An empty
/// variable counts as one that is not set.
///
/// If a launcher's variables are there only in part, that is an error, never a guess; unless a launcher further out is there
/// in full and says the same, as where a job script has `export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS`.
///
/// What runs in an `sbatch` script or an `salloc` shell without `srun` is alone, however many tasks were asked for.
///
/// `LOCKSTEP_WORKERS_PER_RANK` and `LOCKSTEP_WORKER_OF_RANK`, which a rank sets for processes that it starts, make the world
/// that of a worker.
///
/// # Errors
///
/// Where the variables do not make a world, or nothing tells this job from others; see [`DetectError`].
pub fn detect(environment: &dyn Environment) -> Result<Detected, DetectError> {
    let mut reader = Reader::new(environment);
    let (launcher, mut world) = find(&mut reader)?;
    let worker = worker(&mut reader)?;
    if let Some((workers_per_rank, worker_of_rank)) = worker {
        world = world.with_workers(workers_per_rank, worker_of_rank)?;
    }
    let job = JobId::derive(&mut reader, launcher, &world, worker.is_some())?;
    Ok(Detected { world, launcher, variables: reader.into_read(), job })
}

/// The launcher that counts, and the rank that it says this process is.
fn find(reader: &mut Reader<'_>) -> Result<(Launcher, World), DetectError> {
    if let Some(variable) = reader.text(LAUNCHER_VARIABLE) {
        let launcher: Launcher =
            variable.value().parse().map_err(|source| DetectError::UnknownLauncher { variable, source })?;
        return Ok((launcher, launcher.claim(reader)?.world()?));
    }
    let present: Vec<_> = Launcher::present(reader).collect();
    let Some((&inner, outer)) = present.split_first() else { return Ok((Launcher::Alone, World::alone())) };
    let error = match inner.claim(reader) {
        Ok(claim) => return Ok((inner, claim.world()?)),
        Err(error @ DetectError::Missing { .. }) => error,
        Err(error) => return Err(error),
    };
    for &launcher in outer {
        let mut other = Reader::new(reader.environment());
        let Ok(claim) = launcher.claim(&mut other) else { continue };
        if inner.agrees_with(&claim, &mut other)? {
            *reader = other;
            return Ok((launcher, claim.world()?));
        }
    }
    Err(error)
}

/// How many workers this process's rank has, and which of them it is, if it is one.
fn worker(reader: &mut Reader<'_>) -> Result<Option<(u64, u64)>, DetectError> {
    let count = reader.count(&[WORKERS_PER_RANK_VARIABLE])?;
    let index = reader.number(&[WORKER_OF_RANK_VARIABLE])?;
    match (count, index) {
        (None, None) => Ok(None),
        (Some(count), None) => {
            Err(DetectError::HalfAWorker { found: count.variable, missing: WORKER_OF_RANK_VARIABLE })
        }
        (None, Some(index)) => {
            Err(DetectError::HalfAWorker { found: index.variable, missing: WORKERS_PER_RANK_VARIABLE })
        }
        (Some(count), Some(index)) if index.value >= count.value => {
            Err(DetectError::OutOfRange { index: index.variable, count: count.variable })
        }
        (Some(count), Some(index)) => Ok(Some((count.value, index.value))),
    }
}
