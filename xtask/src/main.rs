//! What a developer of Lockstep runs: `cargo xtask ci`, `bench`, `soak`, `sanitize`, `fixtures`, `release`.

mod bench;
mod ci;
mod fixtures;
mod release;
mod sanitize;
mod soak;

use clap::{Parser, Subcommand};
use xshell::Shell;

/// Developer tasks of the Lockstep workspace.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that must pass before a change lands.
    Ci,
    /// The benchmarks, as ratios against something measured in the same run.
    Bench(bench::Args),
    /// The random crash tests, for as many rounds as asked.
    Soak(soak::Args),
    /// The shared-memory tests under AddressSanitizer and ThreadSanitizer (nightly).
    Sanitize,
    /// Checks the checked-in data against its checksums, or records them anew.
    Fixtures(fixtures::Args),
    /// Prepares or publishes a release of all crates.
    Release(release::Args),
}

fn main() -> anyhow::Result<()> {
    let shell = Shell::new()?;
    // Cargo says where this runs, which need not be where it was built.
    let package = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    shell.change_dir(format!("{package}/.."));
    match Xtask::parse().task {
        Task::Ci => ci::run(&shell),
        Task::Bench(args) => bench::run(&shell, &args),
        Task::Soak(args) => soak::run(&shell, &args),
        Task::Sanitize => sanitize::run(&shell),
        Task::Fixtures(args) => fixtures::run(&shell, &args),
        Task::Release(args) => release::run(&shell, &args),
    }
}
