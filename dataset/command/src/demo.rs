//! `lockstep demo`: the main job with nothing to set up.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use lockstep_dataset::digits;

use crate::outcome::Outcome;
use crate::output::Output;
use crate::run::{self, RunArgs};

/// What the demo runs, but for the dataset.
const ARGUMENTS: [&str; 8] = ["--nodes", "2", "--ranks-per-node", "4", "--workers-per-rank", "2", "--replication", "2"];

#[derive(Parser)]
struct RunLine {
    #[command(flatten)]
    args: RunArgs,
}

/// Runs 2 nodes of 4 ranks with 2 workers each, in groups of 2 ranks, over 1,797 handwritten digits.
pub(crate) fn run(output: &mut Output) -> anyhow::Result<Outcome> {
    let digits = Digits::find()?;
    let dir = digits.path().to_str().context("the path of the demo's dataset is not UTF-8")?;
    let words: Vec<String> = ["run", dir].into_iter().chain(ARGUMENTS).map(str::to_owned).collect();
    let args = RunLine::try_parse_from(&words).context("the demo's own arguments are wrong")?.args;
    if !output.is_json() {
        writeln!(output, "1,797 handwritten digits (UCI Optical Recognition of Handwritten Digits, CC BY 4.0):")?;
        writeln!(output, "$ lockstep {}\n", words.join(" "))?;
        output.flush()?;
    }
    run::run(&args, &words, output)
}

/// The demo's dataset on disk.
enum Digits {
    Checkout(PathBuf),
    Unpacked(tempfile::TempDir),
}

impl Digits {
    fn find() -> anyhow::Result<Self> {
        let checkout = Path::new(digits::CHECKOUT);
        if checkout.join("index.json").exists() {
            return Ok(Self::Checkout(from_here(checkout.canonicalize()?)));
        }
        let dir = tempfile::Builder::new().prefix("lockstep-demo-").tempdir()?;
        digits::unpack(dir.path()).context("the demo's dataset cannot be unpacked")?;
        Ok(Self::Unpacked(dir))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Checkout(path) => path,
            Self::Unpacked(dir) => dir.path(),
        }
    }
}

/// The path as one would type it in the current directory.
fn from_here(path: PathBuf) -> PathBuf {
    let here = std::env::current_dir().and_then(std::fs::canonicalize);
    here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned)).unwrap_or(path)
}
