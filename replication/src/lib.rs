//! Which ranks of a training job must read the same samples, and whose samples each of them reads.
//!
//! # Model
//!
//! Ranks that hold slices of the same model (tensor, sequence, context or pipeline parallel) must read identical samples;
//! all others must read disjoint ones. Two things say which sample a rank reads:
//!
//! - A [`Replication`] puts the ranks of a job into *groups* of equal size: neighbours, some axes of a device [`Mesh`], or
//!   any list. Groups need be neither adjacent nor inside a node. Ranks that read nothing are in none.
//! - A [`Placement`] arranges the groups, each of which now counts as one *sample rank*, into *logical nodes* of equal size.
//!   What is cut into parts by node (which shards a node downloads) is cut by logical node.
//!
//! An [`Assignment`] is both, for the whole job: arithmetic on a few axes, the same on every process, with nothing to
//! communicate. It turns the [`World`](lockstep_world::World) of a process into its [`SampleWorld`]. These are different
//! types on purpose: several processes share a sample world, so that it can never say who creates, locks or leads. There is
//! no way back.
//!
//! ```text
//! 2 nodes of 4 ranks, adjacent groups of 2          the sample world: 2 logical nodes of 2 ranks
//!
//!        node 0             node 1                         node 0       node 1
//!   [0   1] [2   3]    [4   5] [6   7]         =>          0   1        2   3
//!   group 0 group 1    group 2 group 3
//! ```
//!
//! # Example
//!
//! ```
//! use lockstep_replication::{Assignment, Mesh, Placement};
//! use lockstep_world::World;
//!
//! // 16 ranks on 2 nodes. Pipeline stages are far apart, tensor slices adjacent; both read what the other slices read.
//! let mesh: Mesh = "pp=2,dp=4,tp=2".parse()?;
//! let replication = mesh.replicate(["pp", "tp"])?;
//! let assignment = Assignment::new(2, 8, &replication, Placement::NodeLocal)?;
//!
//! assert_eq!(assignment.num_groups(), 4);
//! assert_eq!(assignment.group_of(11), Some(1));
//! assert!(assignment.members(1).eq([2, 3, 10, 11]));
//!
//! // Every group spans both nodes, so that they read as one.
//! assert_eq!(assignment.shape(), (1, 4));
//!
//! // Worker 1 of 2 of rank 11 reads as worker 1 of 2 of sample rank 1, as do those of ranks 2, 3 and 10.
//! let process = World::of_rank(2, 8, 11)?.with_workers(2, 1)?;
//! let sample = assignment.sample_world(&process).expect("every rank of a mesh reads");
//! assert_eq!((sample.rank(), sample.num_ranks(), sample.worker()), (1, 4, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - Groups have equal sizes, and all nodes equal numbers of ranks.
//! - Everything but [`Replication::explicit`] (and [`Mesh::replicate_where`], which makes these) takes time and memory in the
//!   number of axes. Explicit groups are tables, of some 50 bytes a rank.

#![forbid(unsafe_code)]

mod assignment;
mod error;
mod explicit;
mod members;
mod mesh;
mod placement;
mod radix;
mod replication;
mod sample_world;

pub use assignment::Assignment;
pub use error::{AssignmentError, MeshError};
pub use members::Members;
pub use mesh::Mesh;
pub use placement::{Placement, UnknownPlacement};
pub use replication::Replication;
pub use sample_world::SampleWorld;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct ReadmeDoctests;
