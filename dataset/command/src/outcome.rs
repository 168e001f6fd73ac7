//! How a command ends: 0 fine, 1 the check or the data failed, 2 usage.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// What a command that could do its work found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is as it should be.
    Fine,
    /// The command worked; what it checked did not hold, and it has said so.
    Failed,
}

/// An error in how the command was called: reported like any other, with exit status 2.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// The error for a text that says what to change.
    pub(crate) fn error(message: impl fmt::Display) -> anyhow::Error {
        Self(message.to_string()).into()
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Turns a result into an exit status; errors go to stderr as one `error:` line and a line for each cause.
pub(crate) fn report(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        // Whoever reads our output has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe))
}
