//! The processes of a running job, looked up and killed by their ids.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Ended, Result, wait};

/// No process outlives its launcher longer than this.
const WATCHDOG: Duration = Duration::from_secs(30);

/// A job that was started and has not been waited for. Dropping it kills the launcher, and with it the rest.
pub(crate) struct Job {
    launcher: Option<Child>,
}

impl Job {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let launcher = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        Ok(Self { launcher: Some(launcher) })
    }

    /// The id of the launcher.
    pub(crate) fn launcher(&self) -> u32 {
        self.launcher.as_ref().expect("the job has not ended").id()
    }

    /// Whether the launcher has not ended yet.
    pub(crate) fn is_running(&self) -> bool {
        is_running(self.launcher())
    }

    /// Its ranks, those started first first.
    pub(crate) fn ranks(&self) -> Result<Vec<u32>> {
        children(self.launcher())
    }

    /// The workers of all ranks.
    pub(crate) fn workers(&self) -> Result<Vec<u32>> {
        Ok(self.ranks()?.into_iter().map(children).collect::<Result<Vec<_>>>()?.concat())
    }

    /// All but the launcher.
    pub(crate) fn everyone(&self) -> Result<BTreeSet<u32>> {
        Ok(self.ranks()?.into_iter().chain(self.workers()?).collect())
    }

    /// Waits for the launcher to end and then for `processes` to be gone.
    pub(crate) fn end(mut self, processes: &BTreeSet<u32>) -> Result<Ended> {
        let ended = wait(self.launcher.take().ok_or("the job has ended")?)?;
        let deadline = Instant::now() + WATCHDOG;
        for process in processes {
            while is_running(*process) {
                if Instant::now() > deadline {
                    return Err(format!("process {process} outlived its launcher").into());
                }
                std::thread::yield_now();
            }
        }
        Ok(ended)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(mut launcher) = self.launcher.take() {
            let _ = launcher.kill();
            let _ = launcher.wait();
        }
    }
}

/// The children of all threads of a process, in the order in which they were started.
pub(crate) fn children(process: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Ok(found) };
    for thread in threads {
        let mut text = String::new();
        // A thread may end between the listing and the look.
        if let Ok(mut file) = std::fs::File::open(thread?.path().join("children")) {
            let _ = file.read_to_string(&mut text);
        }
        for word in text.split_whitespace() {
            found.push(word.parse()?);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Whether a process is there and not merely waiting to be reaped.
fn is_running(process: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

/// Kills one process; it may be gone already.
pub(crate) fn kill(process: u32) -> Result {
    let process = nix::unistd::Pid::from_raw(process.try_into()?);
    match nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL) {
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
