//! Samples without replacement.

use super::Generator;

impl Generator {
    /// `count` distinct numbers of `0..population`, in random order: numpy's `choice(population, count, replace=False)`.
    ///
    /// Takes memory for `count` numbers, or for `population` of them where that is above 10,000 and less than 50 times
    /// `count`.
    ///
    /// # Panics
    ///
    /// Where `count` is larger than `population`, as numpy raises, and where the numbers do not fit into memory.
    #[must_use]
    #[track_caller]
    pub fn choice(&mut self, population: u64, count: u64) -> Vec<u64> {
        assert!(count <= population, "cannot choose {count} of {population} without replacement");
        if population > 10_000 && count > population / 50 {
            self.choice_from_tail(population, count)
        } else {
            self.choice_by_floyd(population, count)
        }
    }

    /// Shuffles the end of `0..population` until `count` are settled.
    fn choice_from_tail(&mut self, population: u64, count: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..population).collect();
        let start = index(population - count);
        self.shuffle_down_to(&mut numbers, start.max(1));
        numbers.split_off(start)
    }

    /// Floyd's algorithm: one draw for each number chosen.
    fn choice_by_floyd(&mut self, population: u64, count: u64) -> Vec<u64> {
        let mut seen = NumberSet::with_capacity(index(count));
        let mut chosen: Vec<u64> = (population - count..population)
            .map(|newest| {
                let drawn = self.at_most(newest);
                let number = if seen.insert(drawn) { drawn } else { newest };
                if number != drawn {
                    seen.insert(number);
                }
                number
            })
            .collect();
        self.shuffle_down_to(&mut chosen, 1);
        chosen
    }

    /// The Fisher-Yates shuffle that `choice` uses: as [`shuffle`](Self::shuffle), but with Lemire's bounded integers
    /// and only for the items from `first` on.
    fn shuffle_down_to(&mut self, items: &mut [u64], first: usize) {
        for last in (first..items.len()).rev() {
            let partner = self.at_most(last as u64);
            items.swap(last, index(partner));
        }
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a choice fits into memory")
}

/// A set of numbers below `u64::MAX`, as a table with linear probing. Never more than 5/6 full.
struct NumberSet {
    slots: Vec<u64>,
    mask: usize,
}

impl NumberSet {
    const EMPTY: u64 = u64::MAX;

    fn with_capacity(capacity: usize) -> Self {
        let slots = (capacity + capacity / 5 + 1).next_power_of_two();
        Self { slots: vec![Self::EMPTY; slots], mask: slots - 1 }
    }

    /// Whether the number is new.
    fn insert(&mut self, number: u64) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "masked to the size of the table")]
        let mut slot = number as usize & self.mask;
        while self.slots[slot] != Self::EMPTY {
            if self.slots[slot] == number {
                return false;
            }
            slot = (slot + 1) & self.mask;
        }
        self.slots[slot] = number;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn value_stability_choice_from_the_tail() {
        let mut rng = Generator::new(11_u64);
        let chosen = rng.choice(10_001, 201);
        assert_eq!(chosen[..8], [1726, 6137, 5447, 1468, 4698, 9095, 5559, 7660]);
        assert_eq!(chosen[193..], [286, 7118, 6012, 5898, 4991, 7970, 1285, 1338]);
        assert_eq!(rng.choice(10_001, 10_001)[..8], [4815, 6466, 6259, 4602, 9766, 5788, 217, 1954]);
    }

    #[test]
    fn value_stability_choice_by_floyd() {
        let mut rng = Generator::new(11_u64);
        assert_eq!(rng.choice(10_001, 200)[..8], [8467, 7407, 399, 9598, 6649, 5014, 8328, 6524]);
        assert_eq!(rng.choice(5_000_000_000, 5), [1856357472, 2274463024, 3096665091, 454812658, 2141863012]);
        assert_eq!(rng.choice(8, 8), [2, 4, 7, 6, 5, 0, 3, 1]);
        assert_eq!(rng.choice(8, 0), []);
        assert_eq!(rng.next_u64(), 3158714298917566270);
    }

    #[test]
    #[should_panic(expected = "cannot choose 3 of 2 without replacement")]
    fn more_than_there_are_is_refused() {
        drop(Generator::new(0_u64).choice(2, 3));
    }

    proptest! {
        #[test]
        fn choices_are_distinct_and_in_range(seed: u64, population in 0_u64..30_000, part in 0.0..=1.0) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small")]
            let count = (population as f64 * part) as u64;
            let chosen = Generator::new(seed).choice(population, count);
            prop_assert_eq!(chosen.len() as u64, count);
            prop_assert!(chosen.iter().all(|&number| number < population));
            prop_assert_eq!(chosen.iter().collect::<HashSet<_>>().len(), chosen.len());
        }
    }
}
