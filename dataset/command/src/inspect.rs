//! `lockstep inspect`: what is in a dataset, from its index.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lockstep_dataset::{FileInfo, Index, ShardInfo};
use serde::Serialize;

use crate::outcome::Outcome;
use crate::output::Output;

/// What to look at.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The directory of the dataset.
    dataset: PathBuf,
    /// List every shard.
    #[arg(long)]
    shards: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    samples: u64,
    shards: usize,
    raw_bytes: u64,
    stored_bytes: u64,
    samples_per_shard: Range,
    bytes_per_shard: Range,
    files: Presence,
    layouts: Vec<LayoutReport<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shard_list: Vec<ShardLine<'a>>,
}

/// The smallest, middle and largest of a number that each shard has.
#[derive(Serialize)]
struct Range {
    min: u64,
    median: u64,
    max: u64,
}

/// How many files of the dataset are in the directory.
#[derive(Default, Serialize)]
struct Presence {
    raw: u64,
    compressed: u64,
    missing: u64,
}

/// What shards have in common; most datasets have one.
#[derive(Serialize)]
struct LayoutReport<'a> {
    shards: u64,
    format: &'static str,
    compression: Option<String>,
    hashes: Vec<&'static str>,
    size_limit: Option<u64>,
    columns: Vec<ColumnReport<'a>>,
}

#[derive(Serialize)]
struct ColumnReport<'a> {
    name: &'a str,
    encoding: String,
    size: Option<u32>,
}

#[derive(Serialize)]
struct ShardLine<'a> {
    basename: &'a str,
    samples: u64,
    raw_bytes: u64,
    stored_bytes: u64,
}

/// Reads the index and prints what it says.
pub(crate) fn run(args: &InspectArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let index = Index::read(&args.dataset)?;
    let report = Report::new(&index, args);
    if output.is_json() {
        output.json(&report)?;
    } else {
        report.print(output)?;
    }
    Ok(Outcome::Fine)
}

impl<'a> Report<'a> {
    fn new(index: &'a Index, args: &InspectArgs) -> Self {
        let shards = index.shards();
        let sum = |of: fn(&ShardInfo) -> u64| shards.iter().map(of).fold(0, u64::saturating_add);
        Self {
            samples: index.num_samples(),
            shards: shards.len(),
            raw_bytes: sum(ShardInfo::raw_bytes),
            stored_bytes: sum(ShardInfo::stored_bytes),
            samples_per_shard: Range::of(shards, ShardInfo::num_samples),
            bytes_per_shard: Range::of(shards, ShardInfo::stored_bytes),
            files: Presence::of(&args.dataset, shards),
            layouts: layouts(shards),
            shard_list: if args.shards { shards.iter().map(ShardLine::new).collect() } else { Vec::new() },
        }
    }

    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let Presence { raw, compressed, missing } = self.files;
        writeln!(output, "samples            {}", self.samples)?;
        writeln!(output, "shards             {}", self.shards)?;
        writeln!(output, "bytes              {} raw, {} stored", self.raw_bytes, self.stored_bytes)?;
        writeln!(output, "samples per shard  {}", self.samples_per_shard)?;
        writeln!(output, "bytes per shard    {}", self.bytes_per_shard)?;
        writeln!(output, "files here         {raw} raw, {compressed} compressed, {missing} missing")?;
        for layout in &self.layouts {
            layout.print(output)?;
        }
        if !self.shard_list.is_empty() {
            writeln!(output, "\n{:>10} {:>12} {:>12}  file", "samples", "raw bytes", "stored")?;
        }
        for shard in &self.shard_list {
            let ShardLine { basename, samples, raw_bytes, stored_bytes } = shard;
            writeln!(output, "{samples:>10} {raw_bytes:>12} {stored_bytes:>12}  {basename}")?;
        }
        Ok(())
    }
}

impl LayoutReport<'_> {
    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let list = |items: &[&str]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        writeln!(output, "\n{} shards of format {}", self.shards, self.format)?;
        writeln!(output, "compression        {}", self.compression.as_deref().unwrap_or("none"))?;
        writeln!(output, "hashes             {}", list(&self.hashes))?;
        if let Some(limit) = self.size_limit {
            writeln!(output, "size limit         {limit}")?;
        }
        writeln!(output, "columns")?;
        let widest = self.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
        for ColumnReport { name, encoding, size } in &self.columns {
            match size {
                Some(size) => writeln!(output, "  {name:widest$}  {encoding}, {size} bytes each")?,
                None => writeln!(output, "  {name:widest$}  {encoding}")?,
            }
        }
        Ok(())
    }
}

impl Range {
    fn of(shards: &[ShardInfo], number: fn(&ShardInfo) -> u64) -> Self {
        let mut numbers: Vec<_> = shards.iter().map(number).collect();
        numbers.sort_unstable();
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
        Self { min: at(0), median: at(numbers.len() / 2), max: at(numbers.len().saturating_sub(1)) }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { min, median, max } = self;
        if min == max { write!(f, "{min}") } else { write!(f, "{min} to {max}, median {median}") }
    }
}

impl Presence {
    fn of(dir: &Path, shards: &[ShardInfo]) -> Self {
        let here = |file: &FileInfo| dir.join(file.basename()).is_file();
        let mut presence = Self::default();
        for pair in shards.iter().flat_map(ShardInfo::files) {
            let (raw, compressed) = (here(pair.raw), pair.zip.is_some_and(here));
            presence.raw += u64::from(raw);
            presence.compressed += u64::from(compressed);
            presence.missing += u64::from(!raw && !compressed);
        }
        presence
    }
}

fn layouts(shards: &[ShardInfo]) -> Vec<LayoutReport<'_>> {
    let mut layouts = Vec::<(&ShardInfo, u64)>::new();
    for shard in shards {
        match layouts.iter_mut().rev().find(|(other, _)| other.has_layout_of(shard)) {
            Some((_, count)) => *count += 1,
            None => layouts.push((shard, 1)),
        }
    }
    layouts.into_iter().map(|(shard, count)| LayoutReport::new(shard, count)).collect()
}

impl<'a> LayoutReport<'a> {
    fn new(shard: &'a ShardInfo, shards: u64) -> Self {
        Self {
            shards,
            format: shard.format().name(),
            compression: shard.compression().map(|compression| compression.to_string()),
            hashes: shard.hashes().iter().map(|hash| hash.name()).collect(),
            size_limit: shard.size_limit(),
            columns: shard.columns().iter().map(ColumnReport::new).collect(),
        }
    }
}

impl<'a> ColumnReport<'a> {
    fn new(column: &'a lockstep_dataset::Column) -> Self {
        Self { name: column.name(), encoding: column.encoding().to_string(), size: column.size() }
    }
}

impl<'a> ShardLine<'a> {
    fn new(shard: &'a ShardInfo) -> Self {
        let file = shard.files().next().expect("a shard has a file of data");
        Self {
            basename: file.stored().basename(),
            samples: shard.num_samples(),
            raw_bytes: shard.raw_bytes(),
            stored_bytes: shard.stored_bytes(),
        }
    }
}
