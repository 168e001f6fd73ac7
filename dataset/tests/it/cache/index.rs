//! The index of a remote: copied once, and noticed when it changes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lockstep_dataset::cache::{Cache, CacheConfig};

use super::support::{Folder, Recipe, chain, names_in};

#[test]
fn a_dataset_written_anew_empties_the_cache_that_nobody_uses() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, new) = (Recipe { seed: 1, ..Recipe::default() }, Recipe { seed: 2, shards: 5, ..Recipe::default() });
    old.write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    let config = CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _);
    let cache = Cache::open(config.clone()).unwrap();
    old.check_all(&cache, 0..8);
    drop(cache);
    new.write(far.path());
    let cache = Cache::open(config).unwrap();
    assert_eq!(names_in(near.path()), ["index.json"]);
    new.check_all(&cache, 0..5);
}

#[test]
fn a_dataset_written_anew_under_a_reader_is_an_error_that_says_so() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, new) = (Recipe { seed: 1, ..Recipe::default() }, Recipe { seed: 2, ..Recipe::default() });
    old.write(far.path());
    let config = CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path())));
    let cache = Cache::open(config.clone()).unwrap();
    old.check_all(&cache, [0]);
    new.write(far.path());
    let error = cache.shard(1).unwrap_err();
    assert!(error.is_corrupt());
    assert!(error.to_string().contains("was written anew since its index was copied"), "{}", chain(&error));
    old.check_all(&cache, [0]);
    // Somebody who comes now finds the index that the others use.
    let second = Cache::open(config).unwrap();
    old.check_all(&second, [0]);
}

#[test]
fn a_directory_with_another_dataset_is_not_touched() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (theirs, ours) = (Recipe { seed: 1, ..Recipe::default() }, Recipe { seed: 2, ..Recipe::default() });
    theirs.write(near.path());
    ours.write(far.path());
    let before = names_in(near.path());
    let config = CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path())));
    let error = Cache::open(config).unwrap_err();
    assert!(error.is_config() && error.to_string().contains("was not copied from"), "{error}");
    assert_eq!(names_in(near.path()), before);
    theirs.check_all(&Cache::open(CacheConfig::new(near.path())).unwrap(), 0..8);
}

#[test]
fn a_copy_of_the_dataset_made_by_others_is_used() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    recipe.write(near.path());
    let folder = Arc::new(Folder::new(far.path()));
    let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _)).unwrap();
    recipe.check_all(&cache, 0..8);
    assert_eq!(folder.downloads.load(Ordering::Relaxed), 0);
}

#[test]
fn a_complete_cache_does_without_its_remote() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    let config = CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path())));
    recipe.check_all(&Cache::open(config.clone()).unwrap(), 0..8);
    fs::remove_dir_all(far.path()).unwrap();
    recipe.check_all(&Cache::open(config).unwrap(), 0..8);
}

#[test]
fn what_is_no_index_is_not_kept() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path())));
    let error = Cache::open(config.clone()).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("index.json is not there"), "{error}");
    for text in ["", "<html>not found</html>", r#"{"version": 2, "shards": [{"version": 2}]}"#] {
        fs::write(far.path().join("index.json"), text).unwrap();
        let error = Cache::open(config.clone()).unwrap_err();
        assert!(chain(&error).contains("test://"), "it names where the text came from: {}", chain(&error));
        assert_eq!(names_in(near.path()), Vec::<String>::new());
    }
    let recipe = Recipe::default();
    recipe.write(far.path());
    recipe.check_all(&Cache::open(config).unwrap(), 0..8);
}

#[test]
fn names_that_leave_the_directory_are_refused() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Recipe::default().write(far.path());
    let text = fs::read_to_string(far.path().join("index.json")).unwrap();
    for name in ["../shard.mds", "/tmp/shard.mds", "a/../../shard.mds", ".lockstep/locks", "index.json"] {
        fs::write(far.path().join("index.json"), text.replace("shard.00003.mds", name)).unwrap();
        let config = CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path())));
        let error = Cache::open(config).unwrap_err();
        assert!(error.is_corrupt(), "{name}: {error}");
        std::fs::remove_dir_all(near.path()).unwrap();
    }
}
