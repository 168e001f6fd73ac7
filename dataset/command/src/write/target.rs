//! The dataset that samples are written to.

use std::path::Path;

use anyhow::Context;
use lockstep_dataset::writer::{JsonWriter, MdsWriter, WriterOptions, XsvWriter};
use lockstep_dataset::{Encoding, Index, Value};

use super::OutputFormat;
use super::cell::Cell;
use super::input::Record;

/// A writer of any format and the columns that it takes.
pub(super) struct Target {
    columns: Vec<(String, Encoding)>,
    writer: Writer,
}

enum Writer {
    Mds(MdsWriter),
    Json(JsonWriter),
    Xsv(XsvWriter),
}

impl Target {
    /// Begins a dataset with `columns`, or with those of the first record if there are none.
    pub(super) fn create(
        dir: &Path,
        format: OutputFormat,
        columns: &[(String, String)],
        first: &Record,
        options: &WriterOptions,
    ) -> anyhow::Result<Self> {
        let text_only = format != OutputFormat::Mds;
        let guessed: Vec<_>;
        let columns = if columns.is_empty() {
            guessed = first.fields().map(|(name, field)| (name.to_owned(), field.guess(text_only))).collect();
            &guessed
        } else {
            columns
        };
        let names: Vec<_> = columns.iter().map(|(name, encoding)| (&**name, &**encoding)).collect();
        let writer = match format {
            OutputFormat::Mds => Writer::Mds(MdsWriter::create(dir, &names, options)?),
            OutputFormat::Json => Writer::Json(JsonWriter::create(dir, &names, options)?),
            OutputFormat::Csv => Writer::Xsv(XsvWriter::csv(dir, &names, options)?),
            OutputFormat::Tsv => Writer::Xsv(XsvWriter::tsv(dir, &names, options)?),
        };
        let parse = |encoding: &str| if encoding == "float" { Ok(Encoding::Float) } else { encoding.parse() };
        let columns = columns.iter().map(|(name, encoding)| Ok((name.clone(), parse(encoding)?)));
        Ok(Self { columns: columns.collect::<lockstep_dataset::Result<_>>()?, writer })
    }

    pub(super) fn write(&mut self, record: &Record) -> anyhow::Result<()> {
        let cells: anyhow::Result<Vec<(&str, Cell)>> = self
            .columns
            .iter()
            .map(|(name, encoding)| {
                let field = record.field(name).with_context(|| format!("there is no `{name}`"))?;
                Ok((&**name, field.cell(encoding).with_context(|| format!("column `{name}`"))?))
            })
            .collect();
        let cells = cells?;
        let sample: anyhow::Result<Vec<(&str, Value<'_>)>> =
            cells.iter().map(|(name, cell)| Ok((*name, cell.value()?))).collect();
        let sample = sample?;
        match &mut self.writer {
            Writer::Mds(writer) => writer.write(&sample)?,
            Writer::Json(writer) => writer.write(&sample)?,
            Writer::Xsv(writer) => writer.write(&sample)?,
        }
        Ok(())
    }

    pub(super) fn finish(self) -> anyhow::Result<Index> {
        Ok(match self.writer {
            Writer::Mds(writer) => writer.finish()?,
            Writer::Json(writer) => writer.finish()?,
            Writer::Xsv(writer) => writer.finish()?,
        })
    }
}
