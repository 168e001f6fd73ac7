//! Datasets, readers and loaders: positions, states, order of batches.

use lockstep_dataset::partition::ShuffleAlgorithm;
use lockstep_dataset::replication::Replication;
use lockstep_dataset::world::World;
use lockstep_dataset::{Coordination, Dataset, DatasetBuilder, Loader, NodeCoordination, Stream};

fn digits() -> DatasetBuilder {
    Dataset::builder().stream(Stream::local("data/digits")).batch_size(16)
}

/// What is left of the epoch, batch by batch.
fn rest(loader: &mut Loader) -> Vec<Vec<u64>> {
    std::iter::from_fn(|| loader.next_batch().unwrap()).map(|batch| batch.ids().collect()).collect()
}

#[test]
fn workers_do_not_change_the_batches_of_a_rank() {
    for shuffle in ShuffleAlgorithm::ALL {
        let read = |workers| {
            let dataset = digits().shuffle(shuffle).open(World::of_rank(2, 2, 3).unwrap()).unwrap();
            let mut loader = dataset.loader(workers).unwrap();
            loader.begin_epoch().unwrap();
            rest(&mut loader)
        };
        let alone = read(0);
        assert_eq!(alone.len(), 29);
        assert_eq!(alone, read(1), "{shuffle}");
        assert_eq!(alone, read(3), "{shuffle}");
    }
}

#[test]
fn samples_per_rank_is_what_is_yielded() {
    for (rank, workers, drop) in [(0, 0, false), (1, 2, false), (2, 3, true), (3, 0, true)] {
        let dataset = digits().drop_last(drop).open(World::of_rank(2, 2, rank).unwrap()).unwrap();
        let mut loader = dataset.loader(workers).unwrap();
        loader.begin_epoch().unwrap();
        let batches = rest(&mut loader);
        let samples: usize = batches.iter().map(Vec::len).sum();
        assert_eq!(samples as u64, dataset.samples_per_rank(0).unwrap(), "rank {rank}, {workers} workers, drop {drop}");
        assert_eq!(samples, if drop { 448 } else { 450 });
        assert_eq!(batches.len() as u64, dataset.batches_per_rank(0).unwrap());
    }
}

#[test]
fn a_state_is_loaded_into_a_live_dataset_forwards_backwards_and_twice() {
    let dataset = digits().open(World::alone()).unwrap();
    let mut loader = dataset.loader(2).unwrap();
    loader.begin_epoch().unwrap();
    let first: Vec<Vec<u64>> = (0..10).map(|_| loader.next_batch().unwrap().unwrap().ids().collect()).collect();
    let state = loader.state();
    assert_eq!((state.epoch, state.sample_in_epoch), (0, 160));
    let second = rest(&mut loader);
    loader.begin_epoch().unwrap();
    let next_epoch = rest(&mut loader);

    // Backwards, in the middle of another epoch.
    dataset.load(&state).unwrap();
    loader.begin_epoch().unwrap();
    assert_eq!(rest(&mut loader), second);
    // The epoch after it follows as it did.
    loader.begin_epoch().unwrap();
    assert_eq!(rest(&mut loader), next_epoch);
    // Twice in a row: the last one counts.
    let begin = lockstep_dataset::State { sample_in_epoch: 0, ..state.clone() };
    dataset.load(&state).unwrap();
    dataset.load(&begin).unwrap();
    loader.begin_epoch().unwrap();
    assert_eq!(rest(&mut loader), [first, second].concat());
    // A state right after a load is the state that was loaded.
    dataset.load(&state).unwrap();
    assert_eq!(dataset.loader(0).unwrap().state().sample_in_epoch, 160);
}

/// A copy of the digits whose shard 3 is missing until it is put back.
struct Broken {
    dir: tempfile::TempDir,
}

impl Broken {
    const SHARD: &str = "shard.00003.mds";

    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir("data/digits").unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != Self::SHARD {
                std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        Self { dir }
    }

    fn dataset(&self) -> Dataset {
        Dataset::builder().stream(Stream::local(self.dir.path())).batch_size(16).open(World::alone()).unwrap()
    }

    fn mend(&self) {
        std::fs::copy(format!("data/digits/{}", Self::SHARD), self.dir.path().join(Self::SHARD)).unwrap();
    }
}

#[test]
fn nothing_is_skipped_after_an_error() {
    let expected = {
        let mut loader = digits().open(World::alone()).unwrap().loader(0).unwrap();
        loader.begin_epoch().unwrap();
        rest(&mut loader)
    };
    for workers in [0, 1, 3] {
        let broken = Broken::new();
        let mut loader = broken.dataset().loader(workers).unwrap();
        loader.begin_epoch().unwrap();
        let mut read = Vec::new();
        while let Ok(batch) = loader.next_batch() {
            read.push(batch.unwrap().ids().collect::<Vec<_>>());
        }
        let state = loader.state();
        assert_eq!(state.sample_in_epoch, 16 * read.len() as u64);
        assert!(loader.next_batch().is_err(), "the shard is still missing");
        broken.mend();
        // Errors of threads that looked before it was mended may still be on their way.
        let batch = loop {
            if let Ok(batch) = loader.next_batch() {
                break batch.unwrap();
            }
        };
        read.push(batch.ids().collect());
        while read.len() < expected.len() {
            if let Ok(batch) = loader.next_batch() {
                read.push(batch.unwrap().ids().collect());
            }
        }
        assert_eq!(read, expected, "{workers} workers");
        assert!(loader.next_batch().unwrap().is_none());
    }
}

#[test]
fn links_out_of_the_directory_are_followed_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let digits = std::fs::canonicalize("data/digits").unwrap();
    for entry in std::fs::read_dir(&digits).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    let read = |stream: Stream| {
        let mut loader = Dataset::builder().stream(stream).open(World::alone()).unwrap().loader(0).unwrap();
        loader.begin_epoch().unwrap();
        loader.next_batch()
    };
    let error = read(Stream::local(dir.path())).unwrap_err();
    assert!(error.to_string().contains("is a link out of the dataset's directory"), "{error}");
    assert_eq!(read(Stream::local(dir.path()).follow_links()).unwrap().unwrap().len(), 1);
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("index.json")).status().unwrap();
    assert!(made.success());
    let error = Dataset::builder().stream(Stream::local(dir.path())).open(World::alone()).unwrap_err();
    assert!(error.to_string().contains("index.json"), "{error}");
}

#[test]
fn huge_batches_and_positions_are_no_panic() {
    let dataset = digits().batch_size(1 << 40).open(World::alone()).unwrap();
    let mut loader = dataset.loader(0).unwrap();
    loader.begin_epoch().unwrap();
    assert_eq!(rest(&mut loader).concat().len(), 1797);
    let state = loader.state();
    for far in [
        lockstep_dataset::State { epoch: u64::MAX, ..state.clone() },
        lockstep_dataset::State { sample_in_epoch: u64::MAX, ..state.clone() },
        lockstep_dataset::State { num_canonical_nodes: 0, ..state },
    ] {
        assert!(dataset.load(&far).unwrap_err().is_config());
    }
    assert_eq!(dataset.state(u64::MAX).sample_in_epoch, u64::MAX);
}

#[cfg(feature = "remote")]
#[test]
fn a_small_cache_serves_threads_in_an_order_without_locality() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = Dataset::builder()
        .stream(Stream::remote("data/digits", dir.path()))
        .shuffle(ShuffleAlgorithm::Global)
        .batch_size(4)
        .cache_limit(80_000)
        .open(World::alone())
        .unwrap();
    let mut loader = dataset.loader(2).unwrap();
    loader.begin_epoch().unwrap();
    let mut ids = Vec::new();
    let mut kept = std::collections::VecDeque::new();
    while let Some(batch) = loader.next_batch().unwrap() {
        ids.extend(batch.ids());
        kept.push_back(batch);
        if kept.len() > 1 {
            kept.pop_front();
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..1797).collect::<Vec<_>>());
}

#[test]
fn a_changed_global_batch_is_a_warning_and_loses_nothing() {
    let dataset = digits().open(World::alone()).unwrap();
    let mut loader = dataset.loader(0).unwrap();
    loader.begin_epoch().unwrap();
    let mut seen: Vec<u64> =
        (0..10).flat_map(|_| loader.next_batch().unwrap().unwrap().ids().collect::<Vec<_>>()).collect();
    let smaller = digits().batch_size(6).open(World::alone()).unwrap();
    let warnings = smaller.load(&loader.state()).unwrap();
    assert_eq!(warnings, ["the global batch was 16 samples and is 6: the same samples follow, in other batches"]);
    let mut loader = smaller.loader(0).unwrap();
    loader.begin_epoch().unwrap();
    seen.extend(rest(&mut loader).concat());
    seen.sort_unstable();
    assert_eq!(seen, (0..1797).collect::<Vec<_>>());
}

#[test]
fn a_state_of_another_order_is_refused_by_name() {
    let dataset = digits().seed(1).open(World::alone()).unwrap();
    let state = dataset.loader(0).unwrap().state();
    let other = digits().seed(2).shuffle(ShuffleAlgorithm::Py1e).shuffle_block_size(5).open(World::alone()).unwrap();
    let error = other.load(&state).unwrap_err();
    assert!(error.is_config());
    assert_eq!(
        error.to_string(),
        "the saved state is of another order of samples: shuffle was windowed-v1 and is py1e; shuffle_block_size was the \
         default and is 5; shuffle_seed was 1 and is 2. Use the settings it was saved with, or start anew without it"
    );
    let twice = Dataset::builder().stream(Stream::local("data/digits").repeat(2.0)).batch_size(16).open(World::alone());
    let error = twice.unwrap().load(&state).unwrap_err();
    assert!(error.to_string().contains("dataset (shards, hashes, weights) was "), "{error}");
}

#[test]
fn states_of_the_original_are_gone_on_from() {
    let text = r#"{"epoch": 2, "sample_in_epoch": 64, "num_canonical_nodes": 4, "shuffle_seed": 77}"#;
    let state = lockstep_dataset::State::from_json(text).unwrap();
    let dataset = digits().shuffle(ShuffleAlgorithm::Py1s).open(World::alone()).unwrap();
    dataset.load(&state).unwrap();
    let position = dataset.loader(0).unwrap().begin_epoch().unwrap();
    assert_eq!((position.epoch, position.sample_in_epoch), (2, 64));
    let saved = dataset.state(16);
    assert_eq!((saved.sample_in_epoch, saved.num_canonical_nodes, saved.shuffle_seed), (80, 4, 77));
}

#[test]
fn a_rank_that_reads_nothing_is_told_so() {
    let replication = Replication::explicit([[0, 3]], 1..3);
    let dataset = digits().replication(replication).open(World::of_rank(1, 4, 1).unwrap()).unwrap();
    let error = dataset.reader().unwrap_err();
    assert_eq!(error.to_string(), "rank 1 reads nothing: do not ask it for samples");
}

#[test]
fn train_and_eval_of_a_job_have_sessions_of_their_own() {
    let job = format!("train and eval {}", std::process::id());
    let open = |rank: u64, purpose: &str| {
        let mut node = NodeCoordination::new(&job);
        node.purpose = purpose.to_owned();
        let world = World::of_rank(1, 2, rank).unwrap();
        digits().coordination(Coordination::Node(node)).open(world).unwrap()
    };
    std::thread::scope(|scope| {
        for rank in 0..2 {
            scope.spawn(move || {
                let (train, eval) = (open(rank, "train"), open(rank, "eval"));
                let (mut train, mut eval) = (train.loader(2).unwrap(), eval.loader(0).unwrap());
                train.begin_epoch().unwrap();
                let some = train.next_batch().unwrap().unwrap();
                eval.begin_epoch().unwrap();
                assert_eq!(rest(&mut eval).concat().len(), 899);
                assert_eq!(rest(&mut train).concat().len() + some.len(), 899);
            });
        }
    });
}

#[test]
fn processes_with_other_settings_are_told_who_differs() {
    let job = format!("other settings {}", std::process::id());
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let job = &job;
            scope.spawn(move || {
                let builder = digits().seed(rank).coordination(Coordination::Node(NodeCoordination::new(job)));
                let dataset = builder.open(World::of_rank(1, 2, rank).unwrap()).unwrap();
                let error = dataset.reader().unwrap().begin_epoch().unwrap_err();
                assert!(error.is_diverged(), "{error}");
            });
        }
    });
}
