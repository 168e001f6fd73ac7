//! The command as a user meets it: processes, their output and exit status.

mod datasets;
mod launcher;
mod loss;
mod namespaces;
mod parquet;
mod plan;
mod processes;
mod remote;
mod resume;
mod run;
mod soak;
mod support;
mod together;
mod usage;
