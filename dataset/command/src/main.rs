//! The `lockstep` command.
fn main() {}
