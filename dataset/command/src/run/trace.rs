//! `--trace`: which ids each rank read, a JSON line a rank and epoch.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// One line of a trace.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    /// The physical node.
    pub(crate) node: u64,
    pub(crate) rank: u64,
    /// The replica group; `null` for a rank that reads nothing.
    pub(crate) group: Option<u64>,
    pub(crate) epoch: u64,
    /// In the order in which the rank consumed them.
    pub(crate) ids: &'a [u64],
}

/// A trace file being written.
pub(crate) struct Trace {
    file: BufWriter<File>,
}

impl Trace {
    /// Creates the file, or empties it.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("the trace {} cannot be written", path.display()))?;
        Ok(Self { file: BufWriter::new(file) })
    }

    /// Adds a line.
    pub(crate) fn write(&mut self, line: &Line<'_>) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.file, line).context("the trace cannot be written")?;
        writeln!(self.file).context("the trace cannot be written")
    }

    /// Makes sure that all of it is in the file.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.file.flush().context("the trace cannot be written")
    }
}
