//! Samples that are damaged.

use super::Case;
use crate::support::Draft;

pub(super) const SAMPLES: &[Case] = &[
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
