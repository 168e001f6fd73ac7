//! Orders that are computed, not stored: keyed permutations with random access.

mod arrangement;
mod global;
mod keys;
mod listed;
mod memo;
mod permutation;
mod regular;
mod windowed;

pub use global::Global;
pub(crate) use keys::{Keys, Purpose, spread, word};
pub(crate) use permutation::Domain;
pub use permutation::Permutation;
pub use windowed::Windowed;
