//! Datasets that are not what they say: each a clear error that names the place, never a panic or a wrong sample.

use std::error::Error as _;
use std::num::NonZeroUsize;

use lockstep_dataset::{Index, Shard, verify};
use serde_json::json;

use crate::support::Draft;

/// What is wrong, how it is made so, and what is said about it.
type Case = (&'static str, fn(&mut Draft), &'static str);

const INDEX: &[Case] = &[
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

const FILES: &[Case] = &[
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

const TABLES: &[Case] = &[
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

const SAMPLES: &[Case] = &[
    (
        "a column's size that lies",
        |d| {
            let at = d.word(2) as usize;
            d.shard()[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        },
        "shard.00000.mds, byte 194: sample 1: it has 12 bytes; the sizes of its columns add up to 4294967307; copy the file again from where it was written",
    ),
    (
        "a sample without room for sizes",
        |d| *d = Draft::mds(&[("x", "str", None)], &[vec![0, 0]]),
        "shard.00000.mds, byte 159: sample 0: 2 bytes have no room for the sizes of 1 columns; copy the file again from where it was written",
    ),
    (
        "a sample of fixed size that is short",
        |d| *d = Draft::mds(&[("x", "int", Some(8))], &[vec![0; 7]]),
        "shard.00000.mds, byte 156: sample 0: it has 7 bytes; the sizes of its columns add up to 8; copy the file again from where it was written",
    ),
    (
        "a sample with bytes to spare",
        |d| *d = Draft::mds(&[("x", "int", Some(8))], &[vec![0; 9]]),
        "shard.00000.mds, byte 156: sample 0: it has 9 bytes; the sizes of its columns add up to 8; copy the file again from where it was written",
    ),
    (
        "an integer of variable size",
        |d| *d = Draft::value("int", &[1, 2, 3]),
        "shard.00000.mds, byte 163: sample 0, column `x`: 3 bytes are not the 8 of a value of type int; copy the file again from where it was written",
    ),
    (
        "bad UTF-8",
        |d| *d = Draft::value("str", b"ab\xff"),
        "shard.00000.mds, byte 163: sample 0, column `x`: text that is not UTF-8 from its byte 2 on; copy the file again from where it was written",
    ),
    (
        "digits that are none",
        |d| *d = Draft::value("str_int", b"0x10"),
        r#"shard.00000.mds, byte 167: sample 0, column `x`: "0x10" is not an integer; copy the file again from where it was written"#,
    ),
    (
        "a number that is none",
        |d| *d = Draft::value("str_float", b"1,5"),
        r#"shard.00000.mds, byte 169: sample 0, column `x`: "1,5" is not a floating-point number; copy the file again from where it was written"#,
    ),
    (
        "a decimal that is none",
        |d| *d = Draft::value("str_decimal", b"1.2.3"),
        r#"shard.00000.mds, byte 171: sample 0, column `x`: "1.2.3" is not a decimal number; copy the file again from where it was written"#,
    ),
    (
        "a JSON column that is none",
        |d| *d = Draft::value("json", b"{'a': 1}"),
        "shard.00000.mds, byte 164: sample 0, column `x`: no JSON: no string at its byte 1; copy the file again from where it was written",
    ),
    (
        "a JSON column 100,000 levels deep",
        |d| *d = Draft::value("json", "[".repeat(100_000).as_bytes()),
        "shard.00000.mds, byte 164: sample 0, column `x`: no JSON: nesting beyond 128 levels at its byte 128; copy the file again from where it was written",
    ),
    (
        "an array without a header",
        |d| *d = Draft::value("ndarray", b""),
        "shard.00000.mds, byte 167: sample 0, column `x`: an array of 0 bytes has no room for its own header; copy the file again from where it was written",
    ),
    (
        "an array of unknown type",
        |d| *d = Draft::value("ndarray", &[7, 4, 1, 0]),
        "shard.00000.mds, byte 167: sample 0, column `x`: unknown type 7 of an array; copy the file again from where it was written",
    ),
    (
        "an array whose shape is cut",
        |d| *d = Draft::value("ndarray", &[8, 63 << 2 | 3, 1]),
        "shard.00000.mds, byte 167: sample 0, column `x`: an array of 3 bytes has no room for its own header; copy the file again from where it was written",
    ),
    (
        "an array whose shape overflows",
        |d| *d = Draft::value("ndarray:int64", &[&[2 << 2 | 3][..], &[255; 16]].concat()),
        "shard.00000.mds, byte 173: sample 0, column `x`: an array of shape [18446744073709551615, 18446744073709551615] and type int64 has 0 bytes of values; copy the file again from where it was written",
    ),
    (
        "an array with fewer values than its shape",
        |d| *d = Draft::value("ndarray:int16", &[4, 2, 1, 0, 2]),
        "shard.00000.mds, byte 173: sample 0, column `x`: an array of shape [2] and type int16 has 3 bytes of values; copy the file again from where it was written",
    ),
    (
        "an array of named shape and other size",
        |d| *d = Draft::value("ndarray:int16:2", &[1, 0]),
        "shard.00000.mds, byte 175: sample 0, column `x`: an array of shape [2] and type int16 has 2 bytes of values; copy the file again from where it was written",
    ),
    (
        "an image without a header",
        |d| *d = Draft::value("pil", &[0; 11]),
        "shard.00000.mds, byte 163: sample 0, column `x`: 11 bytes have no room for the header of an image; copy the file again from where it was written",
    ),
    (
        "an image of 2^64 pixels",
        |d| *d = Draft::value("pil", &[&[255; 8][..], &[1, 0, 0, 0], b"L"].concat()),
        r#"shard.00000.mds, byte 163: sample 0, column `x`: an image of 4294967295x4294967295 pixels of mode "L" has 0 bytes of pixels, not 18446744065119617025; copy the file again from where it was written"#,
    ),
    (
        "an image whose mode is cut",
        |d| *d = Draft::value("pil", &[255; 12]),
        "shard.00000.mds, byte 163: sample 0, column `x`: 12 bytes have no room for the header of an image; copy the file again from where it was written",
    ),
    (
        "a list of 2^32 - 1 images",
        |d| *d = Draft::value("list[png]", &[&[0; 4][..], &[255; 4]].concat()),
        "shard.00000.mds, byte 169: sample 0, column `x`: 8 bytes have no room for a list of 4294967295 images; copy the file again from where it was written",
    ),
    (
        "a list whose sizes lie",
        |d| *d = Draft::value("jpeg_array", &[1, 0, 0, 0, 9, 0, 0, 0, 1]),
        "shard.00000.mds, byte 170: sample 0, column `x`: a list of images has 1 bytes of images; their sizes add up to 9; copy the file again from where it was written",
    ),
];

const COMPRESSED: &[Case] = &[
    (
        "a compressed bomb",
        |d| compress(d, "zstd", &vec![0; 100_000_000]),
        "shard.00000.mds decompresses to more than the 222 bytes that the index says; copy the file and the index again",
    ),
    (
        "a compressed file of fewer bytes",
        |d| compress(d, "gz", b"short"),
        "shard.00000.mds decompresses to fewer than the 222 bytes that the index says; copy the file and the index again",
    ),
    (
        "a compressed file that is none",
        |d| {
            compress(d, "br", b"");
            replace_zip(d, b"\xff\xff\xff");
        },
        "shard.00000.mds does not decompress with br; copy the file again: Invalid Data",
    ),
    (
        "a compressed file cut short",
        |d| {
            let shard = d.shard().clone();
            compress(d, "bz2", &shard);
            let (_, zip) = d.files.last_key_value().unwrap();
            let zip = zip[..zip.len() - 1].to_vec();
            replace_zip(d, &zip);
        },
        "shard.00000.mds does not decompress with bz2; copy the file again: decompression not finished but EOF reached",
    ),
    (
        "a snappy file that says 4 GiB",
        |d| {
            compress(d, "snappy", b"");
            replace_zip(d, &[255, 255, 255, 255, 15]);
        },
        "shard.00000.mds does not decompress with snappy; copy the file again: 4294967295 bytes would come, not 222",
    ),
    (
        "a compressed dataset without any file",
        |d| {
            compress(d, "zstd", b"");
            d.files.clear();
        },
        "shard.zip is missing; copy it again: entity not found",
    ),
];

const TEXT: &[Case] = &[
    (
        "a table with another first line",
        |d| {
            *d = Draft::csv(&["1,a\n"]);
            d.shard()[0] = b'm';
        },
        r#"shard.00000.csv, byte 0: it does not begin with the names of the columns, "n,t\n"; copy the file again from where it was written"#,
    ),
    (
        "a table with too many values",
        |d| *d = Draft::csv(&["1,a\n", "2,b,c\n"]),
        "shard.00000.csv, byte 8: sample 1: it has 3 values, not 2; copy the file again from where it was written",
    ),
    (
        "a table with too few values",
        |d| *d = Draft::csv(&["1\n"]),
        "shard.00000.csv, byte 4: sample 0: it has 1 values, not 2; copy the file again from where it was written",
    ),
    (
        "a table without newlines",
        |d| *d = Draft::csv(&["1,a"]),
        r#"shard.00000.csv, byte 4: sample 0: it does not end with the newline "\n"; copy the file again from where it was written"#,
    ),
    (
        "a table with a number that is none",
        |d| *d = Draft::csv(&["x,a\n"]),
        r#"shard.00000.csv, byte 4: sample 0, column `n`: "x" is not an integer; copy the file again from where it was written"#,
    ),
    (
        "a table whose offsets begin elsewhere",
        |d| {
            *d = Draft::csv(&["1,a\n"]);
            d.set_word(1, 3);
        },
        "shard.00000.csv.meta, byte 4: its samples begin at byte 3 of the data, not behind the first line of 4 bytes; copy the file again from where it was written",
    ),
    (
        "a table whose offsets leave it",
        |d| {
            *d = Draft::csv(&["1,a\n", "2,b\n"]);
            d.set_word(2, 99);
        },
        "shard.00000.csv.meta, byte 4: sample 0: the offsets 4 to 99 leave the file of 12 bytes; copy the file again from where it was written",
    ),
    (
        "a table with another separator",
        |d| {
            *d = Draft::csv(&["1,a\n"]);
            d.entry()["newline"] = "\r\n".into();
        },
        r#"shard.00000.csv, byte 0: it does not begin with the names of the columns, "n,t\r\n"; copy the file again from where it was written"#,
    ),
    (
        "an empty newline",
        |d| {
            *d = Draft::csv(&["1,a\n"]);
            d.entry()["newline"] = "".into();
        },
        "index.json, byte 338: shard 0: its newline or separator is empty, so that samples or values cannot be told apart",
    ),
    (
        "a table without offsets",
        |d| {
            *d = Draft::csv(&["1,a\n"]);
            d.files.pop_last();
        },
        "shard.00000.csv.meta is missing; copy it again: entity not found",
    ),
    (
        "bytes in a table",
        |d| {
            *d = Draft::csv(&["1,a\n"]);
            d.entry()["column_encodings"] = json!(["int", "bytes"]);
        },
        "index.json, byte 342: shard 0: column `t`: encoding `bytes` is not one of text formats; these have str, int and float",
    ),
    (
        "a line that is no JSON",
        |d| *d = Draft::json(&["{\"n\": 1, \"t\": \"a\"}\n", "{\"n\": 1, \"t\": }\n"]),
        "shard.00000.json, byte 19: sample 1: it is no JSON object: no value at its byte 14; copy the file again from where it was written",
    ),
    (
        "a line that is no object",
        |d| *d = Draft::json(&["[1]\n"]),
        "shard.00000.json, byte 0: sample 0: it is no JSON object: no `{` at its byte 0; copy the file again from where it was written",
    ),
    (
        "a line that lacks a column",
        |d| *d = Draft::json(&["{\"n\": 1}\n"]),
        "shard.00000.json, byte 0: sample 0: it has no `t`; copy the file again from where it was written",
    ),
    (
        "a line with a value of another type",
        |d| *d = Draft::json(&["{\"n\": \"1\", \"t\": \"a\"}\n"]),
        r#"shard.00000.json, byte 6: sample 0, column `n`: "\"1\"" is not an integer; copy the file again from where it was written"#,
    ),
    (
        "a line with a null",
        |d| *d = Draft::json(&["{\"n\": 1, \"t\": null}\n"]),
        "shard.00000.json, byte 14: sample 0, column `t`: no JSON string: invalid type: null, expected a string at line 1 column 4; copy the file again from where it was written",
    ),
    (
        "a line with half a character",
        |d| *d = Draft::json(&["{\"n\": 1, \"t\": \"\\ud800\"}\n"]),
        "shard.00000.json, byte 14: sample 0, column `t`: no JSON string: unexpected end of hex escape at line 1 column 8; copy the file again from where it was written",
    ),
];

#[test]
fn indexes_that_are_none_or_lie() {
    check(INDEX);
}

#[test]
fn files_that_are_not_what_the_index_says() {
    check(FILES);
}

#[test]
fn tables_of_offsets_that_lie() {
    check(TABLES);
}

#[test]
fn samples_that_are_damaged() {
    check(SAMPLES);
}

#[test]
fn compressed_files_that_are_damaged() {
    check(COMPRESSED);
}

#[test]
fn text_formats_that_are_damaged() {
    check(TEXT);
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
