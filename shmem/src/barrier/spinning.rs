//! How long to look at a word before sleeping on it.

/// About what it costs to sleep and be woken, in looks at the word: to spin for longer saves nothing.
const LONGEST: u32 = 128;

/// After how many waits without spinning it is tried again.
const RETRY: u32 = 64;

/// Whether to spin at a barrier, learnt from whether it helped.
///
/// It helps where each participant has a processor of its own. Where they outnumber the processors it is never tried; and
/// where other work takes the processors, it is soon given up, since who spins there keeps the one that is waited for from running.
#[derive(Debug)]
pub(super) struct Spinning {
    /// `false`: never.
    possible: bool,
    length: u32,
    waits_without: u32,
}

impl Spinning {
    pub(super) fn new(participants: usize, processors: usize) -> Self {
        Self { possible: participants <= processors, length: LONGEST, waits_without: 0 }
    }

    /// How often to look at the word in the next wait.
    pub(super) fn length(&mut self) -> u32 {
        if !self.possible {
            return 0;
        }
        if self.length == 0 {
            self.waits_without += 1;
            if self.waits_without >= RETRY {
                self.waits_without = 0;
                self.length = LONGEST;
            }
        }
        self.length
    }

    /// What has come of it.
    pub(super) fn learn(&mut self, has_helped: bool) {
        self.length = match (has_helped, self.length) {
            (true, _) => LONGEST,
            (false, LONGEST) => LONGEST / 4,
            (false, _) => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_spinning_without_processors_for_all() {
        let mut spinning = Spinning::new(3, 2);
        assert_eq!(spinning.length(), 0);
        spinning.learn(true);
        assert!((0..10 * RETRY).all(|_| spinning.length() == 0));
    }

    #[test]
    fn what_does_not_help_is_given_up_and_tried_again() {
        let mut spinning = Spinning::new(2, 2);
        let looks: Vec<u32> = (0..2 * RETRY)
            .map(|_| {
                let length = spinning.length();
                if length > 0 {
                    spinning.learn(false);
                }
                length
            })
            .collect();
        assert_eq!(looks.iter().filter(|&&length| length == LONGEST).count(), 2, "{looks:?}");
        assert!(looks.iter().filter(|&&length| length == 0).count() > 120, "{looks:?}");
        spinning.learn(true);
        assert_eq!(spinning.length(), LONGEST);
    }
}
