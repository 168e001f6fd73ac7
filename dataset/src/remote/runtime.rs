//! The threads that talk to stores.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, Result};

/// One runtime for the process, started with the first request.
static RUNTIME: OnceLock<(u32, Runtime)> = OnceLock::new();

/// Threads that move bytes between sockets and tasks. Hashing, unpacking and writing are done by who asked.
const THREADS: usize = 2;

/// Runs the future that `start` makes to its end, whether or not the calling thread belongs to somebody's runtime.
pub(crate) fn run<F: Future>(start: impl FnOnce() -> F + Send) -> Result<F::Output>
where
    F::Output: Send,
{
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return Ok(runtime.block_on(start()));
    }
    // A thread of a runtime must not wait inside another one.
    let output = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(start())).join());
    output.or_else(|panic| std::panic::resume_unwind(panic))
}

fn runtime() -> Result<&'static Runtime> {
    let (owner, runtime) = match RUNTIME.get() {
        Some(started) => started,
        None => {
            let runtime = Builder::new_multi_thread()
                .worker_threads(THREADS)
                .thread_name("lockstep-remote")
                .enable_all()
                .build()
                .map_err(|source| Error::io("cannot start the threads that read from remote stores", source))?;
            // Whoever comes second drops theirs, which has nothing to do yet.
            RUNTIME.get_or_init(|| (std::process::id(), runtime))
        }
    };
    if *owner != std::process::id() {
        return Err(Error::config(
            "this process was forked from one that had read from a remote store, and the threads for that did not come \
             along; fork before the first read, or start workers as programs of their own",
        ));
    }
    Ok(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_outside_and_inside_of_other_runtimes() {
        assert_eq!(run(|| async { 1 }).unwrap(), 1);
        let other = Builder::new_current_thread().build().unwrap();
        assert_eq!(other.block_on(async { run(|| async { 2 }).unwrap() }), 2);
    }
}
