//! Hashes of files.

mod check;
mod hasher;

use std::fmt;

pub use check::FileCheck;
pub use hasher::Hasher;

use crate::error::{Error, Result};

/// A hash algorithm that an index may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it all")]
pub enum HashAlgorithm {
    Blake2b,
    Blake2s,
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Sha512,
    Xxh128,
    Xxh32,
    Xxh3_64,
    Xxh64,
}

/// The value of a hash. Shown and parsed as lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Digest(Box<[u8]>);

/// Why a hash in an index cannot be one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HashError {
    #[error(
        "unknown hash `{0}`; known are blake2b, blake2s, md5, sha1, sha224, sha256, sha384, sha512, sha3_224, sha3_256, \
         sha3_384, sha3_512, xxh32, xxh64, xxh128 and xxh3_64"
    )]
    Unknown(String),
    #[error("the {algorithm} hash `{text}` is not {digits} hexadecimal digits")]
    Digits { algorithm: HashAlgorithm, text: String, digits: usize },
}

impl HashAlgorithm {
    /// All of them, by name.
    pub const ALL: [Self; 16] = [
        Self::Blake2b,
        Self::Blake2s,
        Self::Md5,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha3_224,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
        Self::Sha512,
        Self::Xxh128,
        Self::Xxh32,
        Self::Xxh3_64,
        Self::Xxh64,
    ];

    /// The name in `index.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blake2b => "blake2b",
            Self::Blake2s => "blake2s",
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha3_224 => "sha3_224",
            Self::Sha3_256 => "sha3_256",
            Self::Sha3_384 => "sha3_384",
            Self::Sha3_512 => "sha3_512",
            Self::Sha512 => "sha512",
            Self::Xxh128 => "xxh128",
            Self::Xxh32 => "xxh32",
            Self::Xxh3_64 => "xxh3_64",
            Self::Xxh64 => "xxh64",
        }
    }

    pub(crate) fn from_name(name: &str) -> Result<Self, HashError> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| HashError::Unknown(name.to_owned()))
    }

    /// The size of a digest in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Xxh32 => 4,
            Self::Xxh64 | Self::Xxh3_64 => 8,
            Self::Md5 | Self::Xxh128 => 16,
            Self::Sha1 => 20,
            Self::Sha224 | Self::Sha3_224 => 28,
            Self::Blake2s | Self::Sha256 | Self::Sha3_256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Blake2b | Self::Sha512 | Self::Sha3_512 => 64,
        }
    }

    /// Parses a digest of this algorithm.
    pub(crate) fn parse_digest(self, text: &str) -> Result<Digest, HashError> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let bytes: Option<Box<[u8]>> =
            text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect();
        bytes.filter(|bytes| bytes.len() == self.size()).map(Digest).ok_or_else(|| HashError::Digits {
            algorithm: self,
            text: text.to_owned(),
            digits: self.size() * 2,
        })
    }
}

impl std::str::FromStr for HashAlgorithm {
    type Err = Error;

    /// Parses a name such as `xxh64`.
    fn from_str(text: &str) -> Result<Self> {
        Self::from_name(text).map_err(|error| Error::config(error.to_string()))
    }
}

impl fmt::Display for HashAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Digest {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The bytes, in the order in which the digits are written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_and_shown_alike() {
        let digest = HashAlgorithm::Xxh64.parse_digest("00ff1234ABcdef09").unwrap();
        assert_eq!(digest.as_bytes(), [0, 255, 0x12, 0x34, 0xab, 0xcd, 0xef, 9]);
        assert_eq!(digest.to_string(), "00ff1234abcdef09");
        for text in
            ["", "00ff1234abcdef0", "00ff1234abcdef0g", "00ff1234abcdef0900", "+0ff1234abcdef09", "é0ff1234abcdef"]
        {
            assert!(HashAlgorithm::Xxh64.parse_digest(text).is_err(), "{text}");
        }
    }
}
