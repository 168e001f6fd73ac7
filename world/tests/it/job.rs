//! Job ids: the same in all processes of a job on a node, and in no other job's.

use lockstep_world::{MapEnvironment, ProcessIdentity, detect};

use crate::{environment, hydra, inside, open_mpi, srun, torchrun};

fn id(environment: &MapEnvironment) -> String {
    detect(environment).unwrap_or_else(|error| panic!("{error}")).job.to_string()
}

fn process(pid: u32) -> Option<ProcessIdentity> {
    Some(ProcessIdentity { pid, started: Some(77), namespace: Some(1) })
}

/// The ids of the processes of a job on a node, each in a process of its own, started through a script of its own if
/// `wrapped`.
fn ids(ranks: impl IntoIterator<Item = MapEnvironment>, wrapped: bool) -> Vec<String> {
    let parent = |pid| if wrapped { 1000 + pid } else { 999 };
    (1..).zip(ranks).map(|(pid, env)| id(&env.in_process(process(pid)).started_by(process(parent(pid))))).collect()
}

#[track_caller]
fn expect_one(ids: &[String], text: &str) {
    assert!(ids.iter().all(|id| id == text), "{ids:?} are not all {text:?}");
}

#[test]
fn given_by_hand_it_is_taken_as_it_is() {
    let given = environment("LOCKSTEP_JOB_ID=job/7");
    for env in [torchrun(2, 8, 9), srun(2, 8, 9), open_mpi(3, 4, 1, 2), hydra(3, 4, 1, 2), environment("")] {
        assert_eq!(id(&inside(&given, &env)), "job/7");
    }
    assert_eq!(id(&given.in_process(None).started_by(None)), "job/7");
}

#[test]
fn ranks_of_a_torchrun_agree_through_wrapper_scripts_too() {
    let text = "torchrun restart=0 master=10.0.0.1 port=29500 agent=/tmp/torchelastic_ab12/none_x7y8/attempt_0";
    for wrapped in [false, true] {
        expect_one(&ids((0..8).map(|rank| torchrun(2, 8, rank)), wrapped), text);
    }
}

#[test]
fn torchruns_on_one_node_differ() {
    let job = torchrun(1, 2, 1);
    let error_file = "TORCHELASTIC_ERROR_FILE";
    let others = [
        job.clone().with("TORCHELASTIC_RUN_ID", "7"),
        job.clone().with("TORCHELASTIC_RESTART_COUNT", "1"),
        job.clone().with("MASTER_PORT", "29501"),
        job.clone().with("MASTER_ADDR", "10.0.0.2"),
        job.clone().with(error_file, "/tmp/torchelastic_cd34/none_a1b2/attempt_0/1/error.json"),
        job.clone().with(error_file, "/tmp/torchelastic_ab12/none_x7y8/attempt_1/1/error.json"),
    ];
    for other in others {
        assert_ne!(id(&job), id(&other));
    }
}

#[test]
fn an_error_file_that_torchrun_did_not_name_does_not_count() {
    for by_hand in
        ["/tmp/error.json", "/tmp/attempt_0/1/error.txt", "/tmp/attempt_x/1/error.json", "attempt_0/1/error.json"]
    {
        let ranks = (0..2).map(|rank| torchrun(1, 2, rank).with("TORCHELASTIC_ERROR_FILE", by_hand));
        expect_one(&ids(ranks, true), "torchrun restart=0 master=10.0.0.1 port=29500 namespace=1");
    }
}

#[test]
fn a_run_id_without_anything_else_is_enough() {
    let ranks = (0..2).map(|rank| {
        environment("WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=a7")
            .with("RANK", rank.to_string())
            .with("LOCAL_RANK", rank.to_string())
    });
    expect_one(&ids(ranks, true), "torchrun run=a7 namespace=1");
}

#[test]
fn containers_with_equal_ports_differ() {
    let env =
        environment("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500");
    let other = ProcessIdentity { namespace: Some(2), ..process(200).expect("a process") };
    assert_ne!(id(&env), id(&env.clone().in_process(Some(other))));
}

#[test]
fn ranks_started_by_hand_have_their_parent() {
    let rank = |rank: u64| {
        environment("WORLD_SIZE=2 LOCAL_WORLD_SIZE=2")
            .with("RANK", rank.to_string())
            .with("LOCAL_RANK", rank.to_string())
    };
    expect_one(&ids((0..2).map(rank), false), "torchrun parent=999@77/1");
}

#[test]
fn slurm_steps_differ_and_their_tasks_agree() {
    expect_one(&ids((0..8).map(|task| srun(2, 8, task)), true), "slurm job=4711 step=2");
    let job = srun(2, 8, 1);
    for (variable, value) in [("SLURM_JOB_ID", "4712"), ("SLURM_STEP_ID", "3"), ("SLURM_RESTART_COUNT", "1")] {
        assert_ne!(id(&job), id(&job.clone().with(variable, value)));
    }
}

#[test]
fn mpi_jobs_have_their_namespace_or_their_parent() {
    expect_one(&ids((0..4).map(|rank| open_mpi(rank, 8, rank, 4)), true), "open-mpi namespace=prterun-host-77@1");
    let old = |rank| open_mpi(rank, 8, rank, 4).without("PMIX_NAMESPACE");
    expect_one(&ids((0..4).map(|rank| old(rank).with("OMPI_MCA_ess_base_jobid", "31")), true), "open-mpi job=31");
    expect_one(&ids((0..4).map(old), false), "open-mpi parent=999@77/1");
    expect_one(&ids((0..4).map(|rank| hydra(rank, 8, rank, 4)), false), "hydra parent=999@77/1");
    expect_one(
        &ids((0..4).map(|rank| hydra(rank, 8, rank, 4).with("PMI_PORT", "host:17")), true),
        "hydra port=host:17",
    );
}

#[test]
fn single_ranks_side_by_side_differ() {
    // Two scripts started from one shell, or within one step.
    for env in [environment(""), srun(1, 1, 0), torchrun(1, 1, 0), open_mpi(0, 1, 0, 1)] {
        let ids = ids([env.clone(), env], false);
        assert_ne!(ids[0], ids[1]);
    }
    assert_eq!(id(&environment("").in_process(process(5))), "alone process=5@77/1");
}

#[test]
fn workers_of_a_single_rank_agree_with_it() {
    for env in [environment(""), srun(1, 1, 0), torchrun(1, 1, 0)] {
        let rank = env.clone().in_process(process(5)).started_by(process(1));
        let worker = env.in_process(process(6)).started_by(process(5));
        let worker = worker.with("LOCKSTEP_WORKERS_PER_RANK", "2").with("LOCKSTEP_WORKER_OF_RANK", "1");
        assert_eq!(id(&rank), id(&worker));
    }
}
