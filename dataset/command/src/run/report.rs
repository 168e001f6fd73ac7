//! What `lockstep run` prints: a line for each rank, then the verdict.

use std::io::Write;

use serde::Serialize;

use crate::output::Output;
use crate::run::audit::Verdict;
use crate::run::tally::Summary;

/// What one rank read over the whole run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RankReport {
    pub(crate) node: u64,
    pub(crate) rank: u64,
    /// `null` for a rank that reads nothing.
    pub(crate) group: Option<u64>,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) samples_per_second: f64,
    /// Over the ids in the order read, all epochs.
    pub(crate) ids_digest: String,
    /// Over the bytes of the samples in the order read, all epochs.
    pub(crate) contents_digest: String,
}

/// The whole run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunReport<'a> {
    pub(crate) ranks: &'a [RankReport],
    pub(crate) epochs: &'a [EpochReport<'a>],
    /// What is wrong with the run as a whole.
    pub(crate) faults: &'a [String],
    /// Whether every check held.
    pub(crate) ok: bool,
}

/// The verdict on one epoch.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EpochReport<'a> {
    pub(crate) epoch: u64,
    pub(crate) unique: u64,
    pub(crate) repeats: u64,
    /// Whether the epoch was read to its end.
    pub(crate) complete: bool,
    pub(crate) faults: &'a [String],
}

impl<'a> EpochReport<'a> {
    /// The report on one verdict.
    pub(crate) fn new(verdict: &'a Verdict) -> Self {
        Self {
            epoch: verdict.epoch,
            unique: verdict.unique,
            repeats: verdict.repeats,
            complete: verdict.complete,
            faults: &verdict.faults,
        }
    }
}

impl RankReport {
    /// Adds up a rank's epochs; digests are chained in the order of the epochs.
    pub(crate) fn new(node: u64, rank: u64, group: Option<u64>, epochs: &[Summary]) -> Self {
        let samples = epochs.iter().map(|epoch| epoch.samples).sum();
        let seconds = epochs.iter().map(|epoch| epoch.seconds).sum();
        Self {
            node,
            rank,
            group,
            samples,
            bytes: epochs.iter().map(|epoch| epoch.bytes).sum(),
            seconds,
            samples_per_second: rate(samples, seconds),
            ids_digest: chain(epochs.iter().map(|epoch| epoch.ids_digest)),
            contents_digest: chain(epochs.iter().map(|epoch| epoch.contents_digest)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is rounded for people")]
fn rate(samples: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { samples as f64 / seconds } else { 0.0 }
}

/// One digest for many; that of a single epoch is the epoch's own.
fn chain(mut digests: impl ExactSizeIterator<Item = u64>) -> String {
    let digest = if digests.len() == 1 {
        digests.next().unwrap_or_default()
    } else {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        digests.for_each(|digest| hash.update(&digest.to_le_bytes()));
        hash.digest()
    };
    format!("{digest:016x}")
}

/// Prints the ranks' table.
pub(crate) fn table(output: &mut Output, ranks: &[RankReport]) -> anyhow::Result<()> {
    writeln!(
        output,
        "{:>5} {:>6} {:>6} {:>12} {:>14} {:>12}  {:<16}  {:<16}",
        "node", "rank", "group", "samples", "bytes", "samples/s", "ids", "contents"
    )?;
    for rank in ranks {
        let group = rank.group.map_or_else(|| "-".to_owned(), |group| group.to_string());
        writeln!(
            output,
            "{:>5} {:>6} {:>6} {:>12} {:>14} {:>12.0}  {:<16}  {:<16}",
            rank.node,
            rank.rank,
            group,
            rank.samples,
            rank.bytes,
            rank.samples_per_second,
            rank.ids_digest,
            rank.contents_digest
        )?;
    }
    Ok(())
}

/// Prints the verdicts: a line for each epoch, one for each fault, and what they come to.
pub(crate) fn verdicts(output: &mut Output, run: &RunReport<'_>, group_of_rank: &[Option<u64>]) -> anyhow::Result<()> {
    for epoch in run.epochs {
        let again = match epoch.repeats {
            0 => String::new(),
            repeats => format!(", {repeats} of them again to give every rank as many"),
        };
        let extent = if epoch.complete { "to its end" } else { "in part, as asked" };
        writeln!(output, "epoch {}: {} samples read {extent}{again}", epoch.epoch, epoch.unique)?;
        for fault in epoch.faults {
            writeln!(output, "  wrong: {fault}")?;
        }
    }
    for fault in run.faults {
        writeln!(output, "wrong: {fault}")?;
    }
    if run.ok {
        let readers = group_of_rank.iter().flatten().count();
        let groups = group_of_rank.iter().flatten().collect::<std::collections::BTreeSet<_>>().len();
        let but = match run.epochs.iter().map(|epoch| epoch.repeats).sum::<u64>() {
            0 => String::new(),
            repeats => format!(" but for the {repeats} that fill up the last batches"),
        };
        writeln!(
            output,
            "ok: {readers} ranks in {groups} groups; each group read identical samples, no two groups the same ones{but}"
        )?;
    } else {
        writeln!(output, "failed: the ranks did not read what they should have")?;
    }
    Ok(())
}
