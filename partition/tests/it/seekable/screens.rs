//! Statistical screens: what a shuffle must not show.
//!
//! Each counts where samples of a random permutation would be uniform, over 200,000 permutations that a user would take
//! for unrelated: those of neighbouring seeds, epochs or windows. The chi-square statistic, as a number of standard
//! deviations from its mean, must be below 4. Feistel networks with a round too few are above 29.

use lockstep_partition::{
    Global, Order, Permutation, ShuffleUnits, Windowed,
    shuffle::{ShuffleAlgorithm, ShuffleSpec},
};

const TRIALS: u64 = 200_000;
const LEN: u64 = 1000;

/// Counts of values that ought to be uniform.
struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    fn new(values: u64) -> Self {
        Self { counts: vec![0; usize::try_from(values).unwrap()] }
    }

    fn add(&mut self, value: u64) {
        self.counts[usize::try_from(value).unwrap()] += 1;
    }

    /// The cells whose digits, to this base, all differ.
    fn only_distinct(self, base: u64) -> Self {
        let distinct = |cell: u64| {
            let digits = [cell % base, cell / base % base, cell / (base * base)];
            digits[0] != digits[1]
                && (self.counts.len() as u64 == base * base || (digits[0] != digits[2] && digits[1] != digits[2]))
        };
        let counts = (0..).zip(&self.counts).filter(|&(cell, _)| distinct(cell)).map(|(_, &count)| count).collect();
        let kept = Self { counts };
        assert_eq!(kept.counts.iter().sum::<u64>(), self.counts.iter().sum::<u64>(), "a number comes twice");
        kept
    }

    /// How many standard deviations the chi-square statistic is off its mean.
    fn z(&self) -> f64 {
        let cells = self.counts.len() as f64;
        let expected = self.counts.iter().sum::<u64>() as f64 / cells;
        let chi_square: f64 = self.counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        (chi_square - (cells - 1.0)) / (2.0 * (cells - 1.0)).sqrt()
    }

    fn assert_uniform(&self, what: &str) {
        let z = self.z();
        println!("{what}: {z:.2}");
        assert!(z.abs() < 4.0, "{what} is not uniform: z = {z:.1}");
    }
}

/// The difference of two positions; never zero, so counted from 1.
fn difference(from: u64, to: u64) -> u64 {
    (to + LEN - from) % LEN
}

/// Screens a family of permutations of `0..LEN`: `at(which, position)`.
fn screen(family: &str, at: impl Fn(u64, u64) -> u64) {
    let mut first = Histogram::new(LEN);
    let mut neighbours = Histogram::new(LEN - 1);
    let mut distant = Histogram::new(LEN - 1);
    let mut consecutive = Histogram::new(LEN);
    let mut parity = Histogram::new(8);
    let mut previous = at(TRIALS, 0);
    for which in 0..TRIALS {
        let [zero, one, middle] = [0, 1, 500].map(|position| at(which, position));
        first.add(zero);
        neighbours.add(difference(zero, one) - 1);
        distant.add(difference(zero, middle) - 1);
        consecutive.add(difference(previous, zero));
        parity.add((zero & 1) << 2 | (one & 1) << 1 | middle & 1);
        previous = zero;
    }
    first.assert_uniform(&format!("{family}: the first"));
    neighbours.assert_uniform(&format!("{family}: the second from the first"));
    distant.assert_uniform(&format!("{family}: the middle from the first"));
    consecutive.assert_uniform(&format!("{family}: the first from that of the one before"));
    // Three distinct numbers are not quite independent: their parities differ a little more often.
    assert!(parity.z().abs() < 5.0, "{family}: parities: z = {:.1}", parity.z());
}

#[test]
fn neighbouring_seeds_are_unrelated() {
    screen("permutations by seed", |seed, position| Permutation::new(LEN, seed, 0).at(position));
    screen("global orders by seed", |seed, position| Global::new(LEN, seed, 7).at(position));
}

#[test]
fn neighbouring_epochs_are_unrelated() {
    screen("permutations by epoch", |epoch, position| Permutation::new(LEN, 9176, epoch).at(position));
}

#[test]
fn neighbouring_windows_are_unrelated() {
    let units = ShuffleUnits::from_sizes([LEN * (TRIALS + 2)]).unwrap();
    for seed in 0..2 {
        let spec =
            ShuffleSpec { algorithm: ShuffleAlgorithm::Windowed, canonical_nodes: 1, seed, epoch: 0, block_size: LEN };
        let order = Windowed::new(&spec, &units).unwrap();
        let start = order.window_of(0).end;
        screen("windows", |window, position| order.at(start + window * LEN + position) - start - window * LEN);
    }
}

#[test]
fn neighbouring_canonical_nodes_are_unrelated() {
    // Shards of one sample in nodes of LEN, windows of one: only the permutation of parts is left.
    let units = ShuffleUnits::from_runs([(1, LEN * (TRIALS + 1))]).unwrap();
    let spec = |epoch| ShuffleSpec {
        algorithm: ShuffleAlgorithm::Windowed,
        canonical_nodes: TRIALS + 1,
        seed: 3,
        epoch,
        block_size: 1,
    };
    let (order, reference) = (Windowed::new(&spec(0), &units).unwrap(), Windowed::new(&spec(1), &units).unwrap());
    // Both epochs hold the same shards in a node, so one is a permutation of the other.
    screen("parts of canonical nodes", |node, position| {
        let found = reference.position_of(order.at(node * LEN + position));
        assert_eq!(found / LEN, node);
        found % LEN
    });
}

#[test]
fn all_permutations_of_four_are_equally_likely() {
    for (name, by_epoch) in [("seed", false), ("epoch", true)] {
        let mut counts = Histogram::new(24);
        for which in 0..TRIALS {
            let permutation = if by_epoch { Permutation::new(4, 11, which) } else { Permutation::new(4, which, 0) };
            let [a, b, c] = [0, 1, 2].map(|position| permutation.at(position));
            // Its number in the factorial number system.
            let second = b - u64::from(b > a);
            let third = c - u64::from(c > a) - u64::from(c > b);
            counts.add(a * 6 + second * 2 + third);
        }
        counts.assert_uniform(&format!("permutations of four by {name}"));
    }
}

#[test]
fn all_permutations_of_a_few_are_equally_likely() {
    for len in [2, 3, 5, 7] {
        let permutations = (1..=len).product();
        let mut counts = Histogram::new(permutations);
        for seed in 0..TRIALS {
            let permutation = Permutation::new(len, seed, 0);
            let numbers: Vec<u64> = (0..len).map(|position| permutation.at(position)).collect();
            let code = (0..numbers.len()).fold(0, |code, place| {
                let smaller = numbers[place + 1..].iter().filter(|&&other| other < numbers[place]).count();
                code * (numbers.len() - place) as u64 + smaller as u64
            });
            counts.add(code);
        }
        counts.assert_uniform(&format!("permutations of {len}"));
    }
}

#[test]
fn pairs_and_triples_of_short_permutations_are_uniform() {
    for len in [8, 9, 10, 11, 13, 16, 17, 20, 24, 31, 33, 64, 65, 100, 129] {
        let ends = [0, 1, len / 2, len - 1];
        let mut pairs = Histogram::new(len * len);
        let mut triples = Histogram::new(len * len * len);
        for seed in 0..TRIALS {
            let permutation = Permutation::new(len, seed, 4);
            let [a, b, c, d] = ends.map(|position| permutation.at(position));
            pairs.add(a * len + b);
            if len <= 24 {
                triples.add((b * len + c) * len + d);
            }
        }
        // Numbers of a permutation are distinct: the other cells stay empty, and say nothing.
        pairs.only_distinct(len).assert_uniform(&format!("pairs in permutations of {len}"));
        if len <= 24 {
            triples.only_distinct(len).assert_uniform(&format!("triples in permutations of {len}"));
        }
    }
}

#[test]
fn seeds_and_epochs_do_not_add_up() {
    // Unrelated permutations have about one number in common places; equal ones all.
    let common = |left: &dyn Order, right: &dyn Order| {
        (0..left.len()).filter(|&position| left.at(position) == right.at(position)).count()
    };
    let global = |seed, epoch| Global::new(1 << 20, seed, epoch);
    for ((seed, epoch), (other_seed, other_epoch)) in
        [((1, 1), (2, 0)), ((1, 0), (0, 1)), ((5, 3), (3, 5)), ((0, 2), (2, 0))]
    {
        let found = common(&global(seed, epoch), &global(other_seed, other_epoch));
        assert!(found < 12, "({seed}, {epoch}) and ({other_seed}, {other_epoch}) have {found} numbers in common");
    }
    let units = ShuffleUnits::from_runs([(1 << 10, 1 << 10)]).unwrap();
    let windowed = |seed, epoch| {
        let spec =
            ShuffleSpec { algorithm: ShuffleAlgorithm::Windowed, canonical_nodes: 2, seed, epoch, block_size: 1 << 14 };
        Windowed::new(&spec, &units).unwrap()
    };
    assert!(common(&windowed(1, 1), &windowed(2, 0)) < 100);
    assert!(common(&windowed(1, 0), &windowed(1, 1)) < 200, "same shards, another order");
}

#[test]
fn neighbours_do_not_stay_neighbours() {
    // Serial correlation: the differences of consecutive outputs, in one large permutation.
    let permutation = Permutation::new(1 << 20, 77, 1);
    let mut counts = Histogram::new(1 << 10);
    for position in 0..permutation.len() - 1 {
        let step = permutation.at(position + 1).wrapping_sub(permutation.at(position)) & ((1 << 20) - 1);
        counts.add(step >> 10);
    }
    counts.assert_uniform("steps");
}
