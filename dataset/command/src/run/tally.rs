//! What one rank read in one epoch, counted and digested as it happens.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::run::wire::BatchRead;

/// Running counts and digests of an epoch.
pub(crate) struct Tally {
    epoch: u64,
    samples: u64,
    bytes: u64,
    ids: Xxh3,
    contents: Xxh3,
    started: Instant,
}

/// The counts and digests of an epoch that is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Which epoch.
    pub(crate) epoch: u64,
    /// Samples read, repeats included.
    pub(crate) samples: u64,
    /// Bytes read.
    pub(crate) bytes: u64,
    /// XXH3 over the ids as little-endian u64, in the order read.
    pub(crate) ids_digest: u64,
    /// XXH3 over the samples' own digests, in the order read.
    pub(crate) contents_digest: u64,
    /// Wall time from the first batch asked for to the last one read.
    pub(crate) seconds: f64,
}

impl Tally {
    /// Starts the clock of an epoch.
    pub(crate) fn start(epoch: u64) -> Self {
        Self { epoch, samples: 0, bytes: 0, ids: Xxh3::new(), contents: Xxh3::new(), started: Instant::now() }
    }

    /// Counts one batch.
    pub(crate) fn add(&mut self, batch: &BatchRead) {
        for sample in &batch.samples {
            self.ids.update(&sample.id.to_le_bytes());
            self.contents.update(&sample.digest.to_le_bytes());
        }
        self.samples += batch.samples.len() as u64;
        self.bytes += batch.bytes;
    }

    /// Samples counted so far.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Ends the epoch.
    pub(crate) fn finish(&self) -> Summary {
        Summary {
            epoch: self.epoch,
            samples: self.samples,
            bytes: self.bytes,
            ids_digest: self.ids.digest(),
            contents_digest: self.contents.digest(),
            seconds: self.started.elapsed().as_secs_f64(),
        }
    }
}
