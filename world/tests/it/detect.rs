//! Which world an environment is.

use lockstep_world::{Launcher, MapEnvironment, World, detect};
use proptest::prelude::*;

use crate::{environment, hydra, inside, open_mpi, sbatch, srun, torchrun};

#[track_caller]
fn expect(environment: &MapEnvironment, launcher: Launcher, num_nodes: u64, ranks_per_node: u64, rank: u64) {
    let detected = detect(environment).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(detected.launcher, launcher);
    assert_eq!(detected.world, World::of_rank(num_nodes, ranks_per_node, rank).expect("a world"));
}

#[test]
fn torchrun_on_one_and_two_nodes() {
    for rank in 0..8 {
        expect(&torchrun(1, 8, rank), Launcher::Torchrun, 1, 8, rank);
    }
    for rank in 0..16 {
        expect(&torchrun(2, 8, rank), Launcher::Torchrun, 2, 8, rank);
    }
}

#[test]
fn the_four_variables_alone_are_enough() {
    let env = environment("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4");
    expect(&env, Launcher::Torchrun, 2, 4, 5);
}

#[test]
fn whatever_sets_the_same() {
    let composer = "RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 NODE_RANK=1 MASTER_ADDR=a MASTER_PORT=17";
    expect(&environment(composer), Launcher::Torchrun, 2, 8, 9);
    let deepspeed =
        "RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_SIZE=8 CROSS_RANK=1 CROSS_SIZE=2 MASTER_ADDR=a MASTER_PORT=17";
    expect(&environment(deepspeed), Launcher::Torchrun, 2, 8, 9);
}

#[test]
fn a_leftover_node_rank_does_not_matter_to_torchrun() {
    // Scripts use NODE_RANK for torchrun's arguments; a dynamic rendezvous may number the nodes otherwise.
    expect(&torchrun(2, 8, 3).with("NODE_RANK", "1"), Launcher::Torchrun, 2, 8, 3);
}

#[test]
fn torchrun_inside_slurm() {
    // One task per node, each of which is a torchrun that starts 8 ranks.
    for rank in 0..16 {
        expect(&inside(&torchrun(2, 8, rank), &srun(2, 1, rank / 8)), Launcher::Torchrun, 2, 8, rank);
    }
    expect(&inside(&torchrun(1, 4, 3), &sbatch(1, 4)), Launcher::Torchrun, 1, 4, 3);
}

#[test]
fn srun_alone() {
    for (nodes, tasks_per_node) in [(1, 1), (1, 8), (2, 8), (3, 1)] {
        for task in 0..nodes * tasks_per_node {
            expect(&srun(nodes, tasks_per_node, task), Launcher::Slurm, nodes, tasks_per_node, task);
        }
    }
}

#[test]
fn forms_of_tasks_per_node() {
    let task = "SLURM_STEP_ID=0 SLURM_PROCID=9 SLURM_LOCALID=1 SLURM_NTASKS=16 SLURM_JOB_ID=1";
    for list in ["8(x2)", "8,8", "8(x1),8"] {
        let env = environment(task).with("SLURM_TASKS_PER_NODE", list);
        expect(&env, Launcher::Slurm, 2, 8, 9);
        expect(&env.with("SLURM_STEP_TASKS_PER_NODE", "4(x4)").with("SLURM_NODEID", "2"), Launcher::Slurm, 4, 4, 9);
    }
    let one = environment(
        "SLURM_STEP_ID=0 SLURM_PROCID=7 SLURM_LOCALID=7 SLURM_NTASKS=8 SLURM_TASKS_PER_NODE=8 SLURM_JOB_ID=1",
    );
    expect(&one, Launcher::Slurm, 1, 8, 7);
    let confirmed = environment(task).with("SLURM_TASKS_PER_NODE", "8").with("SLURM_NNODES", "2");
    expect(&confirmed, Launcher::Slurm, 2, 8, 9);
    expect(&environment(task).with("SLURM_NNODES", "2"), Launcher::Slurm, 2, 8, 9);
}

#[test]
fn a_step_smaller_than_its_allocation() {
    // `srun --preserve-env`, or variables of the allocation that the step did not replace.
    let env = srun(1, 4, 3).with("SLURM_NTASKS", "16").with("SLURM_NNODES", "2").with("SLURM_TASKS_PER_NODE", "8(x2)");
    expect(&env, Launcher::Slurm, 1, 4, 3);
}

#[test]
fn a_batch_script_without_srun_is_alone() {
    expect(&sbatch(2, 16), Launcher::Alone, 1, 1, 0);
    expect(&sbatch(2, 16).without("ENVIRONMENT"), Launcher::Alone, 1, 1, 0);
    // Picked by hand, its variables are read all the same.
    expect(&sbatch(2, 16).with("LOCKSTEP_LAUNCHER", "slurm"), Launcher::Slurm, 2, 8, 0);
}

#[test]
fn a_shell_of_salloc_is_alone() {
    let shell = "SLURM_JOB_ID=4711 SLURM_NTASKS=16 SLURM_NNODES=2 SLURM_TASKS_PER_NODE=8(x2)";
    expect(&environment(shell), Launcher::Alone, 1, 1, 0);
    // Where the shell is an interactive step on the first node.
    let step = "SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_TASKS=16";
    expect(&inside(&environment(step), &environment(shell)), Launcher::Alone, 1, 1, 0);
}

#[test]
fn open_mpi_on_two_nodes() {
    for rank in 0..8 {
        expect(&open_mpi(rank, 8, rank % 4, 4), Launcher::OpenMpi, 2, 4, rank);
    }
    // mpirun starts its daemons by srun, one on each node, and they hand their variables down.
    expect(&inside(&open_mpi(6, 8, 2, 4), &srun(2, 1, 1)), Launcher::OpenMpi, 2, 4, 6);
}

#[test]
fn hydra_on_two_nodes() {
    for rank in 0..8 {
        expect(&hydra(rank, 8, rank % 4, 4), Launcher::Hydra, 2, 4, rank);
    }
    let pals = "PMI_RANK=6 PMI_SIZE=8 PMI_LOCAL_RANK=2 PMI_LOCAL_SIZE=4 PMIX_NAMESPACE=x";
    expect(&environment(pals), Launcher::Hydra, 2, 4, 6);
    expect(&inside(&hydra(6, 8, 2, 4), &srun(2, 1, 1)), Launcher::Hydra, 2, 4, 6);
}

#[test]
fn part_of_a_launcher_counts_if_an_outer_one_agrees() {
    // Job scripts: export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS.
    let script = environment("RANK=9 WORLD_SIZE=16 MASTER_ADDR=a MASTER_PORT=17");
    expect(&inside(&script, &srun(2, 8, 9)), Launcher::Slurm, 2, 8, 9);
    expect(&inside(&script, &open_mpi(9, 16, 1, 8)), Launcher::OpenMpi, 2, 8, 9);
    // srun --mpi=pmi2.
    expect(&inside(&environment("PMI_RANK=9 PMI_SIZE=16 PMI_FD=3"), &srun(2, 8, 9)), Launcher::Slurm, 2, 8, 9);
}

#[test]
fn nothing_set() {
    let detected = detect(&MapEnvironment::new()).expect("alone");
    assert_eq!((detected.launcher, detected.world), (Launcher::Alone, World::alone()));
    assert!(detected.variables.is_empty());
}

#[test]
fn empty_variables_are_not_set() {
    expect(&environment("RANK= WORLD_SIZE= LOCKSTEP_LAUNCHER= LOCKSTEP_WORKERS_PER_RANK="), Launcher::Alone, 1, 1, 0);
}

#[test]
fn a_launcher_picked_by_hand_wins() {
    let env = inside(&torchrun(2, 8, 9), &inside(&open_mpi(3, 4, 1, 2), &srun(3, 2, 5)));
    for (name, launcher, num_nodes, ranks_per_node, rank) in [
        ("torchrun", Launcher::Torchrun, 2, 8, 9),
        ("open-mpi", Launcher::OpenMpi, 2, 2, 3),
        ("slurm", Launcher::Slurm, 3, 2, 5),
        ("alone", Launcher::Alone, 1, 1, 0),
    ] {
        expect(&env.clone().with("LOCKSTEP_LAUNCHER", name), launcher, num_nodes, ranks_per_node, rank);
    }
}

#[test]
fn workers_are_honoured_under_every_launcher() {
    let worker = environment("LOCKSTEP_WORKERS_PER_RANK=4 LOCKSTEP_WORKER_OF_RANK=3");
    for (env, rank) in [
        (torchrun(2, 8, 9), 9),
        (srun(2, 8, 9), 9),
        (open_mpi(3, 4, 1, 2), 3),
        (hydra(3, 4, 1, 2), 3),
        (environment(""), 0),
    ] {
        let world = detect(&inside(&worker, &env)).expect("a world").world;
        assert_eq!((world.rank(), world.workers_per_rank(), world.worker_of_rank()), (rank, 4, 3));
    }
}

#[test]
fn what_was_read_is_listed() {
    let env = inside(&environment("RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_PORT=7"), &srun(2, 1, 0));
    let variables: Vec<_> = detect(&env).expect("a world").variables.iter().map(ToString::to_string).collect();
    assert_eq!(variables, ["LOCAL_WORLD_SIZE=2", "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_PORT=7"]);
}

#[test]
fn ranks_started_by_hand_inside_another_job() {
    let rank = World::of_rank(2, 2, 3).expect("a rank");
    for outer in [torchrun(2, 8, 9), srun(2, 8, 9), open_mpi(3, 4, 1, 2), hydra(3, 4, 1, 2)] {
        let outer = outer.with("LOCKSTEP_LAUNCHER", "slurm").with("NODE_RANK", "7").with("CROSS_SIZE", "7");
        let env = rank.rank_variables().iter().fold(outer, |env, variable| env.with(variable.name(), variable.value()));
        expect(&env, Launcher::Torchrun, 2, 2, 3);
    }
}

/// Names that are read, and values that make sense, nearly make sense, or do not.
fn any_environment() -> impl Strategy<Value = MapEnvironment> {
    let names = [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "LOCAL_SIZE",
        "GROUP_RANK",
        "NODE_RANK",
        "GROUP_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_ERROR_FILE",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "PMI_RANK",
        "PMI_SIZE",
        "MPI_LOCALRANKID",
        "MPI_LOCALNRANKS",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_LOCALID",
        "SLURM_NODEID",
        "SLURM_NNODES",
        "SLURM_STEP_ID",
        "SLURM_TASKS_PER_NODE",
        "SLURM_JOB_ID",
        "LOCKSTEP_LAUNCHER",
        "LOCKSTEP_JOB_ID",
        "LOCKSTEP_WORKERS_PER_RANK",
        "LOCKSTEP_WORKER_OF_RANK",
    ];
    let values = prop_oneof![
        8 => (0..4u64).prop_map(|value| value.to_string()),
        1 => any::<u64>().prop_map(|value| value.to_string()),
        1 => prop::sample::select(vec!["2(x2)", "1,2", "slurm", "torchrun", "none", "/a/attempt_0/1/error.json"])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::btree_map(prop::sample::select(names.to_vec()), values, 0..names.len())
        .prop_map(|variables| variables.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_environment_is_a_world_or_an_error(environment in any_environment()) {
        match detect(&environment) {
            Ok(detected) => {
                prop_assert!(detected.world.worker() < detected.world.num_workers());
                prop_assert!(!detected.job.as_str().is_empty());
                for variable in &detected.variables {
                    let value = environment.variables().find(|(name, _)| *name == variable.name()).expect("it was set").1;
                    prop_assert_eq!(variable.value(), value.trim());
                }
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
