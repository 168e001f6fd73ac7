//! A small real dataset that comes with this crate: 1,797 handwritten digits.
//!
//! The test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, UCI Machine Learning
//! Repository, 1998, CC BY 4.0), as MDS: `id` int, `image` ndarray of 8x8 uint8, `label` uint8.

use std::io;
use std::path::Path;

/// The directory in a checkout of the sources.
pub const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits");

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../data/digits/", $name)).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 20] = files!(
    "ABOUT.md" "index.json"
    "shard.00000.mds" "shard.00001.mds" "shard.00002.mds" "shard.00003.mds" "shard.00004.mds" "shard.00005.mds"
    "shard.00006.mds" "shard.00007.mds" "shard.00008.mds" "shard.00009.mds" "shard.00010.mds" "shard.00011.mds"
    "shard.00012.mds" "shard.00013.mds" "shard.00014.mds" "shard.00015.mds" "shard.00016.mds" "shard.00017.mds"
);

/// Writes the dataset into an existing directory, for a program that was taken away from the sources.
///
/// # Errors
///
/// A file cannot be written.
pub fn unpack(dir: &Path) -> io::Result<()> {
    FILES.iter().try_for_each(|(name, bytes)| std::fs::write(dir.join(name), bytes))
}
