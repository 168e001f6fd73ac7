//! The partition as the original describes it: operations on whole arrays. Slow, and easy to compare with its text.

use lockstep_partition::{Coordinate, Partition, PartitionAlgorithm, PartitionSpec, Topology};
use proptest::prelude::*;

/// `[node][rank][worker][batch][slot]`.
type Epoch = Vec<Vec<Vec<Vec<Vec<Option<u64>>>>>>;

/// One row per canonical node, padded so that they can be shared by the nodes.
fn rows(num_samples: u64, canonical_nodes: u64, nodes: u64) -> Vec<Vec<u64>> {
    let sharing = if canonical_nodes < nodes { nodes / canonical_nodes } else { 1 };
    let columns = num_samples.div_ceil(canonical_nodes);
    let padded = columns.next_multiple_of(sharing);
    if num_samples < canonical_nodes || num_samples == canonical_nodes && canonical_nodes < nodes {
        let cycle: Vec<u64> = (0..canonical_nodes * padded).map(|index| index % num_samples).collect();
        return cycle.chunks(usize::try_from(padded).unwrap()).map(<[u64]>::to_vec).collect();
    }
    (0..canonical_nodes)
        .map(|node| {
            let (start, stop) = (node * num_samples / canonical_nodes, (node + 1) * num_samples / canonical_nodes);
            let mut row: Vec<u64> = (start..stop).collect();
            if stop - start < columns {
                row.push(stop - 1);
            }
            let padding = usize::try_from(padded - columns).unwrap();
            // The samples that end `sharing - 1` before the last column, or the first ones where there are too few.
            let end = (row.len() + 1).saturating_sub(usize::try_from(sharing).unwrap());
            let repeats: Vec<u64> = match end.checked_sub(padding) {
                Some(start) => row[start..end].to_vec(),
                None => row.iter().copied().cycle().take(padding).collect(),
            };
            row.extend(repeats);
            row
        })
        .collect()
}

fn transpose<T: Copy>(matrix: &[Vec<T>]) -> Vec<Vec<T>> {
    let columns = matrix.first().map_or(0, Vec::len);
    (0..columns).map(|column| matrix.iter().map(|row| row[column]).collect()).collect()
}

fn original(spec: &PartitionSpec) -> Epoch {
    let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = spec.topology;
    let drop_first = usize::try_from(spec.drop_first - spec.drop_first % nodes).unwrap();
    let sequence = transpose(&rows(spec.num_samples, spec.canonical_nodes, nodes)).concat();
    let left = sequence.get(drop_first..).unwrap_or_default();
    (0..usize::try_from(nodes).unwrap())
        .map(|node| {
            let own: Vec<u64> = left.iter().copied().skip(node).step_by(usize::try_from(nodes).unwrap()).collect();
            deal(own, ranks_per_node, workers_per_rank, batch_size)
        })
        .collect()
}

fn deal(mut own: Vec<u64>, ranks: u64, workers: u64, batch_size: u64) -> Vec<Vec<Vec<Vec<Option<u64>>>>> {
    let [ranks, workers, batch_size] = [ranks, workers, batch_size].map(|count| usize::try_from(count).unwrap());
    let missing = own.len().next_multiple_of(ranks) - own.len();
    let end = (own.len() + 1).saturating_sub(ranks);
    let repeats: Vec<u64> = match end.checked_sub(missing) {
        Some(start) if own.len() >= ranks => own[start..end].to_vec(),
        _ => own.iter().copied().cycle().take(missing).collect(),
    };
    own.extend(repeats);
    (0..ranks)
        .map(|rank| {
            let mut places: Vec<Option<u64>> = own.iter().copied().skip(rank).step_by(ranks).map(Some).collect();
            places.resize(places.len().next_multiple_of(workers * batch_size), None);
            let batches: Vec<Vec<Option<u64>>> = places.chunks(batch_size).map(<[_]>::to_vec).collect();
            (0..workers).map(|worker| batches.iter().skip(worker).step_by(workers).cloned().collect()).collect()
        })
        .collect()
}

fn relaxed(spec: &PartitionSpec) -> Epoch {
    let Topology { nodes, ranks_per_node, workers_per_rank, batch_size } = spec.topology;
    let fits = nodes.max(spec.canonical_nodes) % nodes.min(spec.canonical_nodes) == 0;
    let Some(initial) = spec.initial_physical_nodes.filter(|_| !fits) else {
        return original(spec);
    };
    let batch_then = nodes * batch_size / initial;
    let topology = Topology { nodes: initial, batch_size: batch_then, ..spec.topology };
    let epoch = original(&PartitionSpec { topology, ..*spec });
    let batches = epoch[0][0][0].len();
    let mut flat = Vec::new();
    for batch in 0..batches {
        for worker in 0..usize::try_from(workers_per_rank).unwrap() {
            flat.extend(epoch.iter().flatten().flat_map(|rank| rank[worker][batch].clone()));
        }
    }
    let mut cut = flat.chunks(usize::try_from(batch_size).unwrap());
    let mut anew: Epoch = (0..nodes)
        .map(|_| (0..ranks_per_node).map(|_| (0..workers_per_rank).map(|_| Vec::new()).collect()).collect())
        .collect();
    for _ in 0..batches {
        for worker in 0..usize::try_from(workers_per_rank).unwrap() {
            for rank in anew.iter_mut().flatten() {
                rank[worker].push(cut.next().expect("the batches are as large together").to_vec());
            }
        }
    }
    anew
}

fn specs() -> impl Strategy<Value = PartitionSpec> {
    let topology =
        (1_u64..9, 1_u64..5, 1_u64..4, 1_u64..6).prop_map(|(nodes, ranks_per_node, workers_per_rank, batch_size)| {
            Topology { nodes, ranks_per_node, workers_per_rank, batch_size }
        });
    let algorithm = prop_oneof![Just(PartitionAlgorithm::Orig), Just(PartitionAlgorithm::Relaxed)];
    (algorithm, 1_u64..400, 1_u64..13, topology, 0_u64..450, prop::option::of(1_u64..9)).prop_map(
        |(algorithm, num_samples, canonical_nodes, topology, drop_first, initial_physical_nodes)| PartitionSpec {
            algorithm,
            num_samples,
            canonical_nodes,
            topology,
            drop_first,
            initial_physical_nodes,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_closed_form_equals_the_arrays(spec in specs()) {
        let Ok(partition) = Partition::new(&spec) else { return Ok(()) };
        let expected = match spec.algorithm {
            PartitionAlgorithm::Orig => original(&spec),
            PartitionAlgorithm::Relaxed => relaxed(&spec),
        };
        let [nodes, ranks, workers, batches, batch_size] = partition.shape();
        prop_assert_eq!(partition.num_slots(), nodes * ranks * workers * batches * batch_size);
        let mut yielded = 0;
        let mut most = 0;
        for (node, of_node) in (0..).zip(&expected) {
            for (rank, of_rank) in (0..).zip(of_node) {
                for (worker, of_worker) in (0..).zip(of_rank) {
                    let flat: Vec<Option<u64>> = of_worker.concat();
                    prop_assert_eq!(partition.worker(node, rank, worker).collect::<Vec<_>>(), flat.clone());
                    let count = flat.iter().flatten().count() as u64;
                    prop_assert_eq!(partition.samples_of_worker(node, rank, worker), count);
                    for (batch, slots) in (0..).zip(of_worker) {
                        for (slot, &id) in (0..).zip(slots) {
                            let place = Coordinate { node, rank, worker, batch, slot };
                            prop_assert_eq!(partition.get(place), id);
                        }
                    }
                }
                let count = of_rank.iter().flatten().flatten().flatten().count() as u64;
                prop_assert_eq!(partition.samples_of_rank(node, rank), count);
                yielded += count;
                most = most.max(count);
            }
        }
        prop_assert_eq!(partition.num_yielded(), yielded);
        prop_assert_eq!(partition.samples_per_rank(), most);
    }

    #[test]
    fn a_node_reads_its_canonical_nodes(spec in specs()) {
        let Ok(partition) = Partition::new(&spec) else { return Ok(()) };
        let [nodes, ranks, workers, ..] = partition.shape();
        for node in 0..nodes {
            let subset = partition.canonical_subset(node);
            for (rank, worker) in (0..ranks).flat_map(|rank| (0..workers).map(move |worker| (rank, worker))) {
                for position in partition.worker(node, rank, worker).flatten() {
                    let canonical = (0..spec.canonical_nodes).find(|&canonical| {
                        lockstep_partition::canonical_range(spec.num_samples, spec.canonical_nodes, canonical)
                            .contains(&position)
                    });
                    prop_assert!(canonical.is_some_and(|canonical| subset.contains(canonical)), "{position} {subset:?}");
                }
            }
        }
    }

    #[test]
    fn iterators_skip_exactly(spec in specs(), skips in prop::collection::vec((any::<bool>(), 0_usize..7), 1..12)) {
        let Ok(partition) = Partition::new(&spec) else { return Ok(()) };
        let places = partition.worker(0, 0, 0);
        let [.., batches, batch_size] = partition.shape();
        prop_assert_eq!(places.len() as u64, batches * batch_size);
        let all: Vec<_> = places.clone().collect();
        prop_assert_eq!(places.clone().last(), all.last().copied());
        let (mut iterator, mut expected) = (places, all.into_iter());
        for (front, skip) in skips {
            if front {
                prop_assert_eq!(iterator.nth(skip), expected.nth(skip));
            } else {
                prop_assert_eq!(iterator.nth_back(skip), expected.nth_back(skip));
            }
            prop_assert_eq!(iterator.len(), expected.len());
        }
        prop_assert_eq!(iterator.clone().count(), expected.len());
        prop_assert!(iterator.eq(expected));
    }
}
