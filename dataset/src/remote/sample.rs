//! One sample of a shard that stays where it is.

use super::Origin;
use crate::error::{Error, Result};
use crate::index::ShardInfo;

/// The size of an offset in a shard's table.
const WORD: u64 = 4;

/// Reads sample `sample` of `shard` from `origin` with two small requests and without downloading the shard.
///
/// These are the bytes that [`Sample::bytes`](crate::Sample::bytes) would give. No hash covers a part of a file: what is
/// checked is that the sample lies where samples can lie.
///
/// # Errors
///
/// The shard is compressed, has no such sample, has a table of offsets that cannot be right, or cannot be read.
///
/// # Example
///
/// ```
/// # #[cfg(feature = "remote")] {
/// use lockstep_dataset::Index;
/// use lockstep_dataset::remote::{Remote, read_sample};
///
/// let remote = Remote::open("data/digits")?;
/// let index = Index::read("data/digits")?;
/// assert!(!read_sample(&remote, &index.shards()[1], 5)?.is_empty());
/// # }
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
pub fn read_sample(origin: &dyn Origin, shard: &ShardInfo, sample: u64) -> Result<Vec<u8>> {
    let mut files = shard.files();
    let data = files.next().ok_or_else(|| Error::corrupt("the shard has no files"))?;
    // The text formats have their table in a file of its own.
    let table = files.next();
    let place = |what: &str| format!("{}/{}: {what}", origin.url(), data.raw.basename());
    if data.zip.is_some() {
        return Err(Error::config(place("the shard is compressed, and no part of it can be read alone; use a cache")));
    }
    if sample >= shard.num_samples() {
        return Err(Error::config(place(&format!("there is no sample {sample} among {}", shard.num_samples()))));
    }
    // A count, then where each sample begins and where the last one ends.
    let start = sample.saturating_add(1).saturating_mul(WORD);
    let words = origin.read_range(table.unwrap_or(data).raw.basename(), start..start.saturating_add(2 * WORD))?;
    let offset = |at: usize| words.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    let (Some(begin), Some(end)) = (offset(0), offset(4)) else {
        return Err(Error::corrupt(place("its table of offsets ends too early")));
    };
    let first = if table.is_some() { 0 } else { shard.num_samples().saturating_add(2).saturating_mul(WORD) };
    if u64::from(begin) < first || end < begin || u64::from(end) > data.raw.bytes() {
        let message = format!("sample {sample} is said to be at bytes {begin} to {end}; upload the shard again");
        return Err(Error::corrupt(place(&message)));
    }
    origin.read_range(data.raw.basename(), begin.into()..end.into())
}
