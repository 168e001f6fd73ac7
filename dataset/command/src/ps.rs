//! `lockstep ps`: the shared memory on this machine, and who holds it.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lockstep_shmem::{Directory, SegmentInfo, SegmentState};
use serde::Serialize;

use crate::outcome::Outcome;
use crate::output::Output;

/// Where to look.
#[derive(Args, Debug)]
pub(crate) struct PsArgs {
    /// Another directory than the one that this user's jobs use [env: LOCKSTEP_SHM_DIR].
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    directory: PathBuf,
    segments: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    file: PathBuf,
    title: Option<String>,
    state: &'static str,
    participants: Option<usize>,
    places: Option<usize>,
    size: u64,
    creator: Option<u32>,
    holders: Vec<u32>,
}

/// Lists the segments.
pub(crate) fn run(args: &PsArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let directory = args.directory();
    let segments = directory.segments()?.into_iter().map(Line::new).collect();
    let report = Report { directory: directory.path().to_owned(), segments };
    if output.is_json() {
        output.json(&report)?;
    } else {
        report.print(output)?;
    }
    Ok(Outcome::Fine)
}

impl PsArgs {
    pub(crate) fn directory(&self) -> Directory {
        self.directory.as_ref().map_or_else(Directory::of_user, Directory::at)
    }
}

impl Line {
    fn new(segment: SegmentInfo) -> Self {
        Self {
            state: match segment.state {
                SegmentState::InUse => "in use",
                SegmentState::Left => "left",
            },
            participants: segment.participants.map(|(here, _)| here),
            places: segment.participants.map(|(_, places)| places),
            file: segment.path,
            title: segment.title,
            size: segment.size,
            creator: segment.creator,
            holders: segment.holders,
        }
    }
}

impl Report {
    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        if self.segments.is_empty() {
            writeln!(output, "nothing in {}", self.directory.display())?;
            return Ok(());
        }
        writeln!(output, "{:<8} {:>9} {:>10}  {:<24} SEGMENT", "STATE", "HERE", "BYTES", "PROCESSES")?;
        for line in &self.segments {
            let here = match (line.participants, line.places) {
                (Some(here), Some(places)) => format!("{here}/{places}"),
                _ => "-".to_owned(),
            };
            let holders: Vec<String> = line.holders.iter().map(u32::to_string).collect();
            let holders = if holders.is_empty() { "-".to_owned() } else { holders.join(" ") };
            let title = line.title.clone().unwrap_or_else(|| line.file.display().to_string());
            writeln!(output, "{:<8} {here:>9} {:>10}  {holders:<24} {title}", line.state, line.size)?;
        }
        Ok(())
    }
}
