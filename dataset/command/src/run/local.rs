//! A whole job on this machine: every rank a process, and what they read put together and judged.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use lockstep_dataset::Dataset;

use crate::outcome::Outcome;
use crate::output::Output;
use crate::run::args::RunArgs;
use crate::run::audit::{Layout, RankEpoch, Verdict};
use crate::run::due::Due;
use crate::run::job::Job;
use crate::run::launch::{self, Shape};
use crate::run::legs::Legs;
use crate::run::report::{self, EpochReport, RankReport, RunReport};
use crate::run::tally::Summary;
use crate::run::trace::{Line, Trace};
use crate::run::wire::Message;

/// Launches the job, judges each epoch when all ranks have ended it, and prints the table and the verdict.
pub(crate) fn run(args: &RunArgs, arguments: &[String], output: &mut Output) -> anyhow::Result<Outcome> {
    let shape = Shape { nodes: args.nodes.unwrap_or(1), ranks_per_node: args.ranks_per_node.unwrap_or(1) };
    let job = Job::preview(args, shape.nodes, shape.ranks_per_node)?;
    job.warn();
    let mut hearing = Hearing::new(args, shape, &job)?;
    launch::run(shape, &job_id(), arguments, |rank, message| hearing.hear(rank, message))?;
    let (outcome, consumed) = hearing.conclude(output)?;
    // Nobody should go on from a run in which something went wrong.
    if outcome == Outcome::Fine {
        output.flush()?;
        job.save(consumed)?;
    }
    Ok(outcome)
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
    /// The epochs that have not been judged, in the order in which they are due.
    legs: Legs,
    trace: Option<Trace>,
    /// Whose ids are needed: those of one rank a group, or of all for a trace.
    keeps_ids: Vec<bool>,
    /// The ids of the epoch that each rank is in.
    current: Vec<Vec<u64>>,
    /// Epochs that some ranks have ended and others have not.
    open: BTreeMap<u64, Vec<Option<RankEpoch>>>,
    summaries: Vec<Vec<Summary>>,
    verdicts: Vec<Verdict>,
    /// Samples that a rank consumed in the last epoch that was judged.
    consumed: u64,
    /// What is wrong with the run as a whole.
    faults: Vec<String>,
}

impl<'a> Hearing<'a> {
    fn new(args: &RunArgs, shape: Shape, job: &'a Job) -> anyhow::Result<Self> {
        let dataset = &job.dataset;
        let ranks = shape.nodes * shape.ranks_per_node;
        let group_of_rank: Vec<_> = (0..ranks).map(|rank| dataset.assignment().group_of(rank)).collect();
        let first_of_group = |(rank, group): (usize, &Option<u64>)| {
            group.is_some() && group_of_rank.iter().position(|other| other == group) == Some(rank)
        };
        let keeps_ids =
            group_of_rank.iter().enumerate().map(|rank| args.trace.is_some() || first_of_group(rank)).collect();
        Ok(Self {
            dataset,
            shape,
            keeps_ids,
            layout: Layout { num_samples: dataset.num_samples(), group_of_rank },
            legs: job.legs.clone(),
            trace: args.trace.as_deref().map(Trace::create).transpose()?,
            current: vec![Vec::new(); usize::try_from(ranks)?],
            open: BTreeMap::new(),
            summaries: vec![Vec::new(); usize::try_from(ranks)?],
            verdicts: Vec::new(),
            consumed: 0,
            faults: Vec::new(),
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
        let Some(leg) = self.legs.next().filter(|leg| leg.epoch == epoch) else {
            self.faults.push(format!("epoch {epoch} was read and was not due"));
            return Ok(());
        };
        self.dataset.advance();
        self.consumed = ranks.iter().flatten().map(|read| read.summary.samples).max().unwrap_or(0);
        let due = Due::of(self.dataset, leg)?;
        self.verdicts.push(self.layout.judge(&due, ranks));
        self.write_trace(epoch, ranks)
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

    /// Names what is due and was not read by all.
    fn complete(&mut self) {
        for (epoch, ranks) in &self.open {
            let idle = |rank: usize| ranks[rank].is_none() && self.layout.group_of_rank[rank].is_some();
            let missing = (0..ranks.len()).find(|rank| idle(*rank)).unwrap_or(0);
            self.faults.push(format!("rank {missing} never ended epoch {epoch}"));
        }
        if let Some(leg) = self.legs.next().filter(|leg| !self.open.contains_key(&leg.epoch)) {
            self.faults.push(format!("epoch {} and what follows was due and read by nobody", leg.epoch));
        }
    }

    /// Prints what was read and whether it was right. Returns also the samples consumed in the last epoch.
    fn conclude(mut self, output: &mut Output) -> anyhow::Result<(Outcome, u64)> {
        self.trace.take().map_or(Ok(()), Trace::finish)?;
        self.complete();
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
        let epochs: Vec<EpochReport<'_>> = self.verdicts.iter().map(EpochReport::new).collect();
        let ok = self.faults.is_empty() && epochs.iter().all(|epoch| epoch.faults.is_empty());
        let run = RunReport { ranks: &ranks, epochs: &epochs, faults: &self.faults, ok };
        if output.is_json() {
            output.json(&run)?;
        } else {
            report::table(output, &ranks)?;
            writeln!(output)?;
            report::verdicts(output, &run, &self.layout.group_of_rank)?;
        }
        Ok((if ok { Outcome::Fine } else { Outcome::Failed }, self.consumed))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lockstep_dataset::digits;

    use super::*;
    use crate::run::tally::Tally;
    use crate::run::wire::{BatchRead, SampleRead};

    #[derive(Parser)]
    struct RunLine {
        #[command(flatten)]
        args: RunArgs,
    }

    /// What a launcher makes of two ranks that read `epochs` (first and second half) and nothing else.
    fn faults(arguments: &[&str], epochs: &[(usize, u64)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        digits::unpack(dir.path()).unwrap();
        let line = ["run", dir.path().to_str().unwrap(), "--ranks-per-node", "2"];
        let args = RunLine::try_parse_from(line.iter().chain(arguments)).unwrap().args;
        let job = Job::preview(&args, 1, 2).unwrap();
        let mut hearing = Hearing::new(&args, Shape { nodes: 1, ranks_per_node: 2 }, &job).unwrap();
        for &(rank, epoch) in epochs {
            // 899 samples each, the last one of the second rank again.
            let first = rank as u64 * 898;
            let samples = (first..first + 899).map(|id| SampleRead { id, digest: id }).collect();
            let batch = BatchRead { bytes: 0, samples };
            let mut tally = Tally::start(epoch);
            tally.add(&batch);
            hearing.hear(rank, Message::Batch(batch)).unwrap();
            hearing.hear(rank, Message::EpochEnd(tally.finish())).unwrap();
        }
        hearing.complete();
        let epochs = hearing.verdicts.into_iter().flat_map(|verdict| verdict.faults);
        epochs.chain(hearing.faults).collect()
    }

    #[test]
    fn every_epoch_that_is_due_must_be_ended_by_every_rank() {
        let whole = [(0, 0), (1, 0)];
        assert_eq!(faults(&[], &whole), Vec::<String>::new());
        assert_eq!(faults(&[], &[]), ["epoch 0 and what follows was due and read by nobody"]);
        assert_eq!(faults(&[], &whole[..1]), ["rank 1 never ended epoch 0"]);
        assert_eq!(faults(&["--epochs", "2"], &whole), ["epoch 1 and what follows was due and read by nobody"]);
        assert_eq!(faults(&[], &[(0, 0), (1, 0), (0, 1), (1, 1)]), ["epoch 1 was read and was not due"]);
    }

    #[test]
    fn more_than_was_asked_for_is_wrong() {
        let faults = faults(&["--stop-after", "64"], &[(0, 0), (1, 0)]);
        assert_eq!(faults[0], "rank 0 read 899 samples where 32 were due");
        assert_eq!(faults[1], "rank 1 read 899 samples where 32 were due");
        assert_eq!(faults[2], "1797 samples were read where 64 were due");
    }
}
