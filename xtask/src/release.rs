//! `cargo xtask release VERSION`: one version for all crates, checked before anything is published.

use anyhow::{Context, bail, ensure};
use xshell::{Shell, cmd};

/// The version to release and how far to go.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The new version, `0.2.0` say.
    version: String,
    /// Commit, tag and publish. Without it everything up to there is tried and undone.
    #[arg(long)]
    execute: bool,
}

const MANIFEST: &str = "Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";

/// Sets the version and the changelog's heading, runs the checks, packages every crate; with `--execute` publishes.
pub(crate) fn run(shell: &Shell, args: &Args) -> anyhow::Result<()> {
    let dirty = cmd!(shell, "git status --porcelain").read()?;
    ensure!(dirty.is_empty(), "the tree has changes that are not committed:\n{dirty}");
    let version = args.version.as_str();
    ensure!(is_version(version), "`{version}` is not a version such as 0.2.0");

    // Both texts before either file, so that what is refused leaves the tree as it was.
    let today = cmd!(shell, "date +%F").read()?;
    let manifest = set_version(&shell.read_file(MANIFEST)?, version)?;
    let changelog = date_changelog(&shell.read_file(CHANGELOG)?, version, &today)?;
    shell.write_file(MANIFEST, manifest)?;
    shell.write_file(CHANGELOG, changelog)?;
    let checked = check(shell);
    if !args.execute || checked.is_err() {
        cmd!(shell, "git checkout -- Cargo.toml Cargo.lock CHANGELOG.md").run()?;
        checked?;
        println!("{version} is ready: run again with --execute to commit, tag and publish it");
        return Ok(());
    }
    cmd!(shell, "git commit -a -m").arg(format!("Release {version}")).run()?;
    cmd!(shell, "git tag -a -m").args([format!("Lockstep {version}"), format!("v{version}")]).run()?;
    cmd!(shell, "cargo publish --workspace --locked").run()?;
    Ok(())
}

fn check(shell: &Shell) -> anyhow::Result<()> {
    cmd!(shell, "cargo update --workspace").run()?;
    crate::ci::run(shell)?;
    cmd!(shell, "cargo package --workspace --locked --no-verify --allow-dirty").run()?;
    Ok(())
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}

/// Replaces the workspace's version wherever the manifest repeats it.
fn set_version(manifest: &str, version: &str) -> anyhow::Result<String> {
    let old = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .context("the root manifest states no version")?;
    Ok(manifest.replace(&format!("version = \"{old}\""), &format!("version = \"{version}\"")))
}

/// Turns the changelog's `Unreleased` heading into the version's, and opens a new one.
fn date_changelog(changelog: &str, version: &str, today: &str) -> anyhow::Result<String> {
    let heading = "## Unreleased\n";
    let Some((before, after)) = changelog.split_once(heading) else {
        bail!("the changelog has no `## Unreleased` section");
    };
    ensure!(
        after.split("\n## ").next().is_some_and(|section| !section.trim().is_empty()),
        "the changelog says nothing of this release: write its `## Unreleased` section"
    );
    Ok(format!("{before}{heading}\n## {version} - {today}\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_set_for_the_workspace_and_its_crates() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n\n[x]\nlockstep-world = { path = \"world\", version = \"0.1.0\" }\nserde = \"1.0\"\n";
        let set = set_version(manifest, "0.2.0").unwrap();
        assert_eq!(set, manifest.replace("0.1.0", "0.2.0"));
    }

    #[test]
    fn changelog_gets_a_dated_heading_and_an_empty_one() {
        let dated = date_changelog("# Changelog\n\n## Unreleased\n\n- A thing.\n", "0.2.0", "2030-01-02").unwrap();
        assert_eq!(dated, "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2030-01-02\n\n- A thing.\n");
        assert!(date_changelog("## Unreleased\n\n## 0.1.0\n\n- Old.\n", "0.2.0", "2030-01-02").is_err());
    }

    #[test]
    fn versions_have_three_numbers() {
        assert!(is_version("0.2.10"));
        assert!(!is_version("0.2") && !is_version("v0.2.0") && !is_version("0.2.x"));
    }
}
