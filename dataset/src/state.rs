//! Checkpoints: where a job is in its data, in a form that any other shape of the job can go on from.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The version of [`State`] that this crate writes.
const VERSION: u32 = 1;

/// Where a job is in its data.
///
/// As JSON it is mosaicml-streaming's state (five fields, or the older four), which it also reads, with a `lockstep`
/// object beside them that says what the position means: every setting on which the order of samples depends. All
/// ranks of a job have the same state at the same step; any one copy is enough.
///
/// # Example
///
/// ```
/// use lockstep_dataset::State;
///
/// let text = r#"{"epoch": 3, "sample_in_epoch": 4096, "num_canonical_nodes": 8, "shuffle_seed": 9176}"#;
/// let state = State::from_json(text)?;
/// assert_eq!((state.epoch, state.sample_in_epoch), (3, 4096));
/// assert_eq!(State::from_json(&state.to_json())?, state);
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Which epoch, from 0.
    pub epoch: u64,
    /// Samples of it that were consumed, over all replica groups: each group's once, and the repeats that fill up the
    /// end of an epoch.
    pub sample_in_epoch: u64,
    /// Equal parts that an epoch is cut into.
    pub num_canonical_nodes: u64,
    /// The seed of the order.
    pub shuffle_seed: u64,
    /// Logical nodes of the job's first run, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_physical_nodes: Option<u64>,
    /// What the position means; absent in states that mosaicml-streaming wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lockstep: Option<Terms>,
}

/// The settings on which the order of samples depends, and which a checkpoint must therefore find unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The version of this object.
    pub version: u32,
    /// The order's name with its version, such as `windowed-v1`, or `sequential`.
    pub shuffle: String,
    /// Samples in a window of the shuffle, if that was set.
    pub shuffle_block_size: Option<u64>,
    /// The batching method.
    pub batching_method: String,
    /// The partition algorithm.
    pub partition_algo: String,
    /// The sampling method.
    pub sampling_method: String,
    /// Samples taken from a shard at a time in a partial repeat.
    pub sampling_granularity: u64,
    /// Samples in an epoch, if that was set.
    pub epoch_size: Option<u64>,
    /// Samples in a batch over all replica groups. May change between two global batches.
    pub global_batch: u64,
    /// A digest of the streams: their weights, and the sizes and hashes of their shards.
    pub dataset: String,
}

impl State {
    /// Reads a state that Lockstep or mosaicml-streaming wrote.
    ///
    /// # Errors
    ///
    /// The text is not such a state, or is of a later version of Lockstep.
    pub fn from_json(text: &str) -> Result<Self> {
        let state: Self = serde_json::from_str(text).map_err(|source| {
            Error::config("this is not a saved state: a JSON object with epoch, sample_in_epoch, num_canonical_nodes and shuffle_seed is wanted")
                .with_source(source)
        })?;
        match &state.lockstep {
            Some(terms) if terms.version > VERSION => Err(Error::config(format!(
                "the state is of version {}, this is Lockstep for version {VERSION}: go on with the Lockstep that saved it, or a later one",
                terms.version
            ))),
            _ => Ok(state),
        }
    }

    /// The state as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a struct of numbers and strings is always JSON")
    }
}

impl Terms {
    /// The version to write.
    pub(crate) const VERSION: u32 = VERSION;

    /// Every difference that changes which samples follow, by name; the global batch is not among them.
    pub(crate) fn differences(&self, here: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |name: &str, saved: &str, here: &str| {
            if saved != here {
                differences.push(format!("{name} was {saved} and is {here}"));
            }
        };
        let set = |number: Option<u64>| number.map_or_else(|| "the default".to_owned(), |number| number.to_string());
        compare("shuffle", &self.shuffle, &here.shuffle);
        compare("shuffle_block_size", &set(self.shuffle_block_size), &set(here.shuffle_block_size));
        compare("batching_method", &self.batching_method, &here.batching_method);
        compare("partition_algo", &self.partition_algo, &here.partition_algo);
        compare("sampling_method", &self.sampling_method, &here.sampling_method);
        let granularity = |terms: &Self| terms.sampling_granularity.to_string();
        compare("sampling_granularity", &granularity(self), &granularity(here));
        compare("epoch_size", &set(self.epoch_size), &set(here.epoch_size));
        compare("dataset (shards, hashes, weights)", &self.dataset, &here.dataset);
        differences
    }
}

/// The error for a state that does not fit, with everything in which it does not.
pub(crate) fn mismatch(differences: &[String]) -> Error {
    let mut message = "the saved state is of another order of samples:".to_owned();
    for (i, difference) in differences.iter().enumerate() {
        write!(message, "{} {difference}", if i == 0 { "" } else { ";" }).expect("writing to a string works");
    }
    message += ". Use the settings it was saved with, or start anew without it";
    Error::config(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms {
            version: VERSION,
            shuffle: "windowed-v1".into(),
            shuffle_block_size: Some(1 << 18),
            batching_method: "random".into(),
            partition_algo: "relaxed".into(),
            sampling_method: "balanced".into(),
            sampling_granularity: 1,
            epoch_size: None,
            global_batch: 32,
            dataset: "0123456789abcdef".into(),
        }
    }

    #[test]
    fn five_and_four_fields_of_the_original_are_read() {
        let five =
            r#"{"epoch":1,"sample_in_epoch":2,"num_canonical_nodes":3,"shuffle_seed":4,"initial_physical_nodes":5}"#;
        let state = State::from_json(five).unwrap();
        assert_eq!(state.initial_physical_nodes, Some(5));
        assert_eq!(state.to_json(), five);
        let four = r#"{"epoch":1,"sample_in_epoch":2,"num_canonical_nodes":3,"shuffle_seed":4}"#;
        assert_eq!(State::from_json(four).unwrap().initial_physical_nodes, None);
    }

    #[test]
    fn rubbish_and_the_future_are_refused() {
        for text in ["", "[]", "{}", r#"{"epoch":-1,"sample_in_epoch":2,"num_canonical_nodes":3,"shuffle_seed":4}"#] {
            assert!(State::from_json(text).unwrap_err().is_config(), "{text}");
        }
        let later = Terms { version: VERSION + 1, ..terms() };
        let state = State {
            epoch: 0,
            sample_in_epoch: 0,
            num_canonical_nodes: 1,
            shuffle_seed: 0,
            initial_physical_nodes: None,
            lockstep: Some(later),
        };
        let error = State::from_json(&state.to_json()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the state is of version 2, this is Lockstep for version 1: go on with the Lockstep that saved it, or a later one"
        );
    }

    #[test]
    fn every_term_but_the_global_batch_is_compared_by_name() {
        let saved = terms();
        assert!(saved.differences(&Terms { global_batch: 64, ..terms() }).is_empty());
        let changed = Terms {
            version: VERSION,
            shuffle: "py1e".into(),
            shuffle_block_size: None,
            batching_method: "stratified".into(),
            partition_algo: "orig".into(),
            sampling_method: "fixed".into(),
            sampling_granularity: 2,
            epoch_size: Some(5),
            global_batch: 64,
            dataset: "fedcba9876543210".into(),
        };
        let names = [
            "shuffle ",
            "shuffle_block_size",
            "batching_method",
            "partition_algo",
            "sampling_method",
            "sampling_granularity",
            "epoch_size",
            "dataset",
        ];
        let differences = saved.differences(&changed);
        assert_eq!(differences.len(), names.len());
        for (difference, name) in differences.iter().zip(names) {
            assert!(difference.starts_with(name), "{difference}");
        }
        assert_eq!(
            mismatch(&differences[..2]).to_string(),
            "the saved state is of another order of samples: shuffle was windowed-v1 and is py1e; shuffle_block_size was 262144 and is the default. \
             Use the settings it was saved with, or start anew without it"
        );
    }
}
