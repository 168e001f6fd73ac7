use proptest::prelude::*;

use super::*;
use crate::sampling::SamplingMethod;

fn stream(sizes: &[u64]) -> Stream {
    Stream::new(ShuffleUnits::from_sizes(sizes.iter().copied()).unwrap())
}

fn draws(method: SamplingMethod, granularity: u64, seed: u64, epoch: u64) -> [Draw; 2] {
    [Draw::numpy(method, granularity, seed, epoch, true), Draw::keyed(method, granularity, seed, epoch)]
}

/// How often each stored sample comes.
fn counts(map: &StreamMap, samples: u64) -> Vec<u64> {
    let mut counts = vec![0; usize::try_from(samples).unwrap()];
    for logical in 0..map.len() {
        counts[usize::try_from(map.stored_id(logical)).unwrap()] += 1;
    }
    counts
}

fn ids(map: &StreamMap) -> Vec<u64> {
    (0..map.len()).map(|logical| map.stored_id(logical)).collect()
}

proptest! {
    #[test]
    fn whole_repeats_and_one_partial(
        sizes in prop::collection::vec(0_u64..30, 1..30),
        choose in 0_u64..1500,
        granularity in 1_u64..40,
        seed: u64,
    ) {
        let stream = stream(&sizes);
        let samples = stream.shards.num_samples();
        prop_assume!(samples > 0);
        for mut draw in draws(SamplingMethod::Balanced, granularity, seed, 3) {
            let map = StreamMap::new(&stream, 2, choose, First::default(), &mut draw).unwrap();
            prop_assert_eq!(map.len(), choose);
            let counts = counts(&map, samples);
            let wholes = choose / samples;
            prop_assert!(counts.iter().all(|count| (wholes..=wholes + 1).contains(count)));
            // Units follow one another, and each is of one shard.
            let map = SampleMap::new(vec![map]).unwrap();
            let units = map.units().unwrap();
            prop_assert_eq!(units.num_samples(), choose);
            for unit in (0..units.len()).filter_map(|unit| units.get(unit)).filter(|unit| unit.size > 0) {
                let shard = |logical| stream.shards.locate(map.stored_id(logical)).unwrap();
                let first = shard(unit.start);
                prop_assert!(unit.size <= first.size);
                prop_assert!((unit.start..unit.start + unit.size).all(|logical| shard(logical) == first));
                prop_assert!((unit.start..unit.start + unit.size).all(|logical| map.shard_of(logical) == first.unit));
            }
        }
    }

    #[test]
    fn streams_follow_one_another(
        sizes in prop::collection::vec(prop::collection::vec(1_u64..9, 1..6), 1..5),
        chooses in prop::collection::vec(0_u64..60, 5),
        seed: u64,
    ) {
        let streams: Vec<Stream> = sizes.iter().map(|sizes| stream(sizes)).collect();
        for mut draw in draws(SamplingMethod::Balanced, 2, seed, 0) {
            let mut first = First::default();
            let mut expected = Vec::new();
            let mut maps = Vec::new();
            for (index, (stream, &choose)) in (0..).zip(streams.iter().zip(&chooses)) {
                let map = StreamMap::new(stream, index, choose, first, &mut draw).unwrap();
                expected.extend(ids(&map));
                maps.push(map);
                first = first.after(stream).unwrap();
            }
            let map = SampleMap::new(maps).unwrap();
            prop_assert_eq!((0..map.len()).map(|logical| map.stored_id(logical)).collect::<Vec<_>>(), expected.clone());
            let stored = ShuffleUnits::from_sizes(sizes.iter().flatten().copied()).unwrap();
            for (logical, id) in (0..).zip(expected) {
                prop_assert_eq!(Some(map.shard_of(logical)), stored.locate(id).map(|unit| unit.unit));
            }
        }
    }
}

#[test]
fn fixed_samples_stay_and_balanced_ones_change() {
    let stream = stream(&[40, 60]);
    let map = |method, epoch, family: usize| {
        let mut draw = draws(method, 1, 5, epoch).into_iter().nth(family).unwrap();
        ids(&StreamMap::new(&stream, 0, 30, First::default(), &mut draw).unwrap())
    };
    for family in 0..2 {
        assert_eq!(map(SamplingMethod::Fixed, 1, family), map(SamplingMethod::Fixed, 2, family));
        assert_ne!(map(SamplingMethod::Balanced, 1, family), map(SamplingMethod::Balanced, 2, family));
    }
}

#[test]
fn keyed_draws_come_from_all_shards_alike() {
    let stream = stream(&[100; 50]);
    let mut draw = Draw::keyed(SamplingMethod::Balanced, 1, 5, 1);
    let map = StreamMap::new(&stream, 0, 1234, First::default(), &mut draw).unwrap();
    let per_shard: Vec<u64> = counts(&map, 5000).chunks(100).map(|counts| counts.iter().sum()).collect();
    assert!(per_shard.iter().all(|count| (24..=25).contains(count)), "{per_shard:?}");

    // In steps of whole shards, a quarter of the shards comes.
    let mut draw = Draw::keyed(SamplingMethod::Balanced, 100, 5, 1);
    let map = StreamMap::new(&stream, 0, 1200, First::default(), &mut draw).unwrap();
    let per_shard: Vec<u64> = counts(&map, 5000).chunks(100).map(|counts| counts.iter().sum()).collect();
    assert_eq!(per_shard.iter().filter(|&&count| count == 100).count(), 12, "{per_shard:?}");
}

#[test]
fn each_sample_is_drawn_as_often_as_others() {
    let stream = stream(&[7, 13, 20]);
    let mut totals = vec![0_u64; 40];
    for epoch in 0..4000 {
        let mut draw = Draw::keyed(SamplingMethod::Balanced, 1, 9, epoch);
        let map = StreamMap::new(&stream, 0, 10, First::default(), &mut draw).unwrap();
        for (total, count) in totals.iter_mut().zip(counts(&map, 40)) {
            *total += count;
        }
    }
    // 1000 are expected, with a standard deviation of 27.
    assert!(totals.iter().all(|total| (850..1150).contains(total)), "{totals:?}");
}

#[test]
fn value_stability_keyed_draws() {
    let stream = stream(&[5, 9, 4]);
    let mut draw = Draw::keyed(SamplingMethod::Balanced, 2, 9176, 3);
    let map = StreamMap::new(&stream, 1, 8, First { sample: 100, shard: 7 }, &mut draw).unwrap();
    assert_eq!(ids(&map), [103, 104, 102, 100, 113, 107, 106, 105]);
}

#[test]
fn whole_repeats_take_no_memory_for_their_shards() {
    let stream = Stream::new(ShuffleUnits::from_runs([(1_000_000, 1_000_000)]).unwrap());
    let mut draw = Draw::keyed(SamplingMethod::Balanced, 1, 1, 1);
    let map = StreamMap::new(&stream, 0, 3_000_000_000_000, First::default(), &mut draw).unwrap();
    assert_eq!(map.runs().collect::<Vec<_>>(), [(1_000_000, 3_000_000)]);
    assert_eq!(map.stored_id(3_000_000_000_000 - 1), 1_000_000_000_000 - 1);
    assert_eq!(map.stored_id(4_000_005), 1_000_005);
}

#[test]
fn bad_draws_are_refused() {
    let refuse = |granularity, choose| {
        let mut draw = Draw::keyed(SamplingMethod::Balanced, granularity, 1, 1);
        StreamMap::new(&stream(&[3]), 0, choose, First::default(), &mut draw).unwrap_err()
    };
    assert_eq!(refuse(0, 2), ResampleError::Sampling(SamplingError::NoGranularity));
    assert_eq!(refuse(0, 3), ResampleError::Sampling(SamplingError::NoGranularity));
    let empty = Stream::new(ShuffleUnits::from_sizes([0]).unwrap());
    let mut draw = Draw::keyed(SamplingMethod::Balanced, 1, 1, 1);
    let error = StreamMap::new(&empty, 0, 2, First::default(), &mut draw).unwrap_err();
    assert_eq!(error, ResampleError::Sampling(SamplingError::NoSamples { choose: 2 }));
}
