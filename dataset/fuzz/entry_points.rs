//! What is fuzzed. Whatever the bytes, nothing here may panic, hang, or take memory beyond what the bytes justify.
//!
//! Shared by the fuzz targets and by a short form with fixed seeds in the crate's tests.

#![cfg_attr(not(test), expect(dead_code, reason = "each fuzz target uses one of these"))]

use std::path::Path;

use lockstep_dataset::{Index, Pickled, Shard};

/// The text of an index.
pub(crate) fn index(bytes: &[u8]) {
    if let Ok(index) = Index::parse(bytes, Path::new("index.json")) {
        let last = index.num_samples().saturating_sub(1);
        let _ = (index.locate(0), index.locate(last), index.locate(u64::MAX));
        for shard in index.shards() {
            let _ = (shard.raw_bytes(), shard.stored_bytes(), shard.columns().position("n"));
        }
    }
}

/// A whole MDS file whose samples are an `int` and a `str`.
pub(crate) fn shard(bytes: &[u8]) {
    let samples = bytes.first_chunk().map_or(0, |&word| u32::from_le_bytes(word));
    let layout =
        r#""format": "mds", "column_names": ["n", "t"], "column_encodings": ["int", "str"], "column_sizes": [8, null]"#;
    read(layout, samples.into(), bytes.to_vec(), None);
}

/// A column's bytes: the first says which encoding, the rest are the value.
pub(crate) fn value(bytes: &[u8]) {
    const ENCODINGS: [&str; 22] = [
        "bytes",
        "str",
        "int",
        "uint8",
        "float16",
        "int64",
        "str_int",
        "str_float",
        "str_decimal",
        "ndarray",
        "ndarray:float32",
        "ndarray:int16:2,3",
        "json",
        "pil",
        "png",
        "jpeg",
        "list[pil]",
        "list[png]",
        "list[jpeg]",
        "jpeg_array",
        "pkl",
        "ndarray:uint8",
    ];
    let Some((&first, value)) = bytes.split_first() else { return };
    let encoding = ENCODINGS[usize::from(first) % ENCODINGS.len()];
    let layout = format!(
        r#""format": "mds", "column_names": ["x"], "column_encodings": ["{encoding}"], "column_sizes": [null]"#
    );
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let header = header(&layout);
    let begin = 12 + header.len();
    let mut file = [word(1), word(begin), word(begin + 4 + value.len())].concat();
    file.extend(header.as_bytes());
    file.extend(word(value.len()));
    file.extend(value);
    read(&layout, 1, file, None);
}

/// A text file: the first byte says which format, the rest is cut into samples at the ends of lines.
pub(crate) fn text(bytes: &[u8]) {
    let Some((&first, lines)) = bytes.split_first() else { return };
    let (layout, begin, last) = match first % 3 {
        0 => (r#""format": "json", "newline": "\n", "columns": {"n": "int", "t": "str", "x": "float"}"#, "", b'\n'),
        1 => (
            r#""format": "csv", "newline": "\n", "column_names": ["n", "t"], "column_encodings": ["int", "str"]"#,
            "n,t\n",
            b'\n',
        ),
        _ => (
            r#""format": "xsv", "newline": "ab", "separator": "a", "column_names": ["n", "x"], "column_encodings": ["int", "float"]"#,
            "naxab",
            b'b',
        ),
    };
    let samples: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == last).collect();
    let mut meta = table(&samples, begin.len());
    meta.extend(header(layout).as_bytes());
    let data = [begin.as_bytes(), lines].concat();
    read(layout, samples.len() as u64, data, Some(meta));
}

/// The number of samples, where the first begins and where each ends.
fn table(samples: &[&[u8]], begin: usize) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut at = begin;
    let mut table = [word(samples.len()), word(at)].concat();
    for sample in samples {
        at += sample.len();
        table.extend(word(at));
    }
    table
}

fn header(layout: &str) -> String {
    format!(r#"{{"version": 2, "compression": null, "hashes": [], "size_limit": null, {layout}}}"#)
}

/// Reads whatever can be read.
fn read(layout: &str, samples: u64, data: Vec<u8>, meta: Option<Vec<u8>>) {
    let file =
        |name: &str, bytes: &[u8]| format!(r#"{{"basename": "{name}", "bytes": {}, "hashes": {{}}}}"#, bytes.len());
    let meta_file = meta.as_ref().map_or("null".into(), |meta| file("meta", meta));
    let index = format!(
        r#"{{"version": 2, "shards": [{{"version": 2, "compression": null, "hashes": [], "size_limit": null, {layout},
            "samples": {samples}, "raw_data": {}, "raw_meta": {meta_file}}}]}}"#,
        file("data", &data)
    );
    let index = Index::parse(index.as_bytes(), Path::new("index.json")).expect("the index is a good one");
    let Ok(shard) = Shard::from_bytes(&index.shards()[0], data, meta) else { return };
    for sample in shard.iter().flatten() {
        let mut line = Vec::new();
        let checked = sample.check();
        let written = sample.write_json(&mut line, Pickled::AsBytes);
        assert_eq!(checked.is_ok(), written.is_ok(), "{checked:?} {written:?}");
    }
}
