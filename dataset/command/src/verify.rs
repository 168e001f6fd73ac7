//! `lockstep verify`: every size, hash and sample of a dataset checked.

use std::error::Error as _;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use lockstep_dataset::{Fault, Index, ShardInfo, ShardReport, verify};
use serde::Serialize;

use crate::outcome::Outcome;
use crate::output::Output;

/// What to check.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The directory of the dataset.
    dataset: PathBuf,
    /// How many shards to check at once; as many as there are processors if not given.
    #[arg(long, value_name = "THREADS")]
    threads: Option<NonZeroUsize>,
}

/// What was seen in all shards.
#[derive(Default, Serialize)]
struct Summary {
    shards: u64,
    samples: u64,
    bytes: u64,
    bad_shards: u64,
    bad_samples: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FaultLine>,
}

/// Something wrong, for machines.
#[derive(Serialize)]
struct FaultLine {
    shard: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<u64>,
    error: String,
}

/// Checks all shards, lists what is wrong and sums up.
pub(crate) fn run(args: &VerifyArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let index = Index::read(&args.dataset)?;
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let bar = progress(&index);
    let mut summary = Summary::default();
    let mut printed = Ok(());
    verify(&args.dataset, &index, threads, |report| {
        bar.inc(index.shards()[report.shard].stored_bytes());
        summary.count(&report);
        for fault in &report.faults {
            if output.is_json() {
                summary.faults.push(FaultLine { shard: report.shard, sample: fault.sample, error: text(fault) });
            } else if printed.is_ok() {
                printed = bar.suspend(|| print(output, report.shard, fault));
            }
        }
    });
    bar.finish_and_clear();
    printed?;
    let outcome = if summary.bad_shards == 0 { Outcome::Fine } else { Outcome::Failed };
    if output.is_json() {
        output.json(&summary)?;
    } else {
        let Summary { shards, samples, bytes, bad_shards, bad_samples, .. } = summary;
        writeln!(
            output,
            "{shards} shards, {samples} samples, {bytes} bytes: {bad_shards} bad shards, {bad_samples} bad samples"
        )?;
    }
    Ok(outcome)
}

/// Drawn on standard error, if that is a terminal.
fn progress(index: &Index) -> ProgressBar {
    let total = index.shards().iter().map(ShardInfo::stored_bytes).fold(0, u64::saturating_add);
    let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style)
}

impl Summary {
    fn count(&mut self, report: &ShardReport) {
        self.shards += 1;
        self.samples += report.samples;
        self.bytes += report.bytes;
        self.bad_shards += u64::from(!report.faults.is_empty());
        self.bad_samples += report.faults.iter().filter(|fault| fault.sample.is_some()).count() as u64;
    }
}

fn print(output: &mut Output, shard: usize, fault: &Fault) -> std::io::Result<()> {
    match fault.sample {
        Some(sample) => writeln!(output, "shard {shard}, sample {sample}: {}", text(fault)),
        None => writeln!(output, "shard {shard}: {}", text(fault)),
    }
}

/// The error and its causes in a line.
fn text(fault: &Fault) -> String {
    let mut text = fault.error.to_string();
    let mut cause = fault.error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
