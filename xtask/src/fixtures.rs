//! `cargo xtask fixtures`: the checked-in data is what it was when it was read off the original.

use anyhow::ensure;
use xshell::{Shell, cmd};

/// Check or record.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the checksums of the data as it is now.
    #[arg(long)]
    record: bool,
}

const DATA: [&str; 4] =
    ["partition/tests/golden", "replication/tests/golden", "dataset/tests/fixtures", "dataset/data"];
const CHECKSUMS: &str = "xtask/fixtures.sha256";

/// Checks the data, or records what it is now.
pub(crate) fn run(shell: &Shell, args: &Args) -> anyhow::Result<()> {
    if args.record {
        shell.write_file(CHECKSUMS, checksums(shell)?)?;
        return Ok(());
    }
    check(shell)
}

/// Compares the SHA-256 of every tracked data file with the recorded one, and the lists with each other.
pub(crate) fn check(shell: &Shell) -> anyhow::Result<()> {
    let (now, recorded) = (checksums(shell)?, shell.read_file(CHECKSUMS)?);
    let changed: Vec<&str> = now.lines().filter(|line| !recorded.lines().any(|old| old == *line)).collect();
    let gone: Vec<&str> = recorded.lines().filter(|old| !now.lines().any(|line| line == *old)).collect();
    ensure!(
        changed.is_empty() && gone.is_empty(),
        "data differs from {CHECKSUMS}\nnow:\n{}\nrecorded:\n{}",
        changed.join("\n"),
        gone.join("\n")
    );
    println!("{} data files are as recorded", now.lines().count());
    Ok(())
}

fn checksums(shell: &Shell) -> anyhow::Result<String> {
    let files = cmd!(shell, "git ls-files -- {DATA...}").quiet().read()?;
    Ok(cmd!(shell, "sha256sum").args(files.lines()).quiet().read()? + "\n")
}
