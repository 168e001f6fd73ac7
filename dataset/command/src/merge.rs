//! `lockstep merge`: several datasets in subdirectories as one.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lockstep_dataset::writer;
use serde::Serialize;

use crate::outcome::Outcome;
use crate::output::Output;

/// What to merge.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// The directory that gets the index.
    dataset: PathBuf,
    /// Subdirectories with a dataset each, in this order; all that there are, by name, if none is given.
    parts: Vec<String>,
}

#[derive(Serialize)]
struct Summary {
    parts: usize,
    samples: u64,
    shards: usize,
}

/// Writes the index.
pub(crate) fn run(args: &MergeArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let all;
    let parts = if args.parts.is_empty() {
        all = writer::parts(&args.dataset)?;
        &all
    } else {
        &args.parts
    };
    let index = writer::merge(&args.dataset, parts)?;
    let summary = Summary { parts: parts.len(), samples: index.num_samples(), shards: index.shards().len() };
    if output.is_json() {
        output.json(&summary)?;
    } else {
        let Summary { parts, samples, shards } = summary;
        writeln!(output, "{parts} datasets as one: {samples} samples in {shards} shards")?;
    }
    Ok(Outcome::Fine)
}
