//! Agreeing on an epoch, and saying who is to blame where there is no agreement.

use std::time::Duration;

use lockstep_shmem::{BarrierError, Wait, Waiting};
use xxhash_rust::xxh3::xxh3_64;

use super::{Entrance, EpochPlan, EpochWords, Session};
use crate::error::ErrorKind;
use crate::{Error, Result};

/// How often it is said that one waits.
const WORD: Duration = Duration::from_secs(10);

/// No more participants are named in a message.
const MOST_NAMES: usize = 8;

impl Session {
    pub(super) fn agree_on(&self, entrance: &mut Entrance, plan: EpochPlan) -> Result<()> {
        // Before the barrier, so that all see it who get out of there.
        self.plans.set(self.me, plan.to_words());
        let wait = entrance.deadline.map_or(Wait::Forever, Wait::For);
        let mut next_word = WORD;
        let watch = |waiting: &Waiting<'_>| {
            if waiting.waited() >= next_word {
                next_word = waiting.waited() + WORD;
                self.say_a_word(plan, waiting);
            }
        };
        entrance
            .barrier
            .agree_watched(plan.token(), wait, watch)
            .map_err(|error| self.explain(plan, entrance.deadline, error))
    }

    fn say_a_word(&self, plan: EpochPlan, waiting: &Waiting<'_>) {
        let missing = self.names(&waiting.missing());
        let (me, seconds) = (self.me(), waiting.waited().as_secs());
        tracing::info!("{me} has waited for {seconds} s to start epoch {}; still to come: {missing}", plan.epoch);
    }

    fn explain(&self, plan: EpochPlan, deadline: Option<Duration>, error: BarrierError) -> Error {
        let epoch = plan.epoch;
        let (kind, text) = match &error {
            BarrierError::PeerLost { who } => {
                let text = format!("{} died or left before the start of epoch {epoch}", self.names(who));
                (ErrorKind::PeerLost, text)
            }
            BarrierError::TimedOut { missing } => {
                let within = deadline.map_or_else(String::new, |deadline| format!(" within {deadline:.0?}"));
                let text = format!("{} did not come to the start of epoch {epoch}{within}", self.names(missing));
                (ErrorKind::PeerLost, text)
            }
            BarrierError::Diverged { who } => (ErrorKind::Diverged, self.difference(who)),
            other => (ErrorKind::PeerLost, other.to_string()),
        };
        Error::new(kind, format!("{text}; the processes of this node cannot go on together")).with_source(error)
    }

    /// What those who differ are about to do, beside what the others are.
    fn difference(&self, who: &[usize]) -> String {
        let line =
            |who: usize| format!("{} starts {}", self.participants[who], EpochPlan::from_words(self.plans.get(who)));
        let mut text: Vec<String> = who.iter().take(MOST_NAMES).map(|&who| line(who)).collect();
        if who.len() > MOST_NAMES {
            text.push(format!("{} more differ", who.len() - MOST_NAMES));
        }
        if let Some(other) = (0..self.participants.len()).find(|other| !who.contains(other)) {
            text.push(format!("while {}", line(other)));
        }
        text.join(", ")
    }

    fn names(&self, who: &[usize]) -> String {
        let mut names: Vec<String> =
            who.iter().take(MOST_NAMES).map(|&who| self.participants[who].to_string()).collect();
        if who.len() > MOST_NAMES {
            names.push(format!("{} more", who.len() - MOST_NAMES));
        }
        names.join(", ")
    }
}

impl EpochPlan {
    fn token(self) -> u64 {
        xxh3_64(bytemuck::bytes_of(&self.to_words()))
    }

    fn to_words(self) -> EpochWords {
        [self.epoch, self.position, self.fingerprint]
    }

    fn from_words([epoch, position, fingerprint]: EpochWords) -> Self {
        Self { epoch, position, fingerprint }
    }
}

impl std::fmt::Display for EpochPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { epoch, position, fingerprint } = self;
        write!(f, "epoch {epoch} at position {position} with settings {fingerprint:016x}")
    }
}
