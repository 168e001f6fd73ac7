//! What cannot be asked for is refused in one line, with exit status 2, before anything starts.

use crate::support::{Result, finish, lockstep, run};

fn refused(arguments: &[&str], expected: &str) -> Result {
    let ended = finish(&mut run(arguments))?;
    assert_eq!(ended.code(), Some(2), "{arguments:?}: {}", ended.err);
    assert!(ended.err.contains(expected), "{arguments:?}: {}", ended.err);
    assert!(ended.out.is_empty(), "{arguments:?}: {}", ended.out);
    Ok(())
}

#[test]
fn groups_that_do_not_fit_the_ranks() -> Result {
    refused(&["--ranks-per-node", "4", "--replication", "3"], "3")?;
    refused(&["--ranks-per-node", "4", "--replication", "0"], "replication")?;
    refused(&["--ranks-per-node", "4", "--mesh", "dp=2,tp=4", "--replicate", "tp"], "8")?;
    refused(&["--ranks-per-node", "4", "--mesh", "dp=2,tp=2", "--replicate", "pp"], "pp")
}

#[test]
fn nothing_of_anything() -> Result {
    refused(&["--ranks-per-node", "0"], "ranks_per_node")?;
    refused(&["--nodes", "0"], "num_nodes")?;
    refused(&["--batch-size", "0"], "batch size")?;
    refused(&["--epochs", "0"], "--epochs")?;
    refused(&["--stop-after", "0"], "--stop-after")?;
    refused(&["--canonical-nodes", "0"], "canonical nodes")
}

#[test]
fn names_that_nobody_knows() -> Result {
    refused(&["--shuffle", "py9"], "py1e")?;
    refused(&["--placement", "everywhere"], "node-local")
}

#[test]
fn a_dataset_that_is_not_there_is_the_fault_of_the_data() -> Result {
    let ended = finish(lockstep().args(["run", "/nonexistent"]))?;
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err.starts_with("error: "), "{}", ended.err);
    assert!(ended.err.contains("/nonexistent"), "{}", ended.err);
    Ok(())
}
