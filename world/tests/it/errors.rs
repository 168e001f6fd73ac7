//! Environments that make no sense. Each has its own error, with its text pinned.

use lockstep_world::{DetectError, MapEnvironment, detect};

use crate::{environment, inside, open_mpi, srun, torchrun};

#[track_caller]
fn expect(environment: &MapEnvironment, text: &str) -> DetectError {
    let error = detect(environment).expect_err("not a world");
    assert_eq!(error.to_string(), text);
    error
}

#[test]
fn no_local_world_size() {
    let error = expect(
        &environment("RANK=3 WORLD_SIZE=16 LOCAL_RANK=3"),
        "LOCAL_WORLD_SIZE, which torchrun sets, is missing (found RANK=3, WORLD_SIZE=16, LOCAL_RANK=3): set it to the number \
         of ranks on each node, or set LOCKSTEP_LAUNCHER to what started this process (torchrun, open-mpi, hydra, slurm, alone)",
    );
    assert!(matches!(error, DetectError::Missing { variable: "LOCAL_WORLD_SIZE", .. }));
}

#[test]
fn each_missing_variable_is_named() {
    let hint = "or set LOCKSTEP_LAUNCHER to what started this process (torchrun, open-mpi, hydra, slurm, alone)";
    for (env, missing, launcher, found, meaning) in [
        (
            "RANK=3 WORLD_SIZE=16 LOCAL_WORLD_SIZE=8",
            "LOCAL_RANK",
            "torchrun",
            "RANK=3, WORLD_SIZE=16, LOCAL_WORLD_SIZE=8",
            "this process's rank among the ranks on its node",
        ),
        // Lightning's own launcher.
        (
            "WORLD_SIZE=16 LOCAL_RANK=3 NODE_RANK=1",
            "RANK",
            "torchrun",
            "WORLD_SIZE=16, LOCAL_RANK=3, NODE_RANK=1",
            "this process's rank among all ranks of the job",
        ),
        ("RANK=3 WORLD_SIZE=", "WORLD_SIZE", "torchrun", "RANK=3", "the number of ranks of the job"),
        (
            "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
            "open-mpi",
            "OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2, OMPI_COMM_WORLD_LOCAL_RANK=1",
            "the number of ranks on each node",
        ),
        (
            "PMI_RANK=1 PMI_SIZE=2",
            "MPI_LOCALNRANKS",
            "hydra",
            "PMI_RANK=1, PMI_SIZE=2",
            "the number of ranks on each node",
        ),
        (
            "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1",
            "SLURM_STEP_TASKS_PER_NODE",
            "slurm",
            "SLURM_PROCID=1, SLURM_NTASKS=2, SLURM_LOCALID=1",
            "the number of ranks on each node",
        ),
        (
            "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_TASKS_PER_NODE=2",
            "SLURM_LOCALID",
            "slurm",
            "SLURM_PROCID=1, SLURM_NTASKS=2, SLURM_TASKS_PER_NODE=2",
            "this process's rank among the ranks on its node",
        ),
        (
            "LOCKSTEP_LAUNCHER=slurm RANK=0",
            "SLURM_PROCID",
            "slurm",
            "none of its variables",
            "this process's rank among all ranks of the job",
        ),
    ] {
        let text = format!("{missing}, which {launcher} sets, is missing (found {found}): set it to {meaning}, {hint}");
        expect(&environment(env), &text);
    }
}

#[test]
fn part_of_a_launcher_that_an_outer_one_contradicts() {
    let error = detect(&inside(&environment("RANK=1 WORLD_SIZE=2"), &srun(2, 8, 9))).expect_err("not a world");
    assert!(matches!(error, DetectError::Missing { variable: "LOCAL_WORLD_SIZE", .. }), "{error}");
    let error = detect(&inside(&environment("WORLD_SIZE=2"), &open_mpi(9, 16, 1, 8))).expect_err("not a world");
    assert!(matches!(error, DetectError::Missing { variable: "RANK", .. }), "{error}");
}

#[test]
fn rubbish_values() {
    for rubbish in ["eight", "-1", "8.0", "0x8", "1e3", "8 8", "99999999999999999999"] {
        for variable in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"] {
            let env = torchrun(2, 8, 9).with(variable, rubbish);
            let text = format!("{variable}={rubbish} is not a whole number from 0 to 2^64 - 1: correct it or unset it");
            expect(&env, &text);
        }
    }
    expect(
        &torchrun(1, 8, 1).with("RANK", "1\n\u{1b}[2J"),
        "RANK=1\\n\\u{1b}[2J is not a whole number from 0 to 2^64 - 1: correct it or unset it",
    );
}

#[test]
fn blanks_around_a_number_do_not_matter() {
    assert!(detect(&torchrun(2, 8, 9).with("RANK", " 9\n")).is_ok());
}

#[test]
fn zero_counts() {
    for variable in ["WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"] {
        let text = format!("{variable}=0 is a count and must be at least 1: correct it or unset it");
        expect(&torchrun(2, 8, 9).with(variable, "0"), &text);
    }
}

#[test]
fn rank_9_of_8() {
    expect(
        &environment("RANK=9 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8"),
        "RANK=9 is out of range for WORLD_SIZE=8: it counts from 0 and must be below that",
    );
    expect(
        &environment("RANK=7 WORLD_SIZE=8 LOCAL_RANK=8 LOCAL_WORLD_SIZE=8"),
        "LOCAL_RANK=8 is out of range for LOCAL_WORLD_SIZE=8: it counts from 0 and must be below that",
    );
}

#[test]
fn nodes_of_8_and_4_ranks() {
    // On the larger node, with and without the number of nodes; then on the smaller one, where only the node tells.
    expect(
        &environment("RANK=3 WORLD_SIZE=12 LOCAL_RANK=3 LOCAL_WORLD_SIZE=8 GROUP_RANK=0 GROUP_WORLD_SIZE=2"),
        "GROUP_WORLD_SIZE=2 nodes of LOCAL_WORLD_SIZE=8 ranks are not WORLD_SIZE=12 ranks: start the same number of ranks on \
         every node",
    );
    expect(
        &open_mpi(3, 12, 3, 8),
        "OMPI_COMM_WORLD_SIZE=12 is not a multiple of OMPI_COMM_WORLD_LOCAL_SIZE=8: start the same number of ranks on every \
         node",
    );
    expect(
        &environment("RANK=8 WORLD_SIZE=12 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 NODE_RANK=1"),
        "RANK=8 with LOCAL_WORLD_SIZE=4 is on node 2, but NODE_RANK=1: start the same number of ranks on every node, numbered \
         node by node",
    );
    let slurm = srun(2, 6, 8).with("SLURM_LOCALID", "0").with("SLURM_STEP_TASKS_PER_NODE", "8,4");
    expect(
        &slurm,
        "SLURM_STEP_TASKS_PER_NODE=8,4 gives nodes different numbers of tasks: start as many on each, say with \
         --ntasks-per-node",
    );
    expect(
        &environment("SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NTASKS=13 SLURM_NNODES=2"),
        "SLURM_NTASKS=13 is not a multiple of SLURM_NNODES=2: start the same number of ranks on every node",
    );
}

#[test]
fn ranks_placed_round_robin() {
    // Two nodes of two: ranks 0 and 2 on the first, 1 and 3 on the second.
    expect(
        &open_mpi(2, 4, 1, 2),
        "OMPI_COMM_WORLD_RANK=2 has OMPI_COMM_WORLD_LOCAL_RANK=1 where it should have 0 with OMPI_COMM_WORLD_LOCAL_SIZE=2: \
         number the ranks node by node, not round-robin over the nodes (mpirun --map-by slot --rank-by slot)",
    );
    expect(
        &srun(2, 2, 1).with("SLURM_LOCALID", "0").with("SLURM_NODEID", "1"),
        "SLURM_PROCID=1 has SLURM_LOCALID=0 where it should have 1 with SLURM_STEP_TASKS_PER_NODE=2(x2): number the ranks \
         node by node, not round-robin over the nodes (srun --distribution=block)",
    );
}

#[test]
fn some_rank_notices_round_robin_placement_and_unequal_nodes() {
    // MPI does not tell the node: each process has four numbers only.
    for (nodes, ranks_per_node) in [(2, 2), (2, 8), (3, 4), (4, 2)] {
        let ranks = nodes * ranks_per_node;
        let notices = |rank: &u64| detect(&open_mpi(*rank, ranks, rank / nodes, ranks_per_node)).is_err();
        assert!((0..ranks).any(|rank| notices(&rank)), "{nodes} x {ranks_per_node}");
    }
    for counts in [&[8, 4][..], &[4, 8], &[1, 2], &[8, 8, 4], &[3, 1]] {
        let ranks = counts.iter().sum();
        let starts = counts.iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count)));
        let all =
            starts.zip(counts).flat_map(|(start, &count)| (0..count).map(move |local| (start + local, local, count)));
        let unequal = all.filter(|&(rank, local, count)| detect(&open_mpi(rank, ranks, local, count)).is_err());
        assert!(unequal.count() > 0, "{counts:?}");
    }
}

#[test]
fn only_the_number_of_nodes_tells_some_unequal_nodes() {
    // On 8 + 8 + 4 + 4, every rank's numbers are those of a rank on 3 nodes of 8 or 6 nodes of 4.
    let smaller = environment("RANK=21 WORLD_SIZE=24 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4");
    assert!(detect(&smaller).is_ok(), "a limitation");
    expect(
        &smaller.with("GROUP_RANK", "3").with("GROUP_WORLD_SIZE", "4"),
        "GROUP_WORLD_SIZE=4 nodes of LOCAL_WORLD_SIZE=4 ranks are not WORLD_SIZE=24 ranks: start the same number of ranks on \
         every node",
    );
}

#[test]
fn lists_of_tasks_that_are_not() {
    let with = |list: &str| srun(2, 8, 9).with("SLURM_STEP_TASKS_PER_NODE", list);
    expect(
        &with("8(x2"),
        "SLURM_STEP_TASKS_PER_NODE=8(x2 is not a list of tasks per node such as \"8\", \"8(x2)\" or \"8,4\": correct it or \
         unset it",
    );
    expect(
        &with("8(x3)"),
        "SLURM_STEP_TASKS_PER_NODE=8(x3) adds up to 24 tasks, but SLURM_STEP_NUM_TASKS=16: correct one of them",
    );
    expect(
        &with("18446744073709551615(x18446744073709551615)"),
        "SLURM_STEP_TASKS_PER_NODE=18446744073709551615(x18446744073709551615) adds up to 18446744073709551615 tasks, but \
         SLURM_STEP_NUM_TASKS=16: correct one of them",
    );
}

#[test]
fn half_a_worker() {
    expect(
        &torchrun(1, 2, 1).with("LOCKSTEP_WORKERS_PER_RANK", "2"),
        "LOCKSTEP_WORKERS_PER_RANK=2 is set without LOCKSTEP_WORKER_OF_RANK: a worker needs both, and a rank neither",
    );
    expect(
        &torchrun(1, 2, 1).with("LOCKSTEP_WORKER_OF_RANK", "0"),
        "LOCKSTEP_WORKER_OF_RANK=0 is set without LOCKSTEP_WORKERS_PER_RANK: a worker needs both, and a rank neither",
    );
    let worker = |count: &str, index: &str| {
        torchrun(1, 2, 1).with("LOCKSTEP_WORKERS_PER_RANK", count).with("LOCKSTEP_WORKER_OF_RANK", index)
    };
    expect(
        &worker("2", "2"),
        "LOCKSTEP_WORKER_OF_RANK=2 is out of range for LOCKSTEP_WORKERS_PER_RANK=2: it counts from 0 and must be below that",
    );
    expect(&worker("0", "0"), "LOCKSTEP_WORKERS_PER_RANK=0 is a count and must be at least 1: correct it or unset it");
}

#[test]
fn no_such_launcher() {
    expect(
        &environment("LOCKSTEP_LAUNCHER=mpi"),
        "LOCKSTEP_LAUNCHER=mpi: \"mpi\" is not a launcher: use one of torchrun, open-mpi, hydra, slurm, alone",
    );
}

#[test]
fn too_many_workers() {
    let env = environment("RANK=0 WORLD_SIZE=18446744073709551615 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1")
        .with("LOCKSTEP_WORKERS_PER_RANK", "2")
        .with("LOCKSTEP_WORKER_OF_RANK", "1");
    expect(&env, "18446744073709551615 nodes of 1 ranks of 2 workers are more than 2^64 - 1 workers: check the counts");
}

#[test]
fn nothing_to_tell_jobs_apart_by() {
    let text = "nothing tells this job from others on this node: set LOCKSTEP_JOB_ID to a text that is the same in all its \
                processes and differs between jobs";
    expect(&environment("").in_process(None), text);
    expect(&environment("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2").started_by(None), text);
}
