//! Small datasets and a place that serves them, well or badly.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstep_dataset::cache::{Cache, Pin};
use lockstep_dataset::remote::{Origin, Sink};
use lockstep_dataset::{Error, HashAlgorithm, Result, Shard};

/// How many samples each shard of a test's dataset has.
pub(crate) const SAMPLES: u64 = 16;

/// A dataset of `shards` MDS shards with about `bytes` bytes each, in `dir`. The samples of different seeds differ.
pub(crate) struct Recipe {
    pub(crate) shards: usize,
    pub(crate) bytes: usize,
    pub(crate) seed: u64,
    pub(crate) zip: bool,
    pub(crate) hashes: bool,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { shards: 8, bytes: 10_000, seed: 0, zip: false, hashes: true }
    }
}

impl Recipe {
    /// The bytes of one sample.
    pub(crate) fn sample(&self, shard: usize, sample: u64) -> Vec<u8> {
        let length = self.bytes as u64 / SAMPLES;
        let mut state = (self.seed << 40) ^ ((shard as u64) << 20) ^ sample ^ 0x9e37_79b9_7f4a_7c15;
        let mut bytes = Vec::new();
        for _ in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.push((state >> 60) as u8);
        }
        bytes
    }

    /// The bytes of one shard file: a count, the offsets, and samples of one column of variable size.
    pub(crate) fn shard(&self, shard: usize) -> Vec<u8> {
        let samples: Vec<_> = (0..SAMPLES).map(|sample| self.sample(shard, sample)).collect();
        let header = self.layout().to_string().into_bytes();
        let mut offset = 4 * (samples.len() + 2) + header.len();
        let mut file = u32::try_from(samples.len()).unwrap().to_le_bytes().to_vec();
        for length in std::iter::once(0).chain(samples.iter().map(|sample| sample.len() + 4)) {
            offset += length;
            file.extend(u32::try_from(offset).unwrap().to_le_bytes());
        }
        file.extend(&header);
        for sample in samples {
            file.extend(u32::try_from(sample.len()).unwrap().to_le_bytes());
            file.extend(sample);
        }
        file
    }

    pub(crate) fn write(&self, dir: &Path) {
        let mut shards = Vec::new();
        for shard in 0..self.shards {
            let raw = self.shard(shard);
            let name = format!("shard.{shard:05}.mds");
            let raw_data = self.info(&name, &raw);
            let mut zip_data = serde_json::Value::Null;
            if self.zip {
                let zip = zstd::encode_all(&raw[..], 1).unwrap();
                zip_data = self.info(&format!("{name}.zstd"), &zip);
                fs::write(dir.join(format!("{name}.zstd")), zip).unwrap();
            } else {
                fs::write(dir.join(name), raw).unwrap();
            }
            let mut entry = self.layout();
            entry["raw_data"] = raw_data;
            entry["zip_data"] = zip_data;
            entry["samples"] = SAMPLES.into();
            shards.push(entry);
        }
        let index = serde_json::json!({"version": 2, "shards": shards});
        fs::write(dir.join("index.json"), index.to_string()).unwrap();
    }

    fn layout(&self) -> serde_json::Value {
        serde_json::json!({
            "version": 2, "format": "mds", "column_names": ["x"], "column_encodings": ["bytes"], "column_sizes": [null],
            "compression": self.zip.then_some("zstd"), "hashes": ["xxh64"], "size_limit": null,
        })
    }

    fn info(&self, name: &str, bytes: &[u8]) -> serde_json::Value {
        let mut hashes = serde_json::Map::new();
        if self.hashes {
            hashes.insert("xxh64".to_owned(), HashAlgorithm::Xxh64.hash(bytes).unwrap().to_string().into());
        }
        serde_json::json!({"basename": name, "bytes": bytes.len(), "hashes": hashes})
    }

    /// Reads every sample of a pinned shard and compares it.
    pub(crate) fn check(&self, cache: &Cache, pin: &Pin) {
        let shard = Shard::open(pin.dir(), &cache.index().shards()[pin.shard()]).unwrap();
        assert_eq!(shard.len(), SAMPLES);
        for sample in 0..SAMPLES {
            let stored = shard.sample(sample).unwrap();
            let expected = self.sample(pin.shard(), sample);
            assert_eq!(stored.bytes()[4..], expected, "sample {sample} of shard {}", pin.shard());
        }
    }

    /// Reads shards one after another and compares every sample.
    pub(crate) fn check_all(&self, cache: &Cache, shards: impl IntoIterator<Item = usize>) {
        for shard in shards {
            self.check(cache, &cache.shard(shard).unwrap());
        }
    }
}

/// What a store does to a download instead of serving it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Says that the object is not there.
    Missing,
    /// Ends after this many bytes.
    CutAt(usize),
    /// Changes this byte.
    Spoil(usize),
    /// Sends a byte too many.
    OneMore,
}

/// Serves a directory.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) dir: PathBuf,
    pub(crate) url: String,
    pub(crate) pace: Pace,
    /// What befalls the next downloads of an object, the next one last.
    pub(crate) faults: Mutex<HashMap<String, Vec<Fault>>>,
    pub(crate) downloads: AtomicU64,
    pub(crate) reads: AtomicU64,
    /// A file that gets a line for each request, from all processes that are told so.
    pub(crate) log: Option<PathBuf>,
    /// Called in the middle of each download.
    pub(crate) midway: Option<fn()>,
}

/// How fast a store is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    pub(crate) piece: usize,
    pub(crate) pause: Duration,
}

impl Folder {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            url: format!("test://{}", dir.display()),
            pace: Pace::default(),
            faults: Mutex::default(),
            downloads: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            log: None,
            midway: None,
        }
    }

    pub(crate) fn fail(&self, name: &str, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().unwrap().entry(name.to_owned()).or_default().extend(faults);
    }

    fn get(&self, name: &str) -> Result<Vec<u8>> {
        if let Some(log) = &self.log {
            let mut log = fs::File::options().append(true).create(true).open(log).unwrap();
            log.write_all(format!("{name}\n").as_bytes()).unwrap();
        }
        fs::read(self.dir.join(name)).map_err(|_| Error::unavailable(format!("{}/{name} is not there", self.url)))
    }
}

impl Origin for Folder {
    fn url(&self) -> &str {
        &self.url
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.get(name)
    }

    fn read_range(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let whole = self.get(name)?;
        Ok(whole[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()].to_vec())
    }

    fn tag(&self, name: &str) -> Result<Option<String>> {
        let bytes = fs::read(self.dir.join(name)).map_err(|_| Error::unavailable(format!("{name} is not there")))?;
        Ok(Some(HashAlgorithm::Xxh64.hash(&bytes)?.to_string()))
    }

    fn download(&self, name: &str, _: u64, sink: &mut dyn Sink) -> Result<()> {
        self.downloads.fetch_add(1, Ordering::Relaxed);
        let fault = self.faults.lock().unwrap().get_mut(name).and_then(Vec::pop);
        let mut bytes = self.get(name)?;
        match fault {
            None => {}
            Some(Fault::Missing) => return Err(Error::unavailable(format!("{}/{name} is not there", self.url))),
            Some(Fault::CutAt(length)) => bytes.truncate(length),
            Some(Fault::Spoil(at)) => bytes[at] ^= 0x40,
            Some(Fault::OneMore) => bytes.push(0),
        }
        let piece = if self.pace.piece == 0 { bytes.len().max(1) } else { self.pace.piece };
        let count = bytes.chunks(piece).len();
        for (number, piece) in bytes.chunks(piece).enumerate() {
            std::thread::sleep(self.pace.pause);
            if let Some(midway) = self.midway.filter(|_| number == count / 2) {
                midway();
            }
            sink.write(piece).map_err(|source| Error::unwritable(format!("cannot store {name}"), source))?;
        }
        Ok(())
    }
}

/// The sizes of all files below a directory, as a stranger would add them up.
pub(crate) fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    let size = |path: &PathBuf| match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => bytes_below(path),
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    entries.iter().map(size).sum()
}

/// The names of all files in a directory that are not the cache's own.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.filter(|name| name != ".lockstep").collect();
    names.sort();
    names
}

/// An error and its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text += &format!(": {cause}");
        next = cause.source();
    }
    text
}
