//! `windowed-v1`: the shard-aware order.

use std::ops::Range;

use super::{
    Keys, Purpose,
    arrangement::{Arrangement, OutOfMemory, reserve},
    keys::{self, spread},
    permutation::Domain,
};
use crate::{
    Order, ShuffleUnits,
    divisor::{Divisor, high_half},
    shuffle::{CanonicalCut, ShuffleAlgorithm, ShuffleError, ShuffleSpec},
};

/// The order `windowed-v1`: samples are mixed over a window of the block size, so that a node has few shards in use.
///
/// 1. The shards are permuted, once for a run. Empty ones take no part.
/// 2. They are laid end to end and cut into canonical nodes of equal size. A canonical node keeps its shards for the whole
///    run: what a node has in its cache is of use in the next epoch.
/// 3. The shard parts of each canonical node are permuted, anew in every epoch.
/// 4. The samples of each canonical node are permuted within windows of the block size, anew in every epoch. The first
///    window is shorter by up to half, differently for every canonical node, so that not all nodes of a job turn to new
///    shards at once. A canonical node that is no larger than a block is one window.
///
/// Everything is computed on demand. Where all shards have one size, the last one excepted, memory is 64 KiB and 200 bytes
/// for each canonical node; otherwise it is 24 to 32 bytes for each part of a shard, and 4 more once an inverse has been
/// asked for.
///
/// ```
/// use lockstep_partition::{Order, ShuffleUnits, Windowed};
/// use lockstep_partition::shuffle::{ShuffleAlgorithm, ShuffleSpec};
///
/// let units = ShuffleUnits::from_runs([(100, 50), (7, 1)])?;
/// let spec = ShuffleSpec { algorithm: ShuffleAlgorithm::Windowed, canonical_nodes: 2, seed: 1, epoch: 0, block_size: 500 };
/// let order = Windowed::new(&spec, &units)?;
/// assert_eq!(order.position_of(order.at(4321)), 4321);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Windowed {
    cut: CanonicalCut,
    windows: Windows,
    arrangement: Arrangement,
}

impl Windowed {
    /// The order of these shards. The algorithm that `spec` names is not looked at.
    ///
    /// # Errors
    ///
    /// [`ShuffleError`] where there are no canonical nodes, where a block is empty, or where there are more samples, parts
    /// or canonical nodes than can be had.
    pub fn new(spec: &ShuffleSpec, units: &ShuffleUnits) -> Result<Self, ShuffleError> {
        let algorithm = ShuffleAlgorithm::Windowed;
        let &ShuffleSpec { seed, epoch, block_size, canonical_nodes, .. } = spec;
        if canonical_nodes == 0 {
            return Err(ShuffleError::NoCanonicalNodes);
        }
        let samples = units.num_samples();
        if samples > 1 << 63 {
            return Err(ShuffleError::TooManySamples { samples });
        }
        let Some(block) = Divisor::new(block_size) else {
            return Err(ShuffleError::BlockSize { algorithm, block_size, least: 1, most: u64::MAX });
        };
        let cut = CanonicalCut::new(samples, canonical_nodes);
        let out_of_memory = |OutOfMemory| ShuffleError::OutOfMemory { algorithm, samples };
        let windows = Windows::new(block, &cut, seed, epoch).map_err(out_of_memory)?;
        let arrangement = Arrangement::new(units, &cut, seed, epoch).map_err(out_of_memory)?;
        Ok(Self { cut, windows, arrangement })
    }

    /// Where sample `id` stands.
    ///
    /// # Panics
    ///
    /// Where there is no such sample.
    #[must_use]
    #[track_caller]
    pub fn position_of(&self, id: u64) -> u64 {
        assert!(id < self.len(), "sample {id} of {}", self.len());
        let place = self.arrangement.place_of(&self.cut, id);
        let node = self.cut.node_of(place);
        self.windows.invert(node, place)
    }

    /// The positions whose samples are mixed with that at `position`: its window.
    ///
    /// Together they read the samples of the window's shards and no others, each once.
    ///
    /// # Panics
    ///
    /// Where `position` is not below the length.
    #[must_use]
    #[track_caller]
    pub fn window_of(&self, position: u64) -> Range<u64> {
        assert!(position < self.len(), "position {position} of {}", self.len());
        let node = self.cut.node_of(position);
        self.windows.around(node, position)
    }
}

impl Order for Windowed {
    fn len(&self) -> u64 {
        self.cut.samples()
    }

    #[inline]
    #[track_caller]
    fn at(&self, position: u64) -> u64 {
        assert!(position < self.len(), "position {position} of {}", self.len());
        let node = self.cut.node_of(position);
        let place = self.windows.permute(node, position);
        self.arrangement.id_at(node, place)
    }

    fn name(&self) -> &'static str {
        ShuffleAlgorithm::Windowed.versioned_name()
    }

    fn ends_of_unit(&self, unit: Range<u64>) -> Option<[u64; 2]> {
        Some([self.position_of(unit.start), self.position_of(unit.end.checked_sub(1)?)])
    }
}

/// The windows of an epoch.
#[derive(Debug)]
struct Windows {
    block: Divisor,
    keys: Keys,
    nodes: Vec<Node>,
}

/// The positions of a canonical node.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u64,
    /// Where its first window ends.
    first: u64,
    end: u64,
}

impl Windows {
    fn new(block: Divisor, cut: &CanonicalCut, seed: u64, epoch: u64) -> Result<Self, OutOfMemory> {
        let stagger = keys::word(seed, epoch, Purpose::Stagger);
        let mut nodes = reserve(cut.nodes())?;
        nodes.extend((0..cut.nodes()).map(|node| {
            let Range { start, end } = cut.range(node);
            if end - start <= block.get() {
                return Node { start, first: end, end };
            }
            let shorter = high_half(u128::from(spread(stagger ^ node)) * u128::from(block.get() / 2 + 1));
            Node { start, first: start + block.get() - shorter, end }
        }));
        Ok(Self { block, keys: Keys::new(seed, epoch, Purpose::Windows), nodes })
    }

    /// The place of the sample that comes at `position`, which lies in `node`.
    #[inline]
    fn permute(&self, node: u64, position: u64) -> u64 {
        let window = self.around(node, position);
        let domain = Domain::new(window.end - window.start);
        window.start + self.keys.permute(domain, spread(window.start), position - window.start)
    }

    /// The position at which the sample comes that lies at `place`, in `node`.
    fn invert(&self, node: u64, place: u64) -> u64 {
        let window = self.around(node, place);
        let domain = Domain::new(window.end - window.start);
        window.start + self.keys.invert(domain, spread(window.start), place - window.start)
    }

    /// The window of `position`, which lies in `node`.
    #[inline]
    fn around(&self, node: u64, position: u64) -> Range<u64> {
        #[expect(clippy::cast_possible_truncation, reason = "an index of a list in memory")]
        let node = &self.nodes[node as usize];
        if position < node.first {
            return node.start..node.first;
        }
        let (_, offset) = self.block.divide(position - node.first);
        let start = position - offset;
        start..node.end.min(start + self.block.get())
    }
}
