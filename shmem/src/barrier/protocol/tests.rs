//! Every interleaving of the protocol, under the scheduler and the memory model of `loom`, with a participant that dies
//! at every step of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use proptest::prelude::*;

use super::super::spinning::Spinning;
use super::{Cells, Verdict, agree, decided, generation, undecided};

/// What the participants of a model share. Sleeping is a condition variable: `futex` compares and sleeps in one step.
struct Board {
    word: AtomicU64,
    count: AtomicU32,
    slots: Vec<(AtomicU32, AtomicU64)>,
    gone: Vec<AtomicBool>,
    bed: Mutex<()>,
    bell: Condvar,
}

/// One participant's view of the board.
struct Seat {
    board: Arc<Board>,
    /// How many more steps it takes before it dies.
    steps_to_live: std::cell::Cell<u32>,
    /// How often it looks around before it sleeps for good, as who sleeps for a limited time may at any moment.
    glances: std::cell::Cell<u32>,
}

/// What a dying participant unwinds with.
struct Death;

/// The outcomes of one participant's rounds; `None` if it died.
type Outcomes = Option<Vec<Result<(), Verdict>>>;

const IMMORTAL: u32 = u32::MAX;

impl Board {
    fn new(participants: usize) -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU64::new(0),
            count: AtomicU32::new(0),
            slots: (0..participants).map(|_| (AtomicU32::new(0), AtomicU64::new(0))).collect(),
            gone: (0..participants).map(|_| AtomicBool::new(false)).collect(),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        })
    }

    fn die(&self, who: usize) {
        let _in_bed = self.bed.lock().expect("nobody panics in bed");
        self.gone[who].store(true, Ordering::SeqCst);
        // Stands for the sleepers' limited time: they look around some time after a death.
        self.bell.notify_all();
    }
}

impl Seat {
    fn step(&self) {
        match self.steps_to_live.get() {
            0 => resume_unwind(Box::new(Death)),
            IMMORTAL => {}
            steps => self.steps_to_live.set(steps - 1),
        }
    }
}

impl Cells for Seat {
    fn participants(&self) -> usize {
        self.board.slots.len()
    }

    fn word(&self) -> u64 {
        self.board.word.load(Ordering::Acquire)
    }

    fn decide(&self, from: u64, to: u64) -> bool {
        self.step();
        self.board.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn set_mark(&self, who: usize, mark: u32, token: u64) {
        self.step();
        self.board.slots[who].1.store(token, Ordering::Relaxed);
        self.step();
        self.board.slots[who].0.store(mark, Ordering::Release);
    }

    fn mark(&self, who: usize) -> u32 {
        self.board.slots[who].0.load(Ordering::Acquire)
    }

    fn token(&self, who: usize) -> u64 {
        self.board.slots[who].1.load(Ordering::Relaxed)
    }

    fn count(&self) -> u32 {
        self.step();
        self.board.count.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    fn is_gone(&self, who: usize) -> bool {
        self.board.gone[who].load(Ordering::SeqCst)
    }

    fn sleep(&self, low: u32, _limit: Option<Duration>) {
        self.step();
        if self.glances.get() > 0 {
            self.glances.set(self.glances.get() - 1);
            return;
        }
        let in_bed = self.board.bed.lock().expect("nobody panics in bed");
        let a_death = self.board.gone.iter().any(|gone| gone.load(Ordering::SeqCst));
        if generation(self.word()) == low && !a_death {
            drop(self.board.bell.wait(in_bed).expect("nobody panics in bed"));
        }
    }

    fn wake_all(&self) {
        self.step();
        let _in_bed = self.board.bed.lock().expect("nobody panics in bed");
        self.board.bell.notify_all();
    }
}

/// What a model is about.
#[derive(Clone, Debug)]
struct Scene {
    participants: usize,
    rounds: usize,
    /// Who dies, after how many steps.
    death: Option<(usize, u32)>,
    /// Who comes with another token in the last round.
    rebel: Option<usize>,
    /// Who looks around once before it sleeps.
    restless: Option<usize>,
    /// Who never comes.
    absent: Option<usize>,
    /// Who gives up when it has looked around.
    impatient: Option<usize>,
}

impl Scene {
    fn new(participants: usize, rounds: usize) -> Self {
        let (death, rebel, restless, absent, impatient) = (None, None, None, None, None);
        Self { participants, rounds, death, rebel, restless, absent, impatient }
    }

    /// Tries all interleavings (with at most `preemptions` that are not forced, if given), and checks the outcomes of each.
    /// Returns how often the one that dies lived through it.
    fn play(&self, preemptions: Option<usize>) -> usize {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        let scene = self.clone();
        let survived = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = std::sync::Arc::clone(&survived);
        builder.check(move || {
            let board = Board::new(scene.participants);
            let others: Vec<_> = (1..scene.participants)
                .filter(|&who| scene.absent != Some(who))
                .map(|who| {
                    let (scene, board) = (scene.clone(), Arc::clone(&board));
                    (who, loom::thread::spawn(move || scene.participate(&board, who)))
                })
                .collect();
            let mut outcomes = vec![(0, scene.participate(&board, 0))];
            outcomes.extend(others.into_iter().map(|(who, thread)| (who, thread.join().expect("deaths are caught"))));
            if scene.check(&outcomes) {
                counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        });
        survived.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// One participant's life.
    fn participate(&self, board: &Arc<Board>, me: usize) -> Outcomes {
        let steps = self.death.filter(|&(who, _)| who == me).map_or(IMMORTAL, |(_, steps)| steps);
        let glances = u32::from(self.restless == Some(me) || self.impatient == Some(me));
        let seat = Seat { board: Arc::clone(board), steps_to_live: steps.into(), glances: glances.into() };
        let left = || (self.impatient == Some(me)).then_some(Duration::ZERO);
        // Spinning is looking, and the models look in vain often enough.
        let mut spinning = Spinning::new(2, 1);
        let rounds = AssertUnwindSafe(|| {
            (0..self.rounds)
                .map(|round| {
                    let last = round + 1 == self.rounds;
                    let token = round as u64 + if last && self.rebel == Some(me) { 100 } else { 0 };
                    agree(&seat, me, token, &mut spinning, left)
                })
                .collect()
        });
        match catch_unwind(rounds) {
            Ok(outcomes) => Some(outcomes),
            Err(payload) if payload.is::<Death>() => {
                board.die(me);
                None
            }
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Whether everybody lived. Panics if somebody saw what others did not.
    fn check(&self, outcomes: &[(usize, Outcomes)]) -> bool {
        let mut seen = outcomes.iter().filter_map(|(who, outcomes)| Some((who, outcomes.as_ref()?)));
        let (_, first) = seen.next().expect("somebody lives");
        for (who, outcomes) in seen {
            assert_eq!(first, outcomes, "participant {who} saw something else in {self:?}");
        }
        let all_live = outcomes.iter().all(|(_, outcomes)| outcomes.is_some());
        for (round, outcome) in first.iter().enumerate() {
            let last = round + 1 == self.rounds;
            match outcome {
                Ok(()) => {
                    assert!(!(last && self.rebel.is_some()), "a rebel gets through");
                    assert_eq!(self.absent, None, "somebody was not waited for");
                }
                Err(Verdict::Lost(who)) => {
                    assert_eq!(self.death.map(|(dead, _)| dead), Some(*who), "the wrong one is lost");
                    assert!(!all_live, "the lost one is alive");
                }
                Err(Verdict::Diverged(who)) => assert_eq!(self.rebel, Some(*who), "the wrong one diverged"),
                Err(Verdict::Missing(who)) => {
                    assert!(self.impatient.is_some_and(|impatient| impatient != *who), "it gave up on itself");
                }
            }
        }
        if self.death.is_none() && self.rebel.is_none() && self.impatient.is_none() {
            assert!(first.iter().all(Result::is_ok), "{first:?} without a reason");
        }
        all_live
    }
}

/// More steps than a participant takes in a round.
const STEPS: u32 = 9;

#[test]
fn two_get_through_together() {
    Scene::new(2, 1).play(None);
    Scene { restless: Some(0), ..Scene::new(2, 1) }.play(None);
    Scene { restless: Some(1), ..Scene::new(2, 2) }.play(Some(3));
}

#[test]
fn three_get_through_together() {
    Scene { restless: Some(1), ..Scene::new(3, 1) }.play(Some(3));
}

#[test]
fn a_death_at_any_step_is_the_same_to_the_other_one() {
    let mut survived = 0;
    for steps in 0..=2 * STEPS {
        survived = Scene { death: Some((1, steps)), restless: Some(0), ..Scene::new(2, 2) }.play(Some(3));
    }
    assert!(survived > 0, "the last death is after all steps, so all of them were tried");
}

#[test]
fn a_death_at_any_step_is_the_same_to_all_others() {
    let mut survived = 0;
    for steps in 0..=STEPS {
        for (dead, restless) in [(0, 1), (2, 0)] {
            let scene = Scene { death: Some((dead, steps)), restless: Some(restless), ..Scene::new(3, 1) };
            survived = scene.play(Some(2));
        }
    }
    assert!(survived > 0, "the last death is after all steps, so all of them were tried");
}

#[test]
fn a_rebel_is_named_to_all() {
    Scene { rebel: Some(1), restless: Some(1), ..Scene::new(2, 2) }.play(Some(2));
    Scene { rebel: Some(2), restless: Some(0), ..Scene::new(3, 1) }.play(Some(2));
}

#[test]
fn who_gives_up_takes_all_others_along() {
    Scene { impatient: Some(0), ..Scene::new(2, 1) }.play(None);
    Scene { impatient: Some(1), ..Scene::new(3, 1) }.play(Some(2));
    Scene { impatient: Some(1), absent: Some(2), ..Scene::new(3, 1) }.play(Some(2));
}

proptest! {
    #[test]
    fn words_say_what_was_decided(before in any::<u32>(), kind in 0..4, who in 0usize..1 << 29) {
        let verdict = [None, Some(Verdict::Lost(who)), Some(Verdict::Diverged(who)), Some(Verdict::Missing(who))][kind as usize];
        let word = decided(before, verdict);
        prop_assert_eq!(Verdict::decode(word), verdict);
        prop_assert_eq!(generation(word), before.wrapping_add(1));
        prop_assert_eq!(undecided(word), if verdict.is_some() { before } else { before.wrapping_add(1) });
    }
}
