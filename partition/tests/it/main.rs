//! Integration tests of the partition crate; modules mirror `src`.

mod golden;
mod numpy;
