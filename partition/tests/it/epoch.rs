//! Whole epochs against the golden vectors.

use lockstep_partition::{
    EpochError, EpochPlan, EpochRecipe, Part, PartitionError, ShuffleError, ShuffleUnits, Stream, Topology, Weight,
};
use serde::Deserialize;

use crate::golden;

#[derive(Deserialize)]
struct Row {
    streams: Vec<StreamRow>,
    epoch_size: Option<u64>,
    world: World,
    replication: u64,
    placement: String,
    batch_size: u64,
    batching_method: String,
    shuffle: Option<String>,
    seed: u64,
    epoch: u64,
    num_canonical_nodes: u64,
    shuffle_block_size: Option<u64>,
    sampling_method: String,
    sampling_granularity: u64,
    sample_in_epoch: u64,
    result: Expected,
}

#[derive(Deserialize)]
struct StreamRow {
    shard_sizes: Vec<u64>,
    proportion: Option<f64>,
    repeat: Option<f64>,
    choose: Option<u64>,
}

#[derive(Deserialize)]
struct World {
    num_nodes: u64,
    ranks_per_node: u64,
    workers_per_rank: u64,
}

#[derive(Deserialize)]
struct Expected {
    shape: Option<[u64; 5]>,
    sha256: Option<String>,
    epoch_size: Option<u64>,
    choose: Option<Vec<u64>>,
    error: Option<String>,
}

impl Row {
    fn recipe(&self) -> EpochRecipe {
        let streams = self.streams.iter().map(StreamRow::stream).collect();
        EpochRecipe {
            epoch_size: self.epoch_size,
            sampling: self.sampling_method.parse().unwrap(),
            sampling_granularity: self.sampling_granularity,
            batching: self.batching_method.parse().unwrap(),
            shuffle: self.shuffle.as_ref().map(|name| name.parse().unwrap()),
            seed: self.seed,
            block_size: self.shuffle_block_size,
            ..EpochRecipe::new(streams, self.num_canonical_nodes)
        }
    }

    /// The topology after replication with the original's placement of groups: it keeps the ranks of a node where that
    /// leaves whole nodes, and has one node otherwise.
    fn topology(&self) -> Topology {
        assert_eq!(self.placement, "mosaic");
        let ranks = self.world.num_nodes * self.world.ranks_per_node / self.replication;
        let whole = ranks.is_multiple_of(self.world.ranks_per_node);
        let nodes = if whole { ranks / self.world.ranks_per_node } else { 1 };
        Topology {
            nodes,
            ranks_per_node: ranks / nodes,
            workers_per_rank: self.world.workers_per_rank,
            batch_size: self.batch_size,
        }
    }

    fn plan(&self, part: Part) -> Result<EpochPlan, EpochError> {
        self.recipe().plan(&self.topology(), self.epoch, self.sample_in_epoch, part)
    }
}

impl StreamRow {
    fn stream(&self) -> Stream {
        let weight = match (self.proportion, self.repeat, self.choose) {
            (Some(proportion), None, None) => Weight::Proportion(proportion),
            (None, Some(repeat), None) => Weight::Repeat(repeat),
            (None, None, Some(choose)) => Weight::Choose(choose),
            _ => Weight::Unspecified,
        };
        Stream::new(ShuffleUnits::from_sizes(self.shard_sizes.iter().copied()).unwrap()).with_weight(weight)
    }
}

fn node_ids(plan: &EpochPlan, node: u64) -> Vec<Option<u64>> {
    let [_, ranks, workers, ..] = plan.shape();
    let workers = (0..ranks).flat_map(|rank| (0..workers).map(move |worker| (rank, worker)));
    workers.flat_map(|(rank, worker)| plan.worker(node, rank, worker)).collect()
}

fn rows() -> Vec<(usize, Row)> {
    let rows = golden::rows(include_str!("../golden/epoch.jsonl"));
    assert_eq!(rows.len(), 70);
    rows
}

#[test]
fn golden_epochs_are_equal() {
    for (line, row) in rows() {
        let about = format!("line {line}: {} {:?}", row.batching_method, row.shuffle);
        match (&row.result.error, row.plan(Part::All)) {
            (Some(message), Err(error)) => {
                assert!(is_same_refusal(message, error), "{about}: {message} became {error}");
            }
            (None, Ok(plan)) => {
                assert_eq!(Some(plan.shape()), row.result.shape, "{about}");
                assert_eq!(Some(plan.epoch_size()), row.result.epoch_size, "{about}");
                assert_eq!(Some(&plan.shares().choose), row.result.choose.as_ref(), "{about}");
                let ids = (0..plan.shape()[0]).flat_map(|node| node_ids(&plan, node));
                assert_eq!(Some(golden::digest(ids)), row.result.sha256, "{about}");
            }
            (error, other) => panic!("{about}: {error:?} became {other:?}"),
        }
    }
}

/// Whether an error of ours says what the original's message, of which the beginning is known, says.
fn is_same_refusal(message: &str, error: EpochError) -> bool {
    let beginning = match error {
        EpochError::Partition(PartitionError::PastTheEnd { drop_first, num_samples }) => {
            format!("Resuming further into the dataset ({drop_first}) than it has samples ({num_samples})")
        }
        EpochError::NoShareOfBatch { stream, .. } => {
            format!("Number of samples for stream {stream} is 0 because the portion of this stream in the global batch")
        }
        EpochError::NoShareOfBlock { stream, .. } => format!("Samples from stream {stream} are not being used."),
        EpochError::Shuffle(ShuffleError::BlockSize { .. }) => "high <= 0".to_owned(),
        _ => return false,
    };
    message.starts_with(&beginning)
}

#[test]
fn a_plan_for_one_node_is_a_part_of_the_plan() {
    for (line, row) in rows() {
        let Ok(whole) = row.plan(Part::All) else { continue };
        for node in 0..whole.shape()[0] {
            let part = row.plan(Part::Node(node)).unwrap();
            assert_eq!(part.shape(), whole.shape(), "line {line}");
            assert_eq!(node_ids(&part, node), node_ids(&whole, node), "line {line}, node {node}");
            assert_eq!(part.shards_of_node(node), whole.shards_of_node(node), "line {line}, node {node}");
        }
    }
}
