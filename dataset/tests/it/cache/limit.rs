//! The limit is kept, and pins keep.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lockstep_dataset::cache::{Cache, CacheConfig, KeepZip};

use super::support::{Folder, Recipe, bytes_below, chain, names_in};

struct Setting {
    recipe: Recipe,
    far: tempfile::TempDir,
    near: tempfile::TempDir,
    folder: Arc<Folder>,
}

fn setting(recipe: Recipe) -> Setting {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    recipe.write(far.path());
    let folder = Arc::new(Folder::new(far.path()));
    Setting { recipe, far, near, folder }
}

impl Setting {
    fn config(&self) -> CacheConfig {
        CacheConfig::new(self.near.path()).remote(Arc::clone(&self.folder) as _)
    }

    /// What the cache takes without shards.
    fn overhead(&self) -> u64 {
        let elsewhere = tempfile::tempdir().unwrap();
        let config = CacheConfig::new(elsewhere.path()).remote(Arc::new(Folder::new(self.far.path())));
        Cache::open(config).unwrap().usage().unwrap().bytes
    }

    fn shard_bytes(&self) -> u64 {
        self.recipe.shard(0).len() as u64
    }
}

#[test]
fn without_a_limit_each_shard_is_downloaded_once() {
    let setting = setting(Recipe::default());
    for _ in 0..2 {
        let cache = Cache::open(setting.config()).unwrap();
        for _ in 0..2 {
            setting.recipe.check_all(&cache, 0..8);
        }
    }
    assert_eq!(setting.folder.downloads.load(Ordering::Relaxed), 8);
    assert_eq!(setting.folder.reads.load(Ordering::Relaxed), 1, "the index");
}

#[test]
fn the_least_recently_used_is_evicted() {
    let setting = setting(Recipe::default());
    let limit = setting.overhead() + 3 * setting.shard_bytes();
    let cache = Cache::open(setting.config().limit(limit)).unwrap();
    setting.recipe.check_all(&cache, [0, 1, 2, 0, 3]);
    let names = names_in(setting.near.path());
    assert_eq!(names, ["index.json", "shard.00000.mds", "shard.00002.mds", "shard.00003.mds"]);
    let usage = cache.usage().unwrap();
    assert_eq!((usage.limit, usage.complete_shards), (Some(limit), 3));
    assert!(usage.bytes <= limit && bytes_below(setting.near.path()) <= usage.bytes, "{usage:?}");
    setting.recipe.check_all(&cache, [0, 2, 3]);
    assert_eq!(setting.folder.downloads.load(Ordering::Relaxed), 4, "what was used is still there");
}

#[test]
fn pinned_shards_are_not_evicted() {
    let setting = setting(Recipe::default());
    let limit = setting.overhead() + 3 * setting.shard_bytes();
    let cache = Cache::open(setting.config().limit(limit)).unwrap();
    let pins: Vec<_> = [0, 1].map(|shard| cache.shard(shard).unwrap()).into();
    setting.recipe.check_all(&cache, 2..8);
    for pin in &pins {
        setting.recipe.check(&cache, pin);
    }
    assert_eq!(setting.folder.downloads.load(Ordering::Relaxed), 8);
}

#[test]
fn a_reader_waits_for_room_until_its_time_is_over() {
    let setting = setting(Recipe::default());
    let limit = setting.overhead() + 2 * setting.shard_bytes();
    let config = setting.config().limit(limit);
    let cache = Cache::open(config.clone().wait(Duration::from_millis(50))).unwrap();
    let mut pins: VecDeque<_> = [0, 1].map(|shard| cache.shard(shard).unwrap()).into();
    let error = cache.shard(2).unwrap_err();
    let needed = limit + setting.shard_bytes();
    assert!(error.is_config());
    let text = error.to_string();
    assert!(text.contains(&format!("the cache limit is {limit}; set that to {needed} at least")), "{text}");
    // Somebody else gives up a pin while this one waits.
    let other = Cache::open(config).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| setting.recipe.check(&other, &other.shard(2).unwrap()));
        pins.pop_front();
        waiting.join().unwrap();
    });
    setting.recipe.check(&cache, &pins[0]);
    assert!(bytes_below(setting.near.path()) <= limit);
}

#[test]
fn a_limit_below_the_largest_shard_is_refused_at_once() {
    for zip in [false, true] {
        let setting = setting(Recipe { zip, ..Recipe::default() });
        let zip_bytes = |shard| zstd::encode_all(&setting.recipe.shard(shard)[..], 1).unwrap().len() as u64;
        let most = if zip { (0..8).map(zip_bytes).max().unwrap() } else { 0 };
        let needed = setting.overhead() + setting.shard_bytes() + most;
        let error = Cache::open(setting.config().limit(needed - 1)).unwrap_err();
        assert!(error.is_config());
        assert!(error.to_string().contains(&format!("set it to {needed} at least")), "{error} {needed}");
        let cache = Cache::open(setting.config().limit(needed)).unwrap();
        setting.recipe.check_all(&cache, 0..8);
    }
}

#[test]
fn a_directory_that_has_too_much_is_trimmed_when_opened() {
    let setting = setting(Recipe::default());
    let cache = Cache::open(setting.config()).unwrap();
    setting.recipe.check_all(&cache, 0..8);
    drop(cache);
    let limit = setting.overhead() + 2 * setting.shard_bytes();
    let cache = Cache::open(setting.config().limit(limit)).unwrap();
    assert!(bytes_below(setting.near.path()) <= limit);
    assert_eq!(cache.usage().unwrap().complete_shards, 2);
    assert!(setting.near.path().join("shard.00007.mds").exists(), "the last one was used last");
}

#[test]
fn compressed_files_are_kept_or_dropped() {
    for (keep, forms) in
        [(KeepZip::Never, vec!["shard.00000.mds"]), (KeepZip::Always, vec!["shard.00000.mds", "shard.00000.mds.zstd"])]
    {
        let setting = setting(Recipe { zip: true, ..Recipe::default() });
        let cache = Cache::open(setting.config().keep_zip(keep)).unwrap();
        setting.recipe.check_all(&cache, [0]);
        let names = names_in(setting.near.path());
        assert_eq!(names[1..], forms);
        let bytes: u64 =
            forms.iter().map(|name| std::fs::metadata(setting.near.path().join(name)).unwrap().len()).sum();
        assert_eq!(cache.usage().unwrap().bytes, setting.overhead() + bytes);
    }
}

#[test]
fn a_kept_compressed_file_spares_the_download() {
    let setting = setting(Recipe { zip: true, ..Recipe::default() });
    let cache = Cache::open(setting.config().keep_zip(KeepZip::Always)).unwrap();
    setting.recipe.check_all(&cache, [0]);
    std::fs::remove_file(setting.near.path().join("shard.00000.mds")).unwrap();
    setting.recipe.check_all(&cache, [0]);
    assert_eq!(setting.folder.downloads.load(Ordering::Relaxed), 1);
}

#[test]
fn threads_download_a_shard_once() {
    let setting = setting(Recipe::default());
    let cache = Cache::open(setting.config()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| setting.recipe.check_all(&cache, 0..8));
        }
    });
    assert_eq!(setting.folder.downloads.load(Ordering::Relaxed), 8);
}

#[test]
fn rubbish_in_the_directory_is_replaced() {
    let setting = setting(Recipe::default());
    let near = setting.near.path();
    std::fs::write(near.join("shard.00000.mds"), "too short").unwrap();
    std::fs::write(near.join("shard.00001.mds.lockstep-part"), "left by the dead").unwrap();
    std::fs::write(near.join("notes.txt"), "not ours").unwrap();
    std::fs::create_dir(near.join(".lockstep")).unwrap();
    std::fs::write(near.join(".lockstep/ledger"), "rubbish").unwrap();
    std::fs::write(near.join(".lockstep/origin.json"), "rubbish").unwrap();
    let cache = Cache::open(setting.config()).unwrap();
    assert_eq!(names_in(near), ["index.json", "notes.txt"]);
    setting.recipe.check_all(&cache, 0..8);
    assert_eq!(setting.folder.downloads.load(Ordering::Relaxed), 8);
    assert!(chain(&Cache::open(CacheConfig::new(near.join("notes.txt"))).unwrap_err()).contains("notes.txt"));
}
