//! Plans by batching method.

use super::{EpochError, Part, Planning};
use crate::batching::{
    Composed, DevicePerStream, Handing, Mix, PerStream, Source, Stratified, Stratum, Turns, portions,
};
use crate::canonical::CanonicalSubset;
use crate::divisor::Divisor;
use crate::epoch::Reading;
use crate::numpy::Generator;
use crate::partition::Partition;
use crate::resample::SampleMap;
use crate::sampling::SamplingMethod;
use crate::seekable::{Purpose, spread, word};
use crate::streams::truncate;
use crate::topology::Topology;

/// More nodes do not get turns of their own: each takes some memory.
const MOST_NODES: u64 = 1 << 20;

impl Planning<'_> {
    /// All streams as one.
    pub(super) fn random(&self) -> Result<Reading, EpochError> {
        let mut draw = self.draw();
        let maps =
            self.streams()?.into_iter().map(|(index, stream, first)| self.resample(index, stream, first, &mut draw));
        let samples = SampleMap::new(maps.collect::<Result<_, _>>()?)?;
        let partition = Partition::new(&self.spec(self.shares.epoch_size, self.topology, self.sample_in_epoch))?;
        let order = self.order(&samples, self.recipe.effective_block_size(), self.subset(&partition))?;
        Ok(Reading::Random { partition, source: Source { order, samples } })
    }

    pub(super) fn stratified(&self) -> Result<Reading, EpochError> {
        let global_batch = self.global_batch()?;
        let portions = portions(&self.shares.proportion, global_batch).ok_or(EpochError::TooLarge)?;
        if let Some(stream) = portions.iter().position(|&portion| portion == 0) {
            return Err(EpochError::NoShareOfBatch { stream, global_batch });
        }
        // One sequence for all, so that it does not depend on who reads.
        let topology = Topology { nodes: 1, workers_per_rank: 1, batch_size: 1, ..self.topology };
        let sources = self.sources(topology, |_| CanonicalSubset::ALL)?;
        let strata = sources.into_iter().zip(portions);
        let strata = strata.map(|((partition, source), portion)| Stratum { partition, source, portion });
        // Padding depends on the ranks, so an order that is the same for any number of them has to do without.
        let seekable = self.is_seekable();
        let steps =
            |partition: &Partition| if seekable { partition.unpadded_len() } else { partition.steps_per_node() };
        self.composed(Mix::Stratified(Stratified::new(strata.collect(), steps)))
    }

    pub(super) fn per_stream(&self) -> Result<Reading, EpochError> {
        let batch = self.global_batch()?;
        let streams = self.sources(self.topology, |partition| self.subset(partition))?;
        let full = |partition: &Partition| {
            // As for `stratified`: without the padding, the batches are the same for any number of nodes and ranks.
            if self.is_seekable() { partition.unpadded_len() / batch } else { partition.full_batches() }
        };
        let batches: Vec<u64> = streams.iter().map(|(partition, _)| full(partition)).collect();
        if let Some(stream) = batches.iter().position(|&count| count == 0) {
            return Err(EpochError::NoBatch { stream, batch });
        }
        let turns = self.turns(&batches, 0..1, |_| true)?.pop().flatten().ok_or(EpochError::TooLarge)?;
        let workers = Divisor::new(self.topology.workers_per_rank).ok_or(EpochError::TooLarge)?;
        self.composed(Mix::PerStream(PerStream::new(streams, turns, workers, batches.iter().sum())))
    }

    pub(super) fn device_per_stream(&self) -> Result<Reading, EpochError> {
        let Topology { nodes, batch_size, .. } = self.topology;
        let canonical = self.recipe.canonical_nodes;
        if !canonical.is_multiple_of(nodes) {
            return Err(EpochError::CanonicalNodes { canonical, nodes });
        }
        let canonical_per_node = canonical / nodes;
        let handing = if self.is_seekable() { Handing::ToOwnRanks } else { Handing::InTurn };
        // A sequence for each canonical node, so that it does not depend on how many of them a node has.
        let topology = Topology { nodes: canonical, workers_per_rank: 1, batch_size: 1, ..self.topology };
        let streams = self.sources(topology, |_| CanonicalSubset::ALL)?;
        let mut batches = Vec::with_capacity(streams.len());
        for (stream, (partition, _)) in streams.iter().enumerate() {
            let count = DevicePerStream::batches_of_stream(partition, canonical_per_node, batch_size);
            match count.ok_or(EpochError::TooLarge)? {
                0 => return Err(EpochError::NoBatch { stream, batch: batch_size }),
                count => batches.push(count),
            }
        }
        let per_node =
            batches.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count)).ok_or(EpochError::TooLarge)?;
        let read = match self.part {
            Part::All => None,
            Part::Node(node) => Some(DevicePerStream::reads_from(node, &self.topology, handing)),
        };
        let turns = self.turns(&batches, 0..nodes, |node| read.as_ref().is_none_or(|reads| reads(node)))?;
        let mix = DevicePerStream::new(streams, turns, self.topology, canonical_per_node, per_node, handing);
        self.composed(Mix::DevicePerStream(mix.ok_or(EpochError::TooLarge)?))
    }

    fn composed(&self, mix: Mix) -> Result<Reading, EpochError> {
        let first = self.sample_in_epoch / self.global_batch()?;
        Composed::new(self.topology, first, mix).map(Reading::Composed).ok_or(EpochError::TooLarge)
    }

    fn global_batch(&self) -> Result<u64, EpochError> {
        self.topology.global_batch_size().ok_or(EpochError::TooLarge)
    }

    /// Every stream by itself, dealt to a topology from the beginning of the epoch.
    fn sources(
        &self,
        topology: Topology,
        subset: impl Fn(&Partition) -> CanonicalSubset,
    ) -> Result<Vec<(Partition, Source)>, EpochError> {
        let streams = self.streams()?;
        let source = |(index, stream, first)| {
            let choose = self.shares.choose[index];
            if choose == 0 {
                return Err(EpochError::NoBatch { stream: index, batch: topology.batch_size });
            }
            let samples = SampleMap::new(vec![self.resample(index, stream, first, &mut self.draw())?])?;
            let partition = Partition::new(&self.spec(choose, topology, 0))?;
            let order = self.order(&samples, self.share_of_block(index)?, subset(&partition))?;
            Ok((partition, Source { order, samples }))
        };
        streams.into_iter().map(source).collect()
    }

    /// A stream's part of the shuffle block, so that all streams together fill it.
    fn share_of_block(&self, stream: usize) -> Result<u64, EpochError> {
        let block_size = self.recipe.effective_block_size();
        let share = truncate(block_size as f64 * self.shares.proportion[stream]).ok_or(EpochError::TooLarge)?;
        if self.is_seekable() {
            return Ok(share.max(1));
        }
        // The other methods leave it to the shuffle to refuse blocks that are too small for it.
        let refuses = self.recipe.batching == crate::batching::BatchingMethod::DevicePerStream;
        if share == 0 && refuses && self.recipe.shuffle.is_some() {
            return Err(EpochError::NoShareOfBlock { stream, block_size });
        }
        Ok(share)
    }

    /// The turns of the streams' batches on each node, kept for those that are asked for.
    fn turns(
        &self,
        batches: &[u64],
        nodes: std::ops::Range<u64>,
        wanted: impl Fn(u64) -> bool,
    ) -> Result<Vec<Option<Turns>>, EpochError> {
        if nodes.end > MOST_NODES {
            return Err(EpochError::TooLarge);
        }
        let mut turns = Vec::new();
        let changes = self.recipe.shuffle.is_some() && self.recipe.sampling == SamplingMethod::Balanced;
        if self.is_seekable() {
            let key = word(self.recipe.seed, if changes { self.epoch } else { u64::MAX }, Purpose::Turns);
            for node in nodes {
                let even = || Turns::even(batches, key ^ spread(node)).ok_or(EpochError::TooLarge);
                turns.push(wanted(node).then(even).transpose()?);
            }
            return Ok(turns);
        }
        let epoch = if changes { u128::from(self.epoch) } else { 0 };
        let mut rng = Generator::new(u128::from(self.recipe.seed) + epoch);
        for node in nodes {
            // Each node goes on drawing where the one before it stopped, so all are drawn.
            let drawn = Turns::drawn(batches, &mut rng).ok_or(EpochError::TooLarge)?;
            turns.push(wanted(node).then_some(drawn));
        }
        Ok(turns)
    }
}
