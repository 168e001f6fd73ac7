//! The launchers and where each of them puts its numbers.

mod claim;
mod slurm;
mod torchrun;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

pub(crate) use claim::Claim;
pub(crate) use slurm::{is_task, step};
pub(crate) use torchrun::agent_directory;

use crate::DetectError;
use crate::variable::Reader;
use claim::Names;

/// What started the ranks of a job.
///
/// Displays and parses as `torchrun`, `open-mpi`, `hydra`, `slurm` and `alone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Launcher {
    /// torchrun, and whatever sets the same variables: Accelerate, Composer, DeepSpeed, Lightning, people.
    Torchrun,
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// Hydra, the `mpiexec` of MPICH and Intel MPI.
    Hydra,
    /// `srun`.
    Slurm,
    /// None: a process by itself.
    Alone,
}

/// A text that names no [`Launcher`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not a launcher: use one of {}", Launcher::names())]
pub struct UnknownLauncher {
    /// The text.
    pub text: String,
}

impl Launcher {
    /// All of them, the innermost first: what a process sees of an outer one is older than what it sees of an inner one.
    const ALL: [Self; 5] = [Self::Torchrun, Self::OpenMpi, Self::Hydra, Self::Slurm, Self::Alone];

    const fn name(self) -> &'static str {
        match self {
            Self::Torchrun => "torchrun",
            Self::OpenMpi => "open-mpi",
            Self::Hydra => "hydra",
            Self::Slurm => "slurm",
            Self::Alone => "alone",
        }
    }

    /// The names of all launchers, for error messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// How to make the launcher number the ranks node by node.
    pub(crate) const fn block_placement(self) -> &'static str {
        match self {
            Self::Torchrun => "torchrun does so by itself",
            Self::OpenMpi => "mpirun --map-by slot --rank-by slot",
            Self::Hydra => "mpiexec -ppn with the number of ranks of a node",
            Self::Slurm => "srun --distribution=block",
            Self::Alone => "there is only one",
        }
    }

    /// Those whose variables are there, the innermost first.
    pub(crate) fn present<'a>(reader: &'a Reader<'_>) -> impl Iterator<Item = Self> + 'a {
        Self::ALL.into_iter().filter(|launcher| launcher.is_present(reader))
    }

    fn is_present(self, reader: &Reader<'_>) -> bool {
        let any = |names: &[&'static str]| names.iter().any(|name| reader.peek(name).is_some());
        match self {
            Self::Torchrun => any(&["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"]),
            Self::OpenMpi => any(&["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"]),
            Self::Hydra => any(&["PMI_RANK", "PMI_SIZE"]),
            Self::Slurm => is_task(reader),
            Self::Alone => false,
        }
    }

    /// What the launcher says about this process.
    pub(crate) fn claim(self, reader: &mut Reader<'_>) -> Result<Claim, DetectError> {
        match self.names_of_variables() {
            Some(names) if self == Self::Slurm => slurm::claim(reader, names),
            Some(names) => names.claim(self, reader),
            None => Ok(Claim::alone()),
        }
    }

    /// Whether what is set of this launcher's variables could be said of `claim`, too.
    pub(crate) fn agrees_with(self, claim: &Claim, reader: &mut Reader<'_>) -> Result<bool, DetectError> {
        self.names_of_variables().map_or(Ok(true), |names| names.agree_with(claim, reader))
    }

    const fn names_of_variables(self) -> Option<&'static Names> {
        match self {
            Self::Torchrun => Some(&torchrun::NAMES),
            Self::OpenMpi => Some(&OPEN_MPI),
            Self::Hydra => Some(&HYDRA),
            Self::Slurm => Some(&slurm::NAMES),
            Self::Alone => None,
        }
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Launcher {
    type Err = UnknownLauncher;

    fn from_str(text: &str) -> Result<Self, UnknownLauncher> {
        let unknown = || UnknownLauncher { text: text.to_owned() };
        Self::ALL.into_iter().find(|launcher| launcher.name().eq_ignore_ascii_case(text)).ok_or_else(unknown)
    }
}

/// Open MPI's `OMPI_COMM_WORLD_NODE_RANK` is *not* the number of the node but a rank within it, and is left alone.
const OPEN_MPI: Names = Names {
    rank: &["OMPI_COMM_WORLD_RANK"],
    num_ranks: &["OMPI_COMM_WORLD_SIZE"],
    rank_of_node: &["OMPI_COMM_WORLD_LOCAL_RANK"],
    ranks_per_node: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
    node: &[],
    num_nodes: &[],
};

/// Hydra has its own names for the numbers on a node, PALS the `PMI_` ones.
const HYDRA: Names = Names {
    rank: &["PMI_RANK"],
    num_ranks: &["PMI_SIZE"],
    rank_of_node: &["MPI_LOCALRANKID", "PMI_LOCAL_RANK"],
    ranks_per_node: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
    node: &[],
    num_nodes: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for launcher in Launcher::ALL {
            assert_eq!(launcher.to_string().parse(), Ok(launcher));
        }
        assert_eq!("SLURM".parse(), Ok(Launcher::Slurm));
        assert_eq!(
            "srun".parse::<Launcher>().expect_err("no such").to_string(),
            "\"srun\" is not a launcher: use one of torchrun, open-mpi, hydra, slurm, alone"
        );
    }
}
