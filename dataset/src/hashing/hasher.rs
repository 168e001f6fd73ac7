//! Computing hashes.

use std::fmt;

use xxhash_rust::{xxh3::Xxh3, xxh32::Xxh32, xxh64::Xxh64};

use super::{Digest, HashAlgorithm};
use crate::error::{Error, Result};

/// Computes a hash of bytes as they come.
pub struct Hasher {
    algorithm: HashAlgorithm,
    state: State,
}

enum State {
    Xxh32(Xxh32),
    Xxh64(Xxh64),
    Xxh3(Box<Xxh3>),
    #[cfg(feature = "hashes")]
    Other(Box<dyn sha2::digest::DynDigest + Send>),
}

impl Hasher {
    /// Begins a hash.
    ///
    /// # Errors
    ///
    /// The algorithm is not of the xxh family and the crate was built without its feature `hashes`.
    pub fn new(algorithm: HashAlgorithm) -> Result<Self> {
        let state = match algorithm {
            HashAlgorithm::Xxh32 => State::Xxh32(Xxh32::new(0)),
            HashAlgorithm::Xxh64 => State::Xxh64(Xxh64::new(0)),
            HashAlgorithm::Xxh3_64 | HashAlgorithm::Xxh128 => State::Xxh3(Box::new(Xxh3::new())),
            other => other_state(other)?,
        };
        Ok(Self { algorithm, state })
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Xxh32(state) => state.update(bytes),
            State::Xxh64(state) => state.update(bytes),
            State::Xxh3(state) => state.update(bytes),
            #[cfg(feature = "hashes")]
            State::Other(state) => state.update(bytes),
        }
    }

    /// The hash of all bytes so far.
    pub fn finish(self) -> Digest {
        match self.state {
            State::Xxh32(state) => Digest::new(&state.digest().to_be_bytes()),
            State::Xxh64(state) => Digest::new(&state.digest().to_be_bytes()),
            State::Xxh3(state) if self.algorithm == HashAlgorithm::Xxh128 => {
                Digest::new(&state.digest128().to_be_bytes())
            }
            State::Xxh3(state) => Digest::new(&state.digest().to_be_bytes()),
            #[cfg(feature = "hashes")]
            State::Other(state) => Digest::new(&state.finalize()),
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl HashAlgorithm {
    /// The hash of `bytes`.
    ///
    /// # Errors
    ///
    /// As for [`Hasher::new`].
    pub fn hash(self, bytes: &[u8]) -> Result<Digest> {
        let mut hasher = Hasher::new(self)?;
        hasher.update(bytes);
        Ok(hasher.finish())
    }

    /// How fast algorithms are, the fastest first.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Xxh3_64 => 0,
            Self::Xxh128 => 1,
            Self::Xxh64 => 2,
            Self::Xxh32 => 3,
            Self::Sha256 | Self::Sha224 | Self::Sha1 => 4,
            Self::Blake2b => 5,
            Self::Sha512 | Self::Sha384 => 6,
            Self::Md5 | Self::Blake2s => 7,
            Self::Sha3_224 | Self::Sha3_256 | Self::Sha3_384 | Self::Sha3_512 => 8,
        }
    }
}

#[cfg(feature = "hashes")]
fn other_state(algorithm: HashAlgorithm) -> Result<State> {
    Ok(State::Other(match algorithm {
        HashAlgorithm::Blake2b => Box::<blake2::Blake2b512>::default(),
        HashAlgorithm::Blake2s => Box::<blake2::Blake2s256>::default(),
        HashAlgorithm::Md5 => Box::<md5::Md5>::default(),
        HashAlgorithm::Sha1 => Box::<sha1::Sha1>::default(),
        HashAlgorithm::Sha224 => Box::<sha2::Sha224>::default(),
        HashAlgorithm::Sha256 => Box::<sha2::Sha256>::default(),
        HashAlgorithm::Sha384 => Box::<sha2::Sha384>::default(),
        HashAlgorithm::Sha512 => Box::<sha2::Sha512>::default(),
        HashAlgorithm::Sha3_224 => Box::<sha3::Sha3_224>::default(),
        HashAlgorithm::Sha3_256 => Box::<sha3::Sha3_256>::default(),
        HashAlgorithm::Sha3_384 => Box::<sha3::Sha3_384>::default(),
        HashAlgorithm::Sha3_512 => Box::<sha3::Sha3_512>::default(),
        HashAlgorithm::Xxh32 | HashAlgorithm::Xxh64 | HashAlgorithm::Xxh128 | HashAlgorithm::Xxh3_64 => {
            return Err(Error::config(format!("{algorithm} has a state of its own")));
        }
    }))
}

#[cfg(not(feature = "hashes"))]
fn other_state(algorithm: HashAlgorithm) -> Result<State> {
    Err(Error::config(format!("{algorithm} needs lockstep-dataset to be built with its feature `hashes`")))
}

#[cfg(all(test, feature = "hashes"))]
mod tests {
    use super::*;

    #[test]
    fn value_stability_of_hashes() {
        // Of `abc`, by Python's hashlib and xxhash.
        let known = [
            (HashAlgorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (HashAlgorithm::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (HashAlgorithm::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (HashAlgorithm::Blake2s, "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
            (HashAlgorithm::Sha3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
            (HashAlgorithm::Xxh32, "32d153ff"),
            (HashAlgorithm::Xxh64, "44bc2cf5ad770999"),
        ];
        for (algorithm, digits) in known {
            assert_eq!(algorithm.hash(b"abc").unwrap().to_string(), digits, "{algorithm}");
        }
    }

    #[test]
    fn all_algorithms_take_bytes_as_they_come() {
        for algorithm in HashAlgorithm::ALL {
            let mut hasher = Hasher::new(algorithm).unwrap();
            hasher.update(b"");
            hasher.update(b"a");
            hasher.update(b"bc");
            let digest = hasher.finish();
            assert_eq!(digest.as_bytes().len(), algorithm.size(), "{algorithm}");
            assert_eq!(digest, algorithm.hash(b"abc").unwrap(), "{algorithm}");
        }
    }
}
