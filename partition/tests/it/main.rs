//! The crate from outside, in one program. Golden vectors and how they came about: `tests/golden/README.md`.

#![expect(clippy::unwrap_used, reason = "what fails in a test may panic")]

mod elastic;
mod epoch;
mod golden;
mod limits;
mod mosaic;
mod numpy;
mod partition;
mod plan_stability;
mod plans;
mod reference;
mod sampling;
mod seekable;
mod stability;
