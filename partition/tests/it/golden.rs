//! Reads the golden vectors.

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// The rows of one file, with their line numbers.
pub(crate) fn rows<T: DeserializeOwned>(text: &str) -> Vec<(usize, T)> {
    let row = |(line, text)| {
        let row = serde_json::from_str(text).unwrap_or_else(|error| panic!("line {line}: {error}"));
        (line, row)
    };
    (1..).zip(text.lines()).map(row).collect()
}

/// The digest that the goldens hold: SHA-256 over little-endian 64-bit integers, padding as -1.
pub(crate) fn digest(ids: impl Iterator<Item = Option<u64>>) -> String {
    let mut hash = Sha256::new();
    for id in ids {
        let id = id.map_or(-1, |id| i64::try_from(id).expect("golden ids are small"));
        hash.update(id.to_le_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
