//! Values that checkpoints depend on. A failure here means that runs would go on with other samples: give the algorithm a
//! new name instead of changing the numbers. The policy is in the README of the crate.

use lockstep_partition::{
    CanonicalSubset, Order, Permutation, ShuffleUnits,
    shuffle::{ShuffleAlgorithm, ShuffleSpec},
};

use crate::golden;

/// The order of an algorithm by name: its first ids and the digest of all.
#[track_caller]
fn assert_pinned(units: &ShuffleUnits, name: &str, expected: ([u64; 6], &str)) {
    let algorithm: ShuffleAlgorithm = name.parse().unwrap();
    assert_eq!(algorithm.versioned_name(), name);
    let spec = ShuffleSpec { algorithm, canonical_nodes: 3, seed: 9176, epoch: 5, block_size: 4000 };
    let order = spec.build(units, CanonicalSubset::ALL).unwrap();
    assert_eq!(order.name(), name);
    let ids: Vec<u64> = (0..order.len()).map(|position| order.at(position)).collect();
    let digest = golden::digest(ids.iter().copied().map(Some));
    assert_eq!((&ids[..6], digest.as_str()), (&expected.0[..], expected.1), "the values of {name} changed");
}

/// Shards of one size and a shorter last one.
fn regular() -> ShuffleUnits {
    ShuffleUnits::from_runs([(700, 40), (123, 1)]).unwrap()
}

/// Shards of several sizes, empty ones among them.
fn irregular() -> ShuffleUnits {
    ShuffleUnits::from_sizes((0..97).map(|shard| shard * 31 % 400)).unwrap()
}

#[test]
fn value_stability_windowed() {
    assert_pinned(
        &regular(),
        "windowed-v1",
        ([8549, 11515, 2255, 3148, 8729, 15825], "9db774e579aa7400748692da68bc911ab05885e13d82b6883a4e146429787649"),
    );
    assert_pinned(
        &irregular(),
        "windowed-v1",
        ([13693, 9396, 15769, 4323, 16427, 9041], "9fb970e6081561c2a54af931913e34c73735ae1a9b032124e06e84f0c681291d"),
    );
}

#[test]
fn value_stability_windowed_at_a_distance() {
    let spec = ShuffleSpec {
        algorithm: ShuffleAlgorithm::Windowed,
        canonical_nodes: 24,
        seed: u64::MAX,
        epoch: 1 << 40,
        block_size: 1 << 18,
    };
    let units = ShuffleUnits::from_runs([(1_000_000, 1_000_000)]).unwrap();
    let order = spec.build(&units, CanonicalSubset::ALL).unwrap();
    let ids = [0, 1, 123_456_789_012, 999_999_999_999].map(|position| order.at(position));
    assert_eq!(ids, [769960133253, 769960117086, 796772894379, 652463990496]);
}

#[test]
fn value_stability_global() {
    assert_pinned(
        &regular(),
        "global-v1",
        ([21338, 10243, 6697, 24921, 9224, 2793], "d755404cf184477a2dcec6922d2bc5f0ee59c415fe7381c5b579f4c5dc063dd1"),
    );
    assert_pinned(
        &irregular(),
        "global-v1",
        ([11102, 15557, 12115, 15877, 13313, 7029], "a662b81f22b1eed14d033ef1e30b6d0070ef6b93dfdf237c310a4296dd822f02"),
    );
}

#[test]
fn value_stability_naive() {
    assert_pinned(
        &regular(),
        "naive",
        ([15342, 9265, 18534, 18007, 15082, 11416], "71ea86a88d1ee3e96ba2ded1d5597d234f8f907cdb56e9f35ef4c9520b9e0cf2"),
    );
}

#[test]
fn value_stability_py1s() {
    assert_pinned(
        &regular(),
        "py1s",
        ([2540, 2267, 2124, 2450, 2650, 2430], "1852a11ade143b21042622acbfcb38622be551d33bbe85610dddb3c523e810b1"),
    );
    assert_pinned(
        &irregular(),
        "py1s",
        (
            [17755, 17759, 17745, 17746, 17748, 17763],
            "9c2b1048078e673ad5a9e6b5dfe525251a142517094572190646f4729fee6ef3",
        ),
    );
}

#[test]
fn value_stability_py2s() {
    assert_pinned(
        &regular(),
        "py2s",
        ([2640, 2593, 2471, 2383, 2278, 2637], "effb1a415d6f53215a7747feb74d8e6bae5c37615871637b1316b8ab17e64b77"),
    );
    assert_pinned(
        &irregular(),
        "py2s",
        (
            [17765, 17762, 17747, 17755, 17763, 17760],
            "958d6ba9cddc3d8590a14ca015e098be27980eb12a2fcf3528c75c0249a711d9",
        ),
    );
}

#[test]
fn value_stability_py1e() {
    assert_pinned(
        &regular(),
        "py1e",
        ([2540, 2193, 10711, 4446, 10866, 10816], "39e9da91b7b9600edebe1e5b17ea8798da5746be4363756b7bbc8d516481335c"),
    );
    assert_pinned(
        &irregular(),
        "py1e",
        ([4802, 17745, 10486, 17761, 15994, 5214], "7be1c476365580dde82ce4f91a0f40d94c875c4168f13cc5bab2d5fffbce5777"),
    );
}

#[test]
fn value_stability_py1br() {
    assert_pinned(
        &regular(),
        "py1br",
        ([10535, 12694, 24068, 24072, 4317, 24292], "04a757495dcd375596cb8e4975f455dfc87fe62464b781cf5849ed703c7bc832"),
    );
    assert_pinned(
        &irregular(),
        "py1br",
        ([16456, 16027, 7828, 17278, 4746, 10635], "f1b4e4b164f495aafc5db0e8540b652dec0cff83ea32e8afd7f49ab66561c971"),
    );
}

#[test]
fn value_stability_permutation() {
    // Lengths of every kind: drawn whole, with many rounds, with few; and of every width.
    for (len, expected) in [
        (2, [0, 0, 1]),
        (5, [1, 4, 3]),
        (8, [1, 4, 3]),
        (9, [0, 1, 3]),
        (100, [21, 74, 50]),
        (255, [239, 228, 85]),
        (256, [39, 151, 17]),
        (1000, [818, 538, 186]),
        (1048577, [985879, 58966, 387840]),
        (1000000007, [424297157, 865231926, 844040569]),
        (1099511627775, [472624581570, 184143140005, 301349095325]),
        (9223372036854775808, [1754084119706762790, 6420677306428753046, 6560582226617338065]),
    ] {
        let permutation = Permutation::new(len, 1, 2);
        let numbers = [0, len / 3, len - 1].map(|position| permutation.at(position));
        assert_eq!(numbers, expected, "a permutation of {len}");
    }
}
