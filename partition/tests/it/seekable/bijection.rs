//! Every position has one sample, and every sample one position.

use std::thread;

use lockstep_partition::{Global, Order, Permutation};
use proptest::prelude::*;

/// Whether a permutation hits every number once, and its inverse leads back.
fn assert_bijective(permutation: &Permutation, seen: &mut Vec<u64>) {
    let len = permutation.len();
    let words = usize::try_from(len.div_ceil(64)).expect("a length that fits into memory");
    seen.clear();
    seen.resize(words, 0);
    for position in 0..len {
        let number = permutation.at(position);
        let index = usize::try_from(number / 64).expect("a number below the length");
        let bit = 1 << (number % 64);
        assert_eq!(seen[index] & bit, 0, "{number} comes twice in a permutation of {len}");
        seen[index] |= bit;
    }
}

#[test]
fn permutations_of_every_length_to_2_17_are_bijections() {
    // Interleaved, so that the threads have equal shares.
    const THREADS: u64 = 2;
    let check = |first: u64| {
        let mut seen = Vec::new();
        for len in (first..=1 << 17).step_by(2) {
            assert_bijective(&Permutation::new(len, 9176, len), &mut seen);
        }
    };
    thread::scope(|scope| {
        for first in 0..THREADS {
            scope.spawn(move || check(first));
        }
    });
}

#[test]
fn inverses_lead_back_in_small_permutations() {
    for len in 0..2000 {
        let permutation = Permutation::new(len, 5, len);
        for position in 0..len {
            assert_eq!(permutation.position_of(permutation.at(position)), position, "a permutation of {len}");
        }
    }
}

#[test]
fn powers_of_two_and_their_neighbours_permute() {
    for bits in 1..=63 {
        let power = 1_u64 << bits;
        for len in [power - 1, power, power + 1].into_iter().filter(|&len| len <= 1 << 63) {
            let permutation = Permutation::new(len, 1, bits);
            let step = (len / 2000).max(1);
            let edges = [len - 1, len / 2, len.saturating_sub(2)];
            for position in (0..len).step_by(usize::try_from(step).expect("a step")).take(2001).chain(edges) {
                let number = permutation.at(position);
                assert!(number < len, "{number} in a permutation of {len}");
                assert_eq!(permutation.position_of(number), position, "a permutation of {len}");
                assert_eq!(permutation.at(permutation.position_of(position)), position, "a permutation of {len}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_length_any_seed_any_position(len in 1_u64..=1 << 63, shift in 0_u32..63, seed: u64, epoch: u64, at: u64) {
        let len = (len >> shift).max(1);
        let permutation = Permutation::new(len, seed, epoch);
        let number = permutation.at(at % len);
        prop_assert!(number < len);
        prop_assert_eq!(permutation.position_of(number), at % len);
        let order = Global::new(len, seed, epoch);
        prop_assert_eq!(order.position_of(order.at(at % len)), at % len);
    }
}
