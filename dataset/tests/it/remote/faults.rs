//! What goes wrong on the way: right samples or a clear error, and never stuck afterwards.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockstep_dataset::cache::{Cache, CacheConfig};
use lockstep_dataset::remote::{Origin, Remote, RemoteOptions, Retry};

use super::server::{Fault, Server};
use crate::cache::support::{Recipe, chain, names_in};

const NAME: &str = "shard.00002.mds";

fn options() -> RemoteOptions {
    let mut options = RemoteOptions::default();
    options.retry =
        Retry { attempts: 3, first_pause: Duration::from_millis(1), longest_pause: Duration::from_millis(5) };
    options.stall_timeout = Duration::from_millis(300);
    options
}

struct Setting {
    recipe: Recipe,
    far: tempfile::TempDir,
    near: tempfile::TempDir,
    server: Server,
    cache: Cache,
}

fn setting() -> Setting {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recipe = Recipe { bytes: 200_000, shards: 4, ..Recipe::default() };
    recipe.write(far.path());
    let server = Server::start(far.path());
    let remote = Remote::with_options(&server.url(), options()).unwrap();
    let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::new(remote))).unwrap();
    Setting { recipe, far, near, server, cache }
}

impl Setting {
    /// The error of the shard with the faults. Afterwards, without them, all is well.
    fn error(&self) -> lockstep_dataset::Error {
        let error = self.cache.shard(2).unwrap_err();
        assert_eq!(names_in(self.near.path()), ["index.json"], "nothing is left of it");
        error
    }

    fn check_recovery(&self) {
        self.server.fail(NAME, []);
        self.server.always(None);
        self.recipe.check_all(&self.cache, 0..4);
    }
}

#[test]
fn passing_faults_are_overcome() {
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(429),
        Fault::ResetAfter(0),
        Fault::ResetAfter(50_000),
        Fault::CloseAfter(0),
        Fault::CloseAfter(50_000),
        Fault::StallAfter(50_000),
        Fault::Truncate(50_000),
        Fault::Spoil(50_000),
        Fault::Late(Duration::from_millis(50)),
    ] {
        let setting = setting();
        setting.server.fail(NAME, [fault]);
        setting.recipe.check_all(&setting.cache, 0..4);
        assert!(setting.server.requests(NAME).len() <= 2, "{fault:?}: {:?}", setting.server.requests(NAME));
    }
}

#[test]
fn a_broken_transfer_goes_on_where_it_ended() {
    let setting = setting();
    // Far more faults than attempts, each after some progress.
    setting.server.fail(NAME, [Fault::CloseAfter(20_000); 8]);
    setting.recipe.check_all(&setting.cache, 0..4);
    let requests = setting.server.requests(NAME);
    let starts: Vec<_> = requests.iter().map(|request| request.range.clone()).collect();
    assert_eq!(starts[..3], [None, Some("bytes=20000-".to_owned()), Some("bytes=40000-".to_owned())]);
    assert!(requests[1..].iter().all(|request| request.if_match.is_some()), "of the same object only");
}

#[test]
fn a_server_without_ranges_starts_over() {
    let setting = setting();
    setting.server.fail(NAME, [Fault::CloseAfter(50_000), Fault::IgnoreRange]);
    setting.recipe.check_all(&setting.cache, 0..4);
    let ranges: Vec<_> = setting.server.requests(NAME).into_iter().map(|request| request.range).collect();
    assert_eq!(ranges, [None, Some("bytes=50000-".to_owned()), None]);
}

#[test]
fn an_object_that_changes_on_the_way_is_not_pieced_together() {
    let setting = setting();
    // None of the first answers ends before the object has changed.
    setting.server.fail(NAME, [Fault::HoldAfter(50_000); 20]);
    let other = Recipe { seed: 9, shards: 4, bytes: 200_000, ..Recipe::default() };
    // The next request finds another object of the same size.
    let path = setting.far.path().join(NAME);
    let right = fs::read(&path).unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| setting.cache.shard(2));
        while setting.server.requests(NAME).is_empty() {
            std::thread::yield_now();
        }
        fs::write(&path, other.shard(2)).unwrap();
        setting.server.fail(NAME, []);
        setting.server.let_go();
        // Either the first answer was begun after the change, or the second one was refused: never a mixture.
        let error = reading.join().unwrap().unwrap_err();
        assert!(error.is_corrupt() || error.is_retryable(), "{}", chain(&error));
    });
    assert_eq!(names_in(setting.near.path()), ["index.json"]);
    fs::write(&path, right).unwrap();
    setting.check_recovery();
}

#[test]
fn lasting_faults_are_errors_that_name_the_url_the_attempts_and_the_cause() {
    let setting = setting();
    let url = format!("{}/{NAME}", setting.server.url());
    for (fault, text, cause) in [
        (Fault::Status(500), format!("cannot read {url} (3 attempts)"), "500"),
        (Fault::Status(403), format!("cannot read {url} (1 attempt)"), "403"),
        (Fault::Status(404), format!("{url} is not there"), "404"),
        (Fault::ResetAfter(0), format!("cannot read {url} (3 attempts)"), "error"),
        (Fault::CloseAfter(0), format!("cannot read {url} (3 attempts)"), "error"),
        (Fault::StallAfter(0), format!("cannot read {url} (3 attempts)"), "nothing arrived for 300ms"),
        (Fault::Truncate(50_000), format!("{url} is not what the index says (3 attempts)"), "50000 bytes instead of"),
        (Fault::Spoil(50_000), format!("{url} is not what the index says after 2 downloads"), "xxh64"),
    ] {
        setting.server.fail(NAME, [fault; 20]);
        let error = setting.error();
        assert!(error.to_string().contains(&text), "{fault:?}: {}", chain(&error));
        assert!(chain(&error).contains(cause), "{fault:?}: {}", chain(&error));
        assert_eq!(error.is_corrupt(), matches!(fault, Fault::Truncate(_) | Fault::Spoil(_)), "{fault:?}");
    }
    setting.check_recovery();
}

#[test]
fn a_shard_that_appears_later_is_found_then() {
    let setting = setting();
    let path = setting.far.path().join(NAME);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let error = setting.error();
    assert!(error.is_retryable() && error.to_string().ends_with("shard.00002.mds is not there"), "{error}");
    assert_eq!(setting.server.requests(NAME).len(), 1, "what is not there is not asked for again and again");
    fs::write(&path, bytes).unwrap();
    setting.check_recovery();
}

#[test]
fn a_server_that_is_gone_is_an_error_in_bounded_time() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let near = tempfile::tempdir().unwrap();
    let remote = Remote::with_options(&format!("http://{address}/data"), options()).unwrap();
    let error = Cache::open(CacheConfig::new(near.path()).remote(Arc::new(remote))).unwrap_err();
    assert!(error.is_retryable());
    let text = error.to_string();
    assert!(text.contains(&format!("cannot read http://{address}/data/index.json (3 attempts)")), "{text}");
}

#[test]
fn retries_pause_longer_and_longer() {
    let setting = setting();
    let mut options = options();
    options.retry =
        Retry { attempts: 4, first_pause: Duration::from_millis(40), longest_pause: Duration::from_millis(80) };
    let remote = Remote::with_options(&setting.server.url(), options).unwrap();
    setting.server.fail(NAME, [Fault::Status(500); 9]);
    let started = Instant::now();
    assert!(remote.read(NAME).is_err());
    // Pauses of 40, 80 and 80 ms, each at least by half.
    assert!(started.elapsed() >= Duration::from_millis(100), "{:?}", started.elapsed());
    assert_eq!(setting.server.requests(NAME).len(), 4);
}

#[test]
fn parts_of_objects_are_read() {
    let setting = setting();
    let remote = Remote::with_options(&setting.server.url(), options()).unwrap();
    let whole = setting.recipe.shard(2);
    setting.server.fail(NAME, [Fault::Status(500), Fault::CloseAfter(10)]);
    assert_eq!(remote.read_range(NAME, 100..5000).unwrap(), whole[100..5000]);
    assert!(remote.read_range(NAME, 7..7).unwrap().is_empty());
    let past = whole.len() as u64 - 10..whole.len() as u64 + 10;
    assert!(remote.read_range(NAME, past).is_err(), "it ends before");
    setting.server.always(Some(Fault::IgnoreRange));
    assert!(remote.read_range(NAME, 100..5000).is_err(), "the whole object is not the part");
}

#[test]
fn prefetching_over_a_bad_line_brings_the_right_samples() {
    let setting = setting();
    for shard in 0..4 {
        let faults = [Fault::ResetAfter(70_000), Fault::Status(503), Fault::CloseAfter(1000), Fault::Spoil(100)];
        setting.server.fail(&format!("shard.{shard:05}.mds"), faults);
    }
    setting.cache.prefetch(0..4);
    setting.recipe.check_all(&setting.cache, 0..4);
}
