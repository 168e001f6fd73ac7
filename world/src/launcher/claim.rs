//! What a launcher says about a process, and whether it makes sense.

use super::Launcher;
use crate::variable::{Number, Reader};
use crate::{DetectError, World};

/// Where a launcher puts each number. The first variable that is set counts; an empty list is a number it does not tell.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) rank: &'static [&'static str],
    pub(crate) num_ranks: &'static [&'static str],
    pub(crate) rank_of_node: &'static [&'static str],
    pub(crate) ranks_per_node: &'static [&'static str],
    pub(crate) node: &'static [&'static str],
    pub(crate) num_nodes: &'static [&'static str],
}

/// What a launcher says about a process: checked, so that it is a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    num_nodes: u64,
    ranks_per_node: u64,
    rank: u64,
}

impl Names {
    /// Reads and checks what a launcher says about this process.
    pub(crate) fn claim(&self, launcher: Launcher, reader: &mut Reader<'_>) -> Result<Claim, DetectError> {
        let ranks_per_node = reader.count(self.ranks_per_node)?;
        self.claim_with(launcher, reader, ranks_per_node)
    }

    /// As [`Names::claim`], where the number of ranks on this node is already known.
    pub(crate) fn claim_with(
        &self,
        launcher: Launcher,
        reader: &mut Reader<'_>,
        ranks_per_node: Option<Number>,
    ) -> Result<Claim, DetectError> {
        let rank = reader.number(self.rank)?;
        let num_ranks = reader.count(self.num_ranks)?;
        let rank_of_node = reader.number(self.rank_of_node)?;
        let node = reader.number(self.node)?;
        let num_nodes = reader.count(self.num_nodes)?;
        let missing = |variables: &[&'static str], meaning| self.missing(launcher, reader, variables[0], meaning);
        let Some(rank) = rank else {
            return Err(missing(self.rank, "this process's rank among all ranks of the job"));
        };
        let Some(num_ranks) = num_ranks else {
            return Err(missing(self.num_ranks, "the number of ranks of the job"));
        };
        let Some(ranks_per_node) = ranks_per_node else {
            return Err(missing(self.ranks_per_node, "the number of ranks on each node"));
        };
        let Some(rank_of_node) = rank_of_node else {
            return Err(missing(self.rank_of_node, "this process's rank among the ranks on its node"));
        };
        check(launcher, &rank, &num_ranks, &rank_of_node, &ranks_per_node, node.as_ref(), num_nodes.as_ref())
    }

    /// Whether every number that is set is also the one of `claim`.
    pub(crate) fn agree_with(&self, claim: &Claim, reader: &mut Reader<'_>) -> Result<bool, DetectError> {
        let numbers = [
            (self.rank, claim.rank),
            (self.num_ranks, claim.num_nodes * claim.ranks_per_node),
            (self.rank_of_node, claim.rank % claim.ranks_per_node),
            (self.ranks_per_node, claim.ranks_per_node),
        ];
        for (names, expected) in numbers {
            if reader.number(names)?.is_some_and(|number| number.value != expected) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn missing(
        &self,
        launcher: Launcher,
        reader: &Reader<'_>,
        variable: &'static str,
        meaning: &'static str,
    ) -> DetectError {
        let all = [self.rank, self.num_ranks, self.rank_of_node, self.ranks_per_node, self.node, self.num_nodes];
        let found: Vec<_> = all.concat().iter().filter_map(|name| Some(reader.peek(name)?.to_string())).collect();
        let found = if found.is_empty() { "none of its variables".to_owned() } else { found.join(", ") };
        DetectError::Missing { launcher, variable, meaning, found }
    }
}

/// Whether the numbers make a world in which ranks are numbered node by node.
fn check(
    launcher: Launcher,
    rank: &Number,
    num_ranks: &Number,
    rank_of_node: &Number,
    ranks_per_node: &Number,
    node: Option<&Number>,
    num_nodes: Option<&Number>,
) -> Result<Claim, DetectError> {
    below(rank, num_ranks)?;
    below(rank_of_node, ranks_per_node)?;
    if let Some(num_nodes) = num_nodes
        && num_nodes.value.checked_mul(ranks_per_node.value) != Some(num_ranks.value)
    {
        return Err(DetectError::UnequalNodes {
            num_nodes: num_nodes.variable.clone(),
            ranks_per_node: ranks_per_node.variable.clone(),
            num_ranks: num_ranks.variable.clone(),
        });
    }
    if !num_ranks.value.is_multiple_of(ranks_per_node.value) {
        return Err(DetectError::NotAMultiple {
            num_ranks: num_ranks.variable.clone(),
            ranks_per_node: ranks_per_node.variable.clone(),
        });
    }
    let expected = rank.value % ranks_per_node.value;
    if rank_of_node.value != expected {
        return Err(DetectError::NotNodeByNode {
            launcher,
            rank: rank.variable.clone(),
            rank_of_node: rank_of_node.variable.clone(),
            expected,
            ranks_per_node: ranks_per_node.variable.clone(),
        });
    }
    let expected = rank.value / ranks_per_node.value;
    if let Some(node) = node
        && node.value != expected
    {
        return Err(DetectError::OtherNode {
            rank: rank.variable.clone(),
            ranks_per_node: ranks_per_node.variable.clone(),
            node: node.variable.clone(),
            expected,
        });
    }
    let num_nodes = num_ranks.value / ranks_per_node.value;
    Ok(Claim { num_nodes, ranks_per_node: ranks_per_node.value, rank: rank.value })
}

fn below(index: &Number, count: &Number) -> Result<(), DetectError> {
    if index.value < count.value {
        return Ok(());
    }
    Err(DetectError::OutOfRange { index: index.variable.clone(), count: count.variable.clone() })
}

impl Claim {
    /// What a process by itself is.
    pub(crate) const fn alone() -> Self {
        Self { num_nodes: 1, ranks_per_node: 1, rank: 0 }
    }

    /// The world of the rank.
    pub(crate) fn world(self) -> Result<World, DetectError> {
        Ok(World::of_rank(self.num_nodes, self.ranks_per_node, self.rank)?)
    }
}
