//! Where encoded samples go: cut into shards, handed to threads, ended by an index.

use std::fs;
use std::path::{Path, PathBuf};

use super::entry::{self, Layout};
use super::options::{Existing, WriterOptions};
use super::pool::{Batch, Framing, Pool, Recipe, too_long, write_file};
use crate::error::{Error, Result};
use crate::index::{INDEX_BASENAME, Index, ShardInfo};

/// A dataset that is being written.
#[derive(Debug)]
pub(super) struct Sink {
    dir: PathBuf,
    /// Whether the directory was not there before.
    created: bool,
    layout: Layout,
    pool: Pool,
    batch: Batch,
    limits: Limits,
    num_samples: u64,
    finished: bool,
}

/// When a shard is full.
#[derive(Clone, Copy, Debug)]
struct Limits {
    size_limit: Option<u64>,
    /// What a shard has besides its samples, as the original counts it for the limit.
    counted: u64,
    /// What the data file has besides its samples.
    fixed: u64,
    per_sample: u64,
    /// The largest file; 4 GiB but in tests.
    largest: u64,
}

impl Sink {
    /// Makes the directory ready and starts the threads. `layout` has all but what `options` say.
    pub(super) fn create(dir: &Path, mut layout: Layout, framing: Framing, options: &WriterOptions) -> Result<Self> {
        options.check()?;
        layout.compression = options.compression.map(|compression| compression.to_string());
        layout.hashes = options.hashes.iter().map(|hash| hash.name()).collect();
        layout.size_limit = options.size_limit;
        layout.version = 2;
        let header = crate::json::python::dumps(&layout)
            .map_err(|error| Error::config("the columns cannot be written as JSON").with_source(error))?;
        let limits = match &framing {
            Framing::Joint => {
                let fixed = 8 + header.len() as u64;
                Limits {
                    size_limit: options.size_limit,
                    counted: fixed,
                    fixed,
                    per_sample: 4,
                    largest: u32::MAX.into(),
                }
            }
            Framing::Split { first_line } => Limits {
                size_limit: options.size_limit,
                counted: 0,
                fixed: first_line.len() as u64,
                per_sample: 0,
                largest: u32::MAX.into(),
            },
        };
        let created = prepare(dir, options.existing)?;
        let recipe = Recipe {
            dir: dir.to_owned(),
            format: layout.format,
            compression: options.compression,
            hashes: options.hashes.clone(),
            header,
            framing,
        };
        let pool = Pool::start(recipe, options.threads);
        let batch = Batch::default();
        Ok(Self { dir: dir.to_owned(), created, layout, pool, batch, limits, num_samples: 0, finished: false })
    }

    pub(super) fn num_samples(&self) -> u64 {
        self.num_samples
    }

    /// Takes an encoded sample.
    pub(super) fn push(&mut self, sample: &[u8]) -> Result<()> {
        let Limits { size_limit, counted, fixed, per_sample, largest } = self.limits;
        let new = sample.len() as u64 + per_sample;
        let size = |batch: &Batch, base: u64| base + batch.bytes.len() as u64 + per_sample * batch.sizes.len() as u64;
        // The original begins another shard even where that leaves an empty one, and so must who is to write the same.
        if size_limit.is_some_and(|limit| limit < size(&self.batch, counted) + new) {
            self.flush()?;
        }
        if size(&self.batch, fixed) + new > largest {
            return Err(too_long());
        }
        self.batch.bytes.extend(sample);
        self.batch.sizes.push(u32::try_from(sample.len()).map_err(|_| too_long())?);
        self.num_samples += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.pool.submit(std::mem::take(&mut self.batch))
    }

    /// Writes the rest and the index, which is returned as a reader sees it.
    pub(super) fn finish(mut self) -> Result<Index> {
        if self.num_samples == 0 {
            return Err(Error::config("a dataset must have at least one sample; none was written"));
        }
        if !self.batch.sizes.is_empty() {
            self.flush()?;
        }
        let shards = self.pool.finish()?;
        let text = entry::index(&self.layout, &shards)
            .map_err(|error| Error::config("the index cannot be written as JSON").with_source(error))?;
        write_file(&self.dir, INDEX_BASENAME, &text)?;
        self.finished = true;
        Index::read(&self.dir)
    }

    #[cfg(test)]
    pub(super) fn set_largest(&mut self, bytes: u64) {
        self.limits.largest = bytes;
    }
}

impl Drop for Sink {
    /// Removes what a writer that was given up has written.
    fn drop(&mut self) {
        self.pool.stop();
        if self.finished {
            return;
        }
        for basename in self.pool.stored() {
            if let Err(error) = fs::remove_file(self.dir.join(&basename)) {
                tracing::debug!(%error, basename, "a file of an unfinished dataset stays");
            }
        }
        if self.created {
            // Fails where others have put something there, which is right.
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Makes `dir` an empty directory, or one without a dataset, and returns whether it was not there.
fn prepare(dir: &Path, existing: Existing) -> Result<bool> {
    let failed = |source| Error::io(format!("cannot use the directory {}", dir.display()), source);
    match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(dir).map_err(failed)?;
            return Ok(true);
        }
        Err(error) => return Err(failed(error)),
        Ok(mut entries) => {
            if entries.next().is_none() {
                return Ok(false);
            }
        }
    }
    match existing {
        Existing::Refuse => Err(Error::config(format!(
            "{} is not empty; name another directory, or say that the dataset in it is to be replaced",
            dir.display()
        ))),
        Existing::Replace => remove_dataset(dir).map(|()| false),
    }
}

/// Removes the index first, so that there is no time at which a part of the old dataset looks whole.
fn remove_dataset(dir: &Path) -> Result<()> {
    if !dir.join(INDEX_BASENAME).exists() {
        return Ok(());
    }
    let index = Index::read(dir)?;
    let remove = |basename: &str| match fs::remove_file(dir.join(basename)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("cannot remove {}", dir.join(basename).display()), error))
        }
        _ => Ok(()),
    };
    remove(INDEX_BASENAME)?;
    for pair in index.shards().iter().flat_map(ShardInfo::files) {
        remove(pair.raw.basename())?;
        pair.zip.map_or(Ok(()), |zip| remove(zip.basename()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(dir: &Path, options: WriterOptions) -> Sink {
        let layout = Layout {
            column_encodings: Some(vec!["bytes".into()]),
            column_names: Some(vec!["x".into()]),
            column_sizes: Some(vec![None]),
            format: "mds",
            ..Layout::default()
        };
        Sink::create(dir, layout, Framing::Joint, &options.threads(std::num::NonZeroUsize::MIN)).unwrap()
    }

    fn sample(len: u32) -> Vec<u8> {
        let mut sample = len.to_le_bytes().to_vec();
        sample.resize(4 + len as usize, 7);
        sample
    }

    #[test]
    fn shards_beyond_the_format_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = sink(dir.path(), WriterOptions::new().size_limit(None));
        sink.push(&sample(100)).unwrap();
        sink.set_largest(sink.limits.fixed + 2 * 108);
        sink.push(&sample(100)).unwrap();
        let error = sink.push(&sample(0)).unwrap_err();
        assert_eq!(error.to_string(), "a shard would be beyond the format's 4 GiB; set a smaller size limit");
        // What went in before is still good.
        assert_eq!(sink.finish().unwrap().num_samples(), 2);
        assert!(WriterOptions::new().size_limit(Some(1 << 32)).check().unwrap_err().is_config());
    }

    #[test]
    fn a_writer_that_is_given_up_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("new/dataset");
        let mut sink = sink(&dir, WriterOptions::new().size_limit(Some(1000)));
        for _ in 0..100 {
            sink.push(&sample(100)).unwrap();
        }
        drop(sink);
        assert!(!dir.exists());
    }
}
