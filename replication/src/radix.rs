//! Ranks as mixed-radix numbers: from a rank to its group and its place in it, and back.

/// The axes along which ranks are numbered, each of them either replicated or not.
///
/// Neighbouring axes of the same kind are one, and axes of size 1 are none, so that equal groupings have equal axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Radix {
    /// The fastest axis first.
    axes: Vec<Axis>,
}

/// An axis. Its coordinate of a rank is `rank / stride % size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    size: u64,
    stride: u64,
    is_replicated: bool,
    /// The product of the faster axes of the same kind: what a step along this axis adds to the number of the group, or to
    /// the place within the group.
    own_stride: u64,
}

impl Radix {
    /// Axes given as (size, is replicated), the fastest first. Their product must fit 64 bits, and none may be zero.
    pub(crate) fn new(axes: impl IntoIterator<Item = (u64, bool)>) -> Self {
        let mut merged: Vec<Axis> = Vec::new();
        let (mut stride, mut groups, mut places) = (1, 1, 1);
        for (size, is_replicated) in axes {
            if size == 1 {
                continue;
            }
            let own = if is_replicated { &mut places } else { &mut groups };
            match merged.last_mut() {
                Some(last) if last.is_replicated == is_replicated => last.size *= size,
                _ => merged.push(Axis { size, stride, is_replicated, own_stride: *own }),
            }
            *own *= size;
            stride *= size;
        }
        Self { axes: merged }
    }

    /// The number of ranks in a group.
    pub(crate) fn group_size(&self) -> u64 {
        self.axes.iter().filter(|axis| axis.is_replicated).map(|axis| axis.size).product()
    }

    /// The number of groups.
    pub(crate) fn num_groups(&self) -> u64 {
        self.axes.iter().filter(|axis| !axis.is_replicated).map(|axis| axis.size).product()
    }

    /// The group of a rank, and its place in the group.
    pub(crate) fn group_and_place(&self, rank: u64) -> (u64, u64) {
        let (mut group, mut place) = (0, 0);
        for axis in &self.axes {
            let own = if axis.is_replicated { &mut place } else { &mut group };
            *own += rank / axis.stride % axis.size * axis.own_stride;
        }
        (group, place)
    }

    /// The rank at a place of a group.
    pub(crate) fn rank(&self, group: u64, place: u64) -> u64 {
        let coordinate = |axis: &Axis| {
            let own = if axis.is_replicated { place } else { group };
            own / axis.own_stride % axis.size
        };
        self.axes.iter().map(|axis| coordinate(axis) * axis.stride).sum()
    }

    /// Whether a larger rank is never of a smaller group: the case for groups of neighbours.
    pub(crate) fn is_ascending(&self) -> bool {
        self.axes.iter().skip(1).all(|axis| !axis.is_replicated)
    }

    /// The number of ranks of a logical node that is a run of neighbours: the smallest number that is a multiple of
    /// `ranks_per_node` and such that no group spans two of these runs, other than as a whole copy of one run onto another.
    ///
    /// Going up from the fastest replicated axis, there are four ways in which an axis of `size` ranks that are `stride` apart
    /// can lie to runs of `run` ranks: its copies are whole runs; or all of them are inside one run; or each run
    /// has a whole number of them and the axis a whole number of runs, which is a bit of both; or runs end in the middle of
    /// things, and what the axis repeats, `stride * size` ranks, must fit into a run. In the last case the run that is found
    /// is not only sufficient but necessary: every two neighbouring nodes in it are linked by some group. (That is checked
    /// against a search for connected components, in the tests.)
    pub(crate) fn run_of_nodes(&self, ranks_per_node: u64) -> u64 {
        self.axes.iter().filter(|axis| axis.is_replicated).fold(ranks_per_node, |run, axis| {
            let block = axis.stride * axis.size;
            let is_between = run.is_multiple_of(axis.stride) && block.is_multiple_of(run);
            if axis.stride.is_multiple_of(run) || run.is_multiple_of(block) || is_between {
                run
            } else {
                // A divisor of the number of ranks, of which both are divisors: it cannot overflow.
                block / gcd(run, block) * run
            }
        })
    }

    /// The number of groups whose first ranks are in a run of `run` neighbours as found by [`Radix::run_of_nodes`].
    pub(crate) fn groups_of_run(&self, run: u64) -> u64 {
        let within = |axis: &Axis| (run / axis.stride).clamp(1, axis.size);
        self.axes.iter().filter(|axis| !axis.is_replicated).map(within).product()
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Axes of at most 4096 ranks.
    fn axes() -> impl Strategy<Value = Vec<(u64, bool)>> {
        prop::collection::vec((1..=4u64, any::<bool>()), 0..6)
    }

    proptest! {
        #[test]
        fn ranks_and_places_are_inverse(axes in axes()) {
            let radix = Radix::new(axes.clone());
            let ranks: u64 = axes.iter().map(|axis| axis.0).product();
            prop_assert_eq!(radix.num_groups() * radix.group_size(), ranks);
            for rank in 0..ranks {
                let (group, place) = radix.group_and_place(rank);
                prop_assert!(group < radix.num_groups() && place < radix.group_size());
                prop_assert_eq!(radix.rank(group, place), rank);
            }
        }

        #[test]
        fn coordinates_are_those_of_the_axes_one_by_one(axes in axes()) {
            let radix = Radix::new(axes.clone());
            for rank in 0..axes.iter().map(|axis| axis.0).product() {
                let (mut rest, mut own, mut strides) = (rank, [0, 0], [1, 1]);
                for &(size, is_replicated) in &axes {
                    let kind = usize::from(is_replicated);
                    own[kind] += rest % size * strides[kind];
                    strides[kind] *= size;
                    rest /= size;
                }
                prop_assert_eq!(radix.group_and_place(rank), (own[0], own[1]));
            }
        }
    }

    #[test]
    fn equal_groupings_have_equal_axes() {
        let merged = Radix::new([(2, true), (1, false), (3, true), (4, false), (1, true)]);
        assert_eq!(merged, Radix::new([(6, true), (4, false)]));
    }

    #[test]
    fn groups_of_neighbours_ascend() {
        for (axes, is_ascending) in [
            (vec![], true),
            (vec![(4, true)], true),
            (vec![(4, false)], true),
            (vec![(2, true), (4, false)], true),
            (vec![(2, false), (4, true)], false),
            (vec![(2, true), (4, false), (2, true)], false),
        ] {
            let radix = Radix::new(axes);
            assert_eq!(radix.is_ascending(), is_ascending, "{radix:?}");
            let ranks = radix.num_groups() * radix.group_size();
            assert_eq!((0..ranks).map(|rank| radix.group_and_place(rank).0).is_sorted(), is_ascending, "{radix:?}");
        }
    }
}
