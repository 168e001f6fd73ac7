//! Single samples of shards that stay where they are.

use lockstep_dataset::Shard;
use lockstep_dataset::remote::{Remote, read_sample};

use super::server::Server;
use crate::cache::support::Recipe;
use crate::support::{fixture, open_fixture};

#[test]
fn they_are_what_the_mapped_shard_has() {
    for name in ["mds_all_encodings", "mds_ndarray_tokens", "jsonl", "csv"] {
        let (index, dir) = open_fixture(name);
        let remote = Remote::open(fixture(name).to_str().unwrap()).unwrap();
        for info in index.shards() {
            let shard = Shard::open(&dir, info).unwrap();
            for sample in 0..shard.len() {
                let read = read_sample(&remote, info, sample).unwrap();
                assert_eq!(read, shard.sample(sample).unwrap().bytes(), "{name}: sample {sample}");
            }
            let error = read_sample(&remote, info, shard.len()).unwrap_err();
            assert!(error.to_string().contains("there is no sample"), "{error}");
        }
    }
}

#[test]
fn only_the_sample_is_transferred() {
    let far = tempfile::tempdir().unwrap();
    let recipe = Recipe::default();
    recipe.write(far.path());
    let server = Server::start(far.path());
    let remote = Remote::open(&server.url()).unwrap();
    let index = lockstep_dataset::Index::read(far.path()).unwrap();
    let sample = read_sample(&remote, &index.shards()[2], 7).unwrap();
    assert_eq!(sample[4..], recipe.sample(2, 7));
    let ranges: Vec<_> = server.requests("shard.00002.mds").into_iter().filter_map(|request| request.range).collect();
    assert_eq!(ranges.len(), 2);
    assert_eq!(ranges[0], "bytes=32-39");
}

#[test]
fn tables_that_lie_and_compressed_shards_are_errors() {
    let far = tempfile::tempdir().unwrap();
    Recipe::default().write(far.path());
    let index = lockstep_dataset::Index::read(far.path()).unwrap();
    let path = far.path().join("shard.00000.mds");
    let right = std::fs::read(&path).unwrap();
    let remote = Remote::open(far.path().to_str().unwrap()).unwrap();
    for offset in [0_u32, 3, u32::MAX] {
        let mut wrong = right.clone();
        wrong[8..12].copy_from_slice(&offset.to_le_bytes());
        std::fs::write(&path, wrong).unwrap();
        let error = read_sample(&remote, &index.shards()[0], 0).unwrap_err();
        assert!(error.is_corrupt() && error.to_string().contains("sample 0 is said to be at bytes"), "{error}");
    }
    let zipped = tempfile::tempdir().unwrap();
    Recipe { zip: true, ..Recipe::default() }.write(zipped.path());
    let index = lockstep_dataset::Index::read(zipped.path()).unwrap();
    let error = read_sample(&remote, &index.shards()[0], 0).unwrap_err();
    assert!(error.is_config() && error.to_string().contains("use a cache"), "{error}");
}
