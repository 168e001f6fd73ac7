//! Groups given as lists of ranks, checked and turned into tables.

use crate::AssignmentError;

/// Explicit groups. Tables of some 50 bytes a rank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explicit {
    /// The group and the place in it of each rank, or `None` where it reads nothing.
    of_rank: Vec<Option<(u64, u64)>>,
    groups: Vec<Box<[u64]>>,
}

impl Explicit {
    /// Checks that the groups are disjoint, of equal size and, together with the idle ranks, complete.
    pub(crate) fn new(groups: &[Vec<u64>], idle: &[u64], num_ranks: u64) -> Result<Self, AssignmentError> {
        let first = groups.first().ok_or(AssignmentError::NoGroups)?.len();
        if let Some(group) = groups.iter().position(Vec::is_empty) {
            return Err(AssignmentError::EmptyGroup { group });
        }
        if let Some(group) = groups.iter().position(|group| group.len() != first) {
            return Err(AssignmentError::UnequalGroups { group, size: groups[group].len(), first });
        }
        let in_groups = groups
            .iter()
            .enumerate()
            .flat_map(|(g, group)| group.iter().enumerate().map(move |(place, &rank)| (rank, Some((g, place)))));
        let mut listed: Vec<_> = in_groups.chain(idle.iter().map(|&rank| (rank, None))).collect();
        // Stable, so that of two places the one given first is named first.
        listed.sort_by_key(|&(rank, _)| rank);
        check(&listed, num_ranks)?;
        let place = |(_, place): (u64, Option<(usize, usize)>)| place.map(|(g, place)| (g as u64, place as u64));
        let groups = groups.iter().map(|group| group.clone().into_boxed_slice()).collect();
        Ok(Self { of_rank: listed.into_iter().map(place).collect(), groups })
    }

    /// The number of ranks in a group.
    pub(crate) fn group_size(&self) -> u64 {
        self.groups[0].len() as u64
    }

    /// The number of groups.
    pub(crate) fn num_groups(&self) -> u64 {
        self.groups.len() as u64
    }

    /// The group of a rank, and its place in the group.
    pub(crate) fn group_and_place(&self, rank: u64) -> Option<(u64, u64)> {
        self.of_rank[index(rank)]
    }

    /// The rank at a place of a group.
    pub(crate) fn rank(&self, group: u64, place: u64) -> u64 {
        self.groups[index(group)][index(place)]
    }

    /// The ranks of each group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u64]> {
        self.groups.iter().map(|group| &group[..])
    }
}

/// Whether what is listed, sorted by rank, is every rank once.
fn check(listed: &[(u64, Option<(usize, usize)>)], num_ranks: u64) -> Result<(), AssignmentError> {
    let name = |place: Option<(usize, usize)>| match place {
        Some((group, _)) => format!("group {group}"),
        None => "the idle ranks".to_owned(),
    };
    if let Some(&(rank, place)) = listed.iter().find(|&&(rank, _)| rank >= num_ranks) {
        return Err(AssignmentError::OutOfRange { rank, place: name(place), last: num_ranks - 1 });
    }
    if let Some(pair) = listed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(AssignmentError::Overlap { rank: pair[0].0, first: name(pair[0].1), second: name(pair[1].1) });
    }
    let more = num_ranks - listed.len() as u64;
    if more > 0 {
        let gap = (0u64..).zip(listed).find(|(expected, (rank, _))| expected != rank);
        let rank = gap.map_or(listed.len() as u64, |(expected, _)| expected);
        return Err(AssignmentError::Missing { rank, more: more - 1 });
    }
    Ok(())
}

/// A number that indexes a table.
pub(crate) fn index(value: u64) -> usize {
    usize::try_from(value).expect("an index into a table that is in memory")
}
