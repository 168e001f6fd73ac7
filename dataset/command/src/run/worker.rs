//! One reader: reads its part of each epoch and tells its rank what it read.

use std::io::{self, Write};

use lockstep_dataset::Reader;
use xxhash_rust::xxh3::xxh3_64;

use crate::run::tally::Tally;
use crate::run::wire::{self, BatchRead, Message, SampleRead};

/// Reads the next batch and digests every byte of it; `None` at the end of the epoch.
pub(crate) fn read_batch(reader: &mut Reader) -> lockstep_dataset::Result<Option<BatchRead>> {
    let Some(batch) = reader.next_batch()? else { return Ok(None) };
    let mut read = BatchRead { bytes: 0, samples: Vec::with_capacity(batch.len()) };
    for (id, sample) in batch.iter() {
        let bytes = sample?.bytes();
        read.bytes += bytes.len() as u64;
        read.samples.push(SampleRead { id, digest: xxh3_64(bytes) });
    }
    Ok(Some(read))
}

/// Reads epoch after epoch into the pipe.
pub(crate) fn run(mut reader: Reader, epochs: u64, pipe: &mut impl Write) -> anyhow::Result<()> {
    for _ in 0..epochs {
        let epoch = reader.begin_epoch()?.epoch;
        let mut tally = Tally::start(epoch);
        while let Some(batch) = read_batch(&mut reader)? {
            tally.add(&batch);
            wire::write(pipe, &Message::Batch(batch))?;
        }
        wire::write(pipe, &Message::EpochEnd(tally.finish()))?;
        // The rank must see the end of this epoch before the session of the node waits at the start of the next.
        pipe.flush()?;
    }
    // Nothing is shared any more when the rank hears that this was all.
    drop(reader);
    wire::write(pipe, &Message::Done)?;
    Ok(pipe.flush()?)
}

/// Whether a worker's error only says that its rank has read enough and closed the pipe.
pub(crate) fn is_dismissed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
