//! Shard files and their tables of offsets that are not what the index says.

use serde_json::json;

use super::Case;

pub(super) const FILES: &[Case] = &[
    ("a missing shard", |d| d.files.clear(), "shard.00000.mds is missing; copy it again: entity not found"),
    (
        "a directory for a shard",
        |d| {
            d.files.clear();
            d.links.push(("shard.00000.mds".into(), ".".into()));
        },
        "cannot read shard.00000.mds: it is not a file",
    ),
    (
        "a link out of the directory",
        |d| {
            let target = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
            d.files.clear();
            d.entry()["raw_data"]["bytes"] = target.metadata().unwrap().len().into();
            d.links.push(("shard.00000.mds".into(), target));
        },
        "shard.00000.mds is a link out of the dataset's directory; put the file in its place, or allow links (in Rust `Links::Follow`, with `lockstep run` and `cat` `--follow-links`)",
    ),
    (
        "a link to nothing",
        |d| {
            d.files.clear();
            d.links.push(("shard.00000.mds".into(), "nothing".into()));
        },
        "shard.00000.mds is missing; copy it again: entity not found",
    ),
    (
        "a size that lies",
        |d| d.entry()["raw_data"]["bytes"] = u64::MAX.into(),
        "shard.00000.mds has 222 bytes, the index says 18446744073709551615; copy the file and the index again",
    ),
    (
        "a shard cut short",
        |d| {
            d.shard().pop();
        },
        "shard.00000.mds has 221 bytes, the index says 222; copy the file and the index again",
    ),
    (
        "a shard with more behind it",
        |d| d.shard().push(0),
        "shard.00000.mds has 223 bytes, the index says 222; copy the file and the index again",
    ),
    (
        "a stale index",
        |d| d.entry()["raw_data"]["bytes"] = 99.into(),
        "shard.00000.mds has 222 bytes, the index says 99; copy the file and the index again",
    ),
    (
        "a wrong hash",
        |d| d.entry()["raw_data"]["hashes"] = json!({"xxh64": "0123456789abcdef"}),
        "shard.00000.mds has the xxh64 hash d31314d512b9637d, the index says 0123456789abcdef; copy the file and the index again",
    ),
];

pub(super) const TABLES: &[Case] = &[
    (
        "an empty file",
        |d| {
            d.shard().clear();
            d.fit();
        },
        "shard.00000.mds, byte 0: 0 bytes have no room for the table of 3 samples; copy the file again from where it was written",
    ),
    (
        "a file that ends in its table",
        |d| {
            d.shard().truncate(12);
            d.fit();
        },
        "shard.00000.mds, byte 0: 12 bytes have no room for the table of 3 samples; copy the file again from where it was written",
    ),
    (
        "a file cut short and an index to fit",
        |d| {
            d.shard().pop();
            d.fit();
        },
        "shard.00000.mds, byte 16: its samples end at byte 222, the file at 221; copy the file again from where it was written",
    ),
    (
        "a file with more behind it and an index to fit",
        |d| {
            d.shard().push(0);
            d.fit();
        },
        "shard.00000.mds, byte 16: its samples end at byte 222, the file at 223; copy the file again from where it was written",
    ),
    (
        "another number of samples",
        |d| d.entry()["samples"] = 4.into(),
        "shard.00000.mds, byte 0: it has 3 samples, the index says 4; copy the file again from where it was written",
    ),
    (
        "2^32 - 1 samples",
        |d| {
            d.set_word(0, u32::MAX);
            d.entry()["samples"] = u32::MAX.into();
        },
        "shard.00000.mds, byte 0: 222 bytes have no room for the table of 4294967295 samples; copy the file again from where it was written",
    ),
    (
        "samples that begin in the table",
        |d| d.set_word(1, 0),
        "shard.00000.mds, byte 4: its samples begin at byte 0, not between the table's end at 20 and its own at 222; copy the file again from where it was written",
    ),
    (
        "samples that begin behind the end",
        |d| d.set_word(1, u32::MAX),
        "shard.00000.mds, byte 4: its samples begin at byte 4294967295, not between the table's end at 20 and its own at 222; copy the file again from where it was written",
    ),
    (
        "samples that begin later than they do",
        |d| d.set_word(1, d.word(1) + 4),
        "shard.00000.mds, byte 20: its header is not understood: trailing characters at line 1 column 160; copy the file again from where it was written",
    ),
    (
        "offsets that decrease",
        |d| d.set_word(3, d.word(2) - 1),
        "shard.00000.mds, byte 8: sample 1: the offsets decrease from 194 to 193; copy the file again from where it was written",
    ),
    (
        "offsets that leave the file",
        |d| d.set_word(3, u32::MAX),
        "shard.00000.mds, byte 8: sample 1: the offsets 194 to 4294967295 leave the file of 222 bytes; copy the file again from where it was written",
    ),
    (
        "offsets before the first",
        |d| d.set_word(2, 0),
        "shard.00000.mds, byte 4: sample 0: the offsets decrease from 179 to 0; copy the file again from where it was written",
    ),
    (
        "an end that is not the file's",
        |d| d.set_word(4, d.word(4) - 1),
        "shard.00000.mds, byte 16: its samples end at byte 221, the file at 222; copy the file again from where it was written",
    ),
    (
        "a header that is no JSON",
        |d| d.shard()[20] = b'x',
        "shard.00000.mds, byte 20: its header is not understood: expected value at line 1 column 1; copy the file again from where it was written",
    ),
    (
        "a header of other columns",
        |d| d.entry()["column_encodings"] = json!(["int64", "str"]),
        "shard.00000.mds, byte 20: its header disagrees with the index: it has columns `n` int of 8 bytes, `t` str, the index says `n` int64 of 8 bytes, `t` str; copy the file again from where it was written",
    ),
    (
        "a header of another order",
        |d| {
            d.entry()["column_names"] = json!(["t", "n"]);
            d.entry()["column_encodings"] = json!(["str", "int"]);
            d.entry()["column_sizes"] = json!([null, 8]);
        },
        "shard.00000.mds, byte 20: its header disagrees with the index: it has columns `n` int of 8 bytes, `t` str, the index says `t` str, `n` int of 8 bytes; copy the file again from where it was written",
    ),
];
