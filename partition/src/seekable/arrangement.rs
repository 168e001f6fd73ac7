//! Shard parts in the order of an epoch, before samples are mixed.

use super::{listed::Listed, regular::Regular};
use crate::{ShuffleUnits, shuffle::CanonicalCut};

/// What lies where: a bijection from places to sample ids that keeps the samples of a shard part together.
///
/// Both variants arrange alike. The first takes shards of one size and no memory for them.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them in an order")]
pub(super) enum Arrangement {
    Regular(Regular),
    Listed(Listed),
}

impl Arrangement {
    pub(super) fn new(units: &ShuffleUnits, cut: &CanonicalCut, seed: u64, epoch: u64) -> Result<Self, OutOfMemory> {
        match Sizes::of(units) {
            Some(sizes) => Regular::new(sizes, cut, seed, epoch).map(Self::Regular),
            None => Listed::new(units, cut, seed, epoch).map(Self::Listed),
        }
    }

    /// The sample at `place`, which lies in canonical node `node`.
    #[inline]
    pub(super) fn id_at(&self, node: u64, place: u64) -> u64 {
        match self {
            Self::Regular(regular) => regular.id_at(node, place),
            Self::Listed(listed) => listed.id_at(place),
        }
    }

    /// Where sample `id` lies.
    pub(super) fn place_of(&self, cut: &CanonicalCut, id: u64) -> u64 {
        match self {
            Self::Regular(regular) => regular.place_of(cut, id),
            Self::Listed(listed) => listed.place_of(id),
        }
    }
}

/// More parts of shards, or canonical nodes, than can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfMemory;

/// An empty list with room for `len` items.
pub(super) fn reserve<T>(len: u64) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    let len = usize::try_from(len).map_err(|_| OutOfMemory)?;
    list.try_reserve_exact(len).map_err(|_| OutOfMemory)?;
    Ok(list)
}

/// The sizes of shards that are equal, but for a last one that may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// How many shards there are, none of them empty.
    pub(super) shards: u64,
    /// The size of all but the last.
    pub(super) size: u64,
    /// By how much the last one is shorter.
    pub(super) short: u64,
}

impl Sizes {
    fn of(units: &ShuffleUnits) -> Option<Self> {
        let mut runs = units.runs().filter(|&(size, _)| size > 0);
        let (size, mut shards) = runs.next()?;
        let mut short = 0;
        for (next, count) in runs {
            // Empty shards between them can have kept runs of one size apart.
            if short > 0 || next > size || (next < size && count > 1) {
                return None;
            }
            short = size - next;
            shards += count;
        }
        Some(Self { shards, size, short })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sizes(list: &[u64]) -> Option<(u64, u64, u64)> {
        let units = ShuffleUnits::from_sizes(list.iter().copied()).unwrap();
        Sizes::of(&units).map(|sizes| (sizes.shards, sizes.size, sizes.short))
    }

    #[test]
    fn equal_shards_and_a_shorter_last_one_are_regular() {
        assert_eq!(sizes(&[5]), Some((1, 5, 0)));
        assert_eq!(sizes(&[5, 5, 0, 5, 0, 0]), Some((3, 5, 0)));
        assert_eq!(sizes(&[5, 5, 0, 3]), Some((3, 5, 2)));
    }

    #[test]
    fn others_are_not() {
        for irregular in [&[5, 6][..], &[5, 3, 3], &[5, 3, 5], &[5, 3, 0, 2], &[0, 0], &[]] {
            assert_eq!(sizes(irregular), None, "{irregular:?}");
        }
    }

    /// Sizes with regular ones among them often enough.
    fn shards() -> impl Strategy<Value = Vec<u64>> {
        let regular = (1_u64..20, 1_usize..30, 0_u64..20).prop_map(|(size, count, last)| {
            let mut sizes = vec![size; count];
            sizes.push(last.min(size));
            sizes
        });
        prop_oneof![regular, prop::collection::vec(0_u64..20, 0..30)]
    }

    proptest! {
        #[test]
        fn both_variants_arrange_alike(sizes in shards(), nodes in 1_u64..12, seed: u64, epoch: u64) {
            let units = ShuffleUnits::from_sizes(sizes).unwrap();
            let cut = CanonicalCut::new(units.num_samples(), nodes);
            let arrangement = Arrangement::new(&units, &cut, seed, epoch).unwrap();
            let listed = Listed::new(&units, &cut, seed, epoch).unwrap();
            for place in 0..units.num_samples() {
                let id = listed.id_at(place);
                prop_assert_eq!(arrangement.id_at(cut.node_of(place), place), id, "{:?} at {}", units, place);
                prop_assert_eq!(arrangement.place_of(&cut, id), place);
                prop_assert_eq!(listed.place_of(id), place);
            }
        }
    }
}
