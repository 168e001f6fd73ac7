//! The order of an epoch does not depend on who reads it.

use std::collections::BTreeSet;

use lockstep_partition::{Coordinate, Partition, PartitionAlgorithm, PartitionSpec, Topology};
use proptest::prelude::*;
use proptest::sample::select;

/// The samples of each global batch, in the order in which the job consumes them.
fn global_batches(partition: &Partition) -> Vec<Vec<u64>> {
    let [nodes, ranks, workers, batches, batch_size] = partition.shape();
    let mut global = Vec::new();
    for batch in 0..batches {
        for worker in 0..workers {
            let ranks = (0..nodes).flat_map(|node| (0..ranks).map(move |rank| (node, rank)));
            let places = ranks.flat_map(|(node, rank)| {
                (0..batch_size).map(move |slot| Coordinate { node, rank, worker, batch, slot })
            });
            let mut ids: Vec<u64> = places.filter_map(|place| partition.get(place)).collect();
            ids.sort_unstable();
            if !ids.is_empty() {
                global.push(ids);
            }
        }
    }
    global
}

fn divisors(number: u64) -> Vec<u64> {
    (1..=number).filter(|divisor| number.is_multiple_of(*divisor)).collect()
}

/// Topologies with this global batch whose nodes pass the filter.
fn topologies(global_batch: u64, fits: impl Fn(u64) -> bool) -> impl Strategy<Value = Topology> {
    let all: Vec<(u64, u64)> = divisors(global_batch)
        .into_iter()
        .filter(|&nodes| fits(nodes))
        .flat_map(|nodes| divisors(global_batch / nodes).into_iter().map(move |ranks| (nodes, ranks)))
        .collect();
    (select(all), 1_u64..4).prop_map(move |((nodes, ranks_per_node), workers_per_rank)| {
        let batch_size = global_batch / nodes / ranks_per_node;
        Topology { nodes, ranks_per_node, workers_per_rank, batch_size }
    })
}

fn divides(canonical_nodes: u64, nodes: u64) -> bool {
    canonical_nodes.max(nodes).is_multiple_of(canonical_nodes.min(nodes))
}

#[derive(Clone, Debug)]
struct Run {
    num_samples: u64,
    canonical_nodes: u64,
    global_batch: u64,
    topologies: Vec<Topology>,
    /// Global batches after which to stop, for all topologies but the last.
    stops: Vec<u64>,
}

impl Run {
    fn spec(&self, part: usize, drop_first: u64) -> PartitionSpec {
        PartitionSpec {
            algorithm: PartitionAlgorithm::Relaxed,
            num_samples: self.num_samples,
            canonical_nodes: self.canonical_nodes,
            topology: self.topologies[part],
            drop_first,
            initial_physical_nodes: (part > 0).then(|| self.topologies[0].nodes),
        }
    }

    /// The longest row of the canonical nodes, times their number: what comes before any padding for nodes or ranks.
    fn unpadded(&self) -> u64 {
        self.num_samples.div_ceil(self.canonical_nodes) * self.canonical_nodes
    }
}

/// Runs whose every part has nodes that fit the canonical ones, so that ranks per node may change as well.
fn fitting_runs() -> impl Strategy<Value = Run> {
    (select(vec![12_u64, 24, 60, 96]), 1_u64..9, 1_u64..900).prop_flat_map(|(global_batch, canonical_nodes, extra)| {
        let topology = topologies(global_batch, move |nodes| divides(canonical_nodes, nodes));
        let parts = (prop::collection::vec(topology, 3), prop::collection::vec(0_u64..6, 2));
        parts.prop_map(move |(topologies, stops)| Run {
            num_samples: canonical_nodes + extra,
            canonical_nodes,
            global_batch,
            topologies,
            stops,
        })
    })
}

/// Runs that go on with any number of nodes, but the same ranks on each.
fn relaxed_runs() -> impl Strategy<Value = Run> {
    (1_u64..5, 1_u64..5, 1_u64..7, 1_u64..900).prop_flat_map(|(ranks_per_node, per_rank, initial, extra)| {
        let global_batch = ranks_per_node * per_rank * 12 * initial;
        let topologies = (select(divisors(12 * initial)), select(divisors(12 * initial)), 1_u64..4);
        (topologies, prop::collection::vec(0_u64..4, 2)).prop_map(move |((second, third, workers_per_rank), stops)| {
            Run {
                num_samples: 6 * initial + extra,
                canonical_nodes: initial,
                global_batch,
                topologies: [initial, second, third]
                    .map(|nodes| Topology {
                        nodes,
                        ranks_per_node,
                        workers_per_rank,
                        batch_size: global_batch / nodes / ranks_per_node,
                    })
                    .to_vec(),
                stops,
            }
        })
    })
}

fn check_resumed_twice(run: &Run) -> Result<(), TestCaseError> {
    let whole = global_batches(&Partition::new(&run.spec(0, 0)).unwrap());
    let mut resumed: Vec<Vec<u64>> = Vec::new();
    let mut position = 0;
    for part in 0..run.topologies.len() {
        let partition = Partition::new(&run.spec(part, position)).unwrap();
        let mut rest = global_batches(&partition);
        rest.truncate(run.stops.get(part).map_or(usize::MAX, |&stop| usize::try_from(stop).unwrap()));
        position = partition.drop_first() + rest.iter().map(|batch| batch.len() as u64).sum::<u64>();
        resumed.extend(rest);
    }
    let clean = usize::try_from(run.unpadded() / run.global_batch).unwrap();
    prop_assert_eq!(&resumed[..clean], &whole[..clean]);
    let all: BTreeSet<u64> = resumed.iter().flatten().copied().collect();
    prop_assert_eq!(all.len() as u64, run.num_samples, "samples were lost");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_run_resumed_twice_reads_the_same_global_batches(run in fitting_runs()) {
        check_resumed_twice(&run)?;
    }

    #[test]
    fn a_run_resumed_twice_on_any_nodes_reads_the_same_global_batches(run in relaxed_runs()) {
        check_resumed_twice(&run)?;
    }

    #[test]
    fn global_batches_do_not_depend_on_the_topology(run in fitting_runs()) {
        let clean = usize::try_from(run.unpadded() / run.global_batch).unwrap();
        let whole = global_batches(&Partition::new(&run.spec(0, 0)).unwrap());
        for &topology in &run.topologies[1..] {
            let other = Partition::new(&PartitionSpec { topology, ..run.spec(0, 0) }).unwrap();
            prop_assert_eq!(&global_batches(&other)[..clean], &whole[..clean]);
        }
    }

    #[test]
    fn every_sample_comes_and_repeats_are_padding(run in fitting_runs()) {
        let partition = Partition::new(&run.spec(0, 0)).unwrap();
        let [nodes, ranks, ..] = partition.shape();
        let ids: Vec<u64> = global_batches(&partition).concat();
        let distinct: BTreeSet<u64> = ids.iter().copied().collect();
        prop_assert_eq!(distinct.len() as u64, run.num_samples);
        // One for each short row, the columns that are added for nodes that share a row, and less than one for each rank.
        let padding = (run.canonical_nodes - 1) + nodes + nodes * (ranks - 1);
        prop_assert!(ids.len() as u64 - run.num_samples <= padding, "{} ids", ids.len());
        // All but the last column of the rows come before any repeat.
        let before = usize::try_from(run.unpadded() - run.canonical_nodes).unwrap();
        let clean = usize::try_from((run.unpadded() - run.canonical_nodes) / run.global_batch * run.global_batch).unwrap();
        let early: BTreeSet<u64> = ids[..clean.min(before)].iter().copied().collect();
        prop_assert_eq!(early.len(), clean.min(before));
    }

    #[test]
    fn the_end_of_one_topology_can_be_resumed_on_another(run in fitting_runs()) {
        let end = Partition::new(&run.spec(0, 0)).unwrap().num_yielded();
        for part in 1..run.topologies.len() {
            let rest = Partition::new(&run.spec(part, end)).unwrap();
            // At most the padding of the other topology is left.
            let most = run.topologies[part].num_ranks().unwrap() + run.topologies[part].nodes;
            prop_assert!(rest.num_yielded() <= most, "{} left", rest.num_yielded());
            prop_assert!(Partition::new(&run.spec(part, 0)).is_ok());
        }
    }
}
