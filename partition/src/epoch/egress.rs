//! Egress: how often the shards of a dataset leave the store in an epoch.

use std::collections::BTreeMap;

use super::{EpochPlan, Reading};
use crate::resample::SampleMap;
use crate::shards::ShardSet;
use crate::units::ShuffleUnits;

/// How many shards each machine reads, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Egress {
    /// Different shards that each machine reads.
    pub per_machine: Vec<u64>,
    /// Shards of the dataset that hold samples.
    pub shards: u64,
}

impl Egress {
    /// How many times over the dataset is downloaded: 1 where no shard is read on two machines and all are read.
    #[must_use]
    pub fn factor(&self) -> f64 {
        let downloads: u64 = self.per_machine.iter().sum();
        downloads as f64 / self.shards as f64
    }
}

/// Above so many places, shards that a node shares with others are not told apart by visiting each place.
const MOST_VISITED: u64 = 1 << 28;

impl EpochPlan {
    /// The shards that a node reads from here on, numbered over all streams.
    ///
    /// Where a node reads whole stretches of an order that knows its shards ([`Order::image`](crate::Order::image)), this
    /// visits the shards; otherwise it visits the node's places. Where these are more than 2^28, and the node reads every
    /// so-manieth sample of its part of the epoch, the shards of all of the part are counted: an upper bound that is
    /// reached unless shards are smaller than that number of samples.
    ///
    /// # Panics
    ///
    /// As [`id`](Self::id).
    #[must_use]
    pub fn shards_of_node(&self, node: u64) -> ShardSet {
        if node >= self.topology.nodes {
            return ShardSet::new();
        }
        let stretches = match &self.reading {
            Reading::Random { partition, source } => partition.stretches(node).and_then(|stretches| {
                let mut shards = ShardSet::new();
                for positions in stretches.filter(|positions| !positions.is_empty()) {
                    for logical in source.order.image(positions)? {
                        source.samples.mark(&logical, &mut shards);
                    }
                }
                Some(shards)
            }),
            Reading::Composed(_) => None,
        };
        if let Some(shards) = stretches {
            return shards;
        }
        if self.num_slots() / self.topology.nodes > MOST_VISITED {
            return self.shards_of_all();
        }
        self.shards_by_visit(node)
    }

    /// The egress of machines that read for these nodes each. A node can be of several machines.
    ///
    /// # Panics
    ///
    /// As [`id`](Self::id).
    pub fn egress<N: IntoIterator<Item = u64>>(&self, machines: impl IntoIterator<Item = N>) -> Egress {
        let mut known: BTreeMap<u64, ShardSet> = BTreeMap::new();
        let per_machine = machines.into_iter().map(|nodes| {
            let mut shards = ShardSet::new();
            for node in nodes {
                shards.union_with(known.entry(node).or_insert_with(|| self.shards_of_node(node)));
            }
            shards.len()
        });
        let per_machine = per_machine.collect();
        let stored = |samples: &SampleMap| samples.stored_units().map(|(_, units)| occupied(units)).sum::<u64>();
        let shards = self.sources().into_iter().map(|source| stored(&source.samples)).sum();
        Egress { per_machine, shards }
    }

    fn shards_of_all(&self) -> ShardSet {
        let mut shards = ShardSet::new();
        for source in self.sources() {
            source.samples.mark(&(0..source.samples.len()), &mut shards);
        }
        shards
    }

    fn shards_by_visit(&self, node: u64) -> ShardSet {
        let sources = self.sources();
        let streams: Vec<(u64, u64, &ShuffleUnits)> = sources
            .iter()
            .flat_map(|source| source.samples.stored_units())
            .map(|(first, units)| (first.sample, first.shard, units))
            .collect();
        let [_, ranks, workers, ..] = self.shape();
        let mut shards = ShardSet::new();
        for (rank, worker) in (0..ranks).flat_map(|rank| (0..workers).map(move |worker| (rank, worker))) {
            for id in self.worker(node, rank, worker).flatten() {
                let stream = streams.partition_point(|&(first, ..)| first <= id) - 1;
                let (first_sample, first_shard, units) = streams[stream];
                if let Some(unit) = units.locate(id - first_sample) {
                    shards.insert(first_shard + unit.unit);
                }
            }
        }
        shards
    }
}

/// How many units hold samples.
fn occupied(units: &ShuffleUnits) -> u64 {
    units.runs().filter(|&(size, _)| size > 0).map(|(_, count)| count).sum()
}
