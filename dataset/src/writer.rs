//! Writing datasets, byte for byte as mosaicml-streaming would.
//!
//! A writer takes samples one by one and cuts them into shards; compression, hashes and files are the work of threads
//! behind it. Every file is written under a temporary name and renamed when it is complete, and `index.json`, which makes
//! a directory a dataset, comes last: a writer that dies leaves files, but nothing that looks like a dataset.

mod entry;
mod mds;
mod merge;
mod options;
mod pool;
mod sink;
mod text;

pub use mds::MdsWriter;
pub use merge::{merge, parts};
pub use options::{Existing, WriterOptions};
pub use text::{JsonWriter, XsvWriter};

use crate::error::{Error, Result};
use crate::value::Value;

/// Looks up the value of each of `names` in a sample that must have these and no others.
fn in_order<'s, 'v>(names: &[Box<str>], sample: &'s [(&str, Value<'v>)]) -> Result<Vec<&'s Value<'v>>> {
    let values: Result<Vec<_>> = names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            // Most callers give the columns in order.
            let there = sample.get(i).filter(|(other, _)| **name == **other);
            let found = there.or_else(|| sample.iter().find(|(other, _)| **name == **other));
            found.map(|(_, value)| value).ok_or_else(|| Error::config(format!("the sample has no column `{name}`")))
        })
        .collect();
    let values = values?;
    if sample.len() != names.len() {
        let extra = sample.iter().find(|(name, _)| !names.iter().any(|other| **other == **name));
        let (name, _) = extra.or(sample.first()).expect("there are more than none");
        return Err(Error::config(format!("the sample has a column `{name}` too many")));
    }
    Ok(values)
}

fn names_differ<'a>(sorted: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut last = None;
    for name in sorted {
        if last == Some(name) {
            return Err(Error::config(format!("column `{name}` is listed twice; names must differ")));
        }
        last = Some(name);
    }
    Ok(())
}
