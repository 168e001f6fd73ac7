//! That the order of samples does not depend on who reads the same ones.

use std::collections::BTreeMap;

use lockstep_replication::{Mesh, Placement, Replication, SampleWorld};
use proptest::prelude::*;

use crate::{assign, rank_of};

/// A topology to partition positions over.
#[derive(Debug, Clone, Copy)]
struct Topology {
    nodes: usize,
    ranks_per_node: usize,
    workers_per_rank: usize,
    batch_size: usize,
}

/// A batch of positions, `None` where there is padding.
type Batch = Vec<Option<usize>>;

/// The batches that a worker reads.
///
/// The rules of mosaicml-streaming's original partition, spelled out for what is asked of it here: at least as many samples as
/// canonical nodes, of which there is a multiple of the number of nodes.
fn batches_of(samples: usize, canonical_nodes: usize, topology: Topology, sample: SampleWorld) -> Vec<Batch> {
    let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = topology;
    assert!(canonical_nodes.is_multiple_of(nodes) && samples >= canonical_nodes);
    // Equal parts, the last sample of short ones repeated; then a sample of each part in turn, dealt to the nodes.
    let longest = samples.div_ceil(canonical_nodes);
    let start = |part: usize| part * samples / canonical_nodes;
    let position = |part: usize, i: usize| (start(part) + i).min(start(part + 1) - 1);
    let all = (0..longest).flat_map(|i| (0..canonical_nodes).map(move |part| position(part, i)));
    let mut own: Batch = all.skip(small(sample.node())).step_by(nodes).map(Some).collect();
    // Every rank reads as many: what a few ranks lack is repeated from the same node. Which, does not matter here.
    while !own.len().is_multiple_of(ranks_per_node) {
        own.push(own[own.len() % longest]);
    }
    let mut own: Batch = own.into_iter().skip(small(sample.rank_of_node())).step_by(ranks_per_node).collect();
    own.resize(own.len().next_multiple_of(workers_per_rank * batch_size), None);
    own.chunks(batch_size).skip(small(sample.worker_of_rank())).step_by(workers_per_rank).map(<[_]>::to_vec).collect()
}

fn small(number: u64) -> usize {
    usize::try_from(number).expect("small")
}

/// A job's global batches, as sorted positions: what all processes of the job read, each group once.
fn global_batches(
    samples: usize,
    canonical_nodes: usize,
    (num_nodes, ranks_per_node, workers): (u64, u64, u64),
    replication: &Replication,
    placement: Placement,
    global_batch: usize,
) -> Vec<Vec<usize>> {
    let assignment = assign(num_nodes, ranks_per_node, replication, placement);
    let (nodes, ranks) = assignment.shape();
    let batch_size = global_batch / small(assignment.num_groups());
    let topology =
        Topology { nodes: small(nodes), ranks_per_node: small(ranks), workers_per_rank: small(workers), batch_size };
    let mut of_group = BTreeMap::new();
    for rank in 0..assignment.num_ranks() {
        let mut batches: Vec<Vec<Batch>> = Vec::new();
        for worker in 0..workers {
            let process = rank_of(&assignment, rank).with_workers(workers, worker).expect("a worker");
            let sample = assignment.sample_world(&process).expect("every rank reads");
            batches.push(batches_of(samples, canonical_nodes, topology, sample));
        }
        // The loader takes a batch of each worker in turn.
        let in_turn: Vec<_> =
            (0..batches[0].len()).flat_map(|i| batches.iter().map(move |own| own[i].clone())).collect();
        let group = assignment.group_of(rank).expect("every rank reads");
        let first = of_group.entry(group).or_insert_with(|| in_turn.clone());
        assert_eq!(*first, in_turn, "a group reads in lockstep");
    }
    let count = of_group.values().next().expect("a group").len();
    (0..count)
        .map(|i| {
            let mut batch: Vec<_> =
                of_group.values().flat_map(|batches| batches[i].iter().copied().flatten()).collect();
            batch.sort_unstable();
            batch
        })
        .collect()
}

/// The batches that are full of samples without padding, in the sense of the shortest of the jobs compared.
fn full(batches: &[Vec<usize>], samples: usize, global_batch: usize) -> &[Vec<usize>] {
    &batches[..samples / global_batch]
}

#[test]
fn replication_1_2_and_4_see_the_same_global_batches() {
    for placement in [Placement::NodeLocal, Placement::Mosaic] {
        let batches = |ranks| global_batches(1797, 4, (4, 8, 2), &Replication::adjacent(ranks), placement, 64);
        let reference = batches(1);
        for ranks in [2, 4, 8, 16, 32] {
            assert_eq!(full(&batches(ranks), 1797, 64), full(&reference, 1797, 64), "{placement}, groups of {ranks}");
        }
    }
}

#[test]
fn meshes_see_the_same_global_batches() {
    let reference = global_batches(1000, 4, (4, 4, 3), &Replication::none(), Placement::NodeLocal, 16);
    let mesh: Mesh = "pp=2,dp=4,tp=2".parse().expect("a mesh");
    for axes in [&["tp"][..], &["pp"], &["dp"], &["pp", "tp"], &["pp", "dp", "tp"]] {
        for placement in [Placement::NodeLocal, Placement::Mosaic] {
            let replication = mesh.replicate(axes).expect("axes");
            let batches = global_batches(1000, 4, (4, 4, 3), &replication, placement, 16);
            assert_eq!(full(&batches, 1000, 16), full(&reference, 1000, 16), "{axes:?}, {placement}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn global_batches_do_not_depend_on_replication(
        (mesh, axes, ranks_per_node) in crate::meshes(64), workers in 1..4u64, samples in 64..2000usize, times in 1..3usize,
        multiple in 1..4usize,
    ) {
        let num_nodes = mesh.num_ranks() / ranks_per_node;
        let global_batch = small(mesh.num_ranks()) * times;
        let canonical_nodes = small(num_nodes) * multiple;
        prop_assume!(samples >= canonical_nodes);
        let world = (num_nodes, ranks_per_node, workers);
        let batches = |replication, placement| {
            global_batches(samples, canonical_nodes, world, replication, placement, global_batch)
        };
        let none = Replication::none();
        let reference = batches(&none, Placement::NodeLocal);
        let replication = mesh.replicate(&axes).expect("axes");
        for placement in [Placement::NodeLocal, Placement::Mosaic] {
            let other = batches(&replication, placement);
            prop_assert_eq!(full(&other, samples, global_batch), full(&reference, samples, global_batch));
        }
    }
}
