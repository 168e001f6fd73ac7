//! Batching: how the streams of an epoch share its batches.

mod composed;
mod device_per_stream;
mod per_stream;
mod stratified;
mod turns;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

pub(crate) use self::composed::{Composed, Mix};
pub(crate) use self::device_per_stream::{DevicePerStream, Handing};
pub(crate) use self::per_stream::PerStream;
pub(crate) use self::stratified::{Stratified, Stratum, portions};
pub(crate) use self::turns::Turns;
use crate::order::Order;
use crate::resample::SampleMap;

/// From which streams the samples of a batch come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BatchingMethod {
    /// From all, as the shuffle mixes them.
    #[default]
    Random,
    /// From all, in every global batch in the same proportion.
    Stratified,
    /// From one, the same for all ranks.
    PerStream,
    /// From one, another for each rank.
    DevicePerStream,
}

impl BatchingMethod {
    /// Every method and its name.
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Random, "random"),
        (Self::Stratified, "stratified"),
        (Self::PerStream, "per_stream"),
        (Self::DevicePerStream, "device_per_stream"),
    ];
}

impl fmt::Display for BatchingMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(method, _)| method == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// A name that is no batching method's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no batching method `{name}`; use `random`, `stratified`, `per_stream` or `device_per_stream`")]
pub struct UnknownBatching {
    name: String,
}

impl FromStr for BatchingMethod {
    type Err = UnknownBatching;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|&(method, _)| method).ok_or_else(|| UnknownBatching { name: name.to_owned() })
    }
}

/// Turns positions into stored samples: an order, and what is behind its logical samples.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) order: Box<dyn Order>,
    pub(crate) samples: SampleMap,
}

impl Source {
    #[inline]
    pub(crate) fn id(&self, position: u64) -> u64 {
        self.samples.stored_id(self.order.at(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (method, name) in BatchingMethod::NAMES {
            assert_eq!((method.to_string(), name.parse()), (name.to_owned(), Ok(method)));
        }
        let unknown = "striped".parse::<BatchingMethod>().unwrap_err();
        assert!(unknown.to_string().contains("`striped`"));
    }
}
