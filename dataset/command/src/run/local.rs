//! A whole job on this machine: every rank a process, and what they read put together and judged.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use lockstep_dataset::Dataset;

use crate::outcome::Outcome;
use crate::output::Output;
use crate::run::args::RunArgs;
use crate::run::audit::{Extent, Layout, RankEpoch, Verdict};
use crate::run::job::Job;
use crate::run::launch::{self, Shape};
use crate::run::report::{self, EpochReport, RankReport, RunReport};
use crate::run::tally::Summary;
use crate::run::trace::{Line, Trace};
use crate::run::wire::Message;

/// Launches the job, judges each epoch when all ranks have ended it, and prints the table and the verdict.
pub(crate) fn run(args: &RunArgs, arguments: &[String], output: &mut Output) -> anyhow::Result<Outcome> {
    let shape = Shape { nodes: args.nodes.unwrap_or(1), ranks_per_node: args.ranks_per_node.unwrap_or(1) };
    let dataset = Job::preview(args, shape.nodes, shape.ranks_per_node)?.dataset;
    let mut hearing = Hearing::new(args, shape, &dataset)?;
    launch::run(shape, &job_id(), arguments, |rank, message| hearing.hear(rank, message))?;
    hearing.conclude(output)
}

/// Another job id for every run: its ranks meet each other and nobody else.
fn job_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("run-{}-{}", std::process::id(), now.as_nanos())
}

/// Everything the ranks have said, put together.
struct Hearing<'a> {
    dataset: &'a Dataset,
    shape: Shape,
    layout: Layout,
    may_stop_early: bool,
    trace: Option<Trace>,
    /// Whose ids are needed: those of one rank a group, or of all for a trace.
    keeps_ids: Vec<bool>,
    /// The ids of the epoch that each rank is in.
    current: Vec<Vec<u64>>,
    /// Epochs that some ranks have ended and others have not.
    open: BTreeMap<u64, Vec<Option<RankEpoch>>>,
    summaries: Vec<Vec<Summary>>,
    verdicts: Vec<(Extent, Verdict)>,
}

impl<'a> Hearing<'a> {
    fn new(args: &RunArgs, shape: Shape, dataset: &'a Dataset) -> anyhow::Result<Self> {
        let ranks = shape.nodes * shape.ranks_per_node;
        let group_of_rank: Vec<_> = (0..ranks).map(|rank| dataset.assignment().group_of(rank)).collect();
        let groups = dataset.assignment().num_groups();
        let padding = (dataset.samples_per_rank(0)? * groups).saturating_sub(dataset.epoch_size());
        let first_of_group = |(rank, group): (usize, &Option<u64>)| {
            group.is_some() && group_of_rank.iter().position(|other| other == group) == Some(rank)
        };
        let keeps_ids =
            group_of_rank.iter().enumerate().map(|rank| args.trace.is_some() || first_of_group(rank)).collect();
        Ok(Self {
            dataset,
            shape,
            keeps_ids,
            layout: Layout { padding, num_samples: dataset.num_samples(), group_of_rank },
            may_stop_early: args.stop_after.is_some(),
            trace: args.trace.as_deref().map(Trace::create).transpose()?,
            current: vec![Vec::new(); usize::try_from(ranks)?],
            open: BTreeMap::new(),
            summaries: vec![Vec::new(); usize::try_from(ranks)?],
            verdicts: Vec::new(),
        })
    }

    fn hear(&mut self, rank: usize, message: Message) -> anyhow::Result<()> {
        match message {
            Message::Batch(batch) => {
                if self.keeps_ids[rank] {
                    self.current[rank].extend(batch.samples.iter().map(|sample| sample.id));
                }
                Ok(())
            }
            Message::EpochEnd(summary) => self.epoch_end(rank, summary),
            Message::Failed(_) | Message::Done => Ok(()),
        }
    }

    fn epoch_end(&mut self, rank: usize, summary: Summary) -> anyhow::Result<()> {
        let epoch = summary.epoch;
        self.summaries[rank].push(summary.clone());
        let ids = std::mem::take(&mut self.current[rank]);
        let ranks = self.open.entry(epoch).or_insert_with(|| vec![None; self.layout.group_of_rank.len()]);
        ranks[rank] = Some(RankEpoch { summary, ids });
        let due = self.layout.group_of_rank.iter().filter(|group| group.is_some()).count();
        if ranks.iter().flatten().count() == due {
            let ranks = self.open.remove(&epoch).expect("the epoch was just found");
            self.judge(epoch, &ranks)?;
        }
        Ok(())
    }

    fn judge(&mut self, epoch: u64, ranks: &[Option<RankEpoch>]) -> anyhow::Result<()> {
        let before = self.offset(epoch);
        let read = ranks.iter().flatten().map(|read| read.summary.samples).max().unwrap_or(0);
        let due = self.dataset.samples_per_rank(before)?;
        let extent = match before {
            _ if self.may_stop_early && read < due => Extent::Part,
            0 => Extent::Whole,
            before => Extent::From(before),
        };
        self.verdicts.push((extent, self.layout.judge(epoch, extent, ranks)));
        self.write_trace(epoch, ranks)
    }

    /// Unique samples of the epoch that were consumed before this run.
    fn offset(&self, epoch: u64) -> u64 {
        let start = self.dataset.position();
        if start.epoch == epoch { start.sample_in_epoch } else { 0 }
    }

    fn write_trace(&mut self, epoch: u64, ranks: &[Option<RankEpoch>]) -> anyhow::Result<()> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        for (rank, read) in (0..).zip(ranks) {
            let Some(read) = read else { continue };
            let node = rank / self.shape.ranks_per_node;
            let group = self.dataset.assignment().group_of(rank);
            trace.write(&Line { node, rank, group, epoch, ids: &read.ids })?;
        }
        Ok(())
    }

    fn conclude(mut self, output: &mut Output) -> anyhow::Result<Outcome> {
        self.trace.take().map_or(Ok(()), Trace::finish)?;
        let ranks: Vec<RankReport> = (0..)
            .zip(&self.summaries)
            .map(|(rank, epochs)| {
                RankReport::new(
                    rank / self.shape.ranks_per_node,
                    rank,
                    self.dataset.assignment().group_of(rank),
                    epochs,
                )
            })
            .collect();
        let epochs: Vec<EpochReport<'_>> =
            self.verdicts.iter().map(|(extent, verdict)| EpochReport::new(*extent, verdict)).collect();
        let ok = epochs.iter().all(|epoch| epoch.faults.is_empty());
        if output.is_json() {
            output.json(&RunReport { ranks: &ranks, epochs, ok })?;
        } else {
            report::table(output, &ranks)?;
            writeln!(output)?;
            report::verdicts(output, &epochs, &self.layout.group_of_rank)?;
        }
        Ok(if ok { Outcome::Fine } else { Outcome::Failed })
    }
}
