//! Whole plans of the seekable family, pinned: checkpoints depend on them.

use lockstep_partition::{
    BatchingMethod, EpochRecipe, Part, SamplingMethod, ShuffleAlgorithm, ShuffleUnits, Stream, Topology, Weight,
};

use crate::golden;

/// The digest of an epoch with a stream that comes in part, one that comes repeatedly, and one as it is.
fn epoch(batching: BatchingMethod, shuffle: ShuffleAlgorithm, sampling: SamplingMethod) -> String {
    let stream = |runs: &[(u64, u64)], weight| {
        Stream::new(ShuffleUnits::from_runs(runs.iter().copied()).unwrap()).with_weight(weight)
    };
    let streams = vec![
        stream(&[(40, 10), (17, 1)], Weight::Repeat(0.7)),
        stream(&[(30, 20)], Weight::Repeat(2.0)),
        stream(&[(25, 5), (10, 2), (31, 4)], Weight::Unspecified),
    ];
    let recipe = EpochRecipe {
        batching,
        sampling,
        sampling_granularity: 3,
        shuffle: Some(shuffle),
        block_size: Some(200),
        ..EpochRecipe::new(streams, 4)
    };
    let topology = Topology { nodes: 2, ranks_per_node: 3, workers_per_rank: 2, batch_size: 4 };
    let plan = recipe.plan(&topology, 5, 48, Part::All).unwrap();
    let workers = (0..12).map(|index| (index / 6, index / 2 % 3, index % 2));
    golden::digest(workers.flat_map(|(node, rank, worker)| plan.worker(node, rank, worker)))[..16].to_owned()
}

#[test]
fn value_stability_seekable_epochs() {
    use BatchingMethod::{DevicePerStream, PerStream, Random, Stratified};
    use SamplingMethod::{Balanced, Fixed};
    use ShuffleAlgorithm::{Global, Windowed};
    let pinned = [
        (Random, Windowed, Balanced, "8df70ceacc069d21"),
        (Random, Windowed, Fixed, "ee2f0b3b42c85144"),
        (Random, Global, Balanced, "10b12cb98ed8837f"),
        (Stratified, Windowed, Balanced, "e0ec3f5e915064d7"),
        (PerStream, Windowed, Balanced, "bc2791352ae43ab5"),
        (PerStream, Windowed, Fixed, "0597fce2ed2881bb"),
        (DevicePerStream, Windowed, Balanced, "465e050d74912847"),
    ];
    let found = pinned.map(|(batching, shuffle, sampling, _)| epoch(batching, shuffle, sampling));
    assert_eq!(found, pinned.map(|(.., digest)| digest));
}
