//! `cargo xtask ci`: data, formatting, lints, documentation, tests.

use xshell::{Shell, cmd};

use crate::fixtures;

/// Runs every check in the order in which they fail fastest.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    fixtures::check(shell)?;
    cmd!(shell, "cargo fmt --all --check").run()?;
    cmd!(shell, "cargo clippy --workspace --all-targets --locked -- -D warnings").run()?;
    // The library without its default features, with datasets in other directories alone, and with everything.
    for features in ["--no-default-features", "--no-default-features --features remote", "--all-features --all-targets"]
    {
        let features = features.split(' ');
        cmd!(shell, "cargo clippy -p lockstep-dataset {features...} --locked -- -D warnings").run()?;
    }
    {
        let _deny_warnings = shell.push_env("RUSTDOCFLAGS", "-D warnings");
        cmd!(shell, "cargo doc --workspace --no-deps --locked").run()?;
    }
    cmd!(shell, "cargo test --workspace --locked").run()?;
    // No crate of the workspace asks for `image`: its tests are those that have a filter's word in their names.
    cmd!(shell, "cargo test -p lockstep-dataset --features image --lib --tests --locked -- image pixels").run()?;
    Ok(())
}
