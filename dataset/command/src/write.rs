//! `lockstep write`: JSON lines, CSV or Parquet into a dataset.

mod cell;
mod input;
mod target;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use lockstep_dataset::writer::{Existing, WriterOptions};
use lockstep_dataset::{Compression, HashAlgorithm};
use serde::Serialize;

use self::input::InputFormat;
use self::target::Target;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::size;

/// What to write, and from what.
#[derive(Args, Debug)]
pub(crate) struct WriteArgs {
    /// The directory to write the dataset to.
    dataset: PathBuf,
    /// Files to read samples from, in this order.
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// What the files are, if their extensions (jsonl, ndjson, json, csv, tsv, parquet) do not say it.
    #[arg(long, value_enum)]
    input_format: Option<InputFormat>,
    /// The format of the dataset.
    #[arg(long, value_enum, default_value_t = OutputFormat::Mds)]
    format: OutputFormat,
    /// A column and its encoding, as in `tokens=ndarray:uint16`; once for each. Without any, all columns are written and
    /// the first sample decides their encodings.
    #[arg(long = "column", value_name = "NAME=ENCODING", value_parser = parse_column)]
    columns: Vec<(String, String)>,
    /// Compress files: br, bz2, gz, snappy or zstd, with a level as in zstd:9.
    #[arg(long)]
    compression: Option<Compression>,
    /// Put a hash of every file into the index, such as xxh64 or sha256; may be given several times.
    #[arg(long = "hash", value_name = "HASH")]
    hashes: Vec<HashAlgorithm>,
    /// The size at which another shard is begun, in bytes or with kb, mb or gb behind it.
    #[arg(long, default_value = "64mb", value_parser = size::parse)]
    size_limit: u64,
    /// How many threads compress and write; as many as there are processors if not given.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Replace the dataset in the directory, if there is one.
    #[arg(long)]
    replace: bool,
}

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Binary columns.
    Mds,
    /// JSON lines.
    Json,
    /// Lines of values between commas.
    Csv,
    /// Lines of values between tabs.
    Tsv,
}

#[derive(Serialize)]
struct Summary {
    samples: u64,
    shards: usize,
    raw_bytes: u64,
    stored_bytes: u64,
}

/// Reads all samples and writes them.
pub(crate) fn run(args: &WriteArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let existing = if args.replace { Existing::Replace } else { Existing::Refuse };
    let mut options = WriterOptions::new()
        .compression(args.compression)
        .hashes(args.hashes.iter().copied())
        .size_limit(Some(args.size_limit))
        .existing(existing);
    if let Some(threads) = args.threads {
        options = options.threads(threads);
    }
    let bar = input::progress(&args.inputs);
    let mut target = None;
    for path in &args.inputs {
        let mut records = input::open(path, args.input_format, &bar)?;
        while let Some(record) = records.next_record() {
            let record = record?;
            let target = match &mut target {
                Some(target) => target,
                None => target.insert(Target::create(&args.dataset, args.format, &args.columns, &record, &options)?),
            };
            target.write(&record).with_context(|| record.place().to_owned())?;
        }
    }
    bar.finish_and_clear();
    let target = target.context("there are no samples in the files; a dataset has at least one")?;
    let index = target.finish()?;
    let sum = |of: fn(&lockstep_dataset::ShardInfo) -> u64| index.shards().iter().map(of).sum();
    let summary = Summary {
        samples: index.num_samples(),
        shards: index.shards().len(),
        raw_bytes: sum(lockstep_dataset::ShardInfo::raw_bytes),
        stored_bytes: sum(lockstep_dataset::ShardInfo::stored_bytes),
    };
    if output.is_json() {
        output.json(&summary)?;
    } else {
        let Summary { samples, shards, raw_bytes, stored_bytes } = summary;
        writeln!(output, "{samples} samples in {shards} shards, {raw_bytes} bytes raw, {stored_bytes} stored")?;
    }
    Ok(Outcome::Fine)
}

fn parse_column(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, encoding)) if !name.is_empty() => Ok((name.to_owned(), encoding.to_owned())),
        _ => Err("a column is given as NAME=ENCODING".to_owned()),
    }
}
