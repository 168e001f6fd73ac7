//! `cargo xtask bench`: every benchmark program of the workspace.

use xshell::{Shell, cmd};

/// Which benchmarks to run, and how long.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the benchmarks of this package, `lockstep-partition` say.
    #[arg(long, short)]
    package: Option<String>,
    /// Only the benchmark of this name, `shuffle` say.
    #[arg(long)]
    name: Option<String>,
    /// Fewer rounds: enough to see that they run, too few to quote.
    #[arg(long)]
    quick: bool,
}

/// Runs them one after another, so that they do not disturb each other.
pub(crate) fn run(shell: &Shell, args: &Args) -> anyhow::Result<()> {
    let mut scope = match &args.package {
        Some(package) => vec!["--package".to_owned(), package.clone()],
        None => vec!["--workspace".to_owned()],
    };
    match &args.name {
        Some(name) => scope.extend(["--bench".to_owned(), name.clone()]),
        None => scope.push("--benches".to_owned()),
    }
    let options: &[&str] = if args.quick { &["--", "--quick"] } else { &[] };
    cmd!(shell, "cargo bench {scope...} {options...}").run()?;
    Ok(())
}
