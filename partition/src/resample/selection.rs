//! A set of numbers that can be asked for its n-th member.

/// Some of the numbers `0..len`: a bit each, and a count for every 512.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    words: Vec<u64>,
    /// Members before each block of `BLOCK` words.
    before: Vec<u64>,
}

/// Words in a block, which is a cache line.
const BLOCK: usize = 8;

impl Selection {
    /// An empty set with room for the numbers `0..len`, or `None` where there is no memory for it.
    pub(super) fn builder(len: u64) -> Option<SelectionBuilder> {
        let count = usize::try_from(len.div_ceil(64)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize(count, 0);
        Some(SelectionBuilder { words })
    }

    /// How many members are below `number`.
    pub(super) fn rank(&self, number: u64) -> u64 {
        let (word, bit) = position(number);
        let block = word / BLOCK;
        let whole: u64 = self.words[block * BLOCK..word].iter().map(|word| u64::from(word.count_ones())).sum();
        let part = self.words.get(word).map_or(0, |word| word & ((1 << bit) - 1));
        self.before[block] + whole + u64::from(part.count_ones())
    }

    /// The member that has `rank` members below it. There must be one.
    pub(super) fn select(&self, rank: u64) -> u64 {
        let block = self.before.partition_point(|&before| before <= rank) - 1;
        let mut left = rank - self.before[block];
        for (index, &word) in (block * BLOCK..).zip(&self.words[block * BLOCK..]) {
            let members = u64::from(word.count_ones());
            if left < members {
                return index as u64 * 64 + u64::from(nth_bit(word, left));
            }
            left -= members;
        }
        unreachable!("the set has no member of rank {rank}")
    }
}

/// Collects the members of a [`Selection`].
#[derive(Debug, Default)]
pub(super) struct SelectionBuilder {
    words: Vec<u64>,
}

impl SelectionBuilder {
    pub(super) fn insert(&mut self, number: u64) {
        let (word, bit) = position(number);
        self.words[word] |= 1 << bit;
    }

    pub(super) fn build(self) -> Selection {
        let mut count = 0;
        let mut before: Vec<u64> = self
            .words
            .chunks(BLOCK)
            .map(|block| {
                let members: u64 = block.iter().map(|word| u64::from(word.count_ones())).sum();
                count += members;
                count - members
            })
            .collect();
        // So that the rank of the end is found as well.
        before.push(count);
        Selection { words: self.words, before }
    }
}

/// The word and the bit of a number.
fn position(number: u64) -> (usize, u32) {
    let word = usize::try_from(number / 64).expect("the words are in memory");
    (word, u32::try_from(number % 64).expect("below 64"))
}

/// The place of the set bit that has `rank` set bits below it.
fn nth_bit(word: u64, rank: u64) -> u32 {
    (0..rank).fold(word, |word, _| word & (word - 1)).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_and_members_agree(members in prop::collection::btree_set(0_u64..3000, 0..600), len in 3000_u64..3100) {
            let mut builder = Selection::builder(len).unwrap();
            for &member in &members {
                builder.insert(member);
            }
            let selection = builder.build();
            for (rank, &member) in (0..).zip(&members) {
                prop_assert_eq!(selection.select(rank), member);
                prop_assert_eq!(selection.rank(member), rank);
            }
            prop_assert_eq!(selection.rank(len - 1), members.range(..len - 1).count() as u64);
        }
    }

    #[test]
    fn the_end_has_a_rank() {
        let mut builder = Selection::builder(512).unwrap();
        builder.insert(511);
        assert_eq!(builder.build().rank(512), 1);
        assert!(Selection::builder(u64::MAX).is_none());
    }
}
