//! The threads that turn samples into files.

use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use super::entry::{FileEntry, ShardFiles};
use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::hashing::HashAlgorithm;

/// What the files of all shards have in common.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) dir: PathBuf,
    /// The extension of data files.
    pub(super) format: &'static str,
    pub(super) compression: Option<Compression>,
    pub(super) hashes: Vec<HashAlgorithm>,
    /// The layout as the text that each shard has inside.
    pub(super) header: Vec<u8>,
    pub(super) framing: Framing,
}

/// Where the table of offsets goes.
#[derive(Clone, Debug)]
pub(super) enum Framing {
    /// Before the samples.
    Joint,
    /// In a file of its own; the data begins with a line of names, which may be empty.
    Split { first_line: Vec<u8> },
}

/// The samples of a shard, one after the other.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) sizes: Vec<u32>,
}

/// Threads that write shards.
#[derive(Debug)]
pub(super) struct Pool {
    jobs: Option<mpsc::SyncSender<(usize, Batch)>>,
    done: mpsc::Receiver<(usize, Result<ShardFiles>)>,
    threads: Vec<JoinHandle<()>>,
    /// What has come back, by the shard's number.
    shards: Vec<Option<ShardFiles>>,
}

impl Pool {
    pub(super) fn start(recipe: Recipe, threads: NonZeroUsize) -> Self {
        let recipe = Arc::new(recipe);
        let (jobs, queue) = mpsc::sync_channel::<(usize, Batch)>(threads.get());
        let (sender, done) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let threads = (0..threads.get())
            .map(|_| {
                let (recipe, queue, sender) = (Arc::clone(&recipe), Arc::clone(&queue), sender.clone());
                std::thread::spawn(move || {
                    loop {
                        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, batch)) = job else { break };
                        if sender.send((number, recipe.write(number, batch))).is_err() {
                            break;
                        }
                    }
                })
            })
            .collect();
        Self { jobs: Some(jobs), done, threads, shards: Vec::new() }
    }

    /// Hands over the samples of the next shard; waits while all threads are busy.
    pub(super) fn submit(&mut self, batch: Batch) -> Result<()> {
        self.collect()?;
        let number = self.shards.len();
        self.shards.push(None);
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((number, batch)).is_ok());
        if sent { Ok(()) } else { Err(Error::config("the writer has failed before; begin again")) }
    }

    /// Takes what is done, without waiting.
    fn collect(&mut self) -> Result<()> {
        while let Ok((number, result)) = self.done.try_recv() {
            self.shards[number] = Some(result?);
        }
        Ok(())
    }

    /// Waits for all shards.
    pub(super) fn finish(&mut self) -> Result<Vec<ShardFiles>> {
        self.stop();
        self.collect()?;
        let shards: Option<Vec<_>> = self.shards.iter().cloned().collect();
        shards.ok_or_else(|| Error::config("a thread of the writer has panicked; begin again"))
    }

    /// The names of the files that have been stored, after [`stop`](Self::stop).
    pub(super) fn stored(&mut self) -> Vec<String> {
        while let Ok((number, result)) = self.done.try_recv() {
            self.shards[number] = result.ok();
        }
        let mut names = Vec::new();
        for files in self.shards.drain(..).flatten() {
            let stored = |raw: FileEntry, zip: Option<FileEntry>| zip.unwrap_or(raw).basename;
            names.push(stored(files.raw_data, files.zip_data));
            names.extend(files.meta.map(|(raw, zip)| stored(raw, zip)));
        }
        names
    }

    /// Lets the threads end and waits for that.
    pub(super) fn stop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic shows as a missing shard.
            let _ = thread.join();
        }
    }
}

impl Recipe {
    fn write(&self, number: usize, batch: Batch) -> Result<ShardFiles> {
        let samples = batch.sizes.len() as u64;
        let table = |mut at: u64, extra: usize| {
            let mut table = Vec::with_capacity(4 * (batch.sizes.len() + 2) + extra);
            let mut push = |word: u64| {
                let word = u32::try_from(word).map_err(|_| too_long())?;
                table.extend(word.to_le_bytes());
                Ok::<_, Error>(())
            };
            push(samples)?;
            push(at)?;
            for size in &batch.sizes {
                at += u64::from(*size);
                push(at)?;
            }
            table.extend(&self.header);
            Ok::<_, Error>(table)
        };
        match &self.framing {
            Framing::Joint => {
                let begin = 4 * (samples + 2) + self.header.len() as u64;
                let mut data = table(begin, self.header.len() + batch.bytes.len())?;
                data.extend(&batch.bytes);
                drop(batch);
                let (raw_data, zip_data) = self.store(data, &self.basename(number, ""))?;
                Ok(ShardFiles { samples, raw_data, zip_data, meta: None })
            }
            Framing::Split { first_line } => {
                let meta = table(first_line.len() as u64, self.header.len())?;
                let data = [first_line.as_slice(), &batch.bytes].concat();
                drop(batch);
                let (raw_data, zip_data) = self.store(data, &self.basename(number, ""))?;
                let meta = self.store(meta, &self.basename(number, ".meta"))?;
                Ok(ShardFiles { samples, raw_data, zip_data, meta: Some(meta) })
            }
        }
    }

    fn basename(&self, number: usize, more: &str) -> String {
        format!("shard.{number:05}.{}{more}", self.format)
    }

    /// Writes a file in the form in which it is to be stored.
    fn store(&self, raw: Vec<u8>, basename: &str) -> Result<(FileEntry, Option<FileEntry>)> {
        let raw_entry = self.entry(&raw, basename.to_owned())?;
        let Some(compression) = self.compression else {
            write_file(&self.dir, basename, &raw)?;
            return Ok((raw_entry, None));
        };
        let zip = compression.compress(&raw)?;
        drop(raw);
        let zip_entry = self.entry(&zip, format!("{basename}.{}", compression.algorithm().name()))?;
        write_file(&self.dir, &zip_entry.basename, &zip)?;
        Ok((raw_entry, Some(zip_entry)))
    }

    fn entry(&self, bytes: &[u8], basename: String) -> Result<FileEntry> {
        let hashes = self.hashes.iter().map(|hash| Ok((hash.name(), hash.hash(bytes)?.to_string())));
        Ok(FileEntry { basename, bytes: bytes.len() as u64, hashes: hashes.collect::<Result<_>>()? })
    }
}

#[cold]
pub(super) fn too_long() -> Error {
    Error::config("a shard would be beyond the format's 4 GiB; set a smaller size limit")
}

/// Writes a file so that it is there whole or not at all.
pub(super) fn write_file(dir: &Path, basename: &str, bytes: &[u8]) -> Result<()> {
    let path = dir.join(basename);
    let temporary = dir.join(format!(".{basename}.{}.tmp", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    });
    written.map_err(|source| {
        // What is left would only be in the way; that it cannot be removed says nothing new.
        let _ = fs::remove_file(&temporary);
        Error::io(format!("cannot write {}", path.display()), source)
    })
}
