//! The random numbers of numpy's `default_rng`, bit for bit.
//!
//! What a run of the original saw is decided by `numpy.random.default_rng(seed)`: the PCG64 generator, seeded through a
//! `SeedSequence`, and the methods `shuffle`, `permutation`, `integers`, `uniform` and `choice`. They are rebuilt here
//! from their published algorithms and pinned by vectors read off numpy. numpy's own stream-compatibility policy allows
//! the methods to change between its releases; what is reproduced is what numpy 1.17 to 2.x draw.
//!
//! ```
//! use lockstep_partition::numpy::Generator;
//!
//! // >>> numpy.random.default_rng(0).permutation(17)
//! let mut rng = Generator::new(0_u64);
//! assert_eq!(rng.permutation(17), [2, 10, 3, 11, 0, 4, 7, 5, 16, 12, 13, 6, 9, 14, 8, 1, 15]);
//! ```
//!
//! # Limitations
//!
//! - Only what the original calls is here: no legacy `RandomState`, no 8- and 16-bit integers, no weights in `choice`.
//! - `uniform` rounds its product and its sum separately, as numpy does where it is built for x86-64. Builds for
//!   processors on which compilers contract the two into one operation can differ in the last bit.
//! - Nothing here is fit for secrets.
//!
//! # Sources
//!
//! - M. E. O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
//!   Generation*, 2014, for the generator (XSL-RR 128/64).
//! - M. E. O'Neill, *Developing a seed_seq Alternative*, 2015, for the hash in the seed sequence.
//! - D. Lemire, *Fast Random Integer Generation in an Interval*, 2019, for bounded integers.
//! - R. W. Floyd in J. Bentley, *Programming Pearls: A Sample of Brilliance*, 1987, for `choice`.

mod choice;
mod generator;
mod pcg64;
mod seed;
mod shuffle;

pub use generator::Generator;
pub use pcg64::Pcg64;
pub use seed::SeedSequence;
