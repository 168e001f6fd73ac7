//! What a segment is called.

use std::fmt;

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// The name of a segment, made of the parts that tell it from others: job, node, purpose.
///
/// The file is named by a hash of the parts, so they may be of any length and hold any characters. The parts themselves,
/// joined by ` / `, are in the segment for people to read, cut after 255 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SegmentName {
    hash: u128,
    title: String,
}

/// How the files of segments end.
pub(crate) const EXTENSION: &str = "seg";

impl SegmentName {
    /// A name of these parts. `["ab", "c"]` and `["a", "bc"]` are different.
    pub fn new(parts: &[&str]) -> Self {
        let mut hasher = Xxh3::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self { hash: hasher.digest128(), title: parts.join(" / ") }
    }

    /// The name of the file.
    pub fn file_name(&self) -> String {
        format!("{:032x}.{EXTENSION}", self.hash)
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)
    }
}

/// One more value into a running fingerprint. The order matters.
pub(crate) fn mix(fingerprint: u64, value: u64) -> u64 {
    xxh3_64_with_seed(&value.to_le_bytes(), fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let names = [&["ab", "c"][..], &["a", "bc"], &["abc"], &["abc", ""], &["", "abc"], &[]];
        let files: std::collections::HashSet<String> =
            names.iter().map(|parts| SegmentName::new(parts).file_name()).collect();
        assert_eq!(files.len(), names.len());
    }

    #[test]
    fn any_text_makes_a_plain_file_name() {
        let name = SegmentName::new(&["../../etc", "\0\n", &"x".repeat(1000)]);
        let file = name.file_name();
        assert_eq!(file.len(), 36);
        assert!(file.strip_suffix(".seg").expect("it ends so").bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    /// Processes of different builds must meet under one name.
    #[test]
    fn value_stability_of_file_names() {
        assert_eq!(SegmentName::new(&["job", "0", "session"]).file_name(), "f06af0b8134a1674f5a32319750913cc.seg");
    }

    #[test]
    fn fingerprints_depend_on_the_order() {
        assert_ne!(mix(mix(0, 1), 2), mix(mix(0, 2), 1));
    }
}
