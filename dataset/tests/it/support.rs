//! What several tests need.

use std::path::{Path, PathBuf};

use lockstep_dataset::Index;

/// The directory of a fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A fixture's index and directory.
pub(crate) fn open_fixture(name: &str) -> (Index, PathBuf) {
    let dir = fixture(name);
    (Index::read(&dir).unwrap(), dir)
}

/// A raw MDS dataset of one shard, to be spoilt.
pub(crate) struct Draft {
    pub(crate) index: serde_json::Value,
    pub(crate) shard: Vec<u8>,
}

impl Draft {
    /// Three samples of columns `n` (int) and `t` (str): (1, "one"), (2, ""), (3, "drei").
    pub(crate) fn new() -> Self {
        let layout = serde_json::json!({
            "column_encodings": ["int", "str"], "column_names": ["n", "t"], "column_sizes": [8, null],
            "compression": null, "format": "mds", "hashes": [], "size_limit": null, "version": 2,
        });
        let samples: Vec<Vec<u8>> = [(1_i64, "one"), (2, ""), (3, "drei")]
            .iter()
            .map(|(n, t)| {
                let size = u32::try_from(t.len()).unwrap();
                [&size.to_le_bytes()[..], &n.to_le_bytes(), t.as_bytes()].concat()
            })
            .collect();
        let shard = mds_file(&layout.to_string(), &samples);
        let mut entry = layout;
        entry["samples"] = 3.into();
        entry["zip_data"] = serde_json::Value::Null;
        entry["raw_data"] = serde_json::json!({"basename": "shard.00000.mds", "bytes": shard.len(), "hashes": {}});
        Self { index: serde_json::json!({"version": 2, "shards": [entry]}), shard }
    }

    /// The shard's entry in the index.
    pub(crate) fn entry(&mut self) -> &mut serde_json::Value {
        &mut self.index["shards"][0]
    }

    /// Sets the size in the index to that of the shard.
    pub(crate) fn fit(&mut self) {
        self.index["shards"][0]["raw_data"]["bytes"] = self.shard.len().into();
    }

    /// Overwrites word `i` of the shard.
    pub(crate) fn set_word(&mut self, i: usize, word: u32) {
        self.shard[4 * i..][..4].copy_from_slice(&word.to_le_bytes());
    }

    pub(crate) fn word(&self, i: usize) -> u32 {
        u32::from_le_bytes(self.shard[4 * i..][..4].try_into().unwrap())
    }

    /// Writes it to a directory of its own.
    pub(crate) fn write(&self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("index.json"), self.index.to_string()).unwrap();
        std::fs::write(dir.path().join("shard.00000.mds"), &self.shard).unwrap();
        dir
    }
}

/// An MDS file of encoded samples.
pub(crate) fn mds_file(header: &str, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut at = 4 * (samples.len() + 2) + header.len();
    let mut file = u32::try_from(samples.len()).unwrap().to_le_bytes().to_vec();
    file.extend(u32::try_from(at).unwrap().to_le_bytes());
    for sample in samples {
        at += sample.len();
        file.extend(u32::try_from(at).unwrap().to_le_bytes());
    }
    file.extend(header.as_bytes());
    samples.iter().for_each(|sample| file.extend(sample));
    file
}
