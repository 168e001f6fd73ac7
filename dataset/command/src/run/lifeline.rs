//! A child lives no longer than its parent.
//!
//! A parent keeps the write end of its child's standard input and never writes to it. The kernel closes it when the
//! parent ends, however it ends, and the child, waiting for that, ends too.

use std::io::{self, Read};
use std::process;
use std::thread;

/// The exit status of a child whose parent went away.
const ORPHANED: i32 = 3;

/// Ends this process as soon as standard input does.
pub(crate) fn end_with_parent() -> io::Result<()> {
    thread::Builder::new().name("lifeline".into()).spawn(|| {
        let mut nothing = [0; 64];
        loop {
            match io::stdin().read(&mut nothing) {
                Ok(0) => process::exit(ORPHANED),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => process::exit(ORPHANED),
                _ => {}
            }
        }
    })?;
    Ok(())
}
