//! What is stored where: the indexes of all streams, as one list of samples and shards.

use std::sync::Arc;

use lockstep_partition::ShuffleUnits;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};
use crate::index::{Index, ShardInfo};

/// The indexes of all streams. Ids of samples and numbers of shards go on from stream to stream.
#[derive(Debug)]
pub(crate) struct Catalog {
    streams: Vec<Entry>,
    num_samples: u64,
    num_shards: usize,
}

#[derive(Debug)]
struct Entry {
    index: Arc<Index>,
    first_sample: u64,
    first_shard: usize,
}

/// A shard of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardPlace {
    pub(crate) stream: usize,
    /// Its number in the stream.
    pub(crate) shard: usize,
    /// Its number among all streams' shards.
    pub(crate) number: usize,
}

impl Catalog {
    /// Lists the streams' indexes in order.
    pub(crate) fn new(indexes: impl IntoIterator<Item = Arc<Index>>) -> Result<Self> {
        let mut catalog = Self { streams: Vec::new(), num_samples: 0, num_shards: 0 };
        for index in indexes {
            let (first_sample, first_shard) = (catalog.num_samples, catalog.num_shards);
            catalog.num_samples = first_sample
                .checked_add(index.num_samples())
                .ok_or_else(|| Error::config("the streams have more than 2^64 samples in all"))?;
            catalog.num_shards += index.shards().len();
            catalog.streams.push(Entry { index, first_sample, first_shard });
        }
        Ok(catalog)
    }

    pub(crate) fn num_samples(&self) -> u64 {
        self.num_samples
    }

    pub(crate) fn num_shards(&self) -> usize {
        self.num_shards
    }

    /// The size in bytes of the largest shard, unpacked.
    pub(crate) fn largest_shard(&self) -> u64 {
        let shards = self.streams.iter().flat_map(|entry| entry.index.shards());
        shards.map(ShardInfo::raw_bytes).max().unwrap_or(0)
    }

    /// The number of samples of each shard, stream by stream.
    pub(crate) fn shard_sizes(&self) -> Result<Vec<ShuffleUnits>> {
        let sizes = |entry: &Entry| {
            ShuffleUnits::from_sizes(entry.index.shards().iter().map(ShardInfo::num_samples))
                .map_err(|error| Error::config(error.to_string()))
        };
        self.streams.iter().map(sizes).collect()
    }

    /// The shard that sample `id` is in, and the sample's number there.
    ///
    /// # Errors
    ///
    /// There is no such sample.
    pub(crate) fn locate(&self, id: u64) -> Result<(ShardPlace, u64)> {
        let after = self.streams.partition_point(|entry| entry.first_sample <= id);
        let stream = after.checked_sub(1).ok_or_else(|| self.unknown(id))?;
        let entry = &self.streams[stream];
        let place = entry.index.locate(id - entry.first_sample).ok_or_else(|| self.unknown(id))?;
        let number = entry.first_shard + place.shard;
        Ok((ShardPlace { stream, shard: place.shard, number }, place.sample))
    }

    /// A digest of everything stored, as the indexes tell: sizes and hashes of the shards, stream by stream.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Xxh3::new();
        for entry in &self.streams {
            digest.update(&(entry.index.shards().len() as u64).to_le_bytes());
            for shard in entry.index.shards() {
                digest.update(&shard.num_samples().to_le_bytes());
                digest.update(&shard.raw_bytes().to_le_bytes());
                for hash in shard.files().flat_map(|pair| pair.raw.hashes()) {
                    digest.update(hash.digest.as_bytes());
                }
            }
        }
        digest.digest()
    }

    #[cold]
    fn unknown(&self, id: u64) -> Error {
        Error::config(format!("there is no sample {id}: the streams have {}", self.num_samples))
    }
}
