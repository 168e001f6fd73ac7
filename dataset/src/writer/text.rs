//! JSON lines and tables.

use std::path::Path;

use super::entry::Layout;
use super::in_order;
use super::options::WriterOptions;
use super::pool::Framing;
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::index::{Encoding, Format, Index};
use crate::json::python::{dump_float, dump_str, float_repr, integer_repr};
use crate::value::Value;

/// What ends a sample.
const NEWLINE: &str = "\n";

/// Writes a dataset of JSON lines. Columns are `str`, `int` or `float`.
///
/// A writer that is dropped before it is finished removes what it has written.
#[derive(Debug)]
#[must_use = "a dataset is complete only once `finish` has returned"]
pub struct JsonWriter {
    sink: Sink,
    columns: TextColumns,
}

/// Writes a dataset of CSV, TSV or XSV. Columns are `str`, `int` or `float`.
///
/// The format has no quoting: text with a separator or newline in it is refused.
///
/// A writer that is dropped before it is finished removes what it has written.
#[derive(Debug)]
#[must_use = "a dataset is complete only once `finish` has returned"]
pub struct XsvWriter {
    sink: Sink,
    columns: TextColumns,
    separator: String,
}

#[derive(Debug)]
struct TextColumns {
    names: Vec<Box<str>>,
    encodings: Vec<Encoding>,
}

impl TextColumns {
    fn new(columns: &[(&str, &str)]) -> Result<Self> {
        let mut columns = columns.to_vec();
        columns.sort_by_key(|&(name, _)| name);
        super::names_differ(columns.iter().map(|&(name, _)| name))?;
        let encodings: Result<_> = columns
            .iter()
            .map(|(name, encoding)| {
                Encoding::text(encoding).map_err(|error| Error::config(format!("column `{name}`: {error}")))
            })
            .collect();
        Ok(Self { names: columns.iter().map(|&(name, _)| name.into()).collect(), encodings: encodings? })
    }

    fn each(&self) -> impl Iterator<Item = (&Box<str>, String)> {
        self.names.iter().zip(self.encodings.iter().map(Encoding::to_string))
    }

    /// The sample's values, each checked to be of its column's encoding.
    fn values<'s, 'v>(&self, sample: &'s [(&str, Value<'v>)]) -> Result<Vec<&'s Value<'v>>> {
        let values = in_order(&self.names, sample)?;
        for ((name, encoding), value) in self.names.iter().zip(&self.encodings).zip(&values) {
            let fits = matches!(
                (encoding, value),
                (Encoding::Str, Value::Str(_))
                    | (Encoding::Int, Value::Int(_) | Value::BigInt(_))
                    | (Encoding::Float, Value::Float(_))
            );
            if !fits {
                let kind = value.kind();
                return Err(Error::config(format!(
                    "column `{name}`: it has encoding {encoding}, which does not take {kind}"
                )));
            }
        }
        Ok(values)
    }
}

impl JsonWriter {
    /// Begins a dataset in `dir` with columns of these names and encodings.
    ///
    /// # Errors
    ///
    /// A column is named twice or has an unknown encoding, the options cannot work, or the directory cannot be used.
    pub fn create(dir: impl AsRef<Path>, columns: &[(&str, &str)], options: &WriterOptions) -> Result<Self> {
        let columns = TextColumns::new(columns)?;
        let layout = Layout {
            columns: Some(columns.each().map(|(name, encoding)| (name.clone(), encoding)).collect()),
            format: Format::Json.name(),
            newline: Some(NEWLINE.into()),
            ..Layout::default()
        };
        let sink = Sink::create(dir.as_ref(), layout, Framing::Split { first_line: Vec::new() }, options)?;
        Ok(Self { sink, columns })
    }

    /// Appends a sample: a value for each column, in any order.
    ///
    /// # Errors
    ///
    /// As for [`MdsWriter::write`](super::MdsWriter::write).
    pub fn write(&mut self, sample: &[(&str, Value<'_>)]) -> Result<()> {
        let values = self.columns.values(sample)?;
        let mut line = vec![b'{'];
        for (i, (name, value)) in self.columns.names.iter().zip(values).enumerate() {
            line.extend_from_slice(if i == 0 { b"" } else { b", " });
            line.extend(dump_str(name));
            line.extend_from_slice(b": ");
            match value {
                Value::Str(text) => line.extend(dump_str(text)),
                Value::Float(float) => line.extend(dump_float(*float).as_bytes()),
                other => line.extend(integer(other).as_bytes()),
            }
        }
        line.push(b'}');
        line.extend(NEWLINE.as_bytes());
        self.sink.push(&line)
    }

    /// How many samples have been written.
    pub fn num_samples(&self) -> u64 {
        self.sink.num_samples()
    }

    /// Writes the rest and the index.
    ///
    /// # Errors
    ///
    /// No sample was written, or a file could not be.
    pub fn finish(self) -> Result<Index> {
        self.sink.finish()
    }
}

impl XsvWriter {
    /// Begins a CSV dataset in `dir` with columns of these names and encodings.
    ///
    /// # Errors
    ///
    /// A column is named twice, has an unknown encoding or a name with a separator or newline in it, the options cannot
    /// work, or the directory cannot be used.
    pub fn csv(dir: impl AsRef<Path>, columns: &[(&str, &str)], options: &WriterOptions) -> Result<Self> {
        Self::create(dir.as_ref(), Format::Csv, ",", columns, options)
    }

    /// Begins a TSV dataset: tabs between values.
    ///
    /// # Errors
    ///
    /// As for [`csv`](Self::csv).
    pub fn tsv(dir: impl AsRef<Path>, columns: &[(&str, &str)], options: &WriterOptions) -> Result<Self> {
        Self::create(dir.as_ref(), Format::Tsv, "\t", columns, options)
    }

    /// Begins an XSV dataset: `separator` between values.
    ///
    /// # Errors
    ///
    /// As for [`csv`](Self::csv), and where the separator is empty or has a newline in it.
    pub fn xsv(
        dir: impl AsRef<Path>,
        separator: &str,
        columns: &[(&str, &str)],
        options: &WriterOptions,
    ) -> Result<Self> {
        if separator.is_empty() || separator.contains(NEWLINE) {
            return Err(Error::config(format!("{separator:?} does not separate values; use another separator")));
        }
        Self::create(dir.as_ref(), Format::Xsv, separator, columns, options)
    }

    fn create(
        dir: &Path,
        format: Format,
        separator: &str,
        columns: &[(&str, &str)],
        options: &WriterOptions,
    ) -> Result<Self> {
        let columns = TextColumns::new(columns)?;
        columns.names.iter().try_for_each(|name| check_text(name, separator, name))?;
        let layout = Layout {
            column_encodings: Some(columns.each().map(|(_, encoding)| encoding).collect()),
            column_names: Some(columns.names.clone()),
            format: format.name(),
            newline: Some(NEWLINE.into()),
            separator: (format == Format::Xsv).then(|| separator.to_owned()),
            ..Layout::default()
        };
        let first_line = (columns.names.join(separator) + NEWLINE).into_bytes();
        let sink = Sink::create(dir, layout, Framing::Split { first_line }, options)?;
        Ok(Self { sink, columns, separator: separator.to_owned() })
    }

    /// Appends a sample: a value for each column, in any order.
    ///
    /// # Errors
    ///
    /// As for [`MdsWriter::write`](super::MdsWriter::write), and for text with a separator or newline in it.
    pub fn write(&mut self, sample: &[(&str, Value<'_>)]) -> Result<()> {
        let values = self.columns.values(sample)?;
        let mut line = String::new();
        for (i, (name, value)) in self.columns.names.iter().zip(values).enumerate() {
            if i > 0 {
                line.push_str(&self.separator);
            }
            let begin = line.len();
            match value {
                Value::Str(text) => line.push_str(text),
                Value::Float(float) => line.push_str(&float_repr(*float)),
                other => line.push_str(&integer(other)),
            }
            check_text(&line[begin..], &self.separator, name)?;
        }
        line.push_str(NEWLINE);
        self.sink.push(line.as_bytes())
    }

    /// How many samples have been written.
    pub fn num_samples(&self) -> u64 {
        self.sink.num_samples()
    }

    /// Writes the rest and the index.
    ///
    /// # Errors
    ///
    /// No sample was written, or a file could not be.
    pub fn finish(self) -> Result<Index> {
        self.sink.finish()
    }
}

fn integer(value: &Value<'_>) -> String {
    match value {
        Value::BigInt(digits) => integer_repr(digits),
        Value::Int(int) => int.to_string(),
        other => unreachable!("{other:?} was checked to be an integer"),
    }
}

fn check_text(text: &str, separator: &str, name: &str) -> Result<()> {
    if text.contains(separator) || text.contains(NEWLINE) {
        return Err(Error::config(format!(
            "column `{name}`: {text:?} has a separator or newline in it, which the format cannot hold; write JSON lines or \
             MDS"
        )));
    }
    Ok(())
}
