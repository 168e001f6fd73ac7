//! `lockstep cat`: samples as JSON lines.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lockstep_dataset::{Index, Links, Pickled, Shard};

use crate::outcome::Outcome;
use crate::output::Output;

/// Which samples to print.
#[derive(Args, Debug)]
pub(crate) struct CatArgs {
    /// The directory of the dataset.
    dataset: PathBuf,
    /// Leave out this many samples at the start.
    #[arg(long, default_value_t = 0, value_name = "SAMPLES")]
    skip: u64,
    /// Print at most this many.
    #[arg(long, value_name = "SAMPLES")]
    limit: Option<u64>,
    /// Print the bytes of pickled objects, which are refused otherwise.
    #[arg(long)]
    pickle_as_bytes: bool,
    /// Follow links out of the dataset's directory, as in a directory of links that was made on purpose.
    #[arg(long)]
    follow_links: bool,
}

/// Prints samples in the order in which they are stored.
pub(crate) fn run(args: &CatArgs, output: &mut Output) -> anyhow::Result<Outcome> {
    let index = Index::read(&args.dataset)?;
    let pickled = if args.pickle_as_bytes { Pickled::AsBytes } else { Pickled::Refuse };
    let links = if args.follow_links { Links::Follow } else { Links::Inside };
    let end = args.limit.map_or(u64::MAX, |limit| args.skip.saturating_add(limit)).min(index.num_samples());
    let mut id = args.skip;
    while id < end {
        let place = index.locate(id).expect("the end is at most the number of samples");
        let shard = Shard::open_with(&args.dataset, &index.shards()[place.shard], links)?;
        let first = index.first_sample(place.shard);
        let shard_end = end.min(index.first_sample(place.shard + 1));
        while id < shard_end {
            shard.sample(id - first)?.write_json(output, pickled)?;
            writeln!(output)?;
            id += 1;
        }
    }
    Ok(Outcome::Fine)
}
