//! What several tests need.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_dataset::Index;
use serde_json::json;

/// The directory of a fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A fixture's index and directory.
pub(crate) fn open_fixture(name: &str) -> (Index, PathBuf) {
    let dir = fixture(name);
    (Index::read(&dir).unwrap(), dir)
}

/// A dataset of one shard, to be spoilt.
pub(crate) struct Draft {
    pub(crate) index: serde_json::Value,
    /// The text of the index, if it is to be another.
    pub(crate) index_text: Option<Vec<u8>>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Links and what they lead to.
    pub(crate) links: Vec<(String, PathBuf)>,
}

impl Draft {
    /// Three samples of columns `n` (int) and `t` (str): (1, "one"), (2, ""), (3, "drei").
    pub(crate) fn new() -> Self {
        let samples = [(1_i64, "one"), (2, ""), (3, "drei")].map(|(n, t)| {
            let size = u32::try_from(t.len()).unwrap();
            [&size.to_le_bytes()[..], &n.to_le_bytes(), t.as_bytes()].concat()
        });
        Self::mds(&[("n", "int", Some(8)), ("t", "str", None)], &samples)
    }

    /// One sample with one column `x` of variable size.
    pub(crate) fn value(encoding: &str, value: &[u8]) -> Self {
        let size = u32::try_from(value.len()).unwrap();
        Self::mds(&[("x", encoding, None)], &[[&size.to_le_bytes()[..], value].concat()])
    }

    /// An MDS dataset of encoded samples.
    pub(crate) fn mds(columns: &[(&str, &str, Option<u64>)], samples: &[Vec<u8>]) -> Self {
        let layout = json!({
            "column_names": columns.iter().map(|column| column.0).collect::<Vec<_>>(),
            "column_encodings": columns.iter().map(|column| column.1).collect::<Vec<_>>(),
            "column_sizes": columns.iter().map(|column| column.2).collect::<Vec<_>>(),
            "compression": null, "format": "mds", "hashes": [], "size_limit": null, "version": 2,
        });
        let header = layout.to_string();
        let mut shard = table(4 * (samples.len() + 2) + header.len(), samples);
        shard.extend(header.as_bytes());
        samples.iter().for_each(|sample| shard.extend(sample));
        Self::of(layout, samples.len(), "shard.00000.mds", shard, None)
    }

    /// JSON lines with the columns `n` (int) and `t` (str).
    pub(crate) fn json(lines: &[&str]) -> Self {
        let layout = json!({
            "columns": {"n": "int", "t": "str"}, "compression": null, "format": "json", "hashes": [], "newline": "\n",
            "size_limit": null, "version": 2,
        });
        Self::lines(layout, "", lines, "shard.00000.json")
    }

    /// A CSV dataset with the columns `n` (int) and `t` (str).
    pub(crate) fn csv(lines: &[&str]) -> Self {
        let layout = json!({
            "column_names": ["n", "t"], "column_encodings": ["int", "str"], "compression": null, "format": "csv",
            "hashes": [], "newline": "\n", "size_limit": null, "version": 2,
        });
        Self::lines(layout, "n,t\n", lines, "shard.00000.csv")
    }

    fn lines(layout: serde_json::Value, first: &str, lines: &[&str], name: &str) -> Self {
        let samples: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        let mut meta = table(first.len(), &samples);
        meta.extend(layout.to_string().as_bytes());
        let data = first.to_owned() + &lines.concat();
        Self::of(layout, lines.len(), name, data.into_bytes(), Some(meta))
    }

    fn of(layout: serde_json::Value, samples: usize, name: &str, data: Vec<u8>, meta: Option<Vec<u8>>) -> Self {
        let file = |name: &str, bytes: &[u8]| json!({"basename": name, "bytes": bytes.len(), "hashes": {}});
        let mut entry = layout;
        entry["samples"] = samples.into();
        entry["raw_data"] = file(name, &data);
        entry["zip_data"] = serde_json::Value::Null;
        let mut files = BTreeMap::from([(name.to_owned(), data)]);
        if let Some(meta) = meta {
            let name = format!("{name}.meta");
            entry["raw_meta"] = file(&name, &meta);
            entry["zip_meta"] = serde_json::Value::Null;
            files.insert(name, meta);
        }
        Self { index: json!({"version": 2, "shards": [entry]}), index_text: None, files, links: Vec::new() }
    }

    /// The shard's entry in the index.
    pub(crate) fn entry(&mut self) -> &mut serde_json::Value {
        &mut self.index["shards"][0]
    }

    /// The file of samples.
    pub(crate) fn shard(&mut self) -> &mut Vec<u8> {
        self.files.values_mut().next().unwrap()
    }

    /// Sets the sizes in the index to those of the files.
    pub(crate) fn fit(&mut self) {
        for kind in ["raw_data", "raw_meta"] {
            if let Some(name) = self.index["shards"][0][kind]["basename"].as_str() {
                let len = self.files[name].len();
                self.index["shards"][0][kind]["bytes"] = len.into();
            }
        }
    }

    /// Overwrites word `i` of the file of offsets.
    pub(crate) fn set_word(&mut self, i: usize, word: u32) {
        let file = self.files.values_mut().next_back().unwrap();
        file[4 * i..][..4].copy_from_slice(&word.to_le_bytes());
    }

    pub(crate) fn word(&self, i: usize) -> u32 {
        u32::from_le_bytes(self.files.values().next_back().unwrap()[4 * i..][..4].try_into().unwrap())
    }

    /// Writes it to a directory of its own.
    pub(crate) fn write(&self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let index = self.index_text.clone().unwrap_or_else(|| self.index.to_string().into_bytes());
        std::fs::write(dir.path().join("index.json"), index).unwrap();
        for (name, bytes) in &self.files {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        for (name, target) in &self.links {
            std::os::unix::fs::symlink(target, dir.path().join(name)).unwrap();
        }
        dir
    }
}

/// The number of samples, where the first begins and where each ends.
fn table(begin: usize, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut at = begin;
    let mut table = u32::try_from(samples.len()).unwrap().to_le_bytes().to_vec();
    table.extend(u32::try_from(at).unwrap().to_le_bytes());
    for sample in samples {
        at += sample.len();
        table.extend(u32::try_from(at).unwrap().to_le_bytes());
    }
    table
}
