//! Adjacent groups and meshes.

use lockstep_replication::{Assignment, Mesh, Placement, Replication};
use lockstep_world::World;
use proptest::prelude::*;

use crate::{assign, check, divisors, meshes, worlds};

const PLACEMENTS: [Placement; 2] = [Placement::NodeLocal, Placement::Mosaic];

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn adjacent_groups_in_every_world() {
    for (num_nodes, ranks_per_node) in worlds() {
        for ranks in divisors(num_nodes * ranks_per_node) {
            for placement in PLACEMENTS {
                let assignment = assign(num_nodes, ranks_per_node, &Replication::adjacent(ranks), placement);
                check(&assignment);
                assert!((0..num_nodes * ranks_per_node).all(|rank| assignment.group_of(rank) == Some(rank / ranks)));
            }
        }
    }
}

#[test]
fn node_local_adjacent_groups_have_the_shape_of_the_formula() {
    for (num_nodes, ranks_per_node) in worlds() {
        for ranks in divisors(num_nodes * ranks_per_node) {
            let assignment = assign(num_nodes, ranks_per_node, &Replication::adjacent(ranks), Placement::NodeLocal);
            let unit = ranks_per_node * ranks / gcd(ranks_per_node, ranks);
            assert_eq!(assignment.shape(), (num_nodes * ranks_per_node / unit, unit / ranks));
            assert_eq!(assignment.default_canonical_nodes(), num_nodes);
        }
    }
}

#[test]
fn replicating_twice_is_replicating_by_the_product() {
    for (num_nodes, ranks_per_node) in worlds() {
        let num_ranks = num_nodes * ranks_per_node;
        for placement in PLACEMENTS {
            for a in divisors(num_ranks) {
                let first = assign(num_nodes, ranks_per_node, &Replication::adjacent(a), placement);
                let (nodes, ranks) = first.shape();
                for b in divisors(num_ranks / a) {
                    let second = assign(nodes, ranks, &Replication::adjacent(b), placement);
                    let both = assign(num_nodes, ranks_per_node, &Replication::adjacent(a * b), placement);
                    if placement == Placement::NodeLocal {
                        assert_eq!(second.shape(), both.shape());
                    }
                    for rank in 0..num_ranks {
                        let sample_rank = first.sample_rank_of(rank).expect("every rank reads");
                        assert_eq!(second.sample_rank_of(sample_rank), both.sample_rank_of(rank));
                    }
                }
            }
        }
    }
}

#[test]
fn no_replication_is_the_world_itself() {
    for (num_nodes, ranks_per_node) in worlds() {
        for placement in PLACEMENTS {
            let assignment = assign(num_nodes, ranks_per_node, &Replication::none(), placement);
            let world = World::new(num_nodes, ranks_per_node, 2, num_nodes * ranks_per_node).expect("a world");
            let sample = assignment.sample_world(&world).expect("every rank reads");
            assert_eq!((sample.node(), sample.rank(), sample.worker()), (world.node(), world.rank(), world.worker()));
            assert_eq!((sample.num_nodes(), sample.num_workers()), (world.num_nodes(), world.num_workers()));
        }
    }
}

#[test]
fn megatron_groups() {
    // Of Megatron-LM's own documentation: 16 ranks, tensor 2, pipeline 4, data 2 in the order tp-dp-pp.
    let mesh = Mesh::megatron("tp-cp-ep-dp-pp", [("tp", 2), ("pp", 4), ("dp", 2)]).expect("a mesh");
    let groups = |axes: &[&str]| {
        let assignment = assign(2, 8, &mesh.replicate(axes).expect("axes"), Placement::NodeLocal);
        (0..assignment.num_groups()).map(|group| assignment.members(group).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let tensor = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15]];
    assert_eq!(groups(&["tp"]), tensor);
    let data = [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]];
    assert_eq!(groups(&["dp"]), data);
    assert_eq!(groups(&["pp"]), [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]);
    assert_eq!(groups(&["tp", "pp"]), [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]]);
}

#[test]
fn a_mesh_replicated_over_its_fastest_axis_has_adjacent_groups() {
    let mesh: Mesh = "dp=6,tp=4".parse().expect("a mesh");
    let replication = mesh.replicate(["tp"]).expect("an axis");
    for placement in PLACEMENTS {
        let adjacent = assign(4, 6, &Replication::adjacent(4), placement);
        assert_eq!(assign(4, 6, &replication, placement), adjacent);
    }
}

#[test]
fn meshes_across_nodes() {
    let shape = |nodes, ranks, text: &str, axes: &[&str]| {
        let mesh: Mesh = text.parse().expect("a mesh");
        assign(nodes, ranks, &mesh.replicate(axes).expect("axes"), Placement::NodeLocal).shape()
    };
    // Pipeline stages on different nodes: each two nodes read the same.
    assert_eq!(shape(4, 8, "pp=2,dp=8,tp=2", &["pp", "tp"]), (2, 4));
    // Everything in the node.
    assert_eq!(shape(4, 8, "dp=4,pp=4,tp=2", &["pp", "tp"]), (4, 1));
    // Tensor slices over two nodes, pipeline stages apart as well.
    assert_eq!(shape(8, 8, "pp=2,dp=2,tp=16", &["pp", "tp"]), (2, 1));
    // Groups across the nodes' borders make pairs of nodes, and pipeline stages pairs of pairs.
    assert_eq!(shape(8, 6, "pp=2,dp=6,tp=4", &["pp", "tp"]), (2, 3));
}

proptest! {
    #[test]
    fn random_meshes((mesh, axes, ranks_per_node) in meshes(512)) {
        let replication = mesh.replicate(&axes).expect("axes of the mesh");
        let num_nodes = mesh.num_ranks() / ranks_per_node;
        for placement in PLACEMENTS {
            let assignment = assign(num_nodes, ranks_per_node, &replication, placement);
            check(&assignment);
            // Members of a group are those that agree in all coordinates that are not replicated.
            let coordinates = |rank| {
                let all = mesh.coordinates(rank).expect("a rank");
                let kept = mesh.axes().zip(all).filter(|((name, _), _)| !axes.iter().any(|axis| axis == name));
                kept.map(|(_, coordinate)| coordinate).collect::<Vec<_>>()
            };
            let mut seen = std::collections::BTreeMap::new();
            for rank in 0..mesh.num_ranks() {
                let group = assignment.group_of(rank).expect("every rank reads");
                prop_assert_eq!(*seen.entry(coordinates(rank)).or_insert(group), group);
            }
            // Numbered by these coordinates, the last axis fastest.
            prop_assert!(seen.values().copied().eq(0..assignment.num_groups()));
            prop_assert_eq!(assignment.default_canonical_nodes(), num_nodes);
        }
    }

    #[test]
    fn no_arguments_panic_or_overflow(a: u64, b: u64, k: u64, rank: u64, rounds in 0..64u32) {
        for (num_nodes, ranks_per_node) in [(a, b), (a >> rounds, b >> (63 - rounds)), (a % 1000, b % 1000)] {
            for ranks in [k, k % 1000, ranks_per_node, num_nodes] {
                for placement in PLACEMENTS {
                    let replication = Replication::adjacent(ranks);
                    let Ok(assignment) = Assignment::new(num_nodes, ranks_per_node, &replication, placement) else { continue };
                    let rank = rank % assignment.num_ranks();
                    let group = assignment.group_of(rank).expect("every rank reads");
                    let place = assignment.place_of(rank).expect("every rank reads");
                    prop_assert_eq!(u128::from(group) * u128::from(ranks) + u128::from(place), u128::from(rank));
                    prop_assert_eq!(assignment.members(group).next(), Some(group * ranks));
                    let (nodes, ranks) = assignment.shape();
                    prop_assert_eq!(nodes.checked_mul(ranks), Some(assignment.num_groups()));
                    let logical_node = assignment.logical_node_of(rank).expect("every rank reads");
                    if placement == Placement::NodeLocal {
                        prop_assert_eq!(assignment.logical_nodes_on(rank / ranks_per_node), vec![logical_node]);
                    }
                }
            }
        }
    }

    #[test]
    fn enormous_meshes_cost_no_more_than_small_ones(
        sizes in prop::collection::vec((1..=1_000_000u64, any::<bool>()), 1..=6), nodes: u64, rank: u64,
    ) {
        let mut product = 1u64;
        let sizes: Vec<_> = sizes.into_iter().filter(|&(size, _)| {
            let next = product.checked_mul(size);
            product = next.unwrap_or(product);
            next.is_some()
        }).collect();
        let names: Vec<_> = (0..sizes.len()).map(|i| format!("a{i}")).collect();
        let mesh = Mesh::new(names.iter().zip(&sizes).map(|(name, &(size, _))| (name.as_str(), size))).expect("a mesh");
        let axes = names.iter().zip(&sizes).filter(|(_, (_, is_replicated))| *is_replicated).map(|(name, _)| name);
        let replication = mesh.replicate(axes).expect("axes");
        let num_nodes = gcd(product, nodes);
        for placement in PLACEMENTS {
            let assignment = assign(num_nodes, product / num_nodes, &replication, placement);
            let rank = rank % product;
            let (group, place) = (assignment.group_of(rank).expect("reads"), assignment.place_of(rank).expect("reads"));
            prop_assert!(group < assignment.num_groups() && place < assignment.group_size());
            prop_assert_eq!(assignment.num_groups() * assignment.group_size(), product);
            if let Ok(place) = usize::try_from(place) {
                prop_assert_eq!(assignment.members(group).nth(place), Some(rank));
            }
            let (nodes, ranks) = assignment.shape();
            prop_assert_eq!(nodes * ranks, assignment.num_groups());
            prop_assert!(assignment.logical_node_of(rank).expect("reads") < nodes);
        }
    }
}
