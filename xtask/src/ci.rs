//! `cargo xtask ci`: data, formatting, lints, documentation, tests.

use xshell::{Shell, cmd};

use crate::fixtures;

/// Runs every check in the order in which they fail fastest.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    fixtures::check(shell)?;
    cmd!(shell, "cargo fmt --all --check").run()?;
    cmd!(shell, "cargo clippy --workspace --all-targets --locked -- -D warnings").run()?;
    // A library user without the default features, and one with remote stores alone.
    cmd!(shell, "cargo clippy -p lockstep-dataset --no-default-features --locked -- -D warnings").run()?;
    {
        let _deny_warnings = shell.push_env("RUSTDOCFLAGS", "-D warnings");
        cmd!(shell, "cargo doc --workspace --no-deps --locked").run()?;
    }
    cmd!(shell, "cargo test --workspace --locked").run()?;
    Ok(())
}
