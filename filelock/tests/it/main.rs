//! Locks between handles, threads and processes.

mod bytes;
mod file;
mod helper;
