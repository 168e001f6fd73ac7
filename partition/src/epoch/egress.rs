//! Egress: how often the shards of a dataset leave the store in an epoch.

use std::collections::BTreeMap;

use super::{EpochPlan, Reading};
use crate::batching::Source;
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

/// Above so many places of a node, they are not visited one by one.
const MOST_VISITED: u64 = 1 << 28;

/// Above so many canonical nodes, no list is made of who reads each.
const MOST_LISTED: u64 = 1 << 22;

impl EpochPlan {
    /// The shards that a node reads from here on, numbered over all streams.
    ///
    /// Where nodes read whole canonical nodes, in an order that [keeps units together](crate::Order::ends_of_unit), this
    /// looks at each shard once; otherwise it visits the node's places. Where these are more than 2^28, the shards of all
    /// that the node reads a part of are counted, which is an upper bound.
    ///
    /// # Panics
    ///
    /// As [`id`](Self::id).
    #[must_use]
    pub fn shards_of_node(&self, node: u64) -> ShardSet {
        self.shards_of_nodes(&[node]).remove(&node).unwrap_or_default()
    }

    /// The egress of machines that read for these nodes each. A node can be of several machines.
    ///
    /// # Panics
    ///
    /// As [`id`](Self::id).
    pub fn egress<N: IntoIterator<Item = u64>>(&self, machines: impl IntoIterator<Item = N>) -> Egress {
        let machines: Vec<Vec<u64>> = machines.into_iter().map(|nodes| nodes.into_iter().collect()).collect();
        let of_nodes = self.shards_of_nodes(&machines.concat());
        let per_machine = machines.iter().map(|nodes| {
            let mut shards = ShardSet::new();
            for node in nodes {
                shards.union_with(&of_nodes[node]);
            }
            shards.len()
        });
        let stored = |source: &Source| source.samples.stored_units().map(|(_, units)| occupied(units)).sum::<u64>();
        Egress { per_machine: per_machine.collect(), shards: self.sources().into_iter().map(stored).sum() }
    }

    fn shards_of_nodes(&self, nodes: &[u64]) -> BTreeMap<u64, ShardSet> {
        let exact = matches!(&self.reading, Reading::Random { partition, .. } if partition.reads_whole_parts());
        let many = self.num_slots() / self.topology.nodes > MOST_VISITED;
        if let Some(shards) = (exact || many).then(|| self.shards_by_units(nodes)).flatten() {
            return shards;
        }
        if many {
            let all = self.shards_of_all();
            return nodes.iter().map(|&node| (node, all.clone())).collect();
        }
        nodes.iter().map(|&node| (node, self.shards_by_visit(node))).collect()
    }

    /// The shards of the canonical nodes that each node reads of, if the order can tell.
    fn shards_by_units(&self, nodes: &[u64]) -> Option<BTreeMap<u64, ShardSet>> {
        let Reading::Random { partition, source } = &self.reading else { return None };
        let canonical_nodes = usize::try_from(partition.canonical_nodes().min(MOST_LISTED + 1)).ok()?;
        if canonical_nodes as u64 > MOST_LISTED {
            return None;
        }
        let mut shards: BTreeMap<u64, ShardSet> = nodes.iter().map(|&node| (node, ShardSet::new())).collect();
        let mut readers: Vec<Vec<u64>> = vec![Vec::new(); canonical_nodes];
        for &node in shards.keys().filter(|&&node| node < self.topology.nodes) {
            for canonical in partition.canonical_subset(node).iter(partition.canonical_nodes()) {
                readers[usize::try_from(canonical).ok()?].push(node);
            }
        }
        let units = source.samples.units().ok()?;
        let canonical = |position| usize::try_from(partition.canonical_node_of(position)).ok();
        for unit in (0..units.len()).filter_map(|unit| units.get(unit)).filter(|unit| unit.size > 0) {
            let [first, last] = source.order.ends_of_unit(unit.start..unit.start + unit.size)?;
            let shard = source.samples.shard_of(unit.start);
            for node in readers[canonical(first)?..=canonical(last)?].iter().flatten() {
                shards.entry(*node).or_default().insert(shard);
            }
        }
        Some(shards)
    }

    fn shards_of_all(&self) -> ShardSet {
        let mut shards = ShardSet::new();
        for samples in self.sources().into_iter().map(|source| &source.samples) {
            let Ok(units) = samples.units() else { continue };
            let occupied = (0..units.len()).filter_map(|unit| units.get(unit)).filter(|unit| unit.size > 0);
            shards.extend(occupied.map(|unit| samples.shard_of(unit.start)));
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
