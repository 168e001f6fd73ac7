//! The shuffles of mosaicml-streaming, sample for sample.
//!
//! All but `naive` begin alike: shards are shuffled (by a generator of the run's seed), cut at the bounds of canonical
//! nodes, and the parts of each canonical node are shuffled (by a generator of seed + epoch). That epoch's generator then
//! runs through all canonical nodes in turn, and how much it draws for one depends on what it draws. So the canonical
//! nodes that are not wanted cannot be skipped, but they can be drawn without being made, which is several times faster
//! and takes no memory.

mod displace;
mod held;
mod layout;
mod naive;
mod py1br;
mod py1e;
mod py1s;
mod py2s;

use held::{Held, Id, Ids};
use layout::Layout;

use crate::{
    CanonicalSubset, ShuffleUnits,
    numpy::{Generator, SeedSequence},
    shuffle::{CanonicalCut, ShuffleAlgorithm, ShuffleError, ShuffleSpec},
};

/// The order of `spec`, which names an algorithm of this family and at least one canonical node.
pub(crate) fn build(spec: &ShuffleSpec, units: &ShuffleUnits, subset: CanonicalSubset) -> Result<Held, ShuffleError> {
    let cut = CanonicalCut::new(units.num_samples(), spec.canonical_nodes);
    let job = Job { spec, units, cut, subset };
    let ids = if u32::try_from(units.num_samples()).is_ok() { Ids::Narrow(job.run()?) } else { Ids::Wide(job.run()?) };
    Held::new(spec.algorithm, cut, subset, ids)
}

/// What is to be made.
struct Job<'a> {
    spec: &'a ShuffleSpec,
    units: &'a ShuffleUnits,
    cut: CanonicalCut,
    subset: CanonicalSubset,
}

impl Job<'_> {
    /// The ids of the canonical nodes that are wanted, one node after the other.
    fn run<I: Id>(&self) -> Result<Vec<I>, ShuffleError> {
        match self.spec.algorithm {
            ShuffleAlgorithm::Naive => naive::shuffle(self),
            ShuffleAlgorithm::Py1s => py1s::shuffle(self),
            ShuffleAlgorithm::Py2s => py2s::shuffle(self),
            ShuffleAlgorithm::Py1e => py1e::shuffle(self),
            ShuffleAlgorithm::Py1br => py1br::shuffle(self),
            ShuffleAlgorithm::Windowed | ShuffleAlgorithm::Global => unreachable!("of the seekable family"),
        }
    }

    /// The generator of what stays the same for a whole run.
    fn run_rng(&self) -> Generator {
        Generator::new(self.spec.seed)
    }

    /// The generator of what changes with the epoch. Python's integers do not wrap.
    fn epoch_rng(&self) -> Generator {
        Generator::new(SeedSequence::from(u128::from(self.spec.seed) + u128::from(self.spec.epoch)))
    }

    /// The shards, shuffled for the run and cut; their parts shuffled for the epoch.
    fn layout(&self, epoch_rng: &mut Generator) -> Result<Layout, ShuffleError> {
        let mut shards = self.reserve(self.units.len())?;
        shards.extend(layout::spans(self.units));
        self.run_rng().shuffle(&mut shards);
        let mut layout = Layout::new(shards, &self.cut, self.reserve(self.cut.nodes())?);
        for (_, parts) in layout.nodes_mut() {
            epoch_rng.shuffle(parts);
        }
        Ok(layout)
    }

    /// How many samples the wanted canonical nodes have.
    fn wanted_samples(&self) -> u64 {
        if self.subset.is_all() {
            return self.cut.samples();
        }
        self.subset.iter(self.cut.nodes()).map(|node| self.cut.range(node)).map(|range| range.end - range.start).sum()
    }

    /// An empty list with room for `len` items.
    fn reserve<T>(&self, len: u64) -> Result<Vec<T>, ShuffleError> {
        let mut list = Vec::new();
        usize::try_from(len)
            .ok()
            .and_then(|len| list.try_reserve_exact(len).ok())
            .ok_or(ShuffleError::OutOfMemory { algorithm: self.spec.algorithm, samples: self.wanted_samples() })?;
        Ok(list)
    }

    /// The sizes that blocks are drawn from: three to five quarters of the block size, as Python rounds it.
    fn block_sizes(&self, least: u64) -> Result<std::ops::Range<i64>, ShuffleError> {
        const MOST: u64 = 1 << 62;
        let &ShuffleSpec { algorithm, block_size, .. } = self.spec;
        if !(least..=MOST).contains(&block_size) {
            return Err(ShuffleError::BlockSize { algorithm, block_size, least, most: MOST });
        }
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "Python rounds and truncates too"
        )]
        let scaled = |factor: f64| (factor * block_size as f64) as i64;
        Ok(scaled(0.75)..scaled(1.25))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order as _;

    /// Orders of more than 2^32 samples do not fit into a test, but their type of ids does.
    #[test]
    fn wide_ids_equal_narrow_ones() {
        let units = ShuffleUnits::from_sizes((0..200).map(|shard| shard * 37 % 100)).unwrap();
        for algorithm in ShuffleAlgorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_seekable()) {
            let spec = ShuffleSpec { algorithm, canonical_nodes: 6, seed: 3, epoch: 1, block_size: 700 };
            let cut = CanonicalCut::new(units.num_samples(), spec.canonical_nodes);
            let subset = CanonicalSubset::strided(1, 1, 2);
            let job = Job { spec: &spec, units: &units, cut, subset };
            let (narrow, wide) = (job.run::<u32>().unwrap(), job.run::<u64>().unwrap());
            assert_eq!(narrow.iter().copied().map(u64::from).collect::<Vec<_>>(), wide);
            let narrow = Held::new(algorithm, cut, subset, Ids::Narrow(narrow)).unwrap();
            let wide = Held::new(algorithm, cut, subset, Ids::Wide(wide)).unwrap();
            for position in cut.range(3) {
                assert_eq!(narrow.at(position), wide.at(position));
            }
        }
    }
}
