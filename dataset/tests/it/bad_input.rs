//! Datasets that are not what they say: each a clear error that names the place, never a wrong sample.

use lockstep_dataset::{Index, Shard};
use serde_json::json;

use crate::support::Draft;

/// The text of the first error on the way through the whole dataset, which must be there.
fn error_of(draft: &Draft) -> String {
    let dir = draft.write();
    let read = || -> lockstep_dataset::Result<()> {
        for info in Index::read(dir.path())?.shards() {
            for sample in Shard::open(dir.path(), info)?.iter() {
                let sample = sample?;
                (0..sample.columns().len()).try_for_each(|i| sample.column_at(i).map(drop))?;
            }
        }
        Ok(())
    };
    let error = read().expect_err("the dataset was spoilt");
    assert!(error.is_corrupt(), "{error:?}");
    error.to_string().replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn offsets_that_decrease_or_leave_the_file() {
    let mut draft = Draft::new();
    draft.set_word(3, draft.word(2) - 1);
    assert_eq!(
        error_of(&draft),
        "shard.00000.mds, byte 8: the offsets decrease from 194 to 193 of sample 1; copy the file again from where it was \
         written"
    );
    let mut draft = Draft::new();
    draft.set_word(3, u32::MAX);
    assert!(error_of(&draft).contains("byte 8: the offsets 194 to 4294967295 leave the file of"));
    let mut draft = Draft::new();
    draft.set_word(2, 0);
    assert!(
        error_of(&draft).contains("byte 4: the offsets decrease from 179 to 0 of sample 0"),
        "{}",
        error_of(&draft)
    );
}

#[test]
fn an_index_that_is_missing_or_no_index() {
    let dir = tempfile::tempdir().unwrap();
    let error = |text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(dir.path().join("index.json"), text).unwrap();
        }
        Index::read(dir.path()).unwrap_err().to_string().replace(&format!("{}/", dir.path().display()), "")
    };
    assert_eq!(error(None), "index.json is missing: name the directory that a dataset was written to");
    assert!(Index::read(dir.path().join("none")).unwrap_err().to_string().starts_with("there is no directory"));
    assert_eq!(error(Some("")), "index.json: the file is empty; copy it again from where the dataset was written");
    assert_eq!(error(Some("shards")), "index.json: expected value at line 1 column 1, byte 0");
    assert_eq!(
        error(Some(r#"{"shards": [], "version": 1}"#)),
        "index.json: it is of version 1; only version 2 can be read"
    );
    assert_eq!(
        error(Some(r#"{"shards": [], "version": 2}"#)),
        "index.json: it lists no shards; a dataset has at least one"
    );
    assert_eq!(
        error(Some("{\"version\": 2,\n\"shards\": [{]}")),
        "index.json: key must be a string at line 2 column 13, byte 27"
    );
}

#[test]
fn a_shard_that_is_missing_or_of_another_size() {
    let mut draft = Draft::new();
    draft.entry()["raw_data"]["bytes"] = 99.into();
    assert_eq!(error_of(&draft), "shard.00000.mds has 222 bytes, the index says 99; copy the file and the index again");
    draft.entry()["raw_data"]["bytes"] = u64::MAX.into();
    assert!(error_of(&draft).contains("the index says 18446744073709551615"));
    draft.entry()["raw_data"]["basename"] = "other.mds".into();
    let dir = draft.write();
    let index = Index::read(dir.path()).unwrap();
    let error = Shard::open(dir.path(), &index.shards()[0]).unwrap_err();
    assert!(error.to_string().starts_with("cannot open") && error.to_string().ends_with("other.mds"), "{error}");
}

#[test]
fn a_shard_whose_header_disagrees() {
    let mut draft = Draft::new();
    draft.entry()["samples"] = 4.into();
    assert!(error_of(&draft).contains("byte 0: it has 3 samples, the index says 4"));
    draft.entry()["samples"] = u64::MAX.into();
    assert!(error_of(&draft).contains("byte 0: it has 3 samples, the index says 18446744073709551615"));
    let mut draft = Draft::new();
    draft.entry()["column_encodings"] = json!(["int64", "str"]);
    assert_eq!(
        error_of(&draft),
        "shard.00000.mds: byte 20: its header disagrees with the index: it has columns `n` int of 8 bytes, `t` str, the \
         index says `n` int64 of 8 bytes, `t` str; copy the file again from where it was written"
    );
}

#[test]
fn shards_that_are_cut_or_extended() {
    for len in [0, 3, 4, 12, 19, 20, 100, 221] {
        let mut draft = Draft::new();
        draft.shard.truncate(len);
        draft.fit();
        let error = error_of(&draft);
        assert!(error.starts_with("shard.00000.mds") && error.contains("copy the file again"), "{len}: {error}");
    }
    let mut draft = Draft::new();
    draft.shard.push(0);
    draft.fit();
    assert!(error_of(&draft).contains("byte 16: its samples end at byte 222, the file at 223"), "{}", error_of(&draft));
}
