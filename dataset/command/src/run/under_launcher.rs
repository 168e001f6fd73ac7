//! One rank of a job that torchrun, Slurm or MPI started.

use std::io::Write;
use std::path::{Path, PathBuf};

use lockstep_world::Detected;

use crate::outcome::{Outcome, Usage};
use crate::output::Output;
use crate::run::args::RunArgs;
use crate::run::job::Job;
use crate::run::rank::Consumer;
use crate::run::report::{self, RankReport};
use crate::run::tally::Summary;
use crate::run::trace::{Line, Trace};
use crate::run::wire::BatchRead;

/// Reads as this rank and prints its line. What other nodes read is not known here; equal digests within a group and
/// one trace a rank (`--trace`) tell.
pub(crate) fn run(
    args: &RunArgs,
    arguments: &[String],
    detected: &Detected,
    output: &mut Output,
) -> anyhow::Result<Outcome> {
    let world = detected.world;
    agrees("--nodes", args.nodes, world.num_nodes())?;
    agrees("--ranks-per-node", args.ranks_per_node, world.ranks_per_node())?;
    let job = Job::open(args, detected)?;
    let group = job.dataset.assignment().group_of(world.rank());
    let mut record = Record {
        trace: args.trace.as_deref().map(|path| Trace::create(&of_rank(path, world.rank()))).transpose()?,
        ids: Vec::new(),
        summaries: Vec::new(),
        node: world.node(),
        rank: world.rank(),
        group,
    };
    if world.is_leader() {
        job.warn();
    }
    let consumed = job.read(arguments, &mut record)?;
    record.trace.take().map_or(Ok(()), Trace::finish)?;
    if world.is_leader() {
        job.save(consumed)?;
    }
    let report = RankReport::new(world.node(), world.rank(), group, &record.summaries);
    if output.is_json() {
        output.json(&report)?;
    } else {
        report::table(output, &[report])?;
        writeln!(output, "one rank of {}: the members of its group must show the same digests", world.num_ranks())?;
    }
    Ok(Outcome::Fine)
}

/// A shape that was given must be that of the job.
fn agrees(option: &str, given: Option<u64>, actual: u64) -> anyhow::Result<()> {
    match given {
        Some(given) if given != actual => Err(Usage::error(format!(
            "{option} {given} was given, but the launcher has {actual}; leave it out, or set LOCKSTEP_LAUNCHER=alone to start a job here"
        ))),
        _ => Ok(()),
    }
}

/// Every rank has a file of its own: `trace.jsonl.3` for rank 3.
fn of_rank(path: &Path, rank: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{rank}"));
    name.into()
}

struct Record {
    trace: Option<Trace>,
    ids: Vec<u64>,
    summaries: Vec<Summary>,
    node: u64,
    rank: u64,
    group: Option<u64>,
}

impl Consumer for Record {
    fn batch(&mut self, batch: BatchRead) -> anyhow::Result<()> {
        if self.trace.is_some() {
            self.ids.extend(batch.samples.iter().map(|sample| sample.id));
        }
        Ok(())
    }

    fn epoch_end(&mut self, summary: Summary) -> anyhow::Result<()> {
        if let Some(trace) = &mut self.trace {
            let (node, rank, group, epoch) = (self.node, self.rank, self.group, summary.epoch);
            trace.write(&Line { node, rank, group, epoch, ids: &self.ids })?;
            self.ids.clear();
        }
        self.summaries.push(summary);
        Ok(())
    }
}
