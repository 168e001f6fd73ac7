//! Whole environments, as launchers make them.

mod detect;
mod errors;
mod job;
mod process;

use lockstep_world::MapEnvironment;

/// The environment that a text such as `RANK=3 WORLD_SIZE=8` describes.
fn environment(text: &str) -> MapEnvironment {
    text.split_whitespace().map(|variable| variable.split_once('=').expect("NAME=value")).collect()
}

/// What torchrun sets for one rank of a job of equal nodes.
fn torchrun(nodes: u64, ranks_per_node: u64, rank: u64) -> MapEnvironment {
    let (local_rank, node, ranks) = (rank % ranks_per_node, rank / ranks_per_node, nodes * ranks_per_node);
    environment(&format!(
        "RANK={rank} WORLD_SIZE={ranks} LOCAL_RANK={local_rank} LOCAL_WORLD_SIZE={ranks_per_node} GROUP_RANK={node} \
         GROUP_WORLD_SIZE={nodes} ROLE_RANK={rank} ROLE_WORLD_SIZE={ranks} ROLE_NAME=default MASTER_ADDR=10.0.0.1 \
         MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_MAX_RESTARTS=0 \
         TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_ab12/none_x7y8/attempt_0/{local_rank}/error.json"
    ))
}

/// What srun sets for one task of a step on equal nodes.
fn srun(nodes: u64, tasks_per_node: u64, task: u64) -> MapEnvironment {
    let (local, node, tasks) = (task % tasks_per_node, task / tasks_per_node, nodes * tasks_per_node);
    let list = if nodes == 1 { format!("{tasks_per_node}") } else { format!("{tasks_per_node}(x{nodes})") };
    environment(&format!(
        "SLURM_JOB_ID=4711 SLURM_JOBID=4711 SLURM_STEP_ID=2 SLURM_STEPID=2 SLURM_PROCID={task} SLURM_LOCALID={local} \
         SLURM_NODEID={node} SLURM_NTASKS={tasks} SLURM_NPROCS={tasks} SLURM_STEP_NUM_TASKS={tasks} SLURM_NNODES={nodes} \
         SLURM_JOB_NUM_NODES={nodes} SLURM_STEP_NUM_NODES={nodes} SLURM_TASKS_PER_NODE={list} \
         SLURM_STEP_TASKS_PER_NODE={list} SLURM_SUBMIT_DIR=/home/me SLURM_DISTRIBUTION=block"
    ))
}

/// What a batch script has in an allocation of `nodes` nodes for `tasks` tasks.
fn sbatch(nodes: u64, tasks: u64) -> MapEnvironment {
    let per_node = tasks / nodes;
    environment(&format!(
        "SLURM_JOB_ID=4711 SLURM_JOBID=4711 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0 SLURM_NTASKS={tasks} \
         SLURM_NPROCS={tasks} SLURM_NNODES={nodes} SLURM_JOB_NUM_NODES={nodes} SLURM_TASKS_PER_NODE={per_node}(x{nodes}) \
         SLURM_NTASKS_PER_NODE={per_node} ENVIRONMENT=BATCH"
    ))
}

/// What Open MPI's mpirun sets.
fn open_mpi(rank: u64, size: u64, local_rank: u64, local_size: u64) -> MapEnvironment {
    environment(&format!(
        "OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_SIZE={size} OMPI_COMM_WORLD_LOCAL_RANK={local_rank} \
         OMPI_COMM_WORLD_LOCAL_SIZE={local_size} OMPI_COMM_WORLD_NODE_RANK={local_rank} OMPI_UNIVERSE_SIZE={size} \
         PMIX_RANK={rank} PMIX_NAMESPACE=prterun-host-77@1"
    ))
}

/// What Hydra sets.
fn hydra(rank: u64, size: u64, local_rank: u64, local_size: u64) -> MapEnvironment {
    environment(&format!(
        "PMI_RANK={rank} PMI_SIZE={size} PMI_FD=9 MPI_LOCALRANKID={local_rank} MPI_LOCALNRANKS={local_size}"
    ))
}

/// The variables of both; where both have one, that of `inner`.
fn inside(inner: &MapEnvironment, outer: &MapEnvironment) -> MapEnvironment {
    inner.variables().chain(outer.variables()).fold(MapEnvironment::new(), |all, (name, value)| {
        if all.variables().any(|(other, _)| other == name) { all } else { all.with(name, value) }
    })
}
