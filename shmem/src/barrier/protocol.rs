//! The protocol of the barrier, apart from memory, system calls and clocks, so that every interleaving of it can be tried.
//!
//! One 64-bit word decides: the low half is the *generation* (how often the barrier was decided), the high half the
//! *verdict* (zero: go on; else who is to blame for what). Both change in one compare-and-swap, once for each generation,
//! from "undecided" to "go on" or to a verdict that stays for ever. So the participants of a generation cannot see
//! different outcomes, and nobody can die in the middle of a decision.
//!
//! A participant *marks* its slot with the generation it waits for and its token, and then *counts* itself. Marks are what
//! is true; the counter only tells the last one to come that it is the last, without a look at all slots by everyone. If that last
//! one dies or is stopped before it decides, any other finds all slots marked when it looks up from its sleep, and
//! decides instead.

use std::time::Duration;

use super::spinning::Spinning;
use crate::testing::{Point, reach};

/// What the protocol works with.
pub(super) trait Cells {
    /// The number of participants.
    fn participants(&self) -> usize;
    /// The word that decides; acquires what was done before it was changed.
    fn word(&self) -> u64;
    /// Changes the word if it is `from`; releases and acquires.
    fn decide(&self, from: u64, to: u64) -> bool;
    /// Notes that a participant waits; releases.
    fn set_mark(&self, who: usize, mark: u32, token: u64);
    /// The last mark of a participant; acquires.
    fn mark(&self, who: usize) -> u32;
    /// The token that came with the mark.
    fn token(&self, who: usize) -> u64;
    /// Counts one more; returns the new count; releases and acquires.
    fn count(&self) -> u32;
    /// Whether a participant died or left.
    fn is_gone(&self, who: usize) -> bool;
    /// Sleeps while the low half of the word is `low`, not longer than a participant's death may go unnoticed, nor than
    /// `limit`. May return early.
    fn sleep(&self, low: u32, limit: Option<Duration>);
    /// Wakes all sleepers.
    fn wake_all(&self);
}

/// What is decided instead of going on, with the first participant that is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It died or left.
    Lost(usize),
    /// Its token differs.
    Diverged(usize),
    /// It did not come in time.
    Missing(usize),
}

/// The low bits of the high half of the word; the blamed participant is above them.
const KIND_BITS: u32 = 2;

impl Verdict {
    fn encode(self) -> u64 {
        let (kind, who) = match self {
            Verdict::Lost(who) => (1, who),
            Verdict::Diverged(who) => (2, who),
            Verdict::Missing(who) => (3, who),
        };
        ((who as u64) << KIND_BITS | kind) << 32
    }

    fn decode(word: u64) -> Option<Self> {
        // A roster of 2^30 participants does not exist: each would be a process with an open file.
        let who = usize::try_from(word >> (32 + KIND_BITS)).unwrap_or(usize::MAX);
        match word >> 32 & ((1 << KIND_BITS) - 1) {
            1 => Some(Verdict::Lost(who)),
            2 => Some(Verdict::Diverged(who)),
            3 => Some(Verdict::Missing(who)),
            _ => None,
        }
    }
}

/// The low half of the word.
#[expect(clippy::cast_possible_truncation, reason = "that is what the low half is")]
fn generation(word: u64) -> u32 {
    word as u32
}

/// The word that follows an undecided generation.
fn decided(generation: u32, verdict: Option<Verdict>) -> u64 {
    u64::from(generation.wrapping_add(1)) | verdict.map_or(0, Verdict::encode)
}

/// The generation that is undecided, or, where the barrier has failed, the one that failed.
pub(super) fn undecided(word: u64) -> u32 {
    if Verdict::decode(word).is_some() { generation(word).wrapping_sub(1) } else { generation(word) }
}

/// Waits until all participants are here with the same token. `left` says how much time is left, `None` for ever.
pub(super) fn agree<C: Cells>(
    cells: &C,
    me: usize,
    token: u64,
    spinning: &mut Spinning,
    mut left: impl FnMut() -> Option<Duration>,
) -> Result<(), Verdict> {
    let word = cells.word();
    if let Some(verdict) = Verdict::decode(word) {
        return Err(verdict);
    }
    // It cannot change without us.
    let generation = generation(word);
    cells.set_mark(me, generation.wrapping_add(1), token);
    reach(Point::BarrierEntered);
    let count = cells.count();
    reach(Point::BarrierArrived);
    if count == full_count(cells, generation) {
        decide(cells, generation, completion(cells, generation));
    }
    if let Some(outcome) = outcome(cells, generation) {
        return outcome;
    }
    let length = spinning.length();
    for _ in 0..length {
        std::hint::spin_loop();
        if let Some(outcome) = outcome(cells, generation) {
            spinning.learn(true);
            return outcome;
        }
    }
    if length > 0 {
        spinning.learn(false);
    }
    loop {
        if let Some(outcome) = outcome(cells, generation) {
            return outcome;
        }
        let left = left();
        cells.sleep(generation, left);
        if outcome(cells, generation).is_none() {
            look_around(cells, generation, left);
        }
    }
}

/// What has become of a generation, if it is decided.
fn outcome<C: Cells>(cells: &C, generation_waited_for: u32) -> Option<Result<(), Verdict>> {
    let word = cells.word();
    if generation(word) == generation_waited_for {
        return None;
    }
    // Two steps on, it was a later generation that failed.
    let is_next = generation(word) == generation_waited_for.wrapping_add(1);
    Some(Verdict::decode(word).filter(|_| is_next).map_or(Ok(()), Err))
}

/// Why is it still undecided? Decides it if that can be said.
fn look_around<C: Cells>(cells: &C, generation: u32, left: Option<Duration>) {
    let all = 0..cells.participants();
    let is_missing = |&who: &usize| cells.mark(who) != generation.wrapping_add(1);
    let Some(first_missing) = all.clone().find(is_missing) else {
        return decide(cells, generation, completion(cells, generation));
    };
    let verdict = if let Some(who) = all.clone().find(|&who| cells.is_gone(who)) {
        Verdict::Lost(who)
    } else if let Some(&who) = minority(cells, generation).first() {
        Verdict::Diverged(who)
    } else if left.is_some_and(|left| left.is_zero()) {
        Verdict::Missing(first_missing)
    } else {
        return;
    };
    decide(cells, generation, Some(verdict));
}

/// The decision when everybody is there.
fn completion<C: Cells>(cells: &C, generation: u32) -> Option<Verdict> {
    let first = cells.token(0);
    if (1..cells.participants()).all(|who| cells.token(who) == first) {
        return None;
    }
    minority(cells, generation).first().map(|&who| Verdict::Diverged(who))
}

/// Decides a generation, unless somebody else has, and wakes the others.
fn decide<C: Cells>(cells: &C, generation: u32, verdict: Option<Verdict>) {
    if cells.decide(u64::from(generation), decided(generation, verdict)) {
        reach(Point::BarrierReleased);
        cells.wake_all();
    }
}

/// The participants that came to a generation with another token than most. Where there is a tie, most is what the first
/// of them says.
pub(super) fn minority<C: Cells>(cells: &C, generation: u32) -> Vec<usize> {
    let tokens: Vec<(usize, u64)> = (0..cells.participants())
        .filter(|&who| cells.mark(who) == generation.wrapping_add(1))
        .map(|who| (who, cells.token(who)))
        .collect();
    let votes = |token: u64| tokens.iter().filter(|&&(_, other)| other == token).count();
    // The last of several maxima is found, so the search is from the end.
    let Some(&(_, common)) = tokens.iter().rev().max_by_key(|&&(_, token)| votes(token)) else { return Vec::new() };
    tokens.into_iter().filter(|&(_, token)| token != common).map(|(who, _)| who).collect()
}

/// The count at which all have come to a generation. Counts are never reset, and wrap like generations.
#[expect(clippy::cast_possible_truncation, reason = "counts wrap")]
fn full_count<C: Cells>(cells: &C, generation: u32) -> u32 {
    generation.wrapping_add(1).wrapping_mul(cells.participants() as u32)
}

#[cfg(test)]
mod tests;
