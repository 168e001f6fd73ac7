//! Datasets without a remote: what they consist of is never deleted.

use std::fs;
use std::path::Path;

use lockstep_dataset::cache::{Cache, CacheConfig, Room};

use super::support::{Folder, Recipe, bytes_below, chain, names_in};

fn dataset(recipe: &Recipe) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    recipe.write(dir.path());
    dir
}

/// The raw files beside the compressed ones.
fn add_raw(recipe: &Recipe, dir: &Path) {
    for shard in 0..recipe.shards {
        fs::write(dir.join(format!("shard.{shard:05}.mds")), recipe.shard(shard)).unwrap();
    }
}

#[test]
fn raw_files_are_only_looked_at() {
    let recipe = Recipe::default();
    let dir = dataset(&recipe);
    let before = names_in(dir.path());
    let cache = Cache::open(CacheConfig::new(dir.path()).limit(1)).unwrap();
    recipe.check_all(&cache, 0..recipe.shards);
    assert_eq!(names_in(dir.path()), before);
    assert!(!dir.path().join(".lockstep").exists(), "nothing was written");
}

#[test]
fn compressed_files_stay_and_their_copies_go() {
    let recipe = Recipe { zip: true, ..Recipe::default() };
    let dir = dataset(&recipe);
    let before = names_in(dir.path());
    // Room for two unpacked shards.
    let limit = 2 * recipe.shard(0).len() as u64 + 6000;
    let cache = Cache::open(CacheConfig::new(dir.path()).limit(limit)).unwrap();
    for _ in 0..2 {
        recipe.check_all(&cache, 0..recipe.shards);
        let after = names_in(dir.path());
        assert!(before.iter().all(|name| after.contains(name)), "a compressed file is gone: {after:?}");
        assert_eq!(after.len(), before.len() + 2, "two copies: {after:?}");
        assert!(cache.usage().unwrap().bytes <= limit);
    }
    drop(cache);
    // Others know which of the files are copies.
    let cache = Cache::open(CacheConfig::new(dir.path()).limit(limit)).unwrap();
    recipe.check_all(&cache, (0..recipe.shards).rev());
    let after = names_in(dir.path());
    assert_eq!(after.len(), before.len() + 2, "two copies: {after:?}");
}

#[test]
fn raw_files_beside_compressed_ones_stay_both() {
    let recipe = Recipe { zip: true, ..Recipe::default() };
    let dir = dataset(&recipe);
    add_raw(&recipe, dir.path());
    let before = names_in(dir.path());
    let limit = recipe.shard(0).len() as u64 + 6000;
    for _ in 0..2 {
        let cache = Cache::open(CacheConfig::new(dir.path()).limit(limit)).unwrap();
        recipe.check_all(&cache, 0..recipe.shards);
        assert_eq!(names_in(dir.path()), before);
        // From now on there are locks and a ledger, too.
        fs::create_dir_all(dir.path().join(".lockstep")).unwrap();
    }
    // One of the raw files is gone: its copy is ours, and the others still are not.
    fs::remove_file(dir.path().join("shard.00003.mds")).unwrap();
    let cache = Cache::open(CacheConfig::new(dir.path()).limit(limit)).unwrap();
    recipe.check_all(&cache, 0..recipe.shards);
    assert_eq!(names_in(dir.path()), before);
}

#[test]
fn local_and_remote_datasets_share_a_limit() {
    let (near, far) = (Recipe { seed: 1, ..Recipe::default() }, Recipe { seed: 2, zip: true, ..Recipe::default() });
    let packed = Recipe { seed: 3, zip: true, ..Recipe::default() };
    let (near_dir, packed_dir, far_dir) = (dataset(&near), dataset(&packed), dataset(&far));
    let before = (names_in(near_dir.path()), names_in(packed_dir.path()));
    let cache_dir = tempfile::tempdir().unwrap();
    let limit = 4 * far.shard(0).len() as u64 + 12_000;
    let room = Room::limited(limit);
    let near_cache = Cache::open(CacheConfig::new(near_dir.path()).room(room.clone())).unwrap();
    let packed_cache = Cache::open(CacheConfig::new(packed_dir.path()).room(room.clone())).unwrap();
    let remote = std::sync::Arc::new(Folder::new(far_dir.path()));
    let far_cache = Cache::open(CacheConfig::new(cache_dir.path()).remote(remote).room(room)).unwrap();
    for shard in (0..8).chain(0..8) {
        near.check_all(&near_cache, [shard]);
        packed.check_all(&packed_cache, [shard]);
        far.check_all(&far_cache, [shard]);
        let copies = names_in(packed_dir.path()).len() - before.1.len();
        let used = bytes_below(cache_dir.path()) + copies as u64 * packed.shard(0).len() as u64;
        assert!(used <= limit, "{used} of {limit} bytes");
        assert!(far_cache.usage().unwrap().bytes <= limit);
    }
    assert_eq!(names_in(near_dir.path()), before.0);
    assert!(before.1.iter().all(|name| packed_dir.path().join(name).exists()));
}

#[test]
fn what_is_missing_is_named() {
    for zip in [false, true] {
        let recipe = Recipe { zip, ..Recipe::default() };
        let dir = dataset(&recipe);
        let name = if zip { "shard.00002.mds.zstd" } else { "shard.00002.mds" };
        fs::remove_file(dir.path().join(name)).unwrap();
        let cache = Cache::open(CacheConfig::new(dir.path())).unwrap();
        let error = cache.shard(2).unwrap_err();
        assert!(chain(&error).contains(name) && chain(&error).contains("name a remote that has it"), "{error:?}");
        recipe.check_all(&cache, (0..8).filter(|&shard| shard != 2));
    }
}

#[test]
fn a_raw_file_of_another_size_is_an_error_and_stays() {
    let recipe = Recipe { zip: true, ..Recipe::default() };
    let dir = dataset(&recipe);
    let path = dir.path().join("shard.00002.mds");
    fs::write(&path, "precious").unwrap();
    let cache = Cache::open(CacheConfig::new(dir.path())).unwrap();
    let error = cache.shard(2).unwrap_err();
    assert!(error.is_corrupt());
    assert!(error.to_string().contains("has 8 bytes, and the index says"), "{error}");
    assert_eq!(fs::read(path).unwrap(), b"precious");
}

#[test]
fn a_directory_that_cannot_be_written_to_is_read_all_the_same() {
    let recipe = Recipe { zip: true, ..Recipe::default() };
    let dir = dataset(&recipe);
    // Our folder cannot be made.
    fs::write(dir.path().join(".lockstep"), "").unwrap();
    let before = names_in(dir.path());
    let cache = Cache::open(CacheConfig::new(dir.path()).limit(1)).unwrap();
    recipe.check_all(&cache, 0..recipe.shards);
    assert_eq!(names_in(dir.path()), before);
    fs::remove_file(dir.path().join("shard.00002.mds.zstd")).unwrap();
    assert!(cache.shard(2).unwrap_err().to_string().contains("shard.00002.mds.zstd is not there"));
}
