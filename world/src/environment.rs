//! What a process can learn from around it, behind a trait so that tests need no process-wide state.

use std::collections::BTreeMap;
use std::fmt;

/// Where [`detect`](crate::detect()) looks.
///
/// [`ProcessEnvironment`] is the real one, [`MapEnvironment`] one for tests.
pub trait Environment {
    /// The value of an environment variable, or `None` if it is not set. What is not Unicode may be replaced.
    fn variable(&self, name: &str) -> Option<String>;

    /// This process.
    fn process(&self) -> Option<ProcessIdentity>;

    /// The process that started this one.
    fn parent(&self) -> Option<ProcessIdentity>;
}

/// A process, told from all others on its machine since it was booted. A process id alone is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// When it was started, in clock ticks since the machine was booted, where the system tells.
    pub started: Option<u64>,
    /// The pid namespace that the process id is from (its inode number), where the system has such.
    pub namespace: Option<u64>,
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)?;
        if let Some(started) = self.started {
            write!(f, "@{started}")?;
        }
        if let Some(namespace) = self.namespace {
            write!(f, "/{namespace}")?;
        }
        Ok(())
    }
}

/// The environment of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn process(&self) -> Option<ProcessIdentity> {
        Some(identity(std::process::id()))
    }

    #[cfg(unix)]
    fn parent(&self) -> Option<ProcessIdentity> {
        Some(identity(std::os::unix::process::parent_id()))
    }

    #[cfg(not(unix))]
    fn parent(&self) -> Option<ProcessIdentity> {
        None
    }
}

/// What the system tells about a process that is seen from the pid namespace of this one.
fn identity(pid: u32) -> ProcessIdentity {
    let started = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| start_time(&stat));
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok().and_then(|link| namespace(link.to_str()?));
    ProcessIdentity { pid, started, namespace }
}

/// The start time in the text of a `/proc/PID/stat`: its 22nd field (`man 5 proc_pid_stat`). The second field is the name
/// of the program in parentheses, which may itself contain blanks and parentheses.
fn start_time(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The inode number in the text of a namespace link, `pid:[4026531836]`.
fn namespace(link: &str) -> Option<u64> {
    link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// An environment made of given variables, for tests.
///
/// It has made-up identities for the process and its parent, the same in every `MapEnvironment`, unless it is given others.
///
/// # Example
///
/// ```
/// use lockstep_world::{Launcher, MapEnvironment, detect};
///
/// let environment = MapEnvironment::from([("OMPI_COMM_WORLD_RANK", "1")])
///     .with("OMPI_COMM_WORLD_SIZE", "2")
///     .with("OMPI_COMM_WORLD_LOCAL_RANK", "1")
///     .with("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
/// assert_eq!(detect(&environment)?.launcher, Launcher::OpenMpi);
/// # Ok::<(), lockstep_world::DetectError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEnvironment {
    variables: BTreeMap<String, String>,
    process: Option<ProcessIdentity>,
    parent: Option<ProcessIdentity>,
}

impl MapEnvironment {
    /// An environment without variables.
    #[must_use]
    pub fn new() -> Self {
        let of = |pid| Some(ProcessIdentity { pid, started: Some(1_000), namespace: Some(1) });
        Self { variables: BTreeMap::new(), process: of(200), parent: of(100) }
    }

    /// The same with variable `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same without variable `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    /// Its variables, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The same in another process, or where the system does not tell which.
    #[must_use]
    pub fn in_process(mut self, process: Option<ProcessIdentity>) -> Self {
        self.process = process;
        self
    }

    /// The same with another parent, or where the system does not tell which.
    #[must_use]
    pub fn started_by(mut self, parent: Option<ProcessIdentity>) -> Self {
        self.parent = parent;
        self
    }
}

impl Default for MapEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for MapEnvironment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        variables.into_iter().fold(Self::new(), |environment, (name, value)| environment.with(name, value))
    }
}

impl<N: Into<String>, V: Into<String>, const LEN: usize> From<[(N, V); LEN]> for MapEnvironment {
    fn from(variables: [(N, V); LEN]) -> Self {
        variables.into_iter().collect()
    }
}

impl Environment for MapEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn process(&self) -> Option<ProcessIdentity> {
        self.process
    }

    fn parent(&self) -> Option<ProcessIdentity> {
        self.parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_is_found_behind_any_program_name() {
        let stat = "77 (a) b (c) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 123 456";
        assert_eq!(start_time(stat), Some(987_654));
        assert_eq!(start_time("77 (a) S 1 77"), None, "too short");
        assert_eq!(start_time(""), None);
    }

    #[test]
    fn namespace_is_the_number_in_the_link() {
        assert_eq!(namespace("pid:[4026531836]"), Some(4_026_531_836));
        assert_eq!(namespace("pid:4026531836"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_and_its_parent_are_known_and_stay_the_same() {
        let environment = ProcessEnvironment;
        let process = environment.process().expect("a process");
        assert_eq!(process.pid, std::process::id());
        assert!(process.started.is_some(), "the kernel tells when a process was started");
        assert_eq!(environment.process(), Some(process));
        assert_ne!(environment.parent(), Some(process), "the parent is another process");
    }

    #[test]
    fn identities_read_well() {
        let identity = ProcessIdentity { pid: 7, started: Some(12), namespace: Some(3) };
        assert_eq!(identity.to_string(), "7@12/3");
        assert_eq!(ProcessIdentity { started: None, namespace: None, ..identity }.to_string(), "7");
    }
}
