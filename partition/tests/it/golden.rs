//! The golden vectors, and how they are compared.

use std::{fs, path::Path};

use serde::de::DeserializeOwned;

/// The rows of a file of golden vectors.
pub(crate) fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a row of JSON")).collect()
}
