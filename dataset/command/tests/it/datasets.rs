//! `inspect`, `cat`, `verify`, `write` and `merge` on datasets that the original wrote.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Result, digits, finish, lockstep};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

/// A copy of a dataset, to be spoilt.
fn copy_of(dataset: &Path) -> Result<tempfile::TempDir> {
    let dir = tempfile::tempdir()?;
    for entry in fs::read_dir(dataset)? {
        let entry = entry?;
        let bytes = fs::read(entry.path())?;
        fs::write(dir.path().join(entry.file_name()), bytes)?;
    }
    Ok(dir)
}

#[test]
fn every_fixture_verifies_and_prints_what_was_written() -> Result {
    let mut seen = 0;
    for entry in fs::read_dir(fixtures())? {
        let dir = entry?.path();
        if !dir.is_dir() {
            continue;
        }
        let ended = finish(lockstep().arg("verify").arg(&dir))?;
        assert_eq!(ended.code(), Some(0), "{} {} {}", dir.display(), ended.out, ended.err);
        assert_eq!(ended.err, "", "progress is for terminals");
        if let Ok(expected) = fs::read_to_string(dir.join("expected.jsonl")) {
            let ended = finish(lockstep().arg("cat").arg(&dir))?;
            let parse = |text: &str| text.lines().map(serde_json::from_str).collect::<serde_json::Result<Vec<Value>>>();
            assert_eq!(parse(&ended.out)?, parse(&expected)?, "{}", dir.display());
            seen += 1;
        }
    }
    assert!(seen >= 30, "only {seen} fixtures have expectations");
    Ok(())
}

#[test]
fn cat_prints_a_part() -> Result {
    let ended = finish(lockstep().arg("cat").arg(fixtures().join("csv")).args(["--skip", "42", "--limit", "2"]))?;
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(r#"{"id": 42, "#) && lines[1].starts_with(r#"{"id": 43, "#), "{lines:?}");
    let ended = finish(lockstep().arg("cat").arg(digits()).args(["--skip", "1797"]))?;
    assert_eq!((ended.code(), ended.out.as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn verify_lists_every_fault() -> Result {
    let dir = copy_of(&digits())?;
    let spoil = |shard: &str, at: usize| -> Result {
        let path = dir.path().join(shard);
        let mut bytes = fs::read(&path)?;
        bytes[at] ^= 1;
        Ok(fs::write(path, bytes)?)
    };
    spoil("shard.00003.mds", 5000)?;
    spoil("shard.00007.mds", 0)?;
    fs::remove_file(dir.path().join("shard.00011.mds"))?;
    let ended = finish(lockstep().arg("verify").arg(dir.path()))?;
    assert_eq!(ended.code(), Some(1));
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ended.out);
    assert!(lines[0].starts_with("shard 3: shard.00003.mds has the sha256 hash "), "{}", lines[0]);
    assert!(lines[1].starts_with("shard 7: shard.00007.mds has the sha256 hash "), "{}", lines[1]);
    assert!(lines[2].starts_with("shard 11: ") && lines[2].contains("is missing; copy it again"), "{}", lines[2]);
    assert!(lines[3].starts_with("18 shards, ") && lines[3].contains("3 bad shards, 0 bad samples"), "{}", lines[3]);

    let ended = finish(lockstep().args(["--json", "verify"]).arg(dir.path()))?;
    let report: Value = serde_json::from_str(&ended.out)?;
    assert_eq!((ended.code(), report["bad_shards"].as_u64()), (Some(1), Some(3)));
    assert_eq!(report["faults"][2]["shard"], 11);
    Ok(())
}

#[test]
fn inspect_tells_columns_and_sizes() -> Result {
    let ended = finish(lockstep().args(["--json", "inspect"]).arg(fixtures().join("jsonl_zstd")))?;
    let report: Value = serde_json::from_str(&ended.out)?;
    assert_eq!((report["samples"].as_u64(), report["shards"].as_u64()), (Some(50), Some(4)));
    assert_eq!(report["layouts"][0]["compression"], "zstd");
    assert_eq!(report["files"], serde_json::json!({"raw": 0, "compressed": 8, "missing": 0}));
    let ended = finish(lockstep().arg("inspect").arg(digits()).arg("--shards"))?;
    assert!(ended.out.contains("\n  image  ndarray:uint8:8,8, 64 bytes each\n"), "{}", ended.out);
    assert!(ended.out.ends_with("shard.00017.mds\n"), "{}", ended.out);
    Ok(())
}

#[test]
fn what_cat_prints_is_written_back_byte_for_byte() -> Result {
    let dir = tempfile::tempdir()?;
    for (name, format) in
        [("mds_all_encodings", "mds"), ("mds_ndarray_tokens", "mds"), ("jsonl", "json"), ("csv", "csv")]
    {
        let from = fixtures().join(name);
        let lines = dir.path().join(format!("{name}.jsonl"));
        fs::write(&lines, finish(lockstep().arg("cat").arg(&from))?.out)?;
        let index: Value = serde_json::from_slice(&fs::read(from.join("index.json"))?)?;
        let shard = &index["shards"][0];
        let mut command = lockstep();
        let to = dir.path().join(name);
        command.arg("write").arg(&to).arg(&lines).args(["--format", format]);
        command.args(["--size-limit", &shard["size_limit"].to_string()]);
        for i in 0..shard["column_names"].as_array().map_or(0, Vec::len) {
            let text = |list: &str| shard[list][i].as_str().unwrap_or_default().to_owned();
            command.args(["--column", &format!("{}={}", text("column_names"), text("column_encodings"))]);
        }
        let ended = finish(&mut command)?;
        assert_eq!(ended.code(), Some(0), "{name}: {}", ended.err);
        for entry in fs::read_dir(&from)? {
            let file = entry?.file_name();
            if file != "expected.jsonl" {
                assert_eq!(fs::read(from.join(&file))?, fs::read(to.join(&file))?, "{name}: {}", file.display());
            }
        }
    }
    Ok(())
}

#[test]
fn tables_become_datasets_and_these_one() -> Result {
    let dir = tempfile::tempdir()?;
    let table = dir.path().join("table.csv");
    fs::write(&table, "name,n,tokens\n\"a, b\",1,\"[1, 2]\"\n\"c\"\"d\",-2,[3]\n")?;
    for part in ["b", "a"] {
        let columns = ["--column", "name=str", "--column", "n=int32", "--column", "tokens=ndarray:uint16"];
        let ended = finish(lockstep().arg("write").arg(dir.path().join(part)).arg(&table).args(columns).args([
            "--compression",
            "zstd:5",
            "--hash",
            "xxh64",
        ]))?;
        assert_eq!(ended.code(), Some(0), "{}", ended.err);
    }
    let ended = finish(lockstep().arg("merge").arg(dir.path()))?;
    assert_eq!(ended.out, "2 datasets as one: 4 samples in 2 shards\n", "{}", ended.err);
    let ended = finish(lockstep().arg("cat").arg(dir.path()).args(["--skip", "3"]))?;
    let sample: Value = serde_json::from_str(&ended.out)?;
    assert_eq!(sample["name"], "c\"d");
    assert_eq!(sample["n"]["hex"], "feffffff");
    assert_eq!(sample["tokens"], serde_json::json!({"dtype": "uint16", "shape": [1], "hex": "0300"}));
    Ok(())
}

#[test]
fn bad_input_is_named_by_file_and_line_and_leaves_nothing() -> Result {
    let dir = tempfile::tempdir()?;
    let lines = dir.path().join("lines.jsonl");
    let out = dir.path().join("out");
    for (text, error) in [
        ("{\"a\": 1}\n{\"a\": \"x\"}\n", "lines.jsonl, line 2\n  because: column `a`"),
        ("{\"a\": 1}\n{\"b\": 1}\n", "lines.jsonl, line 2\n  because: there is no `a`"),
        ("{\"a\": 1}\n{\"a\"\n", "lines.jsonl, line 2\n  because: EOF while parsing"),
        ("", "error: there are no samples in the files"),
    ] {
        fs::write(&lines, text)?;
        let ended = finish(lockstep().arg("write").arg(&out).arg(&lines))?;
        assert_eq!(ended.code(), Some(1), "{}", ended.out);
        assert!(ended.err.contains(error), "{}", ended.err);
        assert!(!out.exists(), "half a dataset stays after {text:?}");
    }
    let ended = finish(lockstep().arg("write").arg(&out).arg(dir.path().join("x.unknown")))?;
    assert!(ended.err.contains("use --input-format"), "{}", ended.err);
    Ok(())
}
