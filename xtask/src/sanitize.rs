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
        let mut build_std: &[&str] = &[];
        if sanitizer == "thread" {
            // Locks, channels and thread starts of a library that is not instrumented look like races.
            if !has_library_source(shell)? {
                println!("skipped: ThreadSanitizer needs `rustup component add rust-src --toolchain nightly`");
                continue;
            }
            build_std = &["-Zbuild-std"];
        }
        let _target = shell.push_env("CARGO_TARGET_DIR", format!("target/sanitize-{sanitizer}"));
        // The host's standard library comes without instrumentation, which AddressSanitizer does not mind.
        let _flags =
            shell.push_env("RUSTFLAGS", format!("-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer"));
        // The models of the barrier's protocol run on stacks of their own, which confuses the sanitizers; they share no
        // memory with anybody.
        cmd!(shell, "cargo +nightly test {build_std...} -p lockstep-shmem -p lockstep-filelock --lib --tests --target {host} -- --skip protocol")
            .run()?;
    }
    Ok(())
}

fn has_library_source(shell: &Shell) -> anyhow::Result<bool> {
    let sysroot = cmd!(shell, "rustc +nightly --print sysroot").quiet().read()?;
    Ok(shell.path_exists(format!("{sysroot}/lib/rustlib/src/rust/library/Cargo.lock")))
}

fn host(shell: &Shell) -> anyhow::Result<String> {
    let version = cmd!(shell, "rustc -vV").quiet().read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or_else(|| anyhow::anyhow!("rustc -vV names no host"))?.to_owned())
}
