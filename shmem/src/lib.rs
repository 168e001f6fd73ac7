//! Shared memory, rosters and barriers between processes that a crash cannot leave in a bad state.
