//! Text formats that are damaged.

use serde_json::json;

use super::Case;
use crate::support::Draft;

pub(super) const TEXT: &[Case] = &[
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
