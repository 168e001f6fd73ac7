//! Segments, rosters and barriers between threads and between processes, which are killed.

mod barrier;
mod directory;
#[path = "../../../filelock/tests/it/helper.rs"]
mod helper;
mod kill_anytime;
mod kill_at_points;
mod participant;
mod segment;
mod space;
mod survey;
