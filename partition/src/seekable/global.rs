//! `global-v1`: one permutation of all samples.

use super::{Keys, Purpose, permutation::Domain};
use crate::Order;

/// The order `global-v1`: a permutation of all samples, computed on demand.
///
/// Best mixed, and worst for downloads: every node reads all shards from the start. For data that fits on every node.
///
/// ```
/// use lockstep_partition::{Global, Order};
///
/// let order = Global::new(1 << 40, 9176, 0);
/// assert_eq!(order.position_of(order.at(12_345)), 12_345);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    domain: Domain,
    keys: Keys,
}

impl Global {
    /// The order of `samples` in an epoch.
    ///
    /// # Panics
    ///
    /// Where there are more than 2^63 samples.
    #[must_use]
    #[track_caller]
    pub fn new(samples: u64, seed: u64, epoch: u64) -> Self {
        assert!(samples <= 1 << 63, "{samples} samples, which is more than 2^63");
        Self { domain: Domain::new(samples), keys: Keys::new(seed, epoch, Purpose::Global) }
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
        self.keys.invert(self.domain, 0, id)
    }
}

impl Order for Global {
    fn len(&self) -> u64 {
        self.domain.len()
    }

    #[inline]
    #[track_caller]
    fn at(&self, position: u64) -> u64 {
        assert!(position < self.len(), "position {position} of {}", self.len());
        self.keys.permute(self.domain, 0, position)
    }

    fn name(&self) -> &'static str {
        "global-v1"
    }
}
