//! Who this process is in a training job: nodes, ranks and workers, from whichever launcher started it.
//!
//! # Model
//!
//! A job runs on `num_nodes` machines. Each runs the same number of *ranks* (training processes, usually one per
//! accelerator), and each rank may have *workers* that load data for it. All three are numbered from zero and node by
//! node, so that four integers say everything:
//!
//! ```text
//! worker = (node * ranks_per_node + rank_of_node) * workers_per_rank + worker_of_rank
//! ```
//!
//! [`World`] is those four integers, validated once. It is the *process world*: unique to each process, and therefore
//! what coordination (leaders, shared memory, locks, barriers) must be built on.
//!
//! [`detect`] finds the launcher from the environment, reads its variables and checks that they make sense together. It
//! never guesses: what is missing, out of range or contradictory is a [`DetectError`] that names the variable, its value
//! and what to do. It also derives the [`JobId`] by which the processes of one job on one node know each other.
//!
//! | launcher | also covers | variables |
//! | --- | --- | --- |
//! | [`Launcher::Torchrun`] | Accelerate, Composer, DeepSpeed, Lightning on torchrun | `RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE` |
//! | [`Launcher::OpenMpi`] | PRRTE | `OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK,LOCAL_SIZE}` |
//! | [`Launcher::Hydra`] | MPICH, Intel MPI, PALS | `PMI_RANK PMI_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS` |
//! | [`Launcher::Slurm`] | `srun` | `SLURM_PROCID SLURM_LOCALID SLURM_NTASKS SLURM_TASKS_PER_NODE` |
//! | [`Launcher::Alone`] | | none of these |
//!
//! Where several are there, the innermost wins, in the order of the table. `LOCKSTEP_LAUNCHER` picks one by hand.
//!
//! # Example
//!
//! ```
//! use lockstep_world::{Launcher, MapEnvironment, detect};
//!
//! // `ProcessEnvironment` reads the real one.
//! let environment = MapEnvironment::from([
//!     ("RANK", "11"),
//!     ("WORLD_SIZE", "16"),
//!     ("LOCAL_RANK", "3"),
//!     ("LOCAL_WORLD_SIZE", "8"),
//! ]);
//! let detected = detect(&environment)?;
//! assert_eq!(detected.launcher, Launcher::Torchrun);
//!
//! let rank = detected.world;
//! assert_eq!((rank.node(), rank.num_nodes(), rank.rank_of_node()), (1, 2, 3));
//! assert!(!rank.is_local_leader());
//!
//! // The second of this rank's four loading workers.
//! let worker = rank.with_workers(4, 1)?;
//! assert_eq!((worker.worker(), worker.num_workers()), (45, 64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - **Every node runs the same number of ranks, numbered node by node.** Anything else is an error, not an approximation.
//! - A process sees only its own environment. Where the launcher does not say how many nodes there are (MPI does not),
//!   nodes with 8, 4 and 4 ranks look to each rank like 2 nodes of 8, or 4 of 4.
//! - A job id is agreed on without communication. See [`JobId`] for when to set `LOCKSTEP_JOB_ID` by hand.

#![forbid(unsafe_code)]

mod detect;
mod environment;
mod error;
mod job;
mod launcher;
mod variable;
mod world;

pub use detect::{Detected, LAUNCHER_VARIABLE, WORKER_OF_RANK_VARIABLE, WORKERS_PER_RANK_VARIABLE, detect};
pub use environment::{Environment, MapEnvironment, ProcessEnvironment, ProcessIdentity};
pub use error::DetectError;
pub use job::{EmptyJobId, JOB_ID_VARIABLE, JobId};
pub use launcher::{Launcher, UnknownLauncher};
pub use variable::Variable;
pub use world::{World, WorldError};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct ReadmeDoctests;
