//! The one error of this crate: what failed, where, and what to do.

use std::error::Error as StdError;
use std::fmt;

/// What went wrong, as far as a program can act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// An argument or a combination of settings cannot work.
    Config,
    /// Stored bytes disagree with the format, the index or their hash.
    Corrupt,
    /// The operating system refused.
    Io,
    /// A remote store did not deliver, this time.
    Remote,
    /// Another process of the job died or left.
    PeerLost,
    /// Processes that must agree do not.
    Diverged,
}

/// Why a dataset could not be opened, read, written or shared.
///
/// The text is a lowercase fragment that names the file or URL, the place in it and what to do; [`source`] has the
/// cause. Predicates such as [`is_corrupt`] sort errors for programs.
///
/// [`source`]: std::error::Error::source
/// [`is_corrupt`]: Error::is_corrupt
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The result of this crate's fallible operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { kind, message: message.into(), source: None }) }
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    pub(crate) fn io(message: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, message).with_source(source)
    }

    /// The same kind of error, seen from further away.
    pub(crate) fn context(self, message: impl Into<String>) -> Self {
        Self::new(self.inner.kind, message).with_source(self)
    }

    /// For an [`Origin`](crate::remote::Origin) that did not deliver: name the object's URL and the attempts.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Remote, message)
    }

    /// For an [`Origin`](crate::remote::Origin) whose [`Sink`](crate::remote::Sink) failed.
    pub fn unwritable(message: impl Into<String>, source: std::io::Error) -> Self {
        Self::io(message, source)
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.inner.source = Some(source.into());
        self
    }

    /// Settings that cannot work; trying again changes nothing.
    pub fn is_config(&self) -> bool {
        self.inner.kind == ErrorKind::Config
    }

    /// Stored bytes that disagree with the format, the index or their hash.
    pub fn is_corrupt(&self) -> bool {
        self.inner.kind == ErrorKind::Corrupt
    }

    /// A failure that may not come again, such as a store that did not answer.
    pub fn is_retryable(&self) -> bool {
        self.inner.kind == ErrorKind::Remote
    }

    /// Another process of this job died or left.
    pub fn is_peer_lost(&self) -> bool {
        self.inner.kind == ErrorKind::PeerLost
    }

    /// Processes that must agree on epoch, position and settings do not.
    pub fn is_diverged(&self) -> bool {
        self.inner.kind == ErrorKind::Diverged
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("message", &self.inner.message)
            .field("source", &self.inner.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
