//! Compressed files.

#[cfg(feature = "compression")]
mod codec;

use std::fmt;

use crate::error::{Error, Result};
use crate::index::FileInfo;

/// How files are compressed where they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compression {
    algorithm: CompressionAlgorithm,
    level: Option<u32>,
}

/// A compression algorithm that an index may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompressionAlgorithm {
    /// Brotli, levels 0 to 11, 11 by default.
    Brotli,
    /// Bzip2, levels 1 to 9, 9 by default.
    Bzip2,
    /// Gzip, levels 0 to 9, 9 by default.
    Gzip,
    /// Snappy's raw format, without levels.
    Snappy,
    /// Zstandard, levels 1 to 22, 3 by default.
    Zstd,
}

/// Why a compression cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompressionError {
    #[error("unknown compression `{0}`; known are br, bz2, gz, snappy and zstd, with a level as in zstd:9")]
    Unknown(String),
    #[error("compression `{text}` has no level {level}; {name} has {levels}")]
    Level { text: String, level: String, name: &'static str, levels: String },
}

impl CompressionAlgorithm {
    const ALL: [Self; 5] = [Self::Brotli, Self::Bzip2, Self::Gzip, Self::Snappy, Self::Zstd];

    /// The name in `index.json`, which is also the extension of compressed files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Bzip2 => "bz2",
            Self::Gzip => "gz",
            Self::Snappy => "snappy",
            Self::Zstd => "zstd",
        }
    }

    /// The levels it has and the default one.
    fn levels(self) -> Option<(std::ops::RangeInclusive<u32>, u32)> {
        match self {
            Self::Brotli => Some((0..=11, 11)),
            Self::Bzip2 => Some((1..=9, 9)),
            Self::Gzip => Some((0..=9, 9)),
            Self::Snappy => None,
            Self::Zstd => Some((1..=22, 3)),
        }
    }
}

impl Compression {
    /// Parses `zstd`, `zstd:9` and the like.
    pub(crate) fn parse(text: &str) -> Result<Self, CompressionError> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let algorithm = CompressionAlgorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| CompressionError::Unknown(text.to_owned()))?;
        let levels = algorithm.levels().map(|(levels, _)| levels);
        let parsed = level.map(|level| {
            let parsed =
                level.parse().ok().filter(|level| levels.as_ref().is_some_and(|levels| levels.contains(level)));
            parsed.ok_or_else(|| CompressionError::Level {
                text: text.to_owned(),
                level: level.to_owned(),
                name: algorithm.name(),
                levels: levels.as_ref().map_or("none".into(), |l| format!("{} to {}", l.start(), l.end())),
            })
        });
        Ok(Self { algorithm, level: parsed.transpose()? })
    }

    /// The algorithm.
    pub fn algorithm(self) -> CompressionAlgorithm {
        self.algorithm
    }

    /// The level that was asked for, if one was.
    pub fn level(self) -> Option<u32> {
        self.level
    }
}

impl Compression {
    /// Decompresses `zip`, a whole file, into the file that `raw` describes.
    ///
    /// No more memory is used than the index says, whatever the compressed bytes would unfold to.
    ///
    /// # Errors
    ///
    /// The bytes are damaged, or unfold to more or less than `raw` says. Hashes are not looked at: see
    /// [`FileCheck`](crate::FileCheck). Also without the feature `compression`.
    pub fn decompress(self, zip: &[u8], raw: &FileInfo) -> Result<Vec<u8>> {
        let bytes = self.decode(zip, raw.bytes()).map_err(|source| {
            let message = format!("{} does not decompress with {self}; copy the file again", raw.basename());
            Error::corrupt(message).with_source(source)
        })?;
        if bytes.len() as u64 == raw.bytes() {
            return Ok(bytes);
        }
        let than = if bytes.len() as u64 > raw.bytes() { "more" } else { "fewer" };
        Err(Error::corrupt(format!(
            "{} decompresses to {than} than the {} bytes that the index says; copy the file and the index again",
            raw.basename(),
            raw.bytes()
        )))
    }

    /// Compresses the bytes of a whole file.
    ///
    /// # Errors
    ///
    /// Without the feature `compression`.
    pub fn compress(self, raw: &[u8]) -> Result<Vec<u8>> {
        let level = self.level.or(self.algorithm.levels().map(|(_, default)| default));
        self.encode(raw, level).map_err(|source| Error::io(format!("cannot compress with {self}"), source))
    }

    #[cfg(feature = "compression")]
    fn decode(self, zip: &[u8], limit: u64) -> std::io::Result<Vec<u8>> {
        codec::decode(self.algorithm, zip, limit)
    }

    #[cfg(feature = "compression")]
    fn encode(self, raw: &[u8], level: Option<u32>) -> std::io::Result<Vec<u8>> {
        codec::encode(self.algorithm, raw, level.unwrap_or_default())
    }

    #[cfg(not(feature = "compression"))]
    fn decode(self, _: &[u8], _: u64) -> std::io::Result<Vec<u8>> {
        Err(without_feature())
    }

    #[cfg(not(feature = "compression"))]
    fn encode(self, _: &[u8], _: Option<u32>) -> std::io::Result<Vec<u8>> {
        Err(without_feature())
    }
}

#[cfg(not(feature = "compression"))]
fn without_feature() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::Unsupported, "build lockstep-dataset with its feature `compression`")
}

impl std::str::FromStr for Compression {
    type Err = Error;

    /// Parses `zstd`, `zstd:9` and the like.
    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text).map_err(|error| Error::config(error.to_string()))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.name())?;
        self.level.map_or(Ok(()), |level| write!(f, ":{level}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_shown_alike() {
        for text in ["br", "br:0", "bz2:9", "gz", "gz:3", "snappy", "zstd:22"] {
            assert_eq!(Compression::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "zstd:", "zstd:0", "zstd:23", "zstd:-1", "zstd:3:3", "snappy:1", "xz", "bz2:0"] {
            assert!(Compression::parse(text).is_err(), "{text}");
        }
    }
}
