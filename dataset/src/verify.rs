//! Checking all of a dataset: every file's size and hashes, every sample.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::error::{Error, Result};
use crate::hashing::FileCheck;
use crate::index::{FileInfo, FilePair, Index, ShardInfo};
use crate::regular_file;
use crate::shard::{Links, Shard, refuse_links_out};

/// How much of a file is read at a time.
const CHUNK: usize = 1 << 20;

/// What was found in one shard.
#[derive(Debug)]
pub struct ShardReport {
    /// The shard's number in the index.
    pub shard: usize,
    /// The bytes of the files that were read.
    pub bytes: u64,
    /// How many samples were looked at.
    pub samples: u64,
    /// What is wrong, files first. Empty if nothing is.
    pub faults: Vec<Fault>,
}

/// Something wrong in a shard.
#[derive(Debug)]
pub struct Fault {
    /// The sample, where it is one and not a file.
    pub sample: Option<u64>,
    /// What is wrong.
    pub error: Error,
}

/// Checks the dataset in `dir` with `threads` threads and hands a report on each shard to `report`, in order, in the
/// calling thread.
///
/// Of each file the raw form, the compressed form or both must be there. Every form that is there must have the size and
/// all hashes that the index says, and the compressed one must unfold to the raw one. Every sample must be where the
/// offsets say and have all columns, each of its encoding. Pickled objects are not looked into.
///
/// # Example
///
/// ```
/// use std::num::NonZeroUsize;
///
/// let index = lockstep_dataset::Index::read("data/digits")?;
/// let mut samples = 0;
/// lockstep_dataset::verify("data/digits", &index, NonZeroUsize::MIN, |report| {
///     assert!(report.faults.is_empty());
///     samples += report.samples;
/// });
/// assert_eq!(samples, 1797);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
pub fn verify(dir: impl AsRef<Path>, index: &Index, threads: NonZeroUsize, mut report: impl FnMut(ShardReport)) {
    let dir = dir.as_ref();
    let shards = index.shards();
    let next = AtomicUsize::new(0);
    // Bounded, so that a dataset with nothing but faults does not fill the memory.
    let (sender, receiver) = mpsc::sync_channel(threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(shards.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(info) = shards.get(number) else { break };
                    if sender.send(check_shard(dir, number, info)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        for done in receiver {
            waiting.insert(done.shard, done);
            while let Some(done) = waiting.remove(&turn) {
                report(done);
                turn += 1;
            }
        }
    });
}

fn check_shard(dir: &Path, number: usize, info: &ShardInfo) -> ShardReport {
    let mut report = ShardReport { shard: number, bytes: 0, samples: 0, faults: Vec::new() };
    for pair in info.files() {
        check_files(dir, info, pair, &mut report);
    }
    if !report.faults.is_empty() {
        // Samples of damaged files would only repeat that.
        return report;
    }
    let shard = match Shard::open_with(dir, info, Links::Inside) {
        Ok(shard) => shard,
        Err(error) => {
            report.faults.push(Fault { sample: None, error });
            return report;
        }
    };
    for i in 0..shard.len() {
        report.samples += 1;
        if let Err(error) = shard.sample(i).and_then(|sample| sample.check()) {
            report.faults.push(Fault { sample: Some(i), error });
        }
    }
    report
}

/// Checks the forms of a file that are there.
fn check_files(dir: &Path, info: &ShardInfo, pair: FilePair<'_>, report: &mut ShardReport) {
    let mut found = 0;
    let mut note = |result: Result<Option<u64>>| match result {
        Ok(Some(bytes)) => {
            found += 1;
            report.bytes += bytes;
        }
        Ok(None) => {}
        Err(error) => {
            found += 1;
            report.faults.push(Fault { sample: None, error });
        }
    };
    note(check_file(dir, pair.raw));
    if let Some(zip) = pair.zip {
        let checked = check_file(dir, zip);
        let whole = matches!(checked, Ok(Some(_)));
        note(checked);
        if whole {
            note(check_unfolded(dir, info, pair.raw, zip).map(|()| Some(0)));
        }
    }
    if found == 0 {
        let error = Error::io(
            format!("{} is missing; copy it again", dir.join(pair.stored().basename()).display()),
            ErrorKind::NotFound.into(),
        );
        report.faults.push(Fault { sample: None, error });
    }
}

/// Compares a file with the index and returns its size, or `None` if it is not there.
fn check_file(dir: &Path, file: &FileInfo) -> Result<Option<u64>> {
    let path = dir.join(file.basename());
    let failed = |source| Error::io(format!("cannot read {}", path.display()), source);
    let mut reader = match regular_file::open(&path) {
        Ok(reader) => reader,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    refuse_links_out(dir, file.basename())?;
    let size = reader.metadata().map_err(failed)?.len();
    let mut check = FileCheck::all(file)?;
    if size != file.bytes() {
        // No need to read it, which may be long.
        return Err(Error::corrupt(format!(
            "{} has {size} bytes, the index says {}; copy the file and the index again",
            path.display(),
            file.bytes()
        )));
    }
    let mut buffer = vec![0; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => check.update(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    check.finish()?;
    Ok(Some(size))
}

/// Unfolds a compressed file and compares what comes out with the index.
fn check_unfolded(dir: &Path, info: &ShardInfo, raw: &FileInfo, zip: &FileInfo) -> Result<()> {
    let Some(compression) = info.compression() else {
        return Ok(());
    };
    let path = dir.join(zip.basename());
    let bytes =
        regular_file::read(&path).map_err(|source| Error::io(format!("cannot read {}", path.display()), source))?;
    raw.check(&compression.decompress(&bytes, raw)?)
}
