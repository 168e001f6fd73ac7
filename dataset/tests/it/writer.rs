//! Writers give what the original gives, byte for byte, and never half a dataset.

use std::num::NonZeroUsize;
use std::path::Path;

use lockstep_dataset::value::{NdArray, Scalar, Value};
use lockstep_dataset::writer::{Existing, JsonWriter, MdsWriter, WriterOptions, XsvWriter, merge, parts};
use lockstep_dataset::{Format, Index, Result, Sample, Shard, verify};
use proptest::prelude::*;

use crate::support::{fixture, open_fixture};

enum AnyWriter {
    Mds(MdsWriter),
    Json(JsonWriter),
    Xsv(XsvWriter),
}

impl AnyWriter {
    /// A writer told the same as the one of `index`.
    fn like(index: &Index, dir: &Path) -> Result<Self> {
        let info = &index.shards()[0];
        let names: Vec<_> =
            info.columns().iter().map(|column| (column.name().to_owned(), column.encoding().to_string())).collect();
        let columns: Vec<_> = names.iter().map(|(name, encoding)| (&**name, &**encoding)).collect();
        let options = WriterOptions::new()
            .compression(info.compression())
            .hashes(info.hashes().iter().copied())
            .size_limit(info.size_limit())
            .threads(NonZeroUsize::new(3).unwrap());
        Ok(match info.format() {
            Format::Json => Self::Json(JsonWriter::create(dir, &columns, &options)?),
            Format::Csv => Self::Xsv(XsvWriter::csv(dir, &columns, &options)?),
            Format::Tsv => Self::Xsv(XsvWriter::tsv(dir, &columns, &options)?),
            _ => Self::Mds(MdsWriter::create(dir, &columns, &options)?),
        })
    }

    fn write(&mut self, sample: &Sample<'_>) -> Result<()> {
        let columns = sample.columns().iter().enumerate();
        let sample: Vec<_> = columns.map(|(i, column)| (column.name(), sample.column_at(i).unwrap())).collect();
        match self {
            Self::Mds(writer) => writer.write(&sample),
            Self::Json(writer) => writer.write(&sample),
            Self::Xsv(writer) => writer.write(&sample),
        }
    }

    fn finish(self) -> Result<Index> {
        match self {
            Self::Mds(writer) => writer.finish(),
            Self::Json(writer) => writer.finish(),
            Self::Xsv(writer) => writer.finish(),
        }
    }
}

/// Writes the samples of a fixture again.
fn rewrite(name: &str, dir: &Path) -> (Index, Index) {
    let (index, from) = open_fixture(name);
    let mut writer = AnyWriter::like(&index, dir).unwrap();
    for info in index.shards() {
        let shard = Shard::open(&from, info).unwrap();
        shard.iter().for_each(|sample| writer.write(&sample.unwrap()).unwrap());
    }
    (index, writer.finish().unwrap())
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap());
    entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn files_and_index_are_those_of_the_original() {
    let mut identical = 0;
    for name in names() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, ours) = rewrite(&name, dir.path());
        assert_eq!(theirs.shards().len(), ours.shards().len(), "{name}");
        for (a, b) in theirs.shards().iter().zip(ours.shards()) {
            assert!(a.has_layout_of(b), "{name}");
            let raw =
                |info: &lockstep_dataset::ShardInfo| info.files().map(|pair| pair.raw.clone()).collect::<Vec<_>>();
            // Sizes and hashes say that the raw bytes are the same where other compressors give other files.
            assert_eq!((a.num_samples(), raw(a)), (b.num_samples(), raw(b)), "{name}");
            if a.compression().is_none() {
                for pair in a.files() {
                    let read = |dir: &Path| std::fs::read(dir.join(pair.raw.basename())).unwrap();
                    assert_eq!(read(&fixture(&name)), read(dir.path()), "{name} {}", pair.raw.basename());
                }
            }
        }
        if theirs.shards()[0].compression().is_none() {
            let read = |dir: &Path| std::fs::read_to_string(dir.join("index.json")).unwrap();
            assert_eq!(read(&fixture(&name)), read(dir.path()), "{name}");
            identical += 1;
        }
    }
    assert!(identical >= 20, "only {identical} datasets are raw");
}

const COLUMNS: [(&str, &str); 2] = [("n", "int"), ("t", "str")];

fn row(n: i64) -> [(&'static str, Value<'static>); 2] {
    [("n", Value::Int(n)), ("t", Value::Str("x".into()))]
}

#[test]
fn a_bad_sample_is_not_written_and_others_are() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = MdsWriter::create(dir.path(), &COLUMNS, &WriterOptions::new())?;
    writer.write(&row(1))?;
    let error = |writer: &mut MdsWriter, sample: &[(&str, Value<'_>)]| writer.write(sample).unwrap_err().to_string();
    let [n, t] = row(2);
    assert_eq!(error(&mut writer, std::slice::from_ref(&n)), "the sample has no column `t`");
    assert_eq!(
        error(&mut writer, &[n.clone(), t.clone(), ("u", Value::Int(1))]),
        "the sample has a column `u` too many"
    );
    assert_eq!(
        error(&mut writer, &[("n", Value::Float(1.0)), t.clone()]),
        "column `n`: it has encoding int, which does not take a floating-point number"
    );
    assert_eq!(
        error(&mut writer, &[n, ("t", Value::Bytes(b"\xff"))]),
        "column `t`: bytes that are no value of its encoding: text that is not UTF-8 from its byte 0 on"
    );
    writer.write(&[t, ("n", Value::Int(3))])?;
    let index = writer.finish()?;
    let shard = Shard::open(dir.path(), &index.shards()[0])?;
    let read: Result<Vec<i64>> = shard.iter().map(|sample| sample?.get("n")).collect();
    assert_eq!(read?, [1, 3]);
    Ok(())
}

#[test]
fn a_directory_with_something_in_it_is_refused_or_its_dataset_replaced() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let write = |n: i64, existing: Existing| -> Result<Index> {
        let options = WriterOptions::new().size_limit(Some(300)).existing(existing);
        let mut writer = MdsWriter::create(dir.path(), &COLUMNS, &options)?;
        (0..n).try_for_each(|n| writer.write(&row(n)))?;
        writer.finish()
    };
    let index = write(20, Existing::Refuse)?;
    assert!(index.shards().len() > 2);
    std::fs::write(dir.path().join("notes.txt"), "kept").unwrap();
    let error = write(1, Existing::Refuse).unwrap_err();
    assert!(error.is_config() && error.to_string().contains("is not empty; name another directory"), "{error}");
    assert_eq!(Index::read(dir.path())?.num_samples(), 20);
    assert_eq!(write(1, Existing::Replace)?.num_samples(), 1);
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["index.json", "notes.txt", "shard.00000.mds"]);
    Ok(())
}

#[test]
fn what_text_formats_cannot_hold_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = XsvWriter::csv(dir.path(), &COLUMNS, &WriterOptions::new()).unwrap();
    for text in ["a,b", "a\nb", ","] {
        let error = writer.write(&[("n", Value::Int(1)), ("t", Value::Str(text.into()))]).unwrap_err();
        assert!(error.to_string().contains("has a separator or newline in it"), "{error}");
    }
    assert!(writer.finish().unwrap_err().to_string().contains("at least one sample"));
    assert!(XsvWriter::csv(dir.path(), &[("a,b", "str")], &WriterOptions::new()).is_err());
    assert!(XsvWriter::xsv(dir.path(), "\n", &COLUMNS, &WriterOptions::new()).is_err());
    assert!(JsonWriter::create(dir.path(), &[("a", "bytes")], &WriterOptions::new()).is_err());
    assert!(MdsWriter::create(dir.path(), &[("a", "int"), ("a", "int")], &WriterOptions::new()).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing of these stays");
}

#[test]
fn merged_datasets_read_as_one() -> Result<()> {
    let root = tempfile::tempdir().unwrap();
    for (part, count) in [("b", 3), ("a", 2), ("c", 4)] {
        let mut writer = MdsWriter::create(root.path().join(part), &COLUMNS, &WriterOptions::new())?;
        (0..count).try_for_each(|n| writer.write(&row(n)))?;
        writer.finish()?;
    }
    assert_eq!(parts(root.path())?, ["a", "b", "c"]);
    let merged = merge(root.path(), &["a", "b", "c"])?;
    assert_eq!(
        (merged.num_samples(), merged.shards()[1].files().next().unwrap().raw.basename()),
        (9, "b/shard.00000.mds")
    );
    verify(root.path(), &merged, NonZeroUsize::MIN, |report| assert!(report.faults.is_empty(), "{report:?}"));
    assert!(merge(root.path(), &["../x"]).is_err() && merge(root.path(), &["a", "a"]).unwrap_err().is_corrupt());
    assert_eq!(Index::read(root.path())?.num_samples(), 9, "what was there stays");
    Ok(())
}

/// A value for every encoding that is not about images.
#[derive(Clone, Debug)]
struct Row {
    bytes: Vec<u8>,
    text: String,
    int: i64,
    big: i128,
    float: f64,
    small: u8,
    half: u16,
    elements: Vec<i16>,
    fixed: [f32; 6],
    json: String,
}

fn any_row() -> impl Strategy<Value = Row> {
    let elements = prop::collection::vec(any::<i16>(), 1..400);
    let json = prop::collection::vec((".*", any::<i64>(), any::<f64>()), 0..3)
        .prop_map(|parts| serde_json::json!({"parts": parts}).to_string());
    let numbers = (any::<i64>(), any::<i128>(), any::<f64>(), any::<u8>(), any::<u16>());
    (prop::collection::vec(any::<u8>(), 0..50), ".*", numbers, elements, any::<[f32; 6]>(), json).prop_map(
        |(bytes, text, (int, big, float, small, half), elements, fixed, json)| Row {
            bytes,
            text,
            int,
            big,
            float,
            small,
            half,
            elements,
            fixed,
            json,
        },
    )
}

const ALL: [(&str, &str); 10] = [
    ("bytes", "bytes"),
    ("text", "str"),
    ("int", "int"),
    ("big", "str_int"),
    ("float", "str_float"),
    ("small", "uint8"),
    ("half", "float16"),
    ("elements", "ndarray"),
    ("fixed", "ndarray:float32:2,3"),
    ("json", "json"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(
        rows in prop::collection::vec(any_row(), 1..20),
        size_limit in prop::option::of(1_u64..5000),
        compression in prop::sample::select(vec![None, Some("snappy"), Some("zstd:1"), Some("br:1"), Some("gz:1"), Some("bz2:1")]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let options = WriterOptions::new()
            .size_limit(size_limit)
            .compression(compression.map(|text| text.parse().unwrap()))
            .hashes(["xxh3_64".parse().unwrap(), "sha1".parse().unwrap()]);
        let mut writer = MdsWriter::create(dir.path(), &ALL, &options).unwrap();
        for row in &rows {
            let big = row.big.to_string();
            let shape = [1, row.elements.len() as u64];
            writer.write(&[
                ("bytes", Value::Bytes(&row.bytes)),
                ("text", Value::Str((&*row.text).into())),
                ("int", Value::Int(row.int)),
                ("big", Value::BigInt(&big)),
                ("float", Value::Float(row.float)),
                ("small", Value::Scalar(Scalar::UInt8(row.small))),
                ("half", Value::Bytes(&row.half.to_le_bytes())),
                ("elements", Value::Array(NdArray::from_slice(&shape, &row.elements).unwrap())),
                ("fixed", Value::Array(NdArray::from_slice(&[2, 3], &row.fixed).unwrap())),
                ("json", Value::Json(&row.json)),
            ]).unwrap();
        }
        let index = writer.finish().unwrap();
        prop_assert_eq!(index.num_samples(), rows.len() as u64);
        let mut faults = Vec::new();
        verify(dir.path(), &index, NonZeroUsize::MIN, |report| faults.extend(report.faults));
        prop_assert!(faults.is_empty(), "{:?}", faults);
        for (id, row) in rows.iter().enumerate() {
            let place = index.locate(id as u64).unwrap();
            let shard = Shard::open(dir.path(), &index.shards()[place.shard]).unwrap();
            let sample = shard.sample(place.sample).unwrap();
            prop_assert_eq!(sample.get::<&[u8]>("bytes").unwrap(), &row.bytes);
            prop_assert_eq!(sample.get::<&str>("text").unwrap(), &row.text);
            prop_assert_eq!(sample.get::<i64>("int").unwrap(), row.int);
            prop_assert_eq!(sample.get::<i128>("big").unwrap(), row.big);
            let float = sample.get::<f64>("float").unwrap();
            prop_assert!(float.to_bits() == row.float.to_bits() || (float.is_nan() && row.float.is_nan()));
            prop_assert_eq!(sample.get::<u8>("small").unwrap(), row.small);
            prop_assert_eq!(sample.column_bytes("half").unwrap(), &row.half.to_le_bytes());
            let elements: NdArray<'_> = sample.get("elements").unwrap();
            prop_assert_eq!(elements.to_vec::<i16>().unwrap(), &row.elements[..]);
            prop_assert!(elements.shape().eq([1, row.elements.len() as u64]));
            let fixed: NdArray<'_> = sample.get("fixed").unwrap();
            let bits = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&fixed.to_vec::<f32>().unwrap()), bits(&row.fixed));
            let json: serde_json::Value = serde_json::from_str(sample.get("json").unwrap()).unwrap();
            prop_assert_eq!(json, serde_json::from_str::<serde_json::Value>(&row.json).unwrap());
        }
    }
}
