//! A directory that shards are read from, and kept in for as long as there is room.
//!
//! A [`Cache`] makes shards local one by one: it downloads, checks and unpacks what is missing, evicts what was not used
//! for longest, and hands out [`Pin`]s that keep a shard where it is. Any number of processes, of one job or of several,
//! may use one directory at a time.
//!
//! # How it works
//!
//! - **Locks.** One byte of a lock file stands for each shard: held exclusively while the shard is downloaded or evicted,
//!   shared while it is pinned. The kernel takes locks back from the dead, so a download that dies is taken over by whoever
//!   wants the shard next.
//! - **Files.** A file is written under a temporary name beside its final one, checked against the index (size and
//!   hashes), flushed and renamed. What has its final name is complete.
//! - **Room.** A ledger has a row for each shard with the bytes that its files may take. A row grows before the files do
//!   and shrinks after them, and rows are added up under a lock, so the sum is never less than what is on disk: not between
//!   processes, and not after one was killed. Rows that the dead left too large are set right by whoever gets the shard's
//!   lock next; the first process to open a directory that nobody uses sets right all of them.
//! - **Property.** What has no remote is not ours to delete: such files are neither counted nor removed. Of a compressed
//!   local dataset the unpacked copies are.
//!
//! # Limitations
//!
//! - The directory must be on a file system of this machine: locks and sums do not reach across a network file system.
//! - The limit is kept over sizes of files; a file system's own blocks and tables come on top.
//! - A shard that is unpacked takes room for both of its forms meanwhile, and unpacking holds both in memory.
//! - With a limit, readers that hold pins while they wait for others can starve each other; the wait ends with an error that
//!   says which limit would do.
//! - A file that was removed while it is mapped takes disk until it is unmapped. Keep the pin for as long as the map.

mod ahead;
mod config;
mod fill;
mod layout;
mod ledger;
mod origin;
mod part;
mod pin;
mod room;
mod shelf;

pub use config::{Ahead, CacheConfig, KeepZip, Verify};
pub use pin::{Cache, Pin, Usage};
pub use room::Room;
