//! Sets of shards.

/// Some of a dataset's shards, by their numbers over all streams: a bit each.
///
/// ```
/// use lockstep_partition::ShardSet;
///
/// let mut shards = ShardSet::new();
/// assert!(shards.insert(70) && !shards.insert(70));
/// shards.extend([3, 5]);
/// assert_eq!((shards.len(), shards.iter().collect::<Vec<_>>()), (3, vec![3, 5, 70]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardSet {
    words: Vec<u64>,
    len: u64,
}

impl ShardSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new(), len: 0 }
    }

    /// Adds a shard and says whether it is new.
    ///
    /// # Panics
    ///
    /// Where a bit for each shard up to this one does not fit into memory.
    pub fn insert(&mut self, shard: u64) -> bool {
        let word = usize::try_from(shard / 64).expect("a bit for each shard fits into memory");
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let bit = 1 << (shard % 64);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u64::from(new);
        new
    }

    /// Whether a shard is in the set.
    #[must_use]
    pub fn contains(&self, shard: u64) -> bool {
        let word = usize::try_from(shard / 64).ok().and_then(|word| self.words.get(word));
        word.is_some_and(|word| word & 1 << (shard % 64) != 0)
    }

    /// How many shards are in the set.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds all shards of another set.
    pub fn union_with(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
        self.len = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
    }

    /// The shards, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..)
            .zip(&self.words)
            .flat_map(|(index, &word)| (0..64).filter(move |bit| word & 1 << bit != 0).map(move |bit| index * 64 + bit))
    }
}

impl Extend<u64> for ShardSet {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, shards: T) {
        for shard in shards {
            self.insert(shard);
        }
    }
}

impl FromIterator<u64> for ShardSet {
    fn from_iter<T: IntoIterator<Item = u64>>(shards: T) -> Self {
        let mut set = Self::new();
        set.extend(shards);
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_tree(left in prop::collection::vec(0_u64..500, 0..60), right in prop::collection::vec(0_u64..900, 0..60)) {
            let mut tree: BTreeSet<u64> = left.iter().copied().collect();
            let mut set: ShardSet = left.into_iter().collect();
            prop_assert_eq!(set.len(), tree.len() as u64);
            tree.extend(&right);
            set.union_with(&right.into_iter().collect());
            prop_assert_eq!((set.len(), set.is_empty()), (tree.len() as u64, tree.is_empty()));
            prop_assert!((0..1000).all(|shard| set.contains(shard) == tree.contains(&shard)));
            prop_assert!(set.iter().eq(tree));
        }
    }
}
