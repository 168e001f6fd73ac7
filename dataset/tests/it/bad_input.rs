//! Datasets that are not what they say: each a clear error that names the place, never a panic or a wrong sample.

mod compressed;
mod index;
mod sample;
mod shard;
mod text;

use std::error::Error as _;
use std::num::NonZeroUsize;

use lockstep_dataset::{Index, Shard, verify};
use serde_json::json;

use crate::support::Draft;

/// What is wrong, how it is made so, and what is said about it.
type Case = (&'static str, fn(&mut Draft), &'static str);

#[test]
fn indexes_that_are_none_or_lie() {
    check(index::INDEX);
}

#[test]
fn files_that_are_not_what_the_index_says() {
    check(shard::FILES);
}

#[test]
fn tables_of_offsets_that_lie() {
    check(shard::TABLES);
}

#[test]
fn samples_that_are_damaged() {
    check(sample::SAMPLES);
}

#[test]
fn compressed_files_that_are_damaged() {
    check(compressed::COMPRESSED);
}

#[test]
fn text_formats_that_are_damaged() {
    check(text::TEXT);
}

fn text(draft: &mut Draft, text: &str) {
    draft.index_text = Some(text.as_bytes().to_vec());
}

fn remove(draft: &mut Draft, field: &str) {
    draft.entry().as_object_mut().unwrap().remove(field);
}

fn name(draft: &mut Draft, basename: &str) {
    draft.entry()["raw_data"]["basename"] = basename.into();
}

fn second_shard(draft: &mut Draft, basename: &str) {
    let mut second = draft.entry().clone();
    second["raw_data"]["basename"] = basename.into();
    draft.index["shards"].as_array_mut().unwrap().push(second);
}

/// Leaves the compressed form of `bytes` in the shard's place.
fn compress(draft: &mut Draft, compression: &str, bytes: &[u8]) {
    let compressed = compression.parse::<lockstep_dataset::Compression>().unwrap().compress(bytes).unwrap();
    draft.entry()["compression"] = compression.into();
    draft.files.clear();
    replace_zip(draft, &compressed);
}

fn replace_zip(draft: &mut Draft, bytes: &[u8]) {
    draft.entry()["zip_data"] = json!({"basename": "shard.zip", "bytes": bytes.len(), "hashes": {}});
    draft.files.insert("shard.zip".into(), bytes.to_vec());
}

/// The first thing that `verify` has to say, causes and all, with paths relative to the dataset.
fn first_fault(draft: &Draft) -> String {
    let dir = draft.write();
    let mut faults = Vec::new();
    match Index::read(dir.path()) {
        Ok(index) => {
            verify(dir.path(), &index, NonZeroUsize::MIN, |report| {
                faults.extend(report.faults.into_iter().map(|fault| fault.error));
            });
        }
        Err(error) => faults.push(error),
    }
    let error = faults.first().expect("the dataset was spoilt");
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text.replace(&format!("{}/", dir.path().display()), "").replace(&dir.path().display().to_string(), "DIR")
}

/// Reads everything without asking `verify`, as training does. Whatever comes of it, it does not panic.
fn read_all(draft: &Draft) -> lockstep_dataset::Result<()> {
    let dir = draft.write();
    for info in Index::read(dir.path())?.shards() {
        let shard = Shard::open(dir.path(), info)?;
        for sample in shard.iter() {
            sample?.check()?;
        }
    }
    Ok(())
}

fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for (name, spoil, expected) in cases {
        let mut draft = Draft::new();
        spoil(&mut draft);
        let said = first_fault(&draft);
        if said != *expected {
            wrong.push(format!("{name}\n  said     {said}\n  expected {expected}"));
        }
        // Reading notices all but what only hashes can tell.
        let read = read_all(&draft);
        assert_eq!(read.is_err(), *name != "a wrong hash", "{name}: {read:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
