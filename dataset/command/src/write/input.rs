//! Records from files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field as ParquetField;
use serde_json::value::RawValue;

use super::cell::Field;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// A JSON object a line.
    Jsonl,
    /// A table with commas and quotes, its first line the names.
    Csv,
    /// A table with tabs.
    Tsv,
    /// Parquet.
    Parquet,
}

/// A sample to be.
#[derive(Debug)]
pub(super) struct Record {
    place: String,
    fields: Vec<(String, Field)>,
}

impl Record {
    /// Where it is from, for error texts.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.fields.iter().map(|(name, field)| (&**name, field))
    }

    /// Of several fields with one name the last counts, as in JSON.
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|(other, _)| other == name).map(|(_, field)| field)
    }
}

/// The records of a file, one after the other.
pub(super) trait Records {
    fn next_record(&mut self) -> Option<anyhow::Result<Record>>;
}

/// A bar of bytes read, drawn on standard error if that is a terminal.
pub(super) fn progress(paths: &[PathBuf]) -> ProgressBar {
    let total = paths.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum();
    let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style)
}

/// Opens a file by its format or extension.
pub(super) fn open(path: &Path, format: Option<InputFormat>, bar: &ProgressBar) -> anyhow::Result<Box<dyn Records>> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = match (format, extension.to_ascii_lowercase().as_str()) {
        (Some(format), _) => format,
        (None, "jsonl" | "ndjson" | "json") => InputFormat::Jsonl,
        (None, "csv") => InputFormat::Csv,
        (None, "tsv") => InputFormat::Tsv,
        (None, "parquet") => InputFormat::Parquet,
        (None, _) => bail!("{} does not say what it is by its extension; use --input-format", path.display()),
    };
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let path = path.display().to_string();
    Ok(match format {
        InputFormat::Jsonl => {
            Box::new(JsonLines { path, line: 0, text: String::new(), lines: BufReader::new(bar.wrap_read(file)) })
        }
        InputFormat::Csv => Box::new(Table::open(path, bar.wrap_read(file), b',')?),
        InputFormat::Tsv => Box::new(Table::open(path, bar.wrap_read(file), b'\t')?),
        InputFormat::Parquet => Box::new(Parquet::open(path, file, bar.clone())?),
    })
}

struct JsonLines<R> {
    path: String,
    line: u64,
    text: String,
    lines: BufReader<R>,
}

impl<R: Read> Records for JsonLines<R> {
    fn next_record(&mut self) -> Option<anyhow::Result<Record>> {
        loop {
            self.text.clear();
            self.line += 1;
            let place = || format!("{}, line {}", self.path, self.line);
            match self.lines.read_line(&mut self.text) {
                Ok(0) => return None,
                Ok(_) if self.text.trim().is_empty() => {}
                Ok(_) => {
                    let place = place();
                    let fields = members(&self.text).with_context(|| place.clone());
                    return Some(fields.map(|fields| Record { place, fields }));
                }
                Err(error) => return Some(Err(error).with_context(place)),
            }
        }
    }
}

/// The members of an object in their order.
fn members(text: &str) -> anyhow::Result<Vec<(String, Field)>> {
    struct Members(Vec<(String, Field)>);

    impl<'de> serde::Deserialize<'de> for Members {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;

            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Members;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a JSON object")
                }

                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                    let mut members = Vec::new();
                    while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                        members.push((name, Field::Json(value.get().to_owned())));
                    }
                    Ok(Members(members))
                }
            }

            deserializer.deserialize_map(Visitor)
        }
    }

    Ok(serde_json::from_str::<Members>(text)?.0)
}

struct Table<R> {
    path: String,
    names: Vec<String>,
    reader: csv::Reader<R>,
    record: csv::StringRecord,
}

impl<R: Read> Table<R> {
    fn open(path: String, file: R, delimiter: u8) -> anyhow::Result<Self> {
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(file);
        let names = reader.headers().with_context(|| format!("cannot read {path}"))?;
        let names = names.iter().map(str::to_owned).collect();
        Ok(Self { path, names, reader, record: csv::StringRecord::new() })
    }
}

impl<R: Read> Records for Table<R> {
    fn next_record(&mut self) -> Option<anyhow::Result<Record>> {
        match self.reader.read_record(&mut self.record) {
            Ok(false) => None,
            Ok(true) => {
                let line = self.record.position().map_or(0, csv::Position::line);
                let values = self.record.iter().map(|value| Field::Text(value.to_owned()));
                let fields = self.names.iter().cloned().zip(values).collect();
                Some(Ok(Record { place: format!("{}, line {line}", self.path), fields }))
            }
            Err(error) => Some(Err(error).with_context(|| self.path.clone())),
        }
    }
}

struct Parquet {
    path: String,
    rows: parquet::record::reader::RowIter<'static>,
    row: u64,
    bar: ProgressBar,
    bytes_per_row: u64,
}

impl Parquet {
    fn open(path: String, file: File, bar: ProgressBar) -> anyhow::Result<Self> {
        let context = || format!("cannot read {path} as Parquet");
        let size = file.metadata().with_context(context)?.len();
        let reader = SerializedFileReader::new(file).with_context(context)?;
        let metadata = reader.metadata().file_metadata();
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let rows_iter = parquet::record::reader::RowIter::from_file_into(Box::new(reader));
        Ok(Self { rows: rows_iter, row: 0, bar, bytes_per_row: size.checked_div(rows).unwrap_or(0), path })
    }
}

impl Records for Parquet {
    fn next_record(&mut self) -> Option<anyhow::Result<Record>> {
        let row = self.rows.next()?;
        let place = format!("{}, row {}", self.path, self.row);
        self.row += 1;
        self.bar.inc(self.bytes_per_row);
        let fields = row.with_context(|| place.clone()).and_then(|row| {
            let columns = row.into_columns().into_iter().map(|(name, field)| {
                let field = convert(field).with_context(|| format!("{place}, column `{name}`"))?;
                Ok((name, field))
            });
            columns.collect()
        });
        Some(fields.map(|fields| Record { place, fields }))
    }
}

fn convert(field: ParquetField) -> anyhow::Result<Field> {
    Ok(match field {
        ParquetField::Bool(value) => Field::Json(value.to_string()),
        ParquetField::Null => Field::Json("null".into()),
        ParquetField::Byte(value) => Field::Int(value.into(), "int8"),
        ParquetField::Short(value) => Field::Int(value.into(), "int16"),
        ParquetField::Int(value) => Field::Int(value.into(), "int32"),
        ParquetField::Long(value) => Field::Int(value.into(), "int"),
        ParquetField::UByte(value) => Field::Int(value.into(), "uint8"),
        ParquetField::UShort(value) => Field::Int(value.into(), "uint16"),
        ParquetField::UInt(value) => Field::Int(value.into(), "uint32"),
        ParquetField::ULong(value) => Field::Int(value.into(), "uint64"),
        ParquetField::Float16(value) => Field::Float(value.into(), "float16"),
        ParquetField::Float(value) => Field::Float(value.into(), "float32"),
        ParquetField::Double(value) => Field::Float(value, "float64"),
        ParquetField::Str(text) => Field::Str(text),
        ParquetField::Bytes(bytes) => Field::Bytes(bytes.data().to_vec()),
        ParquetField::ListInternal(_) | ParquetField::Group(_) | ParquetField::MapInternal(_) => {
            Field::Json(json(&field)?.to_string())
        }
        other => Field::Foreign(other.to_string()),
    })
}

/// Nested values as JSON.
fn json(field: &ParquetField) -> anyhow::Result<serde_json::Value> {
    Ok(match field {
        ParquetField::ListInternal(list) => list.elements().iter().map(json).collect::<anyhow::Result<_>>()?,
        ParquetField::Group(row) => row
            .get_column_iter()
            .map(|(name, field)| Ok((name.clone(), json(field)?)))
            .collect::<anyhow::Result<serde_json::Map<_, _>>>()?
            .into(),
        ParquetField::MapInternal(map) => {
            let entries = map.entries().iter().map(|(key, value)| {
                let ParquetField::Str(key) = key else { bail!("a map with keys that are not text") };
                Ok((key.clone(), json(value)?))
            });
            entries.collect::<anyhow::Result<serde_json::Map<_, _>>>()?.into()
        }
        ParquetField::Null => serde_json::Value::Null,
        ParquetField::Bool(value) => (*value).into(),
        ParquetField::Str(text) => text.as_str().into(),
        ParquetField::Byte(value) => (*value).into(),
        ParquetField::Short(value) => (*value).into(),
        ParquetField::Int(value) => (*value).into(),
        ParquetField::Long(value) => (*value).into(),
        ParquetField::UByte(value) => (*value).into(),
        ParquetField::UShort(value) => (*value).into(),
        ParquetField::UInt(value) => (*value).into(),
        ParquetField::ULong(value) => (*value).into(),
        ParquetField::Float16(value) => number(f32::from(*value).into())?,
        ParquetField::Float(value) => number((*value).into())?,
        ParquetField::Double(value) => number(*value)?,
        other => bail!("values such as {other} inside others are not written"),
    })
}

fn number(value: f64) -> anyhow::Result<serde_json::Value> {
    serde_json::Number::from_f64(value).map(Into::into).with_context(|| format!("JSON has no number {value}"))
}
