//! Where a command prints: buffered standard output, as text or as JSON.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

/// Standard output, with the reader's choice of form.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
}

impl Output {
    /// Takes standard output for the rest of the process.
    pub(crate) fn new(json: bool) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, io::stdout().lock()), json }
    }

    /// Whether a machine reads this.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints one value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, value).map_err(io::Error::from)?;
        writeln!(self.out)?;
        Ok(())
    }

    /// Hands everything printed so far to the operating system.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
