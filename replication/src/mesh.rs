//! Device meshes: ranks numbered by their coordinates along named axes.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::{MeshError, Replication};

/// A device mesh: ranks numbered by their coordinates along named axes, **the last axis fastest** (row-major), as in
/// PyTorch's `DeviceMesh`. [`Mesh::megatron`] takes Megatron's order strings, in which the first axis is the fastest.
///
/// Displays and parses as `pp=2,dp=4,tp=2` (blanks separate axes, too).
///
/// # Example
///
/// ```
/// use lockstep_replication::Mesh;
///
/// let mesh: Mesh = "pp=2,dp=4,tp=2".parse()?;
/// assert_eq!(mesh.num_ranks(), 16);
/// assert_eq!(mesh.coordinates(11), Some(vec![1, 1, 1]));
///
/// let megatron = Mesh::megatron("tp-cp-ep-dp-pp", [("tp", 2), ("dp", 4), ("pp", 2)])?;
/// assert_eq!(megatron.to_string(), "pp=2,dp=4,ep=1,cp=1,tp=2");
/// # Ok::<(), lockstep_replication::MeshError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mesh {
    axes: Vec<Axis>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Axis {
    name: String,
    size: u64,
}

impl Mesh {
    /// A mesh of axes given as (name, size), the last one fastest.
    ///
    /// # Errors
    ///
    /// If there is no axis, a name that is not one or is there twice, a size of zero, or more than 2^64 - 1 ranks.
    pub fn new<N: Into<String>>(axes: impl IntoIterator<Item = (N, u64)>) -> Result<Self, MeshError> {
        let axes: Vec<_> = axes.into_iter().map(|(name, size)| Axis { name: name.into(), size }).collect();
        let mesh = Self { axes };
        if mesh.axes.is_empty() {
            return Err(MeshError::Empty);
        }
        for (i, Axis { name, size }) in mesh.axes.iter().enumerate() {
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(MeshError::BadName { name: name.clone() });
            }
            if mesh.axes[..i].iter().any(|axis| axis.name == *name) {
                return Err(MeshError::Duplicate { axis: name.clone() });
            }
            if *size == 0 {
                return Err(MeshError::Zero { axis: name.clone() });
            }
        }
        let product = mesh.axes.iter().try_fold(1u64, |product, axis| product.checked_mul(axis.size));
        if product.is_none() {
            return Err(MeshError::TooLarge { mesh: mesh.to_string() });
        }
        Ok(mesh)
    }

    /// The mesh of Megatron's `order`, such as `tp-cp-ep-dp-pp`, in which **the first axis is the fastest**.
    ///
    /// Axes of the order that have no size have size 1. (Megatron has two such meshes: in the one of the dense layers, which
    /// is the one that matters for data, `ep` is 1, and expert parallelism is part of `dp`.)
    ///
    /// # Errors
    ///
    /// As for [`Mesh::new`], and if there is a size other than 1 for an axis that is not in the order.
    pub fn megatron<N: AsRef<str>>(order: &str, sizes: impl IntoIterator<Item = (N, u64)>) -> Result<Self, MeshError> {
        let sizes: Vec<_> = sizes.into_iter().map(|(name, size)| (name.as_ref().to_owned(), size)).collect();
        for (i, (name, size)) in sizes.iter().enumerate() {
            if sizes[..i].iter().any(|(other, _)| other == name) {
                return Err(MeshError::Duplicate { axis: name.clone() });
            }
            if *size != 1 && order.split('-').all(|axis| axis != name) {
                return Err(MeshError::Unknown { axis: name.clone(), axes: order.replace('-', ", ") });
            }
        }
        let size = |axis: &str| sizes.iter().find(|(name, _)| name == axis).map_or(1, |&(_, size)| size);
        if order.is_empty() {
            return Err(MeshError::Empty);
        }
        Self::new(order.rsplit('-').map(|axis| (axis, size(axis))))
    }

    /// The replication in which the ranks that differ along none but the given axes read the same samples.
    ///
    /// Groups are numbered by their coordinates along the other axes, the last axis fastest.
    ///
    /// # Errors
    ///
    /// If there is no such axis, or one is there twice.
    pub fn replicate<N: AsRef<str>>(&self, axes: impl IntoIterator<Item = N>) -> Result<Replication, MeshError> {
        Ok(Replication::over(self.clone(), self.select(axes)?))
    }

    /// As [`replicate`](Self::replicate), but only the ranks for whose coordinates `reads` is true read anything.
    ///
    /// These are [explicit](Replication::explicit) groups: a table, made by looking at every rank. Groups that nobody is left
    /// in are left out.
    ///
    /// # Errors
    ///
    /// As for [`replicate`](Self::replicate).
    ///
    /// # Example
    ///
    /// ```
    /// use lockstep_replication::{Assignment, Mesh, Placement};
    ///
    /// // Of the four stages of a pipeline, only the first and the last need samples.
    /// let mesh: Mesh = "pp=4,dp=2".parse()?;
    /// let replication = mesh.replicate_where(["pp"], |at| at[0] == 0 || at[0] == 3)?;
    /// let assignment = Assignment::new(4, 2, &replication, Placement::NodeLocal)?;
    /// assert!(assignment.members(1).eq([1, 7]));
    /// assert_eq!(assignment.group_of(2), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replicate_where<N: AsRef<str>>(
        &self,
        axes: impl IntoIterator<Item = N>,
        mut reads: impl FnMut(&[u64]) -> bool,
    ) -> Result<Replication, MeshError> {
        let is_replicated = self.select(axes)?;
        let mut groups: BTreeMap<Vec<u64>, Vec<u64>> = BTreeMap::new();
        let mut idle = Vec::new();
        for rank in 0..self.num_ranks() {
            let coordinates = self.coordinates(rank).expect("a rank of the mesh");
            if reads(&coordinates) {
                let kept = coordinates.into_iter().zip(&is_replicated).filter(|(_, is_replicated)| !**is_replicated);
                groups.entry(kept.map(|(coordinate, _)| coordinate).collect()).or_default().push(rank);
            } else {
                idle.push(rank);
            }
        }
        Ok(Replication::explicit(groups.into_values(), idle))
    }

    /// Which axes are among the given ones.
    fn select<N: AsRef<str>>(&self, axes: impl IntoIterator<Item = N>) -> Result<Vec<bool>, MeshError> {
        let mut is_replicated = vec![false; self.axes.len()];
        for name in axes {
            let name = name.as_ref();
            let Some(i) = self.axes.iter().position(|axis| axis.name == name) else {
                let axes = self.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(MeshError::Unknown { axis: name.to_owned(), axes });
            };
            if std::mem::replace(&mut is_replicated[i], true) {
                return Err(MeshError::Duplicate { axis: name.to_owned() });
            }
        }
        Ok(is_replicated)
    }

    /// The axes, as (name, size), the last one fastest.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = (&str, u64)> + ExactSizeIterator {
        self.axes.iter().map(|axis| (axis.name.as_str(), axis.size))
    }

    /// The number of ranks: the product of the sizes.
    #[must_use]
    pub fn num_ranks(&self) -> u64 {
        self.axes.iter().map(|axis| axis.size).product()
    }

    /// The coordinates of a rank along the axes, in their order; `None` for a rank that the mesh does not have.
    #[must_use]
    pub fn coordinates(&self, rank: u64) -> Option<Vec<u64>> {
        if rank >= self.num_ranks() {
            return None;
        }
        let mut rest = rank;
        let mut coordinates: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let coordinate = rest % axis.size;
                rest /= axis.size;
                coordinate
            })
            .collect();
        coordinates.reverse();
        Some(coordinates)
    }
}

impl FromStr for Mesh {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Self, MeshError> {
        let parts = text.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty());
        let axes = parts.map(|part| {
            let (name, size) = part.split_once('=').ok_or(part).map_err(not_an_axis)?;
            Ok((name, size.parse().map_err(|_| not_an_axis(part))?))
        });
        Self::new(axes.collect::<Result<Vec<_>, _>>()?)
    }
}

fn not_an_axis(text: &str) -> MeshError {
    MeshError::NotAnAxis { text: text.to_owned() }
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, size)) in self.axes().enumerate() {
            write!(f, "{}{name}={size}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Mesh>().expect_err("bad").to_string()
    }

    #[test]
    fn text_parses_back() {
        for text in ["dp=1", "pp=2,dp=4,tp=2", "dp_replicate=2,dp.shard=18446744073709551615,x=0"] {
            match text.parse::<Mesh>() {
                Ok(mesh) => assert_eq!(mesh.to_string(), text),
                Err(error) => assert!(text.ends_with("=0"), "{text}: {error}"),
            }
        }
        assert_eq!("pp=2 dp=4, tp=2".parse::<Mesh>(), "pp=2,dp=4,tp=2".parse());
    }

    #[test]
    fn bad_text_has_its_own_error() {
        assert_eq!(error(""), "a mesh needs at least one axis: write it as \"pp=2,dp=4,tp=2\"");
        assert_eq!(error("pp=2,4"), "\"4\" is not an axis: write a mesh as \"pp=2,dp=4,tp=2\"");
        assert_eq!(error("pp=two"), "\"pp=two\" is not an axis: write a mesh as \"pp=2,dp=4,tp=2\"");
        assert_eq!(error("pp=-2"), "\"pp=-2\" is not an axis: write a mesh as \"pp=2,dp=4,tp=2\"");
        assert_eq!(error("=2"), "\"\" is not a name for an axis: use letters, digits, \"_\" and \".\"");
        assert_eq!(error("a-b=2"), "\"a-b\" is not a name for an axis: use letters, digits, \"_\" and \".\"");
        assert_eq!(error("pp=0,dp=4"), "axis \"pp\" has size 0: an axis has at least 1 rank");
        assert_eq!(error("pp=2,dp=4,pp=2"), "axis \"pp\" is there twice: name each axis once");
        assert_eq!(
            error("a=4294967296,b=4294967296"),
            "mesh a=4294967296,b=4294967296 has more than 2^64 - 1 ranks: check its sizes"
        );
    }

    #[test]
    fn bad_axes_to_replicate_have_their_own_error() {
        let mesh: Mesh = "pp=2,dp=4".parse().expect("a mesh");
        let error = |axes: &[&str]| mesh.replicate(axes).expect_err("bad").to_string();
        assert_eq!(error(&["tp"]), "there is no axis \"tp\": the mesh has pp, dp");
        assert_eq!(error(&["pp", "pp"]), "axis \"pp\" is there twice: name each axis once");
    }

    #[test]
    fn megatron_order_is_reversed() {
        let mesh = Mesh::megatron("tp-cp-ep-dp-pp", [("pp", 3), ("dp", 2), ("tp", 4)]).expect("a mesh");
        assert_eq!(Ok(mesh), "pp=3,dp=2,ep=1,cp=1,tp=4".parse());
        assert_eq!(Mesh::megatron("dp", [("dp", 2), ("tp", 1)]), "dp=2".parse(), "what is not there has size 1");
    }

    #[test]
    fn bad_megatron_orders_have_their_own_error() {
        let error = |order: &str, sizes: &[(&str, u64)]| {
            Mesh::megatron(order, sizes.iter().copied()).expect_err("bad").to_string()
        };
        assert_eq!(error("tp-dp", &[("pp", 2)]), "there is no axis \"pp\": the mesh has tp, dp");
        assert_eq!(error("tp-dp-tp", &[("tp", 2)]), "axis \"tp\" is there twice: name each axis once");
        assert_eq!(error("tp-dp", &[("tp", 2), ("tp", 3)]), "axis \"tp\" is there twice: name each axis once");
        assert_eq!(error("tp-dp", &[("tp", 0)]), "axis \"tp\" has size 0: an axis has at least 1 rank");
        assert_eq!(error("", &[]), "a mesh needs at least one axis: write it as \"pp=2,dp=4,tp=2\"");
        assert_eq!(error("tp--dp", &[]), "\"\" is not a name for an axis: use letters, digits, \"_\" and \".\"");
    }
}
