//! Slurm: `srun`, told from the shells around it.

use super::Launcher;
use super::claim::{Claim, Names};
use crate::DetectError;
use crate::variable::{Number, Reader, Variable};

/// `SLURM_STEP_*` are those of the `srun` that started this process; the others may be those of the allocation around it.
pub(crate) const NAMES: Names = Names {
    rank: &["SLURM_PROCID"],
    num_ranks: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"],
    rank_of_node: &["SLURM_LOCALID"],
    ranks_per_node: &["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"],
    node: &["SLURM_NODEID"],
    num_nodes: &["SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"],
};

/// Variables that `srun` gives to its tasks and that a batch script does not have.
const STEP_VARIABLES: [&str; 5] =
    ["SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", "SLURM_STEP_TASKS_PER_NODE"];

/// The number of the step that is the shell of an `salloc` (`SLURM_INTERACTIVE_STEP`, 0xfffffffa).
const INTERACTIVE_STEP: &str = "4294967290";

/// Whether this process is a task that `srun` started, and not a shell that merely runs inside an allocation.
///
/// A batch script (`sbatch`) and the shell of an `salloc` know how many tasks the allocation has room for, and a batch
/// script even is `SLURM_PROCID=0`, but each is a single process: what it runs without `srun` is alone. What tells them
/// apart is that tasks have a step. Only a batch script is task 0 without one, so that any other number will do, too.
pub(crate) fn is_task(reader: &Reader<'_>) -> bool {
    let Some(task) = reader.peek("SLURM_PROCID") else { return false };
    if step_id(|name| reader.peek(name)).is_some_and(|step| step.value() == INTERACTIVE_STEP) {
        return false;
    }
    task.value() != "0" || STEP_VARIABLES.iter().any(|name| reader.peek(name).is_some())
}

fn step_id(mut read: impl FnMut(&'static str) -> Option<Variable>) -> Option<Variable> {
    read("SLURM_STEP_ID").or_else(|| read("SLURM_STEPID"))
}

/// The job and the step that this process is of, and how often Slurm has restarted the job.
pub(crate) fn step(reader: &mut Reader<'_>) -> Option<String> {
    let job = reader.text("SLURM_JOB_ID").or_else(|| reader.text("SLURM_JOBID"))?;
    let mut text = format!("job={}", job.value());
    if let Some(step) = step_id(|name| reader.text(name)) {
        text = format!("{text} step={}", step.value());
    }
    if let Some(restart) = reader.text("SLURM_RESTART_COUNT") {
        text = format!("{text} restart={}", restart.value());
    }
    Some(text)
}

/// Reads and checks what Slurm says about this process.
pub(crate) fn claim(reader: &mut Reader<'_>, names: &Names) -> Result<Claim, DetectError> {
    let num_ranks = reader.count(names.num_ranks)?;
    let num_nodes = reader.count(names.num_nodes)?;
    let list = names.ranks_per_node.iter().find_map(|name| reader.text(name));
    let ranks_per_node = match (list, num_ranks, num_nodes) {
        (Some(list), Some(num_ranks), num_nodes) => Some(tasks_per_node(list, &num_ranks, num_nodes.as_ref())?),
        // Without a list, equal numbers are what `srun` was asked for if they are possible at all; where they were not what
        // it did, some task finds that its number on the node is not the one it should have.
        (None, Some(num_ranks), Some(num_nodes)) => {
            if !num_ranks.value.is_multiple_of(num_nodes.value) {
                return Err(DetectError::NotAMultiple {
                    num_ranks: num_ranks.variable,
                    ranks_per_node: num_nodes.variable,
                });
            }
            Some(Number { value: num_ranks.value / num_nodes.value, ..num_nodes })
        }
        _ => None,
    };
    names.claim_with(Launcher::Slurm, reader, ranks_per_node)
}

/// The number of tasks on each node, if it is the same on all.
fn tasks_per_node(list: Variable, num_ranks: &Number, num_nodes: Option<&Number>) -> Result<Number, DetectError> {
    let Some(runs) = parse_tasks_per_node(list.value()) else {
        return Err(DetectError::MalformedTasksPerNode { variable: list });
    };
    let value = runs[0].0;
    if runs.iter().any(|&(tasks, _)| tasks != value) {
        return Err(DetectError::UnequalTasksPerNode { variable: list });
    }
    let nodes = runs.iter().fold(0u64, |nodes, &(_, more)| nodes.saturating_add(more));
    let sum = value.saturating_mul(nodes);
    // Some wrappers give one number for all nodes; that is as good where the other numbers confirm it.
    let for_all = || num_nodes.and_then(|nodes| nodes.value.checked_mul(value)) == Some(num_ranks.value);
    if sum != num_ranks.value && !(nodes == 1 && for_all()) {
        return Err(DetectError::TasksDoNotAddUp { variable: list, sum, num_ranks: num_ranks.variable.clone() });
    }
    Ok(Number { variable: list, value })
}

/// The runs of equal numbers in a list such as `8`, `8(x2)`, `8,4` or `2(x3),1`: (tasks, nodes), none of them zero.
fn parse_tasks_per_node(list: &str) -> Option<Vec<(u64, u64)>> {
    let positive = |text: &str| text.parse().ok().filter(|&number: &u64| number > 0);
    let run = |text: &str| match text.split_once("(x") {
        Some((tasks, nodes)) => Some((positive(tasks)?, positive(nodes.strip_suffix(')')?)?)),
        None => Some((positive(text)?, 1)),
    };
    list.split(',').map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_tasks_per_node_are_read() {
        assert_eq!(parse_tasks_per_node("8"), Some(vec![(8, 1)]));
        assert_eq!(parse_tasks_per_node("8(x2)"), Some(vec![(8, 2)]));
        assert_eq!(parse_tasks_per_node("8,4"), Some(vec![(8, 1), (4, 1)]));
        assert_eq!(parse_tasks_per_node("2(x3),1"), Some(vec![(2, 3), (1, 1)]));
        for bad in ["", ",", "8,", "8(x2", "8(2)", "8(x0)", "0", "-1", "8x2", "eight", "8(x2)3", "99999999999999999999"]
        {
            assert_eq!(parse_tasks_per_node(bad), None, "{bad:?}");
        }
    }
}
