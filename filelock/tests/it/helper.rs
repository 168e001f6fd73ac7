//! Helper processes: this test binary, started again with a job to do.
//!
//! A helper says what it has done in lines on its standard output, waits for lines on its standard input, and ends when
//! that is closed, hence with the test, whatever happens to the test.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// What tells a process that it is a helper, and the words of its job.
const JOB: &str = "LOCKSTEP_TEST_JOB";

/// No step of a helper takes longer; a hang becomes a failure.
const WATCHDOG: Duration = Duration::from_secs(30);

/// A running helper. Killed when dropped.
pub(crate) struct Helper {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Helper {
    /// Starts this test binary with a job, through its test `entry`.
    pub(crate) fn spawn(entry: &str, job: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("a process knows its program"));
        command.args(["--exact", entry, "--nocapture", "--test-threads=1"]).env(JOB, job.join("\n"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the test binary can be started");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test harness of the helper writes lines of its own.
                let Some((_, said)) = line.split_once("helper: ") else { continue };
                if sender.send(said.to_owned()).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it says.
    pub(crate) fn hear(&self) -> String {
        self.lines.recv_timeout(WATCHDOG).expect("the helper says something before the watchdog bites")
    }

    /// Waits until it says `line`.
    pub(crate) fn expect(&self, line: &str) {
        assert_eq!(self.hear(), line, "what helper {} says", self.pid());
    }

    /// Lets it go on.
    pub(crate) fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open until the helper ends");
        writeln!(input, "{line}").expect("the helper reads");
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.kill_only();
    }

    /// Kills it with SIGKILL, waits until it is gone, and keeps its pipes open for those that it started.
    pub(crate) fn kill_only(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Closes its input and waits for its end; says whether it ended well.
    pub(crate) fn finish(mut self) -> bool {
        drop(self.input.take());
        self.child.wait().expect("it is our child").success()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Both fail where it ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words of the job of this process, if it is a helper.
pub(crate) fn job() -> Option<Vec<String>> {
    Some(std::env::var(JOB).ok()?.split('\n').map(str::to_owned).collect())
}

/// Says a line to the test that started this helper.
pub(crate) fn say(line: &str) {
    println!("helper: {line}");
}

/// Waits for a line from the test. Ends the process if there will be none.
pub(crate) fn listen() -> String {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => line.trim_end().to_owned(),
        _ => std::process::exit(0),
    }
}
