//! `lockstep clean`: removes the shared memory that no process holds.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::outcome::Outcome;
use crate::output::Output;
use crate::ps::PsArgs;

/// Where to clean.
#[derive(Args, Debug)]
pub(crate) struct CleanArgs {
    #[command(flatten)]
    place: PsArgs,
}

#[derive(Serialize)]
struct Report {
    directory: PathBuf,
    removed: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

/// Removes what nobody holds, and says what. It is never needed, since every run does the same.
pub(crate) fn run(args: &CleanArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let directory = args.place.directory();
    let swept = directory.sweep()?;
    let report = Report { directory: directory.path().to_owned(), removed: swept.removed, kept: swept.kept };
    if output.is_json() {
        output.json(&report)?;
        return Ok(Outcome::Fine);
    }
    for path in &report.removed {
        writeln!(output, "removed {}", path.display())?;
    }
    let (removed, kept) = (report.removed.len(), report.kept.len());
    writeln!(output, "{removed} removed, {kept} in use, in {}", report.directory.display())?;
    Ok(Outcome::Fine)
}
