//! Getting into a session.

use std::time::{Duration, Instant};

use lockstep_shmem::{
    Barrier, Directory, Layout, Member, Place, Roster, RosterError, Segment, SegmentError, SegmentName, SharedArray,
    Wait,
};
use xxhash_rust::xxh3::Xxh3;

use super::{EpochWords, Participant, Session, SessionConfig};
use crate::error::ErrorKind;
use crate::{Error, Result};

/// Changed with what a session keeps in its segment, so that versions that cannot talk do not try.
const VERSION: u64 = 1;

/// The pauses between two attempts.
const PAUSES: std::ops::Range<Duration> = Duration::from_millis(1)..Duration::from_millis(50);

/// How long processes of an earlier run, which see something else in the session, get to notice that it is over.
const LINGERING: Duration = Duration::from_secs(3);

/// What lies in a session's segment.
struct Plan {
    layout: Layout,
    roster: Place<Roster>,
    barrier: Place<Barrier>,
    plans: Place<SharedArray<EpochWords>>,
}

/// How an attempt to get in ended, if not well.
enum Refusal {
    /// It may be different in a moment.
    Later(Error),
    Final(Error),
}

pub(super) fn join(directory: &Directory, config: &SessionConfig<'_>) -> Result<Session> {
    let me = position(config)?;
    let plan = Plan::new(config.participants);
    let node = config.node.to_string();
    let name = SegmentName::new(&["session", config.job, &node, config.dataset]);
    let started = Instant::now();
    let mut pause = PAUSES.start;
    loop {
        let left = config.start_deadline.saturating_sub(started.elapsed());
        match attempt(directory, &name, &plan, me, config, left) {
            Ok((segment, member)) => {
                let barrier = segment.barrier(plan.barrier, &member);
                return Ok(Session::new(barrier, segment.array(plan.plans), config, me));
            }
            Err(Refusal::Later(_)) if !left.is_zero() => {
                std::thread::sleep(pause.min(left));
                pause = (pause * 2).min(PAUSES.end);
            }
            Err(Refusal::Later(error) | Refusal::Final(error)) => return Err(error),
        }
    }
}

fn attempt(
    directory: &Directory,
    name: &SegmentName,
    plan: &Plan,
    me: usize,
    config: &SessionConfig<'_>,
    left: Duration,
) -> Result<(Segment, Member), Refusal> {
    let wait = Wait::For(left.max(PAUSES.end));
    let waited = config.start_deadline.saturating_sub(left);
    let segment = Segment::open_or_create_in(directory, name, &plan.layout, wait).map_err(|error| {
        let others_linger = matches!(error, SegmentError::OtherLayout { .. } | SegmentError::OtherVersion { .. });
        let error = segment_error(error, config);
        if others_linger && waited < LINGERING { Refusal::Later(error) } else { Refusal::Final(error) }
    })?;
    match segment.roster(plan.roster).join(me) {
        Ok(member) => Ok((segment, member)),
        Err(error @ RosterError::Gone { .. }) => {
            // This is a new run, and the others there are of one that lost a participant: this one. They are about to
            // find out; nobody needs to wait for it.
            segment.retire(wait).map_err(|error| Refusal::Final(segment_error(error, config)))?;
            Err(Refusal::Later(taken(error, config)))
        }
        Err(error @ RosterError::Taken { .. }) => Err(Refusal::Later(taken(error, config))),
        Err(error) => Err(Refusal::Final(taken(error, config))),
    }
}

/// Which of the participants this is.
fn position(config: &SessionConfig<'_>) -> Result<usize> {
    let all = config.participants;
    if let Some(twice) = (1..all.len()).find(|&i| all[..i].contains(&all[i])) {
        return Err(Error::config(format!("{} is in the list of participants twice", all[twice])));
    }
    all.iter().position(|&participant| participant == config.me).ok_or_else(|| {
        Error::config(format!("{} is not in the list of participants of node {}", config.me, config.node))
    })
}

impl Plan {
    fn new(participants: &[Participant]) -> Self {
        let mut hasher = Xxh3::new();
        for participant in participants {
            let words = match *participant {
                Participant::Rank(rank) => [0, rank, 0],
                Participant::Worker { rank, worker } => [1, rank, worker],
            };
            hasher.update(bytemuck::bytes_of(&words));
        }
        let mut layout = Layout::new(hasher.digest() ^ VERSION);
        let roster = layout.roster(participants.len());
        let barrier = layout.barrier(roster);
        let plans = layout.array(participants.len());
        Self { layout, roster, barrier, plans }
    }
}

fn taken(error: RosterError, config: &SessionConfig<'_>) -> Error {
    let SessionConfig { me, node, job, .. } = config;
    let text = format!(
        "{me} of node {node} is in another process of job {job} already; wait for that to end, or give this job an id of \
         its own (LOCKSTEP_JOB_ID)"
    );
    Error::config(text).with_source(error)
}

fn segment_error(error: SegmentError, config: &SessionConfig<'_>) -> Error {
    let kind = match &error {
        SegmentError::OtherLayout { .. } => ErrorKind::Diverged,
        SegmentError::System { .. } | SegmentError::Lock(_) => ErrorKind::Io,
        _ => ErrorKind::Config,
    };
    let SessionConfig { me, node, job, .. } = config;
    let text = match kind {
        ErrorKind::Diverged => format!(
            "{me} differs from the other processes of job {job} on node {node} in who takes part; start all with the \
             same numbers of ranks and workers"
        ),
        _ => format!("{me} cannot join the other processes of job {job} on node {node}"),
    };
    Error::new(kind, text).with_source(error)
}
