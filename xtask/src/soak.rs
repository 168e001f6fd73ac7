//! `cargo xtask soak`: the random crash tests, at length.

use xshell::{Shell, cmd};

/// How long to soak.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rounds of each random crash test.
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Where the random choices start from; the same seed makes the same choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs every test whose name says `soak`, in release mode.
pub(crate) fn run(shell: &Shell, args: &Args) -> anyhow::Result<()> {
    let _rounds = shell.push_env("LOCKSTEP_SOAK_ROUNDS", args.rounds.to_string());
    let _seed = shell.push_env("LOCKSTEP_SOAK_SEED", args.seed.to_string());
    cmd!(shell, "cargo test --release --workspace -- soak --nocapture --test-threads 1").run()?;
    Ok(())
}
