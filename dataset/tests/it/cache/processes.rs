//! Many processes share a directory, and die.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lockstep_dataset::cache::{Cache, CacheConfig};
use serde::{Deserialize, Serialize};

use super::support::{Folder, Pace, Recipe, bytes_below, names_in};

/// What a child process is told, as JSON in this variable.
const ORDER: &str = "LOCKSTEP_TEST_CACHE_CHILD";

const SHARDS: usize = 12;

/// What a child process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    far: PathBuf,
    near: PathBuf,
    log: PathBuf,
    limit: Option<u64>,
    /// Decides in which order it reads.
    number: usize,
    rounds: usize,
    zip: bool,
    prefetch: bool,
    stop: Option<Stop>,
}

/// Where a child process says so and stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stop {
    /// In the middle of its first download.
    Midway,
    /// With its first shard pinned.
    Pinned,
}

impl Order {
    fn recipe(&self) -> Recipe {
        Recipe { shards: SHARDS, bytes: 20_000, seed: 5, zip: self.zip, hashes: true }
    }

    /// Each process reads all shards in an order of its own.
    fn shards(&self) -> Vec<usize> {
        let step = [1, 5, 7, 11][self.number % 4];
        (0..self.rounds * SHARDS).map(|i| (i * step + self.number * 3) % SHARDS).collect()
    }

    fn config(&self) -> CacheConfig {
        let folder = Folder {
            pace: Pace { piece: 2000, pause: Duration::from_millis(1) },
            log: Some(self.log.clone()),
            midway: (self.stop == Some(Stop::Midway)).then_some(stop as fn()),
            ..Folder::new(&self.far)
        };
        let config = CacheConfig::new(&self.near).remote(Arc::new(folder)).wait(Duration::from_secs(60));
        match self.limit {
            Some(limit) => config.limit(limit),
            None => config,
        }
    }
}

fn stop() {
    println!("stopped");
    loop {
        std::thread::park();
    }
}

/// Not a test by itself: what the processes that the tests below start do. Without an order it has nothing to do.
#[test]
fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).unwrap();
    let order: Order = serde_json::from_str(&order).unwrap();
    let cache = Cache::open(order.config()).unwrap();
    if order.stop == Some(Stop::Pinned) {
        let _pin = cache.shard(order.shards()[0]).unwrap();
        stop();
    }
    if order.prefetch {
        cache.prefetch(order.shards());
    }
    order.recipe().check_all(&cache, order.shards());
    println!("done");
}

/// A child process, killed when dropped.
struct Reader {
    child: Child,
}

impl Reader {
    fn start(order: &Order) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::processes::child", "--nocapture", "--test-threads=1"])
            .env(ORDER, serde_json::to_string(order).unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child }
    }

    /// Waits for a line.
    fn wait_for(&mut self, line: &str) {
        let mut lines = BufReader::new(self.child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|found| found.unwrap().ends_with(line)), "the process ended without {line:?}");
    }

    fn is_done(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end, which must be a good one.
    fn finish(mut self) {
        let mut output = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut output.0).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut output.1).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success() && output.0.contains("done"), "{status}\n{}\n{}", output.0, output.1);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends the whole test program when a test hangs.
struct Watchdog {
    _alive: Sender<()>,
}

impl Watchdog {
    fn new(limit: Duration) -> Self {
        let (alive, dead) = channel::<()>();
        std::thread::spawn(move || {
            if dead.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("a test of processes hangs; giving up");
                std::process::abort();
            }
        });
        Self { _alive: alive }
    }
}

/// Looks at a directory all the time and remembers the most bytes that were ever there.
struct Sampler {
    stop: Arc<AtomicBool>,
    most: Arc<AtomicU64>,
    looks: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Sampler {
    fn of(dir: &Path) -> Self {
        let (stop, most, looks) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let thread = std::thread::spawn({
            let (dir, stop, most, looks) = (dir.to_owned(), Arc::clone(&stop), Arc::clone(&most), Arc::clone(&looks));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    most.fetch_max(bytes_below(&dir), Ordering::Relaxed);
                    looks.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                }
            }
        });
        Self { stop, most, looks, thread: Some(thread) }
    }

    /// The most bytes that were there, and how often it looked.
    fn finish(mut self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        (self.most.load(Ordering::Relaxed), self.looks.load(Ordering::Relaxed))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Setting {
    order: Order,
    _dirs: [tempfile::TempDir; 3],
}

/// A dataset, and a cache directory with room for so many shards.
fn setting(room_for: Option<u64>, zip: bool) -> Setting {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [far, near, log] = [0, 1, 2].map(|i: usize| dirs[i].path().to_owned());
    let log = log.join("log");
    let order = Order { far, near, log, limit: None, number: 0, rounds: 3, zip, prefetch: false, stop: None };
    order.recipe().write(&order.far);
    let elsewhere = tempfile::tempdir().unwrap();
    let overhead = Cache::open(Order { near: elsewhere.path().to_owned(), ..order.clone() }.config()).unwrap();
    let overhead = overhead.usage().unwrap().bytes;
    let _ = fs::remove_file(&order.log);
    let limit = room_for.map(|shards| overhead + shards * order.recipe().shard(0).len() as u64);
    Setting { order: Order { limit, ..order }, _dirs: dirs }
}

impl Setting {
    fn order(&self, number: usize) -> Order {
        Order { number, ..self.order.clone() }
    }

    fn requests(&self) -> BTreeMap<String, usize> {
        let mut requests = BTreeMap::new();
        for name in fs::read_to_string(&self.order.log).unwrap().lines() {
            *requests.entry(name.to_owned()).or_default() += 1;
        }
        requests
    }

    /// What must hold when all is over: nothing incomplete, an exact count, and a cache that works.
    fn check_aftermath(&self) {
        let cache = Cache::open(self.order.config()).unwrap();
        let names = names_in(&self.order.near);
        assert!(names.iter().all(|name| !name.ends_with("part")), "{names:?}");
        let usage = cache.usage().unwrap();
        let files: u64 = names.iter().map(|name| fs::metadata(self.order.near.join(name)).unwrap().len()).sum();
        let index = fs::metadata(self.order.near.join("index.json")).unwrap().len();
        let elsewhere = tempfile::tempdir().unwrap();
        let empty = Cache::open(Order { near: elsewhere.path().to_owned(), ..self.order.clone() }.config()).unwrap();
        assert_eq!(usage.bytes, empty.usage().unwrap().bytes + files - index, "the count is exact");
        self.order.recipe().check_all(&cache, 0..SHARDS);
    }
}

#[test]
fn each_object_is_fetched_once_for_all_processes() {
    let _watchdog = Watchdog::new(Duration::from_secs(120));
    let setting = setting(None, false);
    let readers: Vec<_> = (0..8).map(|number| Reader::start(&setting.order(number))).collect();
    readers.into_iter().for_each(Reader::finish);
    let requests = setting.requests();
    assert_eq!(requests.len(), SHARDS + 1, "{requests:?}");
    assert!(requests.values().all(|&count| count == 1), "{requests:?}");
}

#[test]
fn eight_processes_keep_a_limit_of_five_shards() {
    let _watchdog = Watchdog::new(Duration::from_secs(240));
    for (zip, prefetch) in [(false, false), (true, false), (false, true)] {
        // While it is unpacked a shard takes room for its compressed form, too.
        let setting = setting(Some(5), zip);
        let sampler = Sampler::of(&setting.order.near);
        let readers: Vec<_> =
            (0..8).map(|number| Reader::start(&Order { prefetch, ..setting.order(number) })).collect();
        readers.into_iter().for_each(Reader::finish);
        let (most, looks) = sampler.finish();
        let limit = setting.order.limit.unwrap();
        assert!(most <= limit, "{most} of {limit} bytes were on disk");
        assert!(looks > 0 && most > limit / 2, "{looks} looks saw {most} of {limit} bytes at most");
        setting.check_aftermath();
    }
}

/// Kills a process at a time and starts another in its place, for as long as the variable `LOCKSTEP_SOAK_SECONDS` says.
#[test]
fn killed_processes_break_nothing() {
    let seconds = std::env::var("LOCKSTEP_SOAK_SECONDS").map_or(5, |seconds| seconds.parse().unwrap());
    let _watchdog = Watchdog::new(Duration::from_secs(180 + seconds));
    let setting = setting(Some(5), true);
    let order = |number| Order { prefetch: number % 3 == 0, rounds: 20, ..setting.order(number) };
    let sampler = Sampler::of(&setting.order.near);
    let mut readers: Vec<_> = (0..8).map(|number| Reader::start(&order(number))).collect();
    let started = Instant::now();
    let mut random = u64::from(std::process::id());
    let mut kills = 0;
    while started.elapsed() < Duration::from_secs(seconds) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(50 + (random >> 33) % 100));
        let number = usize::try_from((random >> 48) % 8).unwrap();
        let reader = &mut readers[number];
        if reader.is_done() {
            // It must have come to a good end, then.
            std::mem::replace(reader, Reader::start(&order(number))).finish();
        } else {
            *reader = Reader::start(&order(number));
            kills += 1;
        }
    }
    // The last ones are left alone and must come to their end.
    drop(readers);
    let readers: Vec<_> = (0..8).map(|number| Reader::start(&Order { rounds: 1, ..order(number) })).collect();
    readers.into_iter().for_each(Reader::finish);
    let (most, looks) = sampler.finish();
    let limit = setting.order.limit.unwrap();
    println!("{kills} kills, {looks} looks, {most} of {limit} bytes at most");
    assert!(kills > 0);
    assert!(most <= limit, "{most} of {limit} bytes were on disk after {kills} kills");
    setting.check_aftermath();
}

#[test]
fn a_download_whose_process_is_killed_is_taken_over() {
    let _watchdog = Watchdog::new(Duration::from_secs(60));
    let setting = setting(Some(1), false);
    let mut dying = Reader::start(&Order { stop: Some(Stop::Midway), ..setting.order(0) });
    dying.wait_for("stopped");
    let shard = setting.order.shards()[0];
    let part = setting.order.near.join(format!("shard.{shard:05}.mds.lockstep-part"));
    let bytes = setting.order.recipe().shard(shard).len() as u64;
    assert_eq!(fs::metadata(&part).unwrap().len(), bytes, "its room is taken");
    let cache = Cache::open(setting.order.config()).unwrap();
    let error = Cache::open(setting.order.config().wait(Duration::from_millis(20))).unwrap().shard(shard).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let text = error.to_string();
    assert!(text.contains("is being downloaded by process") && text.contains(&dying.child.id().to_string()), "{text}");
    let error =
        Cache::open(setting.order.config().wait(Duration::from_millis(20))).unwrap().shard((shard + 1) % SHARDS);
    assert!(error.unwrap_err().to_string().contains("no room for shard"), "the dying one has it all");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| setting.order.recipe().check(&cache, &cache.shard(shard).unwrap()));
        drop(dying);
        waiting.join().unwrap();
    });
    assert!(!part.exists());
    setting.order.recipe().check_all(&cache, 0..SHARDS);
    assert!(bytes_below(&setting.order.near) <= setting.order.limit.unwrap());
}

#[test]
fn room_that_the_dead_reserved_is_not_lost() {
    let _watchdog = Watchdog::new(Duration::from_secs(60));
    let setting = setting(Some(1), false);
    let mut dying = Reader::start(&Order { stop: Some(Stop::Midway), ..setting.order(0) });
    dying.wait_for("stopped");
    // It stays open, so that the dead one's work is found by chance and not by opening.
    let cache = Cache::open(setting.order.config()).unwrap();
    drop(dying);
    let shard = (setting.order.shards()[0] + 1) % SHARDS;
    setting.order.recipe().check_all(&cache, [shard]);
    assert_eq!(names_in(&setting.order.near), ["index.json".to_owned(), format!("shard.{shard:05}.mds")]);
}

#[test]
fn a_pin_whose_process_is_killed_is_gone() {
    let _watchdog = Watchdog::new(Duration::from_secs(60));
    let setting = setting(Some(1), false);
    let mut dying = Reader::start(&Order { stop: Some(Stop::Pinned), ..setting.order(0) });
    dying.wait_for("stopped");
    let cache = Cache::open(setting.order.config().wait(Duration::from_millis(20))).unwrap();
    let (pinned, other) = (setting.order.shards()[0], setting.order.shards()[1]);
    let text = cache.shard(other).unwrap_err().to_string();
    assert!(text.contains("are in use by readers and downloads"), "{text}");
    setting.order.recipe().check_all(&cache, [pinned]);
    drop(dying);
    setting.order.recipe().check_all(&cache, [other]);
}
