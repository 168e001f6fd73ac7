//! Indexes that are none, or lie.

use serde_json::json;

use super::{Case, name, remove, second_shard, text};

pub(super) const INDEX: &[Case] = &[
    (
        "empty index",
        |d| d.index_text = Some(Vec::new()),
        "index.json: the file is empty; copy it again from where the dataset was written",
    ),
    (
        "a byte order mark",
        |d| d.index_text = Some([b"\xef\xbb\xbf", d.index.to_string().as_bytes()].concat()),
        "index.json, byte 0: a byte order mark, which JSON does not have; remove it",
    ),
    (
        "not UTF-8",
        |d| d.index_text = Some(b"{\"shards\": \"\xff\"}".to_vec()),
        "index.json, byte 12: not UTF-8; copy the file again",
    ),
    ("not JSON", |d| text(d, "shards:"), "index.json, byte 0: expected value; copy the file again"),
    (
        "cut short",
        |d| {
            let t = d.index.to_string();
            text(d, &t[..200]);
        },
        "index.json, byte 199: EOF while parsing a string; copy the file again",
    ),
    (
        "more behind the end",
        |d| {
            let t = d.index.to_string() + "}";
            text(d, &t);
        },
        "index.json, byte 278: trailing characters; copy the file again",
    ),
    (
        "a list",
        |d| text(d, "[]"),
        "index.json, byte 0: invalid type: sequence, expected an index: an object with `version` and `shards`",
    ),
    (
        "100 levels deep",
        |d| text(d, &format!("{{\"version\": 2, \"shards\": {}{}}}", "[".repeat(100), "]".repeat(100))),
        "index.json, byte 25: invalid type: sequence, expected a shard: an object with `format`, `samples`, `raw_data` and more",
    ),
    (
        "100,000 levels deep",
        |d| text(d, &format!("{{\"version\": 2, \"shards\": [{}", "[".repeat(100_000))),
        "index.json, byte 25: invalid type: sequence, expected a shard: an object with `format`, `samples`, `raw_data` and more",
    ),
    ("version 1", |d| d.index["version"] = 1.into(), "index.json: it is of version 1; only version 2 can be read"),
    (
        "a version that is no number",
        |d| d.index["version"] = "2".into(),
        r#"index.json: it is of version "2"; only version 2 can be read"#,
    ),
    (
        "no version",
        |d| {
            d.index.as_object_mut().unwrap().remove("version");
        },
        "index.json, byte 265: missing field `version`",
    ),
    (
        "a shard of version 3",
        |d| d.entry()["version"] = 3.into(),
        "index.json, byte 264: shard 0: it is of version 3; only version 2 can be read",
    ),
    ("no list of shards", |d| text(d, r#"{"version": 2}"#), "index.json, byte 13: missing field `shards`"),
    (
        "an empty list of shards",
        |d| d.index["shards"] = json!([]),
        "index.json: it lists no shards; a dataset has at least one",
    ),
    (
        "shards that are an object",
        |d| d.index["shards"] = json!({}),
        "index.json, byte 9: invalid type: map, expected a list of shards",
    ),
    (
        "a shard that is null",
        |d| d.index["shards"] = json!([null]),
        "index.json, byte 14: invalid type: null, expected a shard: an object with `format`, `samples`, `raw_data` and more",
    ),
    (
        "shards listed twice",
        |d| text(d, r#"{"version": 2, "shards": [], "shards": []}"#),
        "index.json, byte 36: duplicate field `shards`",
    ),
    (
        "a field of a shard twice",
        |d| {
            let t = d.index.to_string().replace("\"samples\"", "\"samples\": 3, \"samples\"");
            text(d, &t);
        },
        "index.json, byte 228: duplicate field `samples`",
    ),
    ("no format", |d| remove(d, "format"), "index.json, byte 249: shard 0: it has no `format`"),
    (
        "an unknown format",
        |d| d.entry()["format"] = "parquet".into(),
        "index.json, byte 268: shard 0: unknown format `parquet`; known are mds, json, csv, tsv, xsv",
    ),
    ("no number of samples", |d| remove(d, "samples"), "index.json, byte 252: shard 0: it has no `samples`"),
    (
        "a negative number of samples",
        |d| d.entry()["samples"] = (-1).into(),
        "index.json, byte 217: invalid value: integer `-1`, expected u64",
    ),
    (
        "half a sample",
        |d| d.entry()["samples"] = json!(2.5),
        "index.json, byte 218: invalid type: floating point `2.5`, expected u64",
    ),
    (
        "more than 64 bits of samples",
        |d| {
            let t = d.index.to_string().replace("\"samples\":3", "\"samples\":18446744073709551616");
            text(d, &t);
        },
        "index.json, byte 235: invalid type: floating point `1.8446744073709552e+19`, expected u64",
    ),
    (
        "2^64 samples in two shards",
        |d| {
            d.entry()["samples"] = u64::MAX.into();
            second_shard(d, "b.mds");
        },
        "index.json: more than 2^64 samples in all; write it again",
    ),
    ("no file", |d| remove(d, "raw_data"), "index.json, byte 198: shard 0: it has no `raw_data`"),
    (
        "a file that is null",
        |d| d.entry()["raw_data"] = json!(null),
        "index.json, byte 214: shard 0: it has no `raw_data`",
    ),
    (
        "a file without a size",
        |d| d.entry()["raw_data"] = json!({"basename": "a", "hashes": {}}),
        "index.json, byte 178: missing field `bytes`",
    ),
    (
        "a negative size",
        |d| d.entry()["raw_data"]["bytes"] = (-1).into(),
        "index.json, byte 190: invalid value: integer `-1`, expected u64",
    ),
    (
        "a name that leaves the directory",
        |d| name(d, "../shard.00000.mds"),
        r#"index.json, byte 267: shard 0: file name "../shard.00000.mds" has a `..` part; names must lie inside the dataset's directory"#,
    ),
    (
        "a name that leaves it later",
        |d| name(d, "a/../../shard.00000.mds"),
        r#"index.json, byte 272: shard 0: file name "a/../../shard.00000.mds" has a `..` part; names must lie inside the dataset's directory"#,
    ),
    (
        "an absolute name",
        |d| name(d, "/etc/passwd"),
        r#"index.json, byte 260: shard 0: file name "/etc/passwd" is absolute; names must lie inside the dataset's directory"#,
    ),
    ("an empty name", |d| name(d, ""), "index.json, byte 249: shard 0: a file name is empty"),
    (
        "a name with NUL",
        |d| name(d, "a\0b"),
        r#"index.json, byte 257: shard 0: file name "a\0b" has a backslash or a control character; rename the file"#,
    ),
    (
        "a name with a backslash",
        |d| name(d, "..\\a"),
        r#"index.json, byte 254: shard 0: file name "..\\a" has a backslash or a control character; rename the file"#,
    ),
    ("the index as a shard", |d| name(d, "index.json"), "index.json: shard 0 has the index itself as a file"),
    (
        "two shards in one file",
        |d| second_shard(d, "shard.00000.mds"),
        r#"index.json: shards 0 and 1 are both stored as "shard.00000.mds""#,
    ),
    (
        "an unknown encoding",
        |d| d.entry()["column_encodings"] = json!(["int", "utf8"]),
        "index.json, byte 265: shard 0: column `t`: unknown encoding `utf8`; known are bytes, str, int, uint8 to uint64, int8 to int64, float16 to float64, str_int, str_float, str_decimal, ndarray[:DTYPE[:SHAPE]], json, pil, png, jpeg, list[pil], list[png], list[jpeg], jpeg_array and pkl",
    ),
    (
        "an encoding that is a number",
        |d| d.entry()["column_encodings"] = json!(["int", 7]),
        r#"index.json, byte 260: shard 0: its `column_encodings` is ["int",7]: invalid type: integer `7`, expected a string"#,
    ),
    (
        "two columns of one name",
        |d| d.entry()["column_names"] = json!(["n", "n"]),
        "index.json, byte 264: shard 0: column `n` is listed twice; names must differ",
    ),
    (
        "more names than encodings",
        |d| d.entry()["column_names"] = json!(["n", "t", "u"]),
        "index.json, byte 268: shard 0: it has 3 column names, 2 encodings and 2 sizes",
    ),
    (
        "a size that its encoding cannot have",
        |d| d.entry()["column_sizes"] = json!([4, null]),
        "index.json, byte 264: shard 0: column `n` has encoding `int` and size 4; its values take 8 bytes",
    ),
    (
        "a size beyond 4 GiB",
        |d| d.entry()["column_sizes"] = json!([8, u64::MAX]),
        "index.json, byte 280: shard 0: column `t` has a size beyond 4 GiB, which no MDS file can hold",
    ),
    ("no sizes", |d| remove(d, "column_sizes"), "index.json, byte 240: shard 0: it has no `column_sizes`"),
    (
        "a shape beyond 64 bits",
        |d| d.entry()["column_encodings"] = json!(["int", "ndarray:int8:4294967296,4294967296"]),
        "index.json, byte 295: shard 0: column `t`: encoding `ndarray:int8:4294967296,4294967296` has a shape that is not a list of positive numbers below 2^64 in all, as in 8,8",
    ),
    (
        "an unknown hash",
        |d| d.entry()["raw_data"]["hashes"] = json!({"crc32": "00000000"}),
        "index.json, byte 222: unknown hash `crc32`; known are blake2b, blake2s, md5, sha1, sha224, sha256, sha384, sha512, sha3_224, sha3_256, sha3_384, sha3_512, xxh32, xxh64, xxh128 and xxh3_64",
    ),
    (
        "a hash of the wrong length",
        |d| d.entry()["raw_data"]["hashes"] = json!({"xxh64": "00"}),
        "index.json, byte 216: the xxh64 hash `00` is not 16 hexadecimal digits",
    ),
    (
        "an unknown compression",
        |d| d.entry()["compression"] = "lzma".into(),
        "index.json, byte 266: shard 0: unknown compression `lzma`; known are br, bz2, gz, snappy and zstd, with a level as in zstd:9",
    ),
    (
        "a level that there is not",
        |d| d.entry()["compression"] = "zstd:99".into(),
        "index.json, byte 269: shard 0: compression `zstd:99` has no level 99; zstd has 1 to 22",
    ),
    (
        "compression without compressed files",
        |d| d.entry()["compression"] = "zstd".into(),
        "index.json, byte 266: shard 0: it is compressed with zstd but has no `zip_data`",
    ),
    (
        "compressed files without compression",
        |d| d.entry()["zip_data"] = json!({"basename": "a", "bytes": 1, "hashes": {}}),
        "index.json, byte 298: shard 0: it has `zip_data` but no compression",
    ),
];
