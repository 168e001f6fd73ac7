//! The plan in numbers for people.

use std::io::Write;

use lockstep_partition::EpochRecipe;
use lockstep_replication::Assignment;

use crate::output::Output;
use crate::plan::Report;

/// Prints what the plan comes to.
pub(super) fn print(
    report: &Report,
    assignment: &Assignment,
    recipe: &EpochRecipe,
    output: &mut Output,
) -> anyhow::Result<()> {
    let [nodes, ranks, workers, batches, size] = report.shape;
    let (logical_nodes, sample_ranks) = assignment.shape();
    writeln!(output, "epoch            {} samples", report.epoch_size)?;
    writeln!(
        output,
        "order            {}, seed {}, {} canonical nodes",
        recipe.order_name(),
        recipe.seed,
        recipe.canonical_nodes
    )?;
    writeln!(
        output,
        "job              {} nodes x {} ranks; {} groups of {}",
        assignment.num_nodes(),
        assignment.ranks_per_node(),
        assignment.num_groups(),
        assignment.group_size()
    )?;
    writeln!(output, "sample world     {logical_nodes} nodes x {sample_ranks} ranks")?;
    writeln!(
        output,
        "shape            {nodes} nodes x {ranks} ranks x {workers} workers x {batches} batches x {size}"
    )?;
    writeln!(output, "samples a rank   {}", report.samples_per_rank)?;
    writeln!(output, "repeats          {}", report.repeats)?;
    writeln!(output, "padding          {}", report.padding)?;
    if let Some(egress) = report.egress {
        writeln!(output, "egress           {egress:.2} times the dataset, over {} nodes", assignment.num_nodes())?;
    }
    if let Some((least, most)) = report.egress_per_node.as_deref().and_then(extremes) {
        writeln!(output, "shards a node    {least} to {most}")?;
    }
    let digest = report.sha256.as_deref().unwrap_or("not computed for so many ids: use --format json");
    writeln!(output, "sha256 of ids    {digest}")?;
    if let Some(ids) = &report.ids {
        let size = usize::try_from(size)?;
        for batch in ids.chunks(size.max(1)) {
            let ids: Vec<String> = batch.iter().map(i64::to_string).collect();
            writeln!(output, "{}", ids.join(" "))?;
        }
    }
    Ok(())
}

/// The least and the most.
fn extremes(counts: &[u64]) -> Option<(u64, u64)> {
    Some((*counts.iter().min()?, *counts.iter().max()?))
}
