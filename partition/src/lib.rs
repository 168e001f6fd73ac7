//! Which sample is read where and when: elastic partitions, shuffles, sampling and batching as pure arithmetic.
#![forbid(unsafe_code)]

mod divisor;
pub mod numpy;
mod order;
mod units;

pub use order::{Order, Sequential};
pub use units::{Located, ShuffleUnits, UnitsError};
