//! A failure is not for ever, and never a wrong sample.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lockstep_dataset::cache::{Cache, CacheConfig, Verify};

use super::support::{Fault, Folder, Recipe, chain, names_in};

const NAME: &str = "shard.00002.mds";

#[test]
fn a_failed_download_leaves_nothing_and_the_next_attempt_starts_clean() {
    for zip in [false, true] {
        let name = if zip { "shard.00002.mds.zstd" } else { NAME };
        for (fault, text) in [
            (Fault::Missing, "is not there"),
            (Fault::CutAt(0), "has 0 bytes, the index says"),
            (Fault::CutAt(1234), "has 1234 bytes, the index says"),
            (Fault::Spoil(777), "has the xxh64 hash"),
            (Fault::OneMore, "more bytes arrived than the index says"),
        ] {
            let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let recipe = Recipe { zip, ..Recipe::default() };
            recipe.write(far.path());
            let folder = Arc::new(Folder::new(far.path()));
            let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _)).unwrap();
            folder.fail(name, [fault, fault]);
            let error = cache.shard(2).unwrap_err();
            assert!(chain(&error).contains(text) && chain(&error).contains(name), "{fault:?}: {}", chain(&error));
            assert_eq!(names_in(near.path()), ["index.json"], "{fault:?}");
            let empty = cache.usage().unwrap();
            assert_eq!(empty.complete_shards, 0);
            folder.faults.lock().unwrap().clear();
            recipe.check_all(&cache, 0..8);
        }
    }
}

#[test]
fn a_download_that_was_spoilt_once_is_made_again() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    folder.fail(NAME, [Fault::Spoil(5000)]);
    let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _)).unwrap();
    recipe.check_all(&cache, 0..8);
    assert_eq!(folder.downloads.load(Ordering::Relaxed), 9);
}

#[test]
fn without_hashes_the_size_is_still_checked() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Recipe::default().write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    let config = CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _).verify(Verify::Size);
    let cache = Cache::open(config).unwrap();
    folder.fail(NAME, [Fault::CutAt(1234); 2]);
    assert!(cache.shard(2).unwrap_err().is_corrupt());
    folder.fail(NAME, [Fault::Spoil(9000)]);
    assert!(cache.shard(2).is_ok(), "nobody looked");
}

#[test]
fn a_compressed_file_that_unpacks_to_something_else_is_not_kept() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe { zip: true, hashes: false, ..Recipe::default() };
    recipe.write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _)).unwrap();
    folder.fail("shard.00002.mds.zstd", [Fault::Spoil(0)]);
    let error = cache.shard(2).unwrap_err();
    assert!(error.is_corrupt() && chain(&error).contains("cannot unpack"), "{}", chain(&error));
    assert_eq!(names_in(near.path()), ["index.json"]);
    recipe.check_all(&cache, 0..8);
}
