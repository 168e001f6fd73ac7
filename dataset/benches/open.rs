//! Opening a dataset of many shards.
//!
//! `cargo bench -p lockstep-dataset --bench open [-- --quick]`. Ratios are to parsing the same text as untyped JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use lockstep_dataset::Index;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let shards = if quick { 10_000 } else { 100_000 };
    let text = index(shards)?;
    let path = Path::new("index.json");
    let (mut typed, mut untyped) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        let index = Index::parse(text.as_bytes(), path)?;
        typed.push(start.elapsed());
        assert_eq!(index.shards().len(), shards);
        let start = Instant::now();
        let value: serde_json::Value = serde_json::from_str(&text)?;
        untyped.push(start.elapsed());
        drop((index, value));
    }
    typed.sort();
    untyped.sort();
    let (typed, untyped) = (typed[2].as_secs_f64(), untyped[2].as_secs_f64());
    println!("{:>8} {:>10} {:>10} {:>10} {:>7}", "shards", "MB of text", "index s", "JSON s", "ratio");
    println!("{shards:>8} {:>10.1} {typed:>10.3} {untyped:>10.3} {:>7.2}", text.len() as f64 / 1e6, typed / untyped);
    Ok(())
}

/// Shards with five columns, compression and two hashes.
fn index(shards: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::from("{\"shards\": [");
    for i in 0..shards {
        let separator = if i == 0 { "" } else { ", " };
        write!(
            text,
            r#"{separator}{{"column_encodings": ["int", "str", "jpeg", "ndarray:uint16", "float32"], "column_names": ["a", "b", "c", "d", "e"], "column_sizes": [8, null, null, null, 4], "compression": "zstd:7", "format": "mds", "hashes": ["sha1", "xxh64"], "raw_data": {{"basename": "shard.{i:05}.mds", "bytes": 67092637, "hashes": {{"sha1": "87cff0e1a1687c11cb148436e4cf37460eb5c7d2", "xxh64": "237dedf579543538"}}}}, "samples": 4093, "size_limit": 67108864, "version": 2, "zip_data": {{"basename": "shard.{i:05}.mds.zstd", "bytes": 47092637, "hashes": {{"sha1": "513d00796f69616f4b227ff39940bbe25e941f3f", "xxh64": "87d584fc7ee5da64"}}}}}}"#
        )?;
    }
    text.push_str("], \"version\": 2}");
    Ok(text)
}
