//! `cargo xtask sanitize`: the code that shares memory, under the compilers' sanitizers.

use xshell::{Shell, cmd};

/// Runs the tests of `shmem` and `filelock` with each sanitizer; says so and ends well where there is no nightly.
pub(crate) fn run(shell: &Shell) -> anyhow::Result<()> {
    if cmd!(shell, "cargo +nightly --version").quiet().ignore_stderr().read().is_err() {
        println!("skipped: the sanitizers need a nightly toolchain (rustup toolchain install nightly)");
        return Ok(());
    }
    let host = host(shell)?;
    for sanitizer in ["address", "thread"] {
        let _flags = shell.push_env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
        let _target = shell.push_env("CARGO_TARGET_DIR", format!("target/sanitize-{sanitizer}"));
        // The dependencies come without instrumentation of the standard library, which ThreadSanitizer must be told.
        let _abi =
            shell.push_env("RUSTFLAGS", format!("-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer"));
        cmd!(shell, "cargo +nightly test -p lockstep-shmem -p lockstep-filelock --lib --tests --target {host}")
            .run()?;
    }
    Ok(())
}

fn host(shell: &Shell) -> anyhow::Result<String> {
    let version = cmd!(shell, "rustc -vV").quiet().read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or_else(|| anyhow::anyhow!("rustc -vV names no host"))?.to_owned())
}
