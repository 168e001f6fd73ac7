//! The fuzz targets in short: fixed seeds, some thousand inputs each, made from the corpus.

use std::path::Path;

#[path = "../../fuzz/entry_points.rs"]
mod entry_points;

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % end.max(1) as u64).unwrap()
    }

    /// Changes, inserts, removes or repeats a few bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let interesting = [0, 1, 0x7f, 0x80, 0xff, b'"', b'\\', b'{', b'[', b',', b'\n', b'9'];
            let byte = interesting[self.below(interesting.len())];
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 => bytes.insert(at, byte),
                3 => drop(bytes.drain(at..(at + self.below(8)).min(bytes.len()))),
                4 => bytes.truncate(at),
                _ => {
                    let end = (at + self.below(16)).min(bytes.len());
                    bytes.extend_from_within(at..end);
                }
            }
        }
    }
}

fn short_form(target: &str, entry_point: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no seeds", corpus.display());
    let mut random = Random(42);
    for path in paths {
        let seed = std::fs::read(path).unwrap();
        entry_point(&seed);
        for _ in 0..300 {
            let mut bytes = seed.clone();
            random.mutate(&mut bytes);
            entry_point(&bytes);
        }
    }
}

#[test]
fn indexes() {
    short_form("index", entry_points::index);
}

#[test]
fn shards() {
    short_form("shard", entry_points::shard);
}

#[test]
fn values() {
    short_form("value", entry_points::value);
}

#[test]
fn texts() {
    short_form("text", entry_points::text);
}
