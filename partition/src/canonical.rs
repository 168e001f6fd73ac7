//! Canonical nodes: which of them a physical node reads.

use std::ops::Range;

/// The canonical nodes that one physical node reads: every `step`-th one, or a few neighbours out of every `step`.
///
/// The partition deals the canonical nodes out in turn, so those of a physical node are no range: with 8 canonical nodes
/// on 4 physical ones, physical node 1 reads 1 and 5. Shuffles that hold samples in memory need only hold the parts of
/// these nodes.
///
/// ```
/// use lockstep_partition::CanonicalSubset;
///
/// let wanted = CanonicalSubset::strided(1, 1, 4);
/// assert_eq!((0..8).filter(|&node| wanted.contains(node)).collect::<Vec<_>>(), [1, 5]);
/// assert!(CanonicalSubset::ALL.contains(6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanonicalSubset {
    first: u64,
    count: u64,
    step: u64,
}

impl CanonicalSubset {
    /// Every canonical node.
    pub const ALL: Self = Self { first: 0, count: 1, step: 1 };

    /// Out of every `step` canonical nodes, the `count` that begin at `first`, going round at the end of the step.
    ///
    /// A `step` of zero or a `count` of at least `step` is everything.
    #[must_use]
    pub const fn strided(first: u64, count: u64, step: u64) -> Self {
        if step == 0 || count >= step {
            return Self::ALL;
        }
        Self { first: first % step, count, step }
    }

    /// Whether `canonical_node` belongs to the subset.
    #[must_use]
    pub const fn contains(self, canonical_node: u64) -> bool {
        let residue = canonical_node % self.step;
        let distance = if residue >= self.first { residue - self.first } else { residue + (self.step - self.first) };
        distance < self.count
    }

    /// Whether the subset is everything.
    #[must_use]
    pub const fn is_all(self) -> bool {
        self.count >= self.step
    }

    /// The members among `0..canonical_nodes`, in order.
    pub fn iter(self, canonical_nodes: u64) -> impl Iterator<Item = u64> {
        (0..canonical_nodes).filter(move |&node| self.contains(node))
    }
}

/// The positions of canonical node `canonical_node` of `canonical_nodes` in an epoch of `num_samples`.
///
/// Canonical nodes are equal parts as far as that goes: part `c` is `floor(c N / C) .. floor((c + 1) N / C)`.
///
/// ```
/// use lockstep_partition::canonical_range;
///
/// assert_eq!(canonical_range(10, 3, 1), 3..6);
/// ```
///
/// # Panics
///
/// Where `canonical_node` is not below `canonical_nodes`.
#[must_use]
pub fn canonical_range(num_samples: u64, canonical_nodes: u64, canonical_node: u64) -> Range<u64> {
    assert!(canonical_node < canonical_nodes, "canonical node {canonical_node} of {canonical_nodes}");
    let bound = |node: u64| {
        let product = u128::from(node) * u128::from(num_samples);
        u64::try_from(product / u128::from(canonical_nodes)).expect("at most the number of samples")
    };
    bound(canonical_node)..bound(canonical_node + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn subsets_go_round_at_the_end_of_a_step() {
        let subset = CanonicalSubset::strided(3, 2, 4);
        assert_eq!(subset.iter(9).collect::<Vec<_>>(), [0, 3, 4, 7, 8]);
        assert!(!subset.is_all());
    }

    #[test]
    fn too_much_is_everything() {
        for subset in [CanonicalSubset::strided(5, 4, 4), CanonicalSubset::strided(5, 9, 0)] {
            assert_eq!(subset, CanonicalSubset::ALL);
            assert!(subset.is_all() && subset.contains(u64::MAX));
        }
        assert_eq!(CanonicalSubset::strided(0, 0, 4).iter(8).count(), 0);
    }

    proptest! {
        #[test]
        fn ranges_follow_one_another(num_samples: u64, canonical_nodes in 1_u64.., node: u64) {
            let node = node % canonical_nodes;
            let range = canonical_range(num_samples, canonical_nodes, node);
            let smaller = num_samples / canonical_nodes;
            prop_assert!((smaller..=smaller.saturating_add(1)).contains(&(range.end - range.start)));
            if node + 1 == canonical_nodes {
                prop_assert_eq!(range.end, num_samples);
            } else {
                prop_assert_eq!(canonical_range(num_samples, canonical_nodes, node + 1).start, range.end);
            }
        }

        #[test]
        fn any_numbers_make_a_subset(first: u64, count: u64, step: u64, node: u64) {
            let subset = CanonicalSubset::strided(first, count, step);
            let expected = step == 0 || (0..count.min(step).min(50)).any(|k| {
                (u128::from(first) + u128::from(k)) % u128::from(step) == u128::from(node % step)
            });
            if count <= 50 || step <= 50 {
                prop_assert_eq!(subset.contains(node), expected);
            }
        }
    }
}
