//! `lockstep world`: who this process is, and which variables say so.

use std::io::Write;

use lockstep_world::{Detected, ProcessEnvironment, detect};
use serde::Serialize;

use crate::outcome::Outcome;
use crate::output::Output;

#[derive(Serialize)]
struct WorldReport<'a> {
    launcher: String,
    job: String,
    num_nodes: u64,
    node: u64,
    num_ranks: u64,
    rank: u64,
    ranks_per_node: u64,
    rank_of_node: u64,
    num_workers: u64,
    worker: u64,
    workers_per_rank: u64,
    worker_of_rank: u64,
    is_leader: bool,
    is_local_leader: bool,
    variables: Vec<VariableReport<'a>>,
}

#[derive(Serialize)]
struct VariableReport<'a> {
    name: &'a str,
    value: &'a str,
}

/// Detects the world and prints it.
pub(crate) fn run(output: &mut Output) -> anyhow::Result<Outcome> {
    let detected = detect(&ProcessEnvironment)?;
    let report = WorldReport::new(&detected);
    if output.is_json() {
        output.json(&report)?;
    } else {
        report.print(output)?;
    }
    Ok(Outcome::Fine)
}

impl<'a> WorldReport<'a> {
    fn new(detected: &'a Detected) -> Self {
        let world = detected.world;
        Self {
            launcher: detected.launcher.to_string(),
            job: detected.job.to_string(),
            num_nodes: world.num_nodes(),
            node: world.node(),
            num_ranks: world.num_ranks(),
            rank: world.rank(),
            ranks_per_node: world.ranks_per_node(),
            rank_of_node: world.rank_of_node(),
            num_workers: world.num_workers(),
            worker: world.worker(),
            workers_per_rank: world.workers_per_rank(),
            worker_of_rank: world.worker_of_rank(),
            is_leader: world.is_leader(),
            is_local_leader: world.is_local_leader(),
            variables: detected
                .variables
                .iter()
                .map(|variable| VariableReport { name: variable.name(), value: variable.value() })
                .collect(),
        }
    }

    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        writeln!(output, "launcher  {}", self.launcher)?;
        writeln!(output, "job       {}", self.job)?;
        writeln!(output, "node      {} of {}", self.node, self.num_nodes)?;
        writeln!(
            output,
            "rank      {} of {}, {} of {} on its node",
            self.rank, self.num_ranks, self.rank_of_node, self.ranks_per_node
        )?;
        if self.workers_per_rank > 1
            || self.variables.iter().any(|variable| variable.name == lockstep_world::WORKER_OF_RANK_VARIABLE)
        {
            writeln!(
                output,
                "worker    {} of {}, {} of {} of its rank",
                self.worker, self.num_workers, self.worker_of_rank, self.workers_per_rank
            )?;
        }
        match self.variables.as_slice() {
            [] => writeln!(output, "\nno launcher's variables are set: a process by itself")?,
            variables => {
                writeln!(output, "\nread from the environment:")?;
                for variable in variables {
                    writeln!(output, "  {}={}", variable.name, variable.value)?;
                }
            }
        }
        Ok(())
    }
}
