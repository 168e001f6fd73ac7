//! Shards that are there before they are asked for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lockstep_dataset::cache::{Ahead, Cache, CacheConfig};

use super::support::{Folder, Recipe, bytes_below, names_in};

/// Waits for something that happens in the background, and fails if it does not.
fn until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_more_is_fetched_than_the_bounds_allow() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    let ahead = Ahead { shards: 3, ..Ahead::default() };
    let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _).ahead(ahead)).unwrap();
    cache.prefetch(0..8);
    let complete = || cache.usage().unwrap().complete_shards;
    until("three shards are fetched", || complete() == 3);
    for shard in 0..8 {
        recipe.check_all(&cache, [shard]);
        until("one more is fetched for each that is used", || complete() == (shard + 4).min(8));
        assert!(folder.downloads.load(Ordering::Relaxed) <= shard as u64 + 4);
    }
    assert_eq!(folder.downloads.load(Ordering::Relaxed), 8, "each shard once");
}

#[test]
fn what_is_needed_next_is_not_evicted_for_what_is_needed_later() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe { shards: 40, ..Recipe::default() };
    recipe.write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    let config = CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _);
    let overhead = Cache::open(config.clone()).unwrap().usage().unwrap().bytes;
    let limit = overhead + 4 * recipe.shard(0).len() as u64;
    let cache = Cache::open(config.limit(limit)).unwrap();
    cache.prefetch((0..40).rev());
    for shard in (0..40).rev() {
        recipe.check_all(&cache, [shard]);
        assert!(bytes_below(near.path()) <= limit);
    }
    assert_eq!(folder.downloads.load(Ordering::Relaxed), 40, "each shard once");
}

#[test]
fn a_reader_gets_room_from_what_was_fetched_ahead() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    let config = CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path())));
    let overhead = Cache::open(config.clone()).unwrap().usage().unwrap().bytes;
    let limit = overhead + 3 * recipe.shard(0).len() as u64;
    let cache = Cache::open(config.limit(limit)).unwrap();
    cache.prefetch([5, 6, 7]);
    until("all room is taken", || cache.usage().unwrap().complete_shards == 3);
    recipe.check_all(&cache, [0]);
    assert!(bytes_below(near.path()) <= limit);
    assert!(names_in(near.path()).contains(&"shard.00000.mds".to_owned()));
    recipe.check_all(&cache, [5, 6, 7]);
}

#[test]
fn another_plan_takes_the_place_of_the_first() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    let ahead = Ahead { shards: 2, ..Ahead::default() };
    let cache =
        Cache::open(CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path()))).ahead(ahead)).unwrap();
    cache.prefetch([0, 1, 2, 3]);
    until("the first plan is begun", || cache.usage().unwrap().complete_shards == 2);
    cache.prefetch([usize::MAX, 7, 6, 5, 4]);
    until("the second plan is begun", || cache.usage().unwrap().complete_shards == 4);
    let names = names_in(near.path());
    assert!(
        names.contains(&"shard.00007.mds".to_owned()) && names.contains(&"shard.00006.mds".to_owned()),
        "{names:?}"
    );
}

#[test]
fn a_failure_ahead_is_found_by_the_reader_and_not_for_ever() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe::default();
    recipe.write(far.path());
    let path = far.path().join("shard.00003.mds");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let folder = Arc::new(Folder::new(far.path()));
    let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::clone(&folder) as _)).unwrap();
    cache.prefetch(0..8);
    until("the others are fetched", || cache.usage().unwrap().complete_shards == 7);
    assert!(cache.shard(3).unwrap_err().to_string().contains("shard.00003.mds is not there"));
    std::fs::write(&path, bytes).unwrap();
    recipe.check_all(&cache, 0..8);
}

#[test]
fn shards_that_the_reader_keeps_open_do_not_take_the_place_of_others() {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe { shards: 20, ..Recipe::default() };
    recipe.write(far.path());
    let ahead = Ahead { shards: 2, ..Ahead::default() };
    let cache =
        Cache::open(CacheConfig::new(near.path()).remote(Arc::new(Folder::new(far.path()))).ahead(ahead)).unwrap();
    // As a shuffled order does: samples of the same shards come again and again.
    cache.prefetch((0..20).flat_map(|shard| [shard, shard / 2, 0]));
    let mut open = Vec::new();
    for shard in 0..18 {
        open.push(cache.shard(shard).unwrap());
        until("the next ones are fetched", || cache.usage().unwrap().complete_shards >= shard + 3);
    }
}
