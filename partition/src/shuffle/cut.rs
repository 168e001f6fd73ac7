//! Positions and the canonical nodes that they belong to.

use std::ops::Range;

use crate::divisor::Divisor;

/// The cut of an epoch into canonical nodes, prepared for lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CanonicalCut {
    samples: u64,
    nodes: u64,
    by_nodes: Divisor,
    /// The samples, where the numbers are small enough for 64-bit products.
    by_samples: Option<Divisor>,
}

impl CanonicalCut {
    /// The cut of `samples` into `nodes` parts.
    ///
    /// # Panics
    ///
    /// Without nodes.
    pub(crate) fn new(samples: u64, nodes: u64) -> Self {
        let by_nodes = Divisor::new(nodes).expect("at least one canonical node");
        let by_samples = samples.checked_mul(nodes).and(Divisor::new(samples));
        Self { samples, nodes, by_nodes, by_samples }
    }

    pub(crate) const fn nodes(&self) -> u64 {
        self.nodes
    }

    pub(crate) const fn samples(&self) -> u64 {
        self.samples
    }

    /// The positions of a canonical node: part `c` is `floor(c N / C) .. floor((c + 1) N / C)`.
    #[inline]
    pub(crate) fn range(&self, node: u64) -> Range<u64> {
        self.start(node)..self.start(node + 1)
    }

    /// Where a canonical node begins.
    #[inline]
    pub(crate) fn start(&self, node: u64) -> u64 {
        if self.by_samples.is_some() {
            return self.by_nodes.quotient(node * self.samples);
        }
        wide_quotient(u128::from(node) * u128::from(self.samples), self.nodes)
    }

    /// The canonical node of a position: the largest `c` with `floor(c N / C) <= position`.
    #[inline]
    pub(crate) fn node_of(&self, position: u64) -> u64 {
        debug_assert!(position < self.samples, "position {position} of {}", self.samples);
        if let Some(samples) = self.by_samples {
            return samples.quotient((position + 1) * self.nodes - 1);
        }
        wide_quotient((u128::from(position) + 1) * u128::from(self.nodes) - 1, self.samples)
    }
}

fn wide_quotient(dividend: u128, divisor: u64) -> u64 {
    u64::try_from(dividend / u128::from(divisor)).expect("a part of the whole")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical_range;

    proptest! {
        #[test]
        fn a_position_lies_in_its_node(samples in 1_u64.., shift in 0_u32..64, nodes in 1_u64.., nodes_shift in 0_u32..64, at: u64) {
            let (samples, nodes) = ((samples >> shift).max(1), (nodes >> nodes_shift).max(1));
            let cut = CanonicalCut::new(samples, nodes);
            for position in [0, at % samples, samples - 1] {
                let node = cut.node_of(position);
                prop_assert_eq!(cut.range(node), canonical_range(samples, nodes, node));
                prop_assert!(cut.range(node).contains(&position));
            }
        }
    }
}
