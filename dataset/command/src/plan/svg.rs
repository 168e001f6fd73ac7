//! The plan as a picture: a row for each rank, a column for each of its batches, coloured by the shard read first.

use std::io::Write;

use anyhow::ensure;
use lockstep_partition::{Coordinate, EpochPlan, EpochRecipe};

use crate::output::Output;
use crate::plan::ids::Window;
use crate::plan::shards::Shards;

/// More cells than this are no picture any more.
const MOST_CELLS: u64 = 250_000;

/// Side of a cell and room for the labels, in pixels.
const CELL: u64 = 6;
const MARGIN: u64 = 90;

/// Writes the picture.
pub(crate) fn draw(plan: &EpochPlan, window: &Window, recipe: &EpochRecipe, output: &mut Output) -> anyhow::Result<()> {
    let [nodes, ranks, workers, batches, _] = window.shape();
    let cells = [nodes, ranks, workers, batches].iter().try_fold(1_u64, |cells, length| cells.checked_mul(*length));
    ensure!(
        cells.is_some_and(|cells| cells <= MOST_CELLS),
        "{nodes} x {ranks} ranks with {workers} x {batches} batches are too many for a picture of {MOST_CELLS} cells; \
         ask for one worker's part, or plan a smaller epoch"
    );
    let (rows, columns) = (nodes * ranks, workers * batches);
    let (width, height) = (MARGIN + columns * CELL, 30 + rows * CELL);
    writeln!(
        output,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="10">"#
    )?;
    writeln!(output, r#"<rect width="{width}" height="{height}" fill="white"/>"#)?;
    writeln!(output, r#"<text x="4" y="14">batches in order, coloured by the shard of their first sample</text>"#)?;
    let shards = Shards::new(recipe);
    let mut row = None;
    for place in window.places().filter(|place| place.slot == 0) {
        let line = (place.node, place.rank);
        if row.is_none_or(|(_, last)| last != line) {
            let next = row.map_or(0, |(index, _)| index + 1);
            row = Some((next, line));
            writeln!(output, r#"<text x="4" y="{}">node {} rank {}</text>"#, 29 + next * CELL, place.node, place.rank)?;
        }
        let Some((index, _)) = row else { continue };
        cell(plan, &shards, place, index, workers, output)?;
    }
    writeln!(output, "</svg>")?;
    Ok(())
}

fn cell(
    plan: &EpochPlan,
    shards: &Shards<'_>,
    place: Coordinate,
    row: u64,
    workers: u64,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(id) = plan.id(place) else { return Ok(()) };
    let shard = shards.of(id);
    // Neighbouring shards get colours far apart: the golden angle.
    let hue = shard.wrapping_mul(13_751) % 36_000 / 100;
    let (x, y) = (MARGIN + (place.batch * workers + place.worker) * CELL, 24 + row * CELL);
    writeln!(
        output,
        r#"<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="hsl({hue},70%,55%)"><title>shard {shard}</title></rect>"#
    )?;
    Ok(())
}
