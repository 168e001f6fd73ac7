//! Which ranks form a group.

use std::fmt;

use crate::Mesh;

/// Which ranks of a job read the same samples.
///
/// It becomes concrete in an [`Assignment`](crate::Assignment), which checks that it fits a world.
///
/// # Example
///
/// ```
/// use lockstep_replication::{Mesh, Replication};
///
/// // Each two neighbours.
/// let replication = Replication::adjacent(2);
/// assert_eq!(replication.to_string(), "adjacent groups of 2");
///
/// // Along the axes of a mesh that are not data parallel.
/// let replication = "pp=2,dp=4,tp=2".parse::<Mesh>()?.replicate(["pp", "tp"])?;
/// assert_eq!(replication.to_string(), "mesh pp=2,dp=4,tp=2 over pp,tp");
///
/// // The first and the last stage of a pipeline of four; those in the middle read nothing.
/// let replication = Replication::explicit([[0, 6], [1, 7]], 2..6);
/// assert_eq!(replication.to_string(), "2 explicit groups");
/// # Ok::<(), lockstep_replication::MeshError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replication(pub(crate) Pattern);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    Adjacent(u64),
    Mesh { mesh: Mesh, is_replicated: Vec<bool> },
    Explicit { groups: Vec<Vec<u64>>, idle: Vec<u64> },
}

impl Replication {
    /// Every rank reads its own samples.
    #[must_use]
    pub fn none() -> Self {
        Self::adjacent(1)
    }

    /// Groups of `ranks` neighbours: `[0, ranks)`, `[ranks, 2 * ranks)` and so on.
    #[must_use]
    pub fn adjacent(ranks: u64) -> Self {
        Self(Pattern::Adjacent(ranks))
    }

    /// The groups given, and the ranks that read nothing.
    ///
    /// Groups must be disjoint and of equal size, and every rank of the job must be in a group or among the `idle`. Groups are
    /// numbered in the order given.
    #[must_use]
    pub fn explicit<G: Into<Vec<u64>>>(
        groups: impl IntoIterator<Item = G>,
        idle: impl IntoIterator<Item = u64>,
    ) -> Self {
        let groups = groups.into_iter().map(Into::into).collect();
        Self(Pattern::Explicit { groups, idle: idle.into_iter().collect() })
    }

    /// The groups of a mesh.
    pub(crate) fn over(mesh: Mesh, is_replicated: Vec<bool>) -> Self {
        Self(Pattern::Mesh { mesh, is_replicated })
    }
}

impl fmt::Display for Replication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Adjacent(1) => f.write_str("none"),
            Pattern::Adjacent(ranks) => write!(f, "adjacent groups of {ranks}"),
            Pattern::Mesh { mesh, is_replicated } => {
                let names = mesh.axes().zip(is_replicated).filter(|(_, is_replicated)| **is_replicated);
                let names: Vec<_> = names.map(|((name, _), _)| name).collect();
                let names = if names.is_empty() { "no axis".to_owned() } else { names.join(",") };
                write!(f, "mesh {mesh} over {names}")
            }
            Pattern::Explicit { groups, .. } => write!(f, "{} explicit groups", groups.len()),
        }
    }
}
