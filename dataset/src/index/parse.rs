//! The text of `index.json` and of the headers inside shards.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::INDEX_BASENAME;
use super::basename;
use super::columns::Columns;
use super::encoding::{Encoding, EncodingError};
use super::files::{FileHash, FileInfo};
use super::shard_info::{Files, Format, Layout, ShardInfo};
use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::hashing::HashAlgorithm;

/// The only version there has been in public.
const VERSION: u64 = 2;

/// Parses the text of the index at `path`.
pub(super) fn shards(text: &[u8], path: &Path) -> Result<Vec<ShardInfo>> {
    let corrupt = |what: String| Error::corrupt(format!("{}{what}", path.display()));
    if text.is_empty() {
        return Err(corrupt(": the file is empty; copy it again from where the dataset was written".into()));
    }
    if text.starts_with(b"\xef\xbb\xbf") {
        return Err(corrupt(", byte 0: a byte order mark, which JSON does not have; remove it".into()));
    }
    let text = std::str::from_utf8(text)
        .map_err(|error| corrupt(format!(", byte {}: not UTF-8; copy the file again", error.valid_up_to())))?;
    let shards = parse(text).map_err(|error| corrupt(explain(text, &error)))?;
    if shards.is_empty() {
        return Err(corrupt(": it lists no shards; a dataset has at least one".into()));
    }
    names_differ(&shards).map_err(|what| corrupt(format!(": {what}")))?;
    Ok(shards)
}

fn parse(text: &str) -> serde_json::Result<Vec<ShardInfo>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let shards = json.deserialize_map(IndexVisitor)?;
    json.end()?;
    Ok(shards)
}

/// What to tell about a text that is no index: its version, if that is the reason, else the place.
fn explain(text: &str, error: &serde_json::Error) -> String {
    #[derive(Deserialize)]
    struct OnlyVersion<'a> {
        #[serde(borrow)]
        version: &'a RawValue,
    }
    match serde_json::from_str::<OnlyVersion<'_>>(text) {
        Ok(OnlyVersion { version }) if version.get() != "2" => {
            format!(": it is of version {}; only version {VERSION} can be read", shorten(version.get()))
        }
        _ => {
            let advice = if error.is_data() { "" } else { "; copy the file again" };
            format!(", byte {}: {}{advice}", byte_of(text, error), without_place(&error.to_string()))
        }
    }
}

/// The text of an error without the line and column at its end.
fn without_place(error: &str) -> &str {
    error.rsplit_once(" at line").map_or(error, |(error, _)| error)
}

/// The byte of a line and column, both of which count from 1, columns in bytes.
fn byte_of(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    before + error.column().saturating_sub(1)
}

fn shorten(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// Two entries with one file would have it evicted under each other, and hide a mistake.
fn names_differ(shards: &[ShardInfo]) -> Result<(), String> {
    let mut owners = HashMap::with_capacity(shards.len());
    owners.insert(INDEX_BASENAME, None);
    for (i, shard) in shards.iter().enumerate() {
        for pair in shard.files() {
            for file in std::iter::once(pair.raw).chain(pair.zip) {
                match owners.insert(file.basename(), Some(i)) {
                    None => {}
                    Some(None) => return Err(format!("shard {i} has the index itself as a file")),
                    Some(Some(other)) if other == i => {
                        return Err(format!("shard {i} has {:?} twice; its files must differ", file.basename()));
                    }
                    Some(Some(other)) => {
                        return Err(format!("shards {other} and {i} are both stored as {:?}", file.basename()));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Reads the index's object shard by shard, so that only one is held as JSON at a time.
struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = Vec<ShardInfo>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index: an object with `version` and `shards`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut version = None;
        let mut shards = None;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "version" if version.is_some() => return Err(de::Error::duplicate_field("version")),
                "version" => version = Some(map.next_value::<u64>()?),
                "shards" if shards.is_some() => return Err(de::Error::duplicate_field("shards")),
                "shards" => shards = Some(map.next_value_seed(ShardsSeed)?),
                _ => {
                    map.next_value::<de::IgnoredAny>()?;
                }
            }
        }
        match version {
            Some(VERSION) => shards.ok_or_else(|| de::Error::missing_field("shards")),
            Some(_) => Err(de::Error::custom("unknown version")),
            None => Err(de::Error::missing_field("version")),
        }
    }
}

struct ShardsSeed;

impl<'de> DeserializeSeed<'de> for ShardsSeed {
    type Value = Vec<ShardInfo>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ShardsSeed {
    type Value = Vec<ShardInfo>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of shards")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut shards = Vec::new();
        let mut last: Option<(LayoutText<'de>, Arc<Layout>)> = None;
        while let Some(text) = seq.next_element::<ShardText<'de>>()? {
            let number = shards.len();
            let in_shard = |what: String| de::Error::custom(format!("shard {number}: {what}"));
            let layout = match &last {
                Some((text_before, layout)) if *text_before == text.layout => Arc::clone(layout),
                _ => Arc::new(text.layout.parse().map_err(in_shard)?),
            };
            shards.push(text.files.into_info(&layout).map_err(in_shard)?);
            last = Some((text.layout, layout));
        }
        shards.shrink_to_fit();
        Ok(shards)
    }
}

/// A shard in the index.
struct ShardText<'a> {
    layout: LayoutText<'a>,
    files: FilesText<'a>,
}

/// The part of it that is usually the same for all shards, in the text's own words so that it is compared and not
/// parsed again.
#[derive(Default, PartialEq)]
struct LayoutText<'a> {
    version: Field<'a>,
    format: Field<'a>,
    column_names: Field<'a>,
    column_encodings: Field<'a>,
    column_sizes: Field<'a>,
    columns: Field<'a>,
    compression: Field<'a>,
    hashes: Field<'a>,
    newline: Field<'a>,
    separator: Field<'a>,
    size_limit: Field<'a>,
}

type Field<'a> = Option<&'a str>;

/// The part that is different for each shard.
#[derive(Default)]
struct FilesText<'a> {
    samples: Option<u64>,
    raw_data: Option<FileText<'a>>,
    zip_data: Option<FileText<'a>>,
    raw_meta: Option<FileText<'a>>,
    zip_meta: Option<FileText<'a>>,
}

#[derive(Deserialize)]
struct FileText<'a> {
    #[serde(borrow)]
    basename: Cow<'a, str>,
    bytes: u64,
    hashes: HashesText,
}

impl<'de> Deserialize<'de> for ShardText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ShardVisitor)
    }
}

struct ShardVisitor;

impl<'de> Visitor<'de> for ShardVisitor {
    type Value = ShardText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shard: an object with `format`, `samples`, `raw_data` and more")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut layout = LayoutText::default();
        let mut files = FilesText::default();
        let mut seen_files = 0_u8;
        while let Some(Text(key)) = map.next_key()? {
            let mut file = |map: &mut A, bit: u8, name: &'static str| {
                if seen_files & bit != 0 {
                    return Err(de::Error::duplicate_field(name));
                }
                seen_files |= bit;
                map.next_value::<Option<FileText<'de>>>()
            };
            match &*key {
                "samples" if files.samples.is_some() => return Err(de::Error::duplicate_field("samples")),
                "samples" => files.samples = Some(map.next_value()?),
                "raw_data" => files.raw_data = file(&mut map, 1, "raw_data")?,
                "zip_data" => files.zip_data = file(&mut map, 2, "zip_data")?,
                "raw_meta" => files.raw_meta = file(&mut map, 4, "raw_meta")?,
                "zip_meta" => files.zip_meta = file(&mut map, 8, "zip_meta")?,
                _ => match layout.field(&key) {
                    Some((name, Some(_))) => return Err(de::Error::duplicate_field(name)),
                    Some((_, field)) => *field = Some(map.next_value::<&'de RawValue>()?.get()),
                    None => drop(map.next_value::<de::IgnoredAny>()?),
                },
            }
        }
        Ok(ShardText { layout, files })
    }
}

impl<'a> LayoutText<'a> {
    fn field(&mut self, key: &str) -> Option<(&'static str, &mut Field<'a>)> {
        Some(match key {
            "version" => ("version", &mut self.version),
            "format" => ("format", &mut self.format),
            "column_names" => ("column_names", &mut self.column_names),
            "column_encodings" => ("column_encodings", &mut self.column_encodings),
            "column_sizes" => ("column_sizes", &mut self.column_sizes),
            "columns" => ("columns", &mut self.columns),
            "compression" => ("compression", &mut self.compression),
            "hashes" => ("hashes", &mut self.hashes),
            "newline" => ("newline", &mut self.newline),
            "separator" => ("separator", &mut self.separator),
            "size_limit" => ("size_limit", &mut self.size_limit),
            _ => return None,
        })
    }

    fn parse(&self) -> Result<Layout, String> {
        let version: u64 = required("version", self.version)?;
        if version != VERSION {
            return Err(format!("it is of version {version}; only version {VERSION} can be read"));
        }
        let name: Cow<'_, str> = required("format", self.format)?;
        let format = Format::from_name(&name).ok_or_else(|| {
            format!("unknown format `{}`; known are {}", shorten(&name), Format::ALL.map(Format::name).join(", "))
        })?;
        let columns = match format {
            Format::Mds => self.mds_columns()?,
            Format::Json => self.json_columns()?,
            Format::Csv | Format::Tsv | Format::Xsv => self.listed_columns(Encoding::text)?,
        };
        let compression: Option<Cow<'_, str>> = optional("compression", self.compression)?;
        // An empty name has always meant none.
        let compression = compression.filter(|text| !text.is_empty()).map(|text| Compression::parse(&text));
        let hashes: Vec<Cow<'_, str>> = optional("hashes", self.hashes)?.unwrap_or_default();
        let hashes: Result<_, _> = hashes.iter().map(|name| HashAlgorithm::from_name(name)).collect();
        let (newline, separator) = self.line_parts(format)?;
        Ok(Layout {
            format,
            columns,
            compression: compression.transpose().map_err(|error| error.to_string())?,
            hashes: hashes.map_err(|error| error.to_string())?,
            size_limit: self.size_limit()?,
            newline,
            separator,
        })
    }

    fn mds_columns(&self) -> Result<Columns, String> {
        self.column_sizes.ok_or("it has no `column_sizes`")?;
        self.listed_columns(Encoding::mds)
    }

    /// Columns as lists of names, encodings and, in MDS, sizes.
    fn listed_columns(&self, parse: fn(&str) -> Result<Encoding, EncodingError>) -> Result<Columns, String> {
        let names: Vec<Cow<'_, str>> = required("column_names", self.column_names)?;
        let encodings: Vec<Cow<'_, str>> = required("column_encodings", self.column_encodings)?;
        let sizes: Option<Vec<Option<u64>>> = optional("column_sizes", self.column_sizes)?;
        let sizes = sizes.unwrap_or_else(|| vec![None; names.len()]);
        if names.len() != encodings.len() || names.len() != sizes.len() {
            return Err(format!(
                "it has {} column names, {} encodings and {} sizes",
                names.len(),
                encodings.len(),
                sizes.len()
            ));
        }
        let parts = names.iter().zip(&encodings).zip(sizes);
        make_columns(parts.map(|((name, encoding), size)| (name, parse(encoding), size)))
    }

    /// Columns as an object of encodings by name. Their order is that of the names, as it is in each sample.
    fn json_columns(&self) -> Result<Columns, String> {
        let columns: Pairs<'_> = required("columns", self.columns)?;
        let mut columns = columns.0;
        columns.sort();
        make_columns(columns.iter().map(|(name, encoding)| (name, Encoding::text(encoding), None)))
    }

    fn line_parts(&self, format: Format) -> Result<(Box<str>, Box<str>), String> {
        if format == Format::Mds {
            return Ok(("".into(), "".into()));
        }
        let newline: Cow<'_, str> = required("newline", self.newline)?;
        let separator: Cow<'_, str> = match format {
            Format::Csv => ",".into(),
            Format::Tsv => "\t".into(),
            Format::Xsv => required("separator", self.separator)?,
            Format::Mds | Format::Json => "".into(),
        };
        if newline.is_empty() || (separator.is_empty() && format != Format::Json) {
            return Err("its newline or separator is empty, so that samples or values cannot be told apart".into());
        }
        Ok((newline.into(), separator.into()))
    }

    /// A number of bytes. Other tools leave text such as "64mb" here, which says nothing that reading needs.
    fn size_limit(&self) -> Result<Option<u64>, String> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum SizeLimit {
            Bytes(u64),
            Other(de::IgnoredAny),
        }
        Ok(match optional("size_limit", self.size_limit)? {
            Some(SizeLimit::Bytes(bytes)) => Some(bytes),
            Some(SizeLimit::Other(_)) | None => None,
        })
    }
}

fn make_columns<'a>(
    parts: impl Iterator<Item = (&'a Cow<'a, str>, Result<Encoding, EncodingError>, Option<u64>)>,
) -> Result<Columns, String> {
    let parts: Result<Vec<_>, String> = parts
        .map(|(name, encoding, size)| {
            let encoding = encoding.map_err(|error| format!("column `{name}`: {error}"))?;
            Ok((Box::from(&**name), encoding, size))
        })
        .collect();
    Columns::new(parts?).map_err(|error| error.to_string())
}

fn required<'a, T: Deserialize<'a>>(name: &str, field: Field<'a>) -> Result<T, String> {
    let text = field.ok_or_else(|| format!("it has no `{name}`"))?;
    serde_json::from_str(text).map_err(|error| wrong(name, text, &error))
}

fn optional<'a, T: Deserialize<'a>>(name: &str, field: Field<'a>) -> Result<Option<T>, String> {
    match field {
        None => Ok(None),
        Some(text) => serde_json::from_str(text).map_err(|error| wrong(name, text, &error)),
    }
}

fn wrong(name: &str, text: &str, error: &serde_json::Error) -> String {
    // The position is one in the field.
    format!("its `{name}` is {}: {}", shorten(text), without_place(&error.to_string()))
}

impl FilesText<'_> {
    fn into_info(self, layout: &Arc<Layout>) -> Result<ShardInfo, String> {
        let num_samples = self.samples.ok_or("it has no `samples`")?;
        let data = files("data", self.raw_data, self.zip_data, layout)?;
        let meta = match layout.format {
            Format::Mds => None,
            _ => Some(files("meta", self.raw_meta, self.zip_meta, layout)?),
        };
        Ok(ShardInfo { layout: Arc::clone(layout), num_samples, data, meta })
    }
}

fn files(kind: &str, raw: Option<FileText<'_>>, zip: Option<FileText<'_>>, layout: &Layout) -> Result<Files, String> {
    let raw = raw.ok_or_else(|| format!("it has no `raw_{kind}`"))?;
    match (layout.compression, &zip) {
        (Some(compression), None) => {
            return Err(format!("it is compressed with {compression} but has no `zip_{kind}`"));
        }
        (None, Some(_)) => return Err(format!("it has `zip_{kind}` but no compression")),
        _ => {}
    }
    Ok(Files { raw: raw.into_info()?, zip: zip.map(FileText::into_info).transpose()? })
}

impl FileText<'_> {
    fn into_info(self) -> Result<FileInfo, String> {
        basename::check(&self.basename).map_err(|error| error.to_string())?;
        Ok(FileInfo::new(self.basename.into(), self.bytes, self.hashes.0.into()))
    }
}

/// The hashes of a file, an object of digests by algorithm, in order.
struct HashesText(Vec<FileHash>);

impl<'de> Deserialize<'de> for HashesText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Pairs::deserialize(deserializer)?;
        let hashes = pairs.0.iter().map(|(name, digits)| {
            let algorithm = HashAlgorithm::from_name(name)?;
            Ok(FileHash { algorithm, digest: algorithm.parse_digest(digits)? })
        });
        let hashes: Result<_, crate::hashing::HashError> = hashes.collect();
        hashes.map(Self).map_err(de::Error::custom)
    }
}

/// An object whose values are strings, with its order and without repeated keys.
struct Pairs<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;

        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::<(Cow<'de, str>, Cow<'de, str>)>::new();
                while let Some((Text(key), Text(value))) = map.next_entry::<Text<'de>, Text<'de>>()? {
                    if pairs.iter().any(|(other, _)| *other == key) {
                        return Err(de::Error::custom(format!("`{key}` is listed twice")));
                    }
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(PairsVisitor)
    }
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Parses the header inside a shard, an object like a shard of the index without its files.
pub(crate) fn header(text: &[u8]) -> Result<Layout, String> {
    let shard: ShardText<'_> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    shard.layout.parse()
}
