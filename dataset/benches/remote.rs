//! How much of a slow link reading uses, and what it takes to open a dataset of many shards.
//!
//! `cargo bench -p lockstep-dataset --features http --bench remote [-- --quick]`
//!
//! The link is a web server on the loopback interface that answers after 20 ms and sends 100 MB/s over all connections
//! together. Its ceiling is measured first, by plain sockets that fetch the same objects four at a time and throw them away.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops when something fails, and prints")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lockstep_dataset::cache::{Ahead, Cache, CacheConfig};
use lockstep_dataset::remote::Remote;
use lockstep_dataset::{Index, Shard};
use xxhash_rust::xxh3::xxh3_64;

const BYTES_PER_SECOND: f64 = 100e6;
const LATENCY: Duration = Duration::from_millis(20);
const SHARD_BYTES: usize = 8_000_000;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    reading(if quick { 12 } else { 60 });
    opening(if quick { 10_000 } else { 100_000 });
}

fn reading(shards: usize) {
    let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_dataset(far.path(), shards, SHARD_BYTES);
    let names: Vec<_> = (0..shards).map(name).collect();
    let bytes = (shards * SHARD_BYTES) as f64;

    let server = Server::start(far.path());
    let started = Instant::now();
    drain(server.address, &names, 4);
    let ceiling = bytes / started.elapsed().as_secs_f64();

    let remote = Remote::open(&format!("http://{}/", server.address)).unwrap();
    let ahead = Ahead { shards: 6, ..Ahead::default() };
    let limit = 10 * SHARD_BYTES as u64;
    let config = CacheConfig::new(near.path()).remote(Arc::new(remote)).limit(limit).ahead(ahead);
    let cache = Cache::open(config).unwrap();
    let before = resident("VmRSS");
    reset_peak();
    let started = Instant::now();
    cache.prefetch(0..shards);
    let mut hash = 0;
    for number in 0..shards {
        let pin = cache.shard(number).unwrap();
        let shard = Shard::open(pin.dir(), &cache.index().shards()[number]).unwrap();
        for sample in 0..shard.len() {
            hash ^= xxh3_64(shard.sample(sample).unwrap().bytes());
        }
    }
    std::hint::black_box(hash);
    let rate = bytes / started.elapsed().as_secs_f64();
    let memory = resident("VmHWM").saturating_sub(before);
    println!(
        "reading {shards} shards of {} MB over 100 MB/s with {LATENCY:?} latency, limit {} MB",
        SHARD_BYTES / 1_000_000,
        limit / 1_000_000
    );
    println!("  plain sockets, 4 at a time  {:7.1} MB/s", ceiling / 1e6);
    println!(
        "  samples hashed from a cache {:7.1} MB/s   {:.3} of it, {:.3} of the link",
        rate / 1e6,
        rate / ceiling,
        rate / BYTES_PER_SECOND
    );
    println!("  memory while reading        {:7.1} MB     (mapped shards included)", memory as f64 / 1e6);
}

fn opening(shards: usize) {
    let dir = tempfile::tempdir().unwrap();
    let (far, near) = (dir.path().join("far"), dir.path().join("near"));
    fs::create_dir_all(&far).unwrap();
    fs::write(far.join("index.json"), index_text(shards, SHARD_BYTES)).unwrap();
    println!("opening {shards} shards");
    let before = resident("VmRSS");
    reset_peak();
    let started = Instant::now();
    let index = Index::read(&far).unwrap();
    let parse = started.elapsed();
    println!(
        "  the index alone             {parse:9.1?}   {:6.1} MB",
        resident("VmHWM").saturating_sub(before) as f64 / 1e6
    );
    drop(index);
    let remote = Arc::new(Remote::open(far.to_str().unwrap()).unwrap());
    let config = CacheConfig::new(&near).remote(remote).limit(1 << 40);
    for (who, keep) in [("the first to open a cache", true), ("another one", false)] {
        let before = resident("VmRSS");
        reset_peak();
        let started = Instant::now();
        let cache = Cache::open(config.clone()).unwrap();
        let time = started.elapsed();
        let memory = resident("VmHWM").saturating_sub(before);
        let ratio = time.as_secs_f64() / parse.as_secs_f64();
        println!("  {who:<27} {time:9.1?}   {:6.1} MB   {ratio:.2} of the index alone", memory as f64 / 1e6);
        if keep {
            std::mem::forget(cache);
        }
    }
}

fn name(shard: usize) -> String {
    format!("shard.{shard:05}.mds")
}

fn layout() -> serde_json::Value {
    serde_json::json!({
        "version": 2, "format": "mds", "column_names": ["x"], "column_encodings": ["bytes"], "column_sizes": [null],
        "compression": null, "hashes": [], "size_limit": null,
    })
}

/// Shards of 4 KiB samples.
fn write_dataset(dir: &Path, shards: usize, bytes: usize) {
    let header = layout().to_string();
    let samples = (bytes - header.len() - 8) / (4096 + 4 + 4);
    let sample = bytes.saturating_sub(4 * (samples + 2) + header.len()) / samples - 4;
    let rest = bytes - 4 * (samples + 2) - header.len() - samples * (sample + 4);
    let word = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    let mut file = word(samples).to_vec();
    let first = 4 * (samples + 2) + header.len();
    for i in 0..samples {
        file.extend(word(first + i * (sample + 4)));
    }
    file.extend(word(bytes));
    file.extend(header.as_bytes());
    for i in 0..samples {
        let length = if i + 1 == samples { sample + rest } else { sample };
        file.extend(word(length));
        file.extend((0..length).map(|j| (i * 31 + j).to_le_bytes()[0]));
    }
    assert_eq!(file.len(), bytes);
    for shard in 0..shards {
        fs::write(dir.join(name(shard)), &file).unwrap();
    }
    let mut index = index_text(shards, bytes);
    index = index.replace("\"samples\":1000,", &format!("\"samples\":{samples},"));
    fs::write(dir.join("index.json"), index).unwrap();
}

fn index_text(shards: usize, bytes: usize) -> String {
    let mut entries = String::new();
    for shard in 0..shards {
        let mut entry = layout();
        entry["raw_data"] = serde_json::json!({"basename": name(shard), "bytes": bytes, "hashes": {}});
        entry["samples"] = 1000.into();
        entry["zip_data"] = serde_json::Value::Null;
        entries += if shard == 0 { "" } else { ", " };
        entries += &entry.to_string();
    }
    format!(r#"{{"version": 2, "shards": [{entries}]}}"#)
}

/// A web server at the other end of the link.
struct Server {
    address: SocketAddr,
}

impl Server {
    fn start(dir: &Path) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (dir, free) = (dir.to_owned(), Arc::new(Mutex::new(Instant::now())));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (dir, free) = (dir.clone(), Arc::clone(&free));
                std::thread::spawn(move || serve(&stream, &dir, &free));
            }
        });
        Self { address }
    }
}

fn serve(mut stream: &TcpStream, dir: &Path, free: &Mutex<Instant>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(first) = lines.next() {
        let first = first?;
        let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        std::thread::sleep(LATENCY);
        let body = fs::read(dir.join(path))?;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: \"1\"\r\nLast-Modified: Tue, 15 Nov 1994 12:45:26 GMT\r\n\r\n",
            body.len()
        )?;
        if first.starts_with("HEAD") {
            continue;
        }
        for piece in body.chunks(100_000) {
            let due = {
                let mut free = free.lock().unwrap();
                *free = (*free).max(Instant::now() - Duration::from_millis(5))
                    + Duration::from_secs_f64(piece.len() as f64 / BYTES_PER_SECOND);
                *free
            };
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            stream.write_all(piece)?;
        }
    }
    Ok(())
}

/// Fetches objects over plain sockets, so many at a time, each over a connection that stays open.
fn drain(address: SocketAddr, names: &[String], connections: usize) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let stream = TcpStream::connect(address).unwrap();
                let mut reader = BufReader::with_capacity(1 << 17, &stream);
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    write!(&stream, "GET /{name} HTTP/1.1\r\n\r\n").unwrap();
                    let mut line = String::new();
                    while line != "\r\n" {
                        line.clear();
                        reader.read_line(&mut line).unwrap();
                    }
                    let mut body = (&mut reader).take(SHARD_BYTES as u64);
                    assert_eq!(std::io::copy(&mut body, &mut std::io::sink()).unwrap(), SHARD_BYTES as u64);
                }
            });
        }
    });
}

/// What the system counts as this process's memory, in bytes.
fn resident(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Forgets how much memory this process had at most.
fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
