//! Where shards come from: the streams' directories and caches, and the shards that a reader holds open.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use crate::cache::{Cache, CacheConfig, Pin, Room};
use crate::catalog::{Catalog, ShardPlace};
use crate::error::Result;
use crate::settings::CachePolicy;
use crate::shard::{Provenance, SampleCopy, Shard};
use crate::stream::Stream;

/// The streams of a dataset, opened.
#[derive(Debug)]
pub(crate) struct Sources {
    catalog: Arc<Catalog>,
    caches: Vec<Cache>,
    streams: Vec<Stream>,
    limit: Option<u64>,
}

/// A shard that is mapped, and kept from eviction.
#[derive(Debug)]
pub(crate) struct OpenShard {
    // Unmapped before its file may go.
    shard: Shard,
    /// For copies of its samples.
    provenance: Arc<Provenance>,
    _pin: Pin,
}

impl OpenShard {
    /// A copy of a sample, which outlives the shard.
    pub(crate) fn copy(&self, sample: u64) -> Result<SampleCopy> {
        Ok(self.shard.sample(sample)?.copy(&self.provenance))
    }
}

impl Deref for OpenShard {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        &self.shard
    }
}

impl Sources {
    /// Opens all streams; the files of those that are remote share the limit.
    pub(crate) fn open(streams: &[Stream], policy: &CachePolicy) -> Result<Self> {
        let limit = policy.limit;
        let room = limit.map_or_else(Room::unlimited, Room::limited);
        let open = |stream: &Stream| {
            let config = CacheConfig::new(stream.dir()).room(room.clone()).keep_zip(policy.keep_zip);
            let config = config.verify(policy.verify).ahead(policy.ahead).wait(policy.wait);
            Cache::open(with_origin(config, stream)?)
        };
        let caches: Vec<Cache> = streams.iter().map(open).collect::<Result<_>>()?;
        let catalog = Arc::new(Catalog::new(caches.iter().map(|cache| Arc::clone(cache.index())))?);
        Ok(Self { catalog, caches, streams: streams.to_vec(), limit })
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Fetches what one of the process's readers will read: the ids of samples, in order.
    pub(crate) fn fetch_ahead<I>(&self, reader: u64, ids: &I)
    where
        I: Iterator<Item = u64> + Clone + Send + 'static,
    {
        for (stream, cache) in
            self.caches.iter().enumerate().filter(|(stream, _)| self.streams[*stream].url().is_some())
        {
            let catalog = Arc::clone(&self.catalog);
            let mut last = None;
            cache.prefetch_for(
                reader,
                ids.clone().filter_map(move |id| {
                    let (place, _) = catalog.locate(id).ok().filter(|(place, _)| place.stream == stream)?;
                    (last.replace(place.shard) != Some(place.shard)).then_some(place.shard)
                }),
            );
        }
    }

    fn open_shard(&self, place: ShardPlace) -> Result<OpenShard> {
        let cache = &self.caches[place.stream];
        let pin = cache.shard(place.shard)?;
        let shard =
            Shard::open_with(pin.dir(), &cache.index().shards()[place.shard], self.streams[place.stream].links())?;
        Ok(OpenShard { provenance: Arc::new(Provenance::new(&shard)), shard, _pin: pin })
    }
}

/// The configuration with the place that the stream's shards come from, if there is one.
#[cfg(feature = "remote")]
fn with_origin(config: CacheConfig, stream: &Stream) -> Result<CacheConfig> {
    Ok(match stream.url() {
        Some(url) => config.remote(Arc::new(crate::remote::Remote::open(url)?)),
        None => config,
    })
}

#[cfg(not(feature = "remote"))]
fn with_origin(config: CacheConfig, stream: &Stream) -> Result<CacheConfig> {
    match stream.url() {
        Some(url) => Err(crate::Error::config(format!(
            "{url} cannot be read: this program was built without the `remote` feature of lockstep-dataset"
        ))),
        None => Ok(config),
    }
}

/// The shards that one reader holds open, so many at the most.
#[derive(Debug)]
pub(crate) struct OpenShards {
    /// By number among all streams' shards.
    shards: Vec<Option<Arc<OpenShard>>>,
    /// Those that are open, oldest first.
    open: VecDeque<usize>,
    most: usize,
    /// Whether others wait for the room that open shards take.
    is_limited: bool,
}

/// A process may have 65,530 maps by default, and several readers.
const MOST_MAPPED: usize = 4096;

impl OpenShards {
    /// For one of `readers` readers that share the cache.
    pub(crate) fn new(sources: &Sources, readers: u64) -> Self {
        let most = match sources.limit {
            None => MOST_MAPPED,
            // Half of the room for what is open, the other half for what is fetched ahead and what others need.
            Some(limit) => {
                let share = limit / 2 / readers.max(1) / sources.catalog.largest_shard().max(1);
                usize::try_from(share).unwrap_or(MOST_MAPPED).min(MOST_MAPPED)
            }
        };
        Self {
            shards: vec![None; sources.catalog.num_shards()],
            open: VecDeque::new(),
            most,
            is_limited: sources.limit.is_some(),
        }
    }

    /// Whether batches may keep so many shards. If not, whoever waits for one more must hold none.
    pub(crate) fn may_lend(&self, shards: usize) -> bool {
        !self.is_limited || shards <= self.most
    }

    /// The shard, opened now if it was not. Older ones are let go first, to make room for it.
    pub(crate) fn get(&mut self, sources: &Sources, place: ShardPlace) -> Result<&Arc<OpenShard>> {
        if self.shards[place.number].is_none() {
            self.let_go(self.most.saturating_sub(1));
            let shard = Arc::new(sources.open_shard(place)?);
            self.open.push_back(place.number);
            self.shards[place.number] = Some(shard);
        }
        Ok(self.shards[place.number].as_ref().expect("it was opened above"))
    }

    /// Lets go of what is more than this reader's share, because it may now do nothing for long.
    pub(crate) fn rest(&mut self) {
        self.let_go(self.most);
    }

    fn let_go(&mut self, kept: usize) {
        while self.open.len() > kept
            && let Some(oldest) = self.open.pop_front()
        {
            self.shards[oldest] = None;
        }
    }
}
