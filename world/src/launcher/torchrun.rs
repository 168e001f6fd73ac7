//! torchrun, and whatever sets the same variables.

use super::claim::Names;
use crate::variable::Reader;

/// torchrun's own names come first. `LOCAL_SIZE` and `CROSS_*` are DeepSpeed's, `NODE_RANK` is Composer's and Lightning's
/// (and, under torchrun, often a leftover of the script that started it, which is why it counts only without `GROUP_RANK`).
pub(crate) const NAMES: Names = Names {
    rank: &["RANK"],
    num_ranks: &["WORLD_SIZE"],
    rank_of_node: &["LOCAL_RANK"],
    ranks_per_node: &["LOCAL_WORLD_SIZE", "LOCAL_SIZE"],
    node: &["GROUP_RANK", "NODE_RANK", "CROSS_RANK"],
    num_nodes: &["GROUP_WORLD_SIZE", "CROSS_SIZE"],
};

/// The directory that the torchrun agent of this node made for the logs of this attempt.
///
/// torchrun tells each rank where to leave its last words: `<directory>/attempt_<restart>/<local rank>/error.json`, where
/// the directory is fresh (`mkdtemp`) for each agent. That makes it the one thing that all ranks of an agent share, through
/// wrapper scripts too, and that no other job has, whatever run id and port it was given. People set the variable
/// by hand as well, so that only a value of this form counts.
pub(crate) fn agent_directory(reader: &mut Reader<'_>) -> Option<String> {
    let local_rank = reader.peek("LOCAL_RANK")?;
    let file = reader.peek("TORCHELASTIC_ERROR_FILE")?;
    let attempt = file.value().strip_suffix(&format!("/{}/error.json", local_rank.value()))?;
    let (_, name) = attempt.rsplit_once('/')?;
    let number = name.strip_prefix("attempt_")?;
    number.parse::<u64>().ok()?;
    reader.text("TORCHELASTIC_ERROR_FILE");
    Some(attempt.to_owned())
}
