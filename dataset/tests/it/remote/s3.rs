//! Datasets in a bucket of S3, served by a real server of that protocol.

#[path = "../../../examples/s3_server/server.rs"]
mod server;

use std::sync::Arc;
use std::time::Duration;

use lockstep_dataset::cache::{Cache, CacheConfig};
use lockstep_dataset::remote::{Origin, Remote, RemoteOptions};

use self::server::{BUCKET, KEY_ID, S3Server, SECRET};
use crate::cache::support::{Recipe, bytes_below, chain};

fn options(server: &S3Server, secret: &str) -> RemoteOptions {
    let mut options = RemoteOptions::default();
    options.retry.first_pause = Duration::from_millis(1);
    let settings = [
        ("aws_endpoint", server.endpoint().as_str()),
        ("aws_access_key_id", KEY_ID),
        ("aws_secret_access_key", secret),
        ("aws_region", "us-east-1"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    options.store = settings.into();
    options
}

#[test]
fn a_dataset_in_a_bucket_is_read_within_a_limit() {
    for zip in [false, true] {
        let (root, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let far = root.path().join("data/train");
        std::fs::create_dir_all(&far).unwrap();
        let recipe = Recipe { zip, bytes: 100_000, ..Recipe::default() };
        recipe.write(&far);
        let server = S3Server::start(root.path(), 0).unwrap();
        let remote = Remote::with_options(&format!("s3://{BUCKET}/data/train"), options(&server, SECRET)).unwrap();
        let limit = 350_000;
        let cache = Cache::open(CacheConfig::new(near.path()).remote(Arc::new(remote)).limit(limit)).unwrap();
        cache.prefetch((0..8).chain((0..8).rev()));
        for shard in (0..8).chain((0..8).rev()) {
            recipe.check_all(&cache, [shard]);
            assert!(bytes_below(near.path()) <= limit);
        }
    }
}

#[test]
fn parts_of_objects_are_read_and_versions_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    let recipe = Recipe::default();
    recipe.write(root.path());
    let server = S3Server::start(root.path(), 0).unwrap();
    let remote = Remote::with_options(&format!("s3://{BUCKET}"), options(&server, SECRET)).unwrap();
    assert_eq!(remote.read_range("shard.00001.mds", 10..2000).unwrap(), recipe.shard(1)[10..2000]);
    let before = remote.tag("index.json").unwrap();
    assert_eq!(before, remote.tag("index.json").unwrap());
    std::fs::write(root.path().join("index.json"), "another one").unwrap();
    assert_ne!(before, remote.tag("index.json").unwrap());
}

#[test]
fn what_the_server_refuses_is_an_error_that_says_what() {
    let (root, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Recipe::default().write(root.path());
    let server = S3Server::start(root.path(), 0).unwrap();
    let open = |url: &str, secret: &str| {
        let remote = Remote::with_options(url, options(&server, secret)).unwrap();
        Cache::open(CacheConfig::new(near.path()).remote(Arc::new(remote))).unwrap_err()
    };
    let error = open("s3://bucket", "another secret");
    assert!(chain(&error).contains("s3://bucket/index.json (1 attempt)"), "{}", chain(&error));
    let error = open("s3://bucket/no/such/dataset", SECRET);
    assert_eq!(error.to_string(), "s3://bucket/no/such/dataset/index.json is not there");
}
