//! `lockstep plan`: an epoch as arithmetic, no data needed.

mod config;
mod egress;
mod ids;
mod npy;
mod shards;
mod svg;
mod table;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use lockstep_partition::{Egress, EpochPlan, EpochRecipe, Part};
use lockstep_replication::Assignment;
use serde::Serialize;

use crate::outcome::{Outcome, Usage};
use crate::output::Output;
use crate::plan::config::Config;
use crate::plan::ids::Window;

/// Plans an epoch without data: who reads which ids, and how often the dataset is downloaded.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The streams, the world and the order, as JSON.
    #[arg(long, value_name = "FILE.json")]
    config: PathBuf,
    /// How to print it; `json` with `--json`.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print the ids as well (JSON).
    #[arg(long)]
    ids: bool,
    /// One worker's part alone: its node, in the world of samples.
    #[arg(long, value_name = "N", requires = "rank")]
    node: Option<u64>,
    /// One worker's part alone: its rank on the node.
    #[arg(long, value_name = "R", requires = "node")]
    rank: Option<u64>,
    /// One worker's part alone: which worker of the rank.
    #[arg(long, value_name = "W", requires = "node", default_value_t = 0)]
    worker: u64,
    /// One worker's part alone: these of its batches.
    #[arg(long, value_name = "A..B", requires = "node")]
    batches: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Numbers for people.
    Table,
    /// Shape, digest and egress for machines.
    Json,
    /// The array of ids as a NumPy file.
    Npy,
    /// A picture: which shard each rank reads at each batch.
    Svg,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Report {
    /// Nodes, ranks, workers, batches, batch size.
    shape: [u64; 5],
    /// Over the ids in that order as little-endian i64, -1 where padded; absent where it was not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Downloads of all physical nodes, as a multiple of the dataset; absent for one worker's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    egress: Option<f64>,
    /// Shards that each physical node downloads; absent for one worker's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_per_node: Option<Vec<u64>>,
    epoch_size: u64,
    samples_per_rank: u64,
    /// Samples read again so that all ranks read equally many.
    repeats: u64,
    /// Places without a sample.
    padding: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<i64>>,
}

/// People do not wait for the digest of more places than this.
const MOST_HASHED: u64 = 1 << 26;

/// What is wrong with a configuration is wrong with how the command was called.
fn usage(error: &anyhow::Error) -> anyhow::Error {
    Usage::error(format!("{error:#}"))
}

/// Plans and prints.
pub(crate) fn run(args: &PlanArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let path = args.config.display();
    let text = std::fs::read(&args.config).with_context(|| format!("the configuration {path} cannot be read"))?;
    let config: Config = serde_json::from_slice(&text)
        .map_err(|error| Usage::error(format!("the configuration {path} is not usable: {error}")))?;
    let assignment = config.assignment().map_err(|error| usage(&error))?;
    let recipe = config.recipe(&assignment).map_err(|error| usage(&error))?;
    let part = args.node.map_or(Part::All, Part::Node);
    let plan =
        recipe.plan(&config.topology(&assignment), config.epoch, config.sample_in_epoch, part).map_err(Usage::error)?;
    let window = args.window(&plan)?;
    let format = args.format.unwrap_or(if output.is_json() { Format::Json } else { Format::Table });
    match format {
        Format::Npy => ids::write_npy(&plan, &window, output)?,
        Format::Svg => svg::draw(&plan, &window, &recipe, output)?,
        Format::Json => {
            let report = report(&plan, &recipe, &window, &assignment, args.ids)?;
            output.json(&Report { sha256: Some(ids::sha256(&plan, &window)), ..report })?;
        }
        Format::Table => {
            let report = report(&plan, &recipe, &window, &assignment, args.ids)?;
            let sha256 = (window.num_places() <= MOST_HASHED).then(|| ids::sha256(&plan, &window));
            table::print(&Report { sha256, ..report }, &assignment, &recipe, output)?;
        }
    }
    Ok(Outcome::Fine)
}

impl PlanArgs {
    /// The part of the plan that is asked for.
    fn window(&self, plan: &EpochPlan) -> anyhow::Result<Window> {
        let (Some(node), Some(rank)) = (self.node, self.rank) else { return Ok(Window::whole(plan)) };
        let [_, ranks, workers, batches, _] = plan.shape();
        if rank >= ranks || self.worker >= workers {
            return Err(Usage::error(format!(
                "there is no worker {} of rank {rank} of node {node}: a node has {ranks} ranks of {workers} workers",
                self.worker
            )));
        }
        let range = match &self.batches {
            None => 0..batches,
            Some(text) => {
                ids::parse_range(text).ok_or_else(|| Usage::error(format!("`{text}` is not a range such as 0..2")))?
            }
        };
        Ok(Window::worker(plan, node, rank, self.worker, range.start.min(batches)..range.end.min(batches)))
    }
}

/// All but the digest, which can take long.
fn report(
    plan: &EpochPlan,
    recipe: &EpochRecipe,
    window: &Window,
    assignment: &Assignment,
    with_ids: bool,
) -> anyhow::Result<Report> {
    let ids = with_ids.then(|| ids::collect(plan, window)).transpose()?;
    let egress = window.is_whole().then(|| egress::of_nodes(plan, recipe, assignment));
    Ok(Report {
        shape: window.shape(),
        sha256: None,
        egress: egress.as_ref().map(Egress::factor),
        egress_per_node: egress.map(|egress| egress.per_machine),
        epoch_size: plan.epoch_size(),
        samples_per_rank: plan.samples_per_rank(),
        repeats: (plan.sample_in_epoch() + plan.num_yielded()).saturating_sub(plan.epoch_size()),
        padding: plan.num_slots() - plan.num_yielded(),
        ids,
    })
}
