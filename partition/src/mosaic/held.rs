//! Orders that are held in memory.

use crate::{
    CanonicalSubset, Order,
    shuffle::{CanonicalCut, ShuffleAlgorithm, ShuffleError},
};

/// A sample id, as wide as it must be.
pub(crate) trait Id: Copy + Default {
    /// The id as this type.
    fn new(id: u64) -> Self;
}

impl Id for u32 {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "chosen where all ids fit")]
    fn new(id: u64) -> Self {
        debug_assert!(id <= Self::MAX.into());
        id as Self
    }
}

impl Id for u64 {
    #[inline]
    fn new(id: u64) -> Self {
        id
    }
}

/// Ids in the narrowest type that holds them all.
pub(crate) enum Ids {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Ids {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
        }
    }
}

/// An order of the mosaic family: the ids of the canonical nodes that were asked for.
pub(crate) struct Held {
    algorithm: ShuffleAlgorithm,
    cut: CanonicalCut,
    ids: Ids,
    /// For each canonical node what its positions are ahead of its indices in `ids`, [`Self::ABSENT`] for those that are
    /// not held. `None` where all are: positions are indices then.
    ahead: Option<Vec<u64>>,
}

impl Held {
    const ABSENT: u64 = u64::MAX;

    /// An order of the ids of the canonical nodes of `subset`, one node after the other.
    pub(crate) fn new(
        algorithm: ShuffleAlgorithm,
        cut: CanonicalCut,
        subset: CanonicalSubset,
        ids: Ids,
    ) -> Result<Self, ShuffleError> {
        if subset.is_all() {
            return Ok(Self { algorithm, cut, ids, ahead: None });
        }
        let out_of_memory = ShuffleError::OutOfMemory { algorithm, samples: ids.len() as u64 };
        let mut ahead = Vec::new();
        let nodes = usize::try_from(cut.nodes()).map_err(|_| out_of_memory)?;
        ahead.try_reserve_exact(nodes).map_err(|_| out_of_memory)?;
        let mut held = 0;
        ahead.extend((0..cut.nodes()).map(|node| {
            let positions = cut.range(node);
            if !subset.contains(node) {
                return Self::ABSENT;
            }
            let ahead = positions.start - held;
            held += positions.end - positions.start;
            ahead
        }));
        Ok(Self { algorithm, cut, ids, ahead: Some(ahead) })
    }

    #[cold]
    #[track_caller]
    fn not_held(&self, position: u64) -> ! {
        panic!(
            "position {position} is in canonical node {}, which is not among those this order was built for",
            self.cut.node_of(position)
        );
    }
}

impl Order for Held {
    fn len(&self) -> u64 {
        self.cut.samples()
    }

    #[inline]
    #[track_caller]
    fn at(&self, position: u64) -> u64 {
        let index = match &self.ahead {
            None => position,
            Some(_) if position >= self.cut.samples() => u64::MAX,
            #[expect(clippy::cast_possible_truncation, reason = "nodes are counted by a list in memory")]
            Some(ahead) => position
                .checked_sub(ahead[self.cut.node_of(position) as usize])
                .unwrap_or_else(|| self.not_held(position)),
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match &self.ids {
            Ids::Narrow(ids) => ids[index].into(),
            Ids::Wide(ids) => ids[index],
        }
    }

    fn name(&self) -> &'static str {
        self.algorithm.versioned_name()
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("algorithm", &self.algorithm)
            .field("samples", &self.cut.samples())
            .field("canonical_nodes", &self.cut.nodes())
            .field("held", &self.ids.len())
            .finish()
    }
}
