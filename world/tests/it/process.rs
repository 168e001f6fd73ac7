//! The environment of real processes.

use std::process::Command;

use lockstep_world::{Environment, ProcessEnvironment, World, detect};

/// Set in the process that [`children_of_one_parent_are_one_job`] starts, and nowhere else.
const CHILD: &str = "LOCKSTEP_TEST_CHILD";

/// Runs this very test in a process of its own, as rank `rank` of 2, and gives what it printed.
fn child(rank: u64) -> String {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "process::children_of_one_parent_are_one_job", "--nocapture"]);
    // Whatever runs the tests may have been started by a launcher itself.
    command.env_clear().env(CHILD, "1");
    for variable in World::of_rank(1, 2, rank).expect("a rank").rank_variables() {
        command.env(variable.name(), variable.value());
    }
    let output = command.output().expect("a child");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find_map(|line| line.split_once("detected: ")).expect("a line").1;
    line.to_owned()
}

#[test]
fn children_of_one_parent_are_one_job() {
    if std::env::var_os(CHILD).is_some() {
        let detected = detect(&ProcessEnvironment).expect("a world");
        // On a line of its own, whatever the test harness has printed before.
        println!("\ndetected: {} {}", detected.world.rank(), detected.job);
        return;
    }
    let this = ProcessEnvironment.process().expect("a process");
    for rank in 0..2 {
        assert_eq!(child(rank), format!("{rank} torchrun parent={this}"));
    }
}
