//! Whole shuffles, and what they draw.

use super::{Generator, generator::halves};

/// How many partners are drawn before any of them is exchanged. Drawing apart from exchanging keeps the rejection of
/// draws free of branches and lets the exchanges' cache misses overlap.
const BATCH: usize = 512;

impl Generator {
    /// Shuffles in place: numpy's `shuffle` of a one-dimensional array or a list.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let mut partners = [0; BATCH];
        let mut last = items.len().saturating_sub(1);
        while let Some(wide) = (last > 0).then(|| u32::try_from(last)) {
            let Ok(top) = wide else {
                let partner = self.interval(last as u64);
                items.swap(last, usize::try_from(partner).expect("a partner is an index of the slice"));
                last -= 1;
                continue;
            };
            let drawn = self.draw_partners(top, &mut partners);
            for (back, &partner) in drawn.iter().enumerate() {
                items.swap(last - back, partner as usize);
            }
            last -= drawn.len();
        }
    }

    /// Draws what [`shuffle`](Self::shuffle) draws for `len` items, and shuffles nothing.
    ///
    /// How many draws a shuffle takes depends on the draws, so they cannot be skipped faster than by drawing.
    pub fn skip_shuffle(&mut self, len: u64) {
        let mut last = len.saturating_sub(1);
        while last > u64::from(u32::MAX) {
            self.interval(last);
            last -= 1;
        }
        let mut last = halves(last).0;
        while last > 0 {
            let octave = Octave::of(last);
            last = self.skip_octave(octave, last);
        }
    }

    /// The numbers `0..len`, shuffled: numpy's `permutation(len)`.
    ///
    /// # Panics
    ///
    /// Where `len` numbers do not fit into memory.
    #[must_use]
    pub fn permutation(&mut self, len: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..len).collect();
        self.shuffle(&mut numbers);
        numbers
    }

    /// An integer of `0..=max` by masked rejection: numpy's `random_interval`.
    #[inline]
    fn interval(&mut self, max: u64) -> u64 {
        let mask = u64::MAX >> max.leading_zeros();
        loop {
            let value = mask & if max > u64::from(u32::MAX) { self.next_u64() } else { self.next_u32().into() };
            if value <= max {
                return value;
            }
        }
    }

    /// The partners of `top`, `top - 1`, ... for as many as share their mask and fit into the buffer.
    fn draw_partners<'a>(&mut self, top: u32, buffer: &'a mut [u32; BATCH]) -> &'a [u32] {
        let octave = Octave::of(top);
        let wanted = BATCH.min((top - octave.lowest) as usize + 1);
        let mut found: usize = 0;
        let mut keep = |word: u32, found: usize| {
            let partner = word & octave.mask;
            buffer[found] = partner;
            #[expect(clippy::cast_possible_truncation, reason = "at most the size of a buffer")]
            let limit = top - found as u32;
            found + usize::from(partner <= limit)
        };
        if let Some(word) = self.spare.take() {
            found = keep(word, found);
        }
        // Where two or more are missing both halves of a word are used.
        let mut engine = self.engine;
        while found + 1 < wanted {
            let (low, high) = halves(engine.next_u64());
            found = keep(low, found);
            found = keep(high, found);
        }
        self.engine = engine;
        while found < wanted {
            found = keep(self.next_u32(), found);
        }
        &buffer[..wanted]
    }

    /// Draws for `last`, `last - 1`, ... to the lowest of its octave; returns the one below.
    fn skip_octave(&mut self, octave: Octave, mut last: u32) -> u32 {
        let accept = |word: u32, last: u32| last - u32::from(word & octave.mask <= last);
        if let Some(word) = self.spare.take() {
            last = accept(word, last);
        }
        let mut engine = self.engine;
        while last > octave.lowest {
            let (low, high) = halves(engine.next_u64());
            last = accept(low, last);
            last = accept(high, last);
        }
        self.engine = engine;
        while last >= octave.lowest {
            last = accept(self.next_u32(), last);
        }
        last
    }
}

/// The numbers that share a mask: `2^k ..= 2^(k+1) - 1`.
#[derive(Clone, Copy)]
struct Octave {
    lowest: u32,
    mask: u32,
}

impl Octave {
    const fn of(number: u32) -> Self {
        let mask = u32::MAX >> number.leading_zeros();
        Self { lowest: mask - mask / 2, mask }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The algorithm as its description reads: one draw, one exchange.
    fn plain_shuffle<T>(rng: &mut Generator, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let partner = rng.interval(last as u64);
            items.swap(last, usize::try_from(partner).unwrap());
        }
    }

    fn check(seed: u64, odd: bool, len: usize) {
        let mut rng = Generator::new(seed);
        if odd {
            rng.next_u32();
        }
        let (mut plain, mut skipping) = (rng, rng);
        let mut expected: Vec<usize> = (0..len).collect();
        plain_shuffle(&mut plain, &mut expected);
        let mut items: Vec<usize> = (0..len).collect();
        rng.shuffle(&mut items);
        assert!(items == expected, "seed {seed}, {len} items, odd {odd}");
        skipping.skip_shuffle(len as u64);
        // Not only the items: what is drawn afterwards is the same too, halves of words included.
        assert_eq!((rng, skipping), (plain, plain), "seed {seed}, {len} items, odd {odd}");
    }

    #[test]
    fn every_short_length_shuffles_as_described() {
        for len in (0..1100).chain([4095, 4096, 4097, 100_000]) {
            check(len as u64, false, len);
            check(len as u64, true, len);
        }
    }

    proptest! {
        #[test]
        fn shuffles_as_described(seed: u64, odd: bool, len in 0_usize..5000) {
            check(seed, odd, len);
        }
    }

    #[test]
    fn intervals_above_32_bits_use_whole_words() {
        let mut rng = Generator::new(7_u64);
        rng.next_u32();
        let spare = rng.spare;
        let value = rng.interval(1 << 40);
        assert!(value <= 1 << 40);
        assert_eq!(rng.spare, spare, "the spare half is left alone");
    }
}
