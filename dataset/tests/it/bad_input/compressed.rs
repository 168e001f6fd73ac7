//! Compressed files that are damaged.

use super::{Case, compress, replace_zip};

pub(super) const COMPRESSED: &[Case] = &[
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
