//! What a worker tells its rank and a rank its launcher, through a pipe.
//!
//! A message is a tag, a length and a payload. One `Batch` message is one batch as the loader gave it out, so the
//! reader of the pipe can take its workers' batches in turn.

use std::io::{self, Read, Write};

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::run::tally::Summary;

/// One sample that was read: its id and the XXH3 digest of its bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct SampleRead {
    /// The stored sample's id.
    pub(crate) id: u64,
    /// XXH3 (64 bits) over the stored bytes.
    pub(crate) digest: u64,
}

/// A batch of samples that were read, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchRead {
    /// How many bytes the samples have together.
    pub(crate) bytes: u64,
    /// The samples in the order in which they were read.
    pub(crate) samples: Vec<SampleRead>,
}

/// Why a process gave up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// The error and its causes, joined for one line.
    pub(crate) message: String,
    /// Whether it only follows from the loss of another process, which is then the better one to report.
    pub(crate) peer_lost: bool,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// What to tell the parent of an error here.
    pub(crate) fn from_error(error: &anyhow::Error) -> Self {
        if let Some(failure) = error.downcast_ref::<Self>() {
            return failure.clone();
        }
        let peer_lost =
            error.downcast_ref::<lockstep_dataset::Error>().is_some_and(lockstep_dataset::Error::is_peer_lost);
        Self { message: format!("{error:#}"), peer_lost }
    }
}

/// One message of the pipe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// One batch was read.
    Batch(BatchRead),
    /// An epoch ended (or was left early, as asked).
    EpochEnd(Summary),
    /// The sender could not go on; nothing follows.
    Failed(Failure),
    /// The sender did all it had to do; nothing follows.
    Done,
}

const BATCH: u8 = b'B';
const EPOCH_END: u8 = b'E';
const FAILED: u8 = b'F';
const DONE: u8 = b'D';

/// No honest message is longer; a length above it is rubbish in the pipe.
const LONGEST: u64 = 1 << 30;

/// Writes one message; the caller flushes.
pub(crate) fn write(pipe: &mut impl Write, message: &Message) -> io::Result<()> {
    match message {
        Message::Batch(batch) => {
            let samples: &[u8] = bytemuck::cast_slice(&batch.samples);
            header(pipe, BATCH, 8 + samples.len() as u64)?;
            pipe.write_all(&batch.bytes.to_ne_bytes())?;
            pipe.write_all(samples)
        }
        Message::EpochEnd(summary) => json(pipe, EPOCH_END, summary),
        Message::Failed(failure) => json(pipe, FAILED, failure),
        Message::Done => header(pipe, DONE, 0),
    }
}

/// Reads the next message; `None` where the pipe ends between two messages.
pub(crate) fn read(pipe: &mut impl Read) -> io::Result<Option<Message>> {
    let mut tag = [0];
    if pipe.read(&mut tag)? == 0 {
        return Ok(None);
    }
    let mut length = [0; 8];
    pipe.read_exact(&mut length)?;
    let length = u64::from_ne_bytes(length);
    if length > LONGEST {
        return Err(rubbish(&format!("a message of {length} bytes")));
    }
    match tag[0] {
        BATCH => read_batch(pipe, length).map(Some),
        EPOCH_END => Ok(Some(Message::EpochEnd(serde_json::from_reader(pipe.take(length))?))),
        FAILED => Ok(Some(Message::Failed(serde_json::from_reader(pipe.take(length))?))),
        DONE => Ok(Some(Message::Done)),
        tag => Err(rubbish(&format!("a message with the tag {tag}"))),
    }
}

fn read_batch(pipe: &mut impl Read, length: u64) -> io::Result<Message> {
    let size = size_of::<SampleRead>() as u64;
    let samples = length.checked_sub(8).filter(|samples| samples % size == 0);
    let count = samples.and_then(|samples| usize::try_from(samples / size).ok());
    let count = count.ok_or_else(|| rubbish(&format!("a batch of {length} bytes")))?;
    let mut bytes = [0; 8];
    pipe.read_exact(&mut bytes)?;
    let mut samples = vec![SampleRead::zeroed(); count];
    pipe.read_exact(bytemuck::cast_slice_mut(&mut samples))?;
    Ok(Message::Batch(BatchRead { bytes: u64::from_ne_bytes(bytes), samples }))
}

fn json(pipe: &mut impl Write, tag: u8, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    header(pipe, tag, text.len() as u64)?;
    pipe.write_all(&text)
}

fn header(pipe: &mut impl Write, tag: u8, length: u64) -> io::Result<()> {
    pipe.write_all(&[tag])?;
    pipe.write_all(&length.to_ne_bytes())
}

fn rubbish(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the pipe carries {what}; something else writes to it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = Message> {
        let sample = (any::<u64>(), any::<u64>()).prop_map(|(id, digest)| SampleRead { id, digest });
        prop_oneof![
            (any::<u64>(), prop::collection::vec(sample, 0..20))
                .prop_map(|(bytes, samples)| Message::Batch(BatchRead { bytes, samples })),
            (any::<String>(), any::<bool>())
                .prop_map(|(message, peer_lost)| Message::Failed(Failure { message, peer_lost })),
            any::<u32>().prop_map(|epoch| Message::EpochEnd(Summary { epoch: u64::from(epoch), ..Summary::default() })),
            Just(Message::Done),
        ]
    }

    proptest! {
        #[test]
        fn messages_arrive_as_sent(messages in prop::collection::vec(message(), 0..8)) {
            let mut pipe = Vec::new();
            for message in &messages {
                write(&mut pipe, message).unwrap();
            }
            let mut pipe = pipe.as_slice();
            for message in messages {
                prop_assert_eq!(read(&mut pipe).unwrap(), Some(message));
            }
            prop_assert_eq!(read(&mut pipe).unwrap(), None);
        }

        #[test]
        fn rubbish_is_an_error_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 1..64)) {
            let mut pipe = bytes.as_slice();
            while let Ok(Some(_)) = read(&mut pipe) {}
        }

        #[test]
        fn unknown_tags_are_an_error(tag: u8, rest in prop::collection::vec(any::<u8>(), 0..16)) {
            prop_assume!(![BATCH, EPOCH_END, FAILED, DONE].contains(&tag));
            let header = [&[tag][..], &(rest.len() as u64).to_ne_bytes(), &rest].concat();
            let error = read(&mut header.as_slice()).unwrap_err();
            prop_assert!(error.to_string().contains(&format!("a message with the tag {tag};")), "{}", error);
        }

        #[test]
        fn lengths_that_no_message_has_are_an_error(length in LONGEST + 1..) {
            for tag in [BATCH, EPOCH_END, FAILED, DONE] {
                let header = [&[tag][..], &length.to_ne_bytes()].concat();
                let error = read(&mut header.as_slice()).unwrap_err();
                prop_assert!(error.to_string().contains(&format!("a message of {length} bytes")), "{}", error);
            }
        }
    }

    #[test]
    fn a_pipe_that_ends_inside_a_message_is_an_error() {
        let mut pipe = Vec::new();
        let batch = BatchRead { bytes: 3, samples: vec![SampleRead { id: 1, digest: 2 }] };
        write(&mut pipe, &Message::Batch(batch)).unwrap();
        for cut in 1..pipe.len() {
            assert!(read(&mut &pipe[..cut]).is_err(), "{cut} of {} bytes", pipe.len());
        }
    }
}
