//! The `lockstep` command: what a training job reads, planned, read, checked and explained.

mod cat;
mod clean;
mod demo;
mod inspect;
mod merge;
mod outcome;
mod output;
mod plan;
mod ps;
mod run;
mod size;
mod verify;
mod world;
mod write;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::outcome::Outcome;
use crate::output::Output;

/// Tells every process of a training job which samples to read, in which order, and reads them.
#[derive(Parser)]
#[command(name = "lockstep", version, propagate_version = true)]
struct Cli {
    /// Print JSON for machines instead of text for people.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The main job with nothing to set up: 8 ranks in groups of 2 read a small real dataset.
    Demo,
    Run(Box<run::RunArgs>),
    Plan(plan::PlanArgs),
    /// What is in a dataset.
    Inspect(inspect::InspectArgs),
    /// Samples as JSON lines, in the order in which they are stored.
    Cat(cat::CatArgs),
    /// Checks every size, hash and sample of a dataset.
    Verify(verify::VerifyArgs),
    /// Writes a dataset from JSON lines, CSV or Parquet.
    Write(write::WriteArgs),
    /// Makes datasets in subdirectories one.
    Merge(merge::MergeArgs),
    /// Who this process is in its job, and which variables say so.
    World,
    /// The shared memory on this machine, and which processes hold it.
    Ps(ps::PsArgs),
    /// Removes the shared memory that no process holds. Never needed: every run does it.
    Clean(clean::CleanArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::new(cli.json);
    let result = dispatch(cli.command, &mut output).and_then(|outcome| output.flush().map(|()| outcome));
    outcome::report(result)
}

fn dispatch(command: Command, output: &mut Output) -> anyhow::Result<Outcome> {
    match command {
        Command::Demo => demo::run(output),
        Command::Run(args) => run::run(&args, &run::own_arguments()?, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Inspect(args) => inspect::run(&args, output),
        Command::Cat(args) => cat::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        Command::Write(args) => write::run(&args, output),
        Command::Merge(args) => merge::run(&args, output),
        Command::World => world::run(output),
        Command::Ps(args) => ps::run(&args, output),
        Command::Clean(args) => clean::run(&args, output),
    }
}
