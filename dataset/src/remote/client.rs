//! Reads objects: whole, in part, and in spite of faults.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::{Error as StoreError, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta};
use tokio::sync::Semaphore;

use super::location::Location;
use super::retry::Attempts;
use super::{Origin, Retry, Sink, runtime};
use crate::error::{Error, Result};

/// How a remote store is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for an answer, and for more of it.
    pub stall_timeout: Duration,
    /// How failed requests are made again.
    pub retry: Retry,
    /// How many objects are read at a time, over all threads of this process.
    pub connections: usize,
    /// Settings of the store by the names that `object_store` gives them, such as `aws_endpoint` or `google_service_account`.
    /// They win over those of the environment (`AWS_ENDPOINT_URL` and so on).
    pub store: Vec<(String, String)>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(30),
            retry: Retry::default(),
            connections: 16,
            store: Vec::new(),
        }
    }
}

/// A dataset in an object store, on a web server or in a local directory.
///
/// | URL | feature | set up by |
/// | --- | --- | --- |
/// | a path, `file:///path` | `remote` | |
/// | `http://host/path`, `https://` | `http` | |
/// | `s3://bucket/path` | `s3` | `AWS_ACCESS_KEY_ID` and the other `AWS_*`; `AWS_ENDPOINT_URL` or `S3_ENDPOINT_URL` for other stores than Amazon's; without keys, the machine's role; `AWS_SKIP_SIGNATURE=true` for public data |
/// | `gs://bucket/path` | `gcs` | `GOOGLE_SERVICE_ACCOUNT`, `GOOGLE_APPLICATION_CREDENTIALS` |
/// | `az://container/path`, `azure://`, `abfs[s]://` | `azure` | `AZURE_STORAGE_ACCOUNT_NAME` and the other `AZURE_*` |
///
/// Profiles in `~/.aws` are not read. Requests that fail are made again with pauses as [`Retry`] says, and a transfer that
/// broke goes on where it ended if the object is still the same. Each process has its own threads for this, started by
/// the first request: fork before that, or not at all.
///
/// # Example
///
/// ```
/// use lockstep_dataset::remote::{Origin, Remote};
///
/// let remote = Remote::open("data/digits")?;
/// let index = remote.read("index.json")?;
/// assert!(index.starts_with(b"{"));
/// # Ok::<(), lockstep_dataset::Error>(())
/// ```
#[derive(Debug)]
pub struct Remote {
    location: Location,
    options: RemoteOptions,
    slots: Semaphore,
}

impl Remote {
    /// The dataset at `url`, with default options. Nothing is read yet.
    ///
    /// # Errors
    ///
    /// The URL is none, there is no store for it in this build, or the store's settings cannot work.
    pub fn open(url: &str) -> Result<Self> {
        Self::with_options(url, RemoteOptions::default())
    }

    /// The dataset at `url`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn with_options(url: &str, options: RemoteOptions) -> Result<Self> {
        let location = Location::parse(url, &options)?;
        let slots = Semaphore::new(options.connections.clamp(1, Semaphore::MAX_PERMITS));
        Ok(Self { location, options, slots })
    }

    /// Makes requests for one object until one succeeds or the attempts are used up.
    async fn with_retries<T>(&self, name: &str, mut request: impl AsyncFnMut() -> Result<T, Failure>) -> Result<T> {
        let mut attempts = Attempts::new(&self.options.retry);
        loop {
            match self.in_slot(&mut request).await {
                Ok(value) => return Ok(value),
                Err(failure) => {
                    let pause = attempts.failed(false).filter(|_| failure.may_pass());
                    let Some(pause) = pause else { return Err(self.give_up(name, attempts.made(), failure)) };
                    tracing::debug!(object = name, cause = %failure, "request failed; trying again");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    async fn in_slot<T>(&self, request: &mut impl AsyncFnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let _slot = self.slots.acquire().await.expect("the semaphore is never closed");
        request().await
    }

    async fn get(&self, name: &str, options: GetOptions) -> Result<GetResult, Failure> {
        let path = self.location.path(name);
        Ok(self.in_time(self.location.store.get_opts(&path, options)).await??)
    }

    async fn in_time<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        let limit = self.options.stall_timeout;
        tokio::time::timeout(limit, future).await.map_err(|_| Failure::Stalled(limit))
    }

    /// Reads what an answer has, piece by piece.
    async fn drain(
        &self,
        answer: GetResult,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match answer.payload {
            GetResultPayload::Stream(mut pieces) => {
                while let Some(piece) = self.in_time(pieces.next()).await? {
                    sink(&piece?)?;
                }
                Ok(())
            }
            GetResultPayload::File(mut file, _) => {
                file.seek(SeekFrom::Start(answer.range.start)).map_err(Failure::Read)?;
                let mut left = answer.range.end - answer.range.start;
                let mut buffer = vec![0; 1 << 18];
                while left > 0 {
                    let most = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
                    match file.read(&mut buffer[..most]).map_err(Failure::Read)? {
                        0 => break,
                        n => {
                            sink(&buffer[..n])?;
                            left -= n as u64;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Streams an object into `sink`, from where an earlier attempt ended if it is still the same object.
    async fn transfer(&self, name: &str, progress: &mut Progress, sink: &mut dyn Sink) -> Result<(), Failure> {
        let mut options = GetOptions::default();
        if progress.received > 0 {
            options = options.with_range(Some(GetRange::Offset(progress.received))).with_if_match(progress.tag.clone());
        }
        let answer = self.get(name, options).await?;
        if answer.meta.size != progress.expected {
            return Err(Failure::Size { found: answer.meta.size, expected: progress.expected });
        }
        if answer.range.start != progress.received {
            return Err(Failure::Elsewhere);
        }
        progress.tag.clone_from(&answer.meta.e_tag);
        self.drain(answer, &mut |piece| {
            let received = progress.received + piece.len() as u64;
            if received > progress.expected {
                return Err(Failure::TooLong(progress.expected));
            }
            sink.write(piece).map_err(Failure::Sink)?;
            progress.received = received;
            Ok(())
        })
        .await?;
        if progress.received < progress.expected {
            return Err(Failure::Ended { received: progress.received, expected: progress.expected });
        }
        Ok(())
    }

    async fn stream(&self, name: &str, bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        let mut attempts = Attempts::new(&self.options.retry);
        let mut progress = Progress { received: 0, expected: bytes, tag: None };
        loop {
            let before = progress.received;
            let outcome = self.in_slot(&mut async || self.transfer(name, &mut progress, sink).await).await;
            let Err(failure) = outcome else { return Ok(()) };
            let pause = attempts.failed(progress.received > before).filter(|_| failure.may_pass() || before > 0);
            let Some(pause) = pause else { return Err(self.give_up(name, attempts.made(), failure)) };
            tracing::debug!(object = name, received = progress.received, cause = %failure, "download failed; trying again");
            // Without a tag nobody can tell whether the rest would be of the same object. And a rest that could not be
            // had at all may be the store's way to say that it knows no ranges, or that the object has changed.
            if progress.received == before || progress.tag.is_none() {
                progress = Progress { received: 0, expected: bytes, tag: None };
                sink.restart().map_err(|error| self.give_up(name, attempts.made(), Failure::Sink(error)))?;
            }
            tokio::time::sleep(pause).await;
        }
    }

    #[cold]
    fn give_up(&self, name: &str, attempts: u32, failure: Failure) -> Error {
        let url = format!("{}/{name}", self.location.url);
        let times = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
        match failure {
            Failure::Sink(source) => Error::unwritable(format!("cannot store what was downloaded from {url}"), source),
            Failure::Size { .. } | Failure::TooLong(_) => Error::corrupt(format!(
                "{url} is not what the index says ({times}); the dataset was changed or is not whole: upload it again, or \
                 empty the cache directory if it was written anew"
            ))
            .with_source(failure),
            Failure::Store(StoreError::NotFound { .. }) => Error::unavailable(format!("{url} is not there")).with_source(failure),
            _ => Error::unavailable(format!("cannot read {url} ({times})")).with_source(failure),
        }
    }
}

impl Origin for Remote {
    fn url(&self) -> &str {
        &self.location.url
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        runtime::run(|| {
            self.with_retries(name, async || {
                let answer = self.get(name, GetOptions::default()).await?;
                let expected = answer.meta.size;
                let mut bytes = Vec::new();
                self.drain(answer, &mut |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })
                .await?;
                Failure::unless_whole(bytes, expected)
            })
        })?
    }

    fn read_range(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        runtime::run(|| {
            self.with_retries(name, async || {
                let options = GetOptions::default().with_range(Some(GetRange::Bounded(range.clone())));
                let answer = self.get(name, options).await?;
                let mut bytes = Vec::new();
                self.drain(answer, &mut |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })
                .await?;
                Failure::unless_whole(bytes, range.end - range.start)
            })
        })?
    }

    fn tag(&self, name: &str) -> Result<Option<String>> {
        runtime::run(|| {
            self.with_retries(name, async || {
                let path = self.location.path(name);
                let options = GetOptions::default().with_head(true);
                let answer = self.in_time(self.location.store.get_opts(&path, options)).await??;
                Ok(Some(tag_of(&answer.meta)))
            })
        })?
    }

    fn download(&self, name: &str, bytes: u64, sink: &mut dyn Sink) -> Result<()> {
        runtime::run(|| self.stream(name, bytes, sink))?
    }
}

/// What tells one version of an object from the next.
fn tag_of(meta: &ObjectMeta) -> String {
    match &meta.e_tag {
        Some(tag) => format!("{tag} {}", meta.size),
        None => format!("{} {}", meta.last_modified.timestamp_micros(), meta.size),
    }
}

/// How far a download has come.
#[derive(Debug)]
struct Progress {
    received: u64,
    expected: u64,
    tag: Option<String>,
}

/// Why one attempt failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("nothing arrived for {0:?}")]
    Stalled(Duration),
    #[error("the object has {found} bytes instead of {expected}")]
    Size { found: u64, expected: u64 },
    #[error("the transfer ended after {received} of {expected} bytes")]
    Ended { received: u64, expected: u64 },
    #[error("more than {0} bytes arrived")]
    TooLong(u64),
    #[error("another part of the object arrived than was asked for")]
    Elsewhere,
    #[error("reading failed")]
    Read(#[source] std::io::Error),
    #[error("writing failed")]
    Sink(#[source] std::io::Error),
}

impl Failure {
    fn unless_whole(bytes: Vec<u8>, expected: u64) -> Result<Vec<u8>, Self> {
        match bytes.len() as u64 {
            received if received == expected => Ok(bytes),
            received => Err(Self::Ended { received, expected }),
        }
    }

    /// Whether the same request may succeed later.
    fn may_pass(&self) -> bool {
        match self {
            Self::Sink(_) => false,
            Self::Store(error) => !matches!(
                error,
                StoreError::NotFound { .. }
                    | StoreError::InvalidPath { .. }
                    | StoreError::NotSupported { .. }
                    | StoreError::NotImplemented { .. }
                    | StoreError::PermissionDenied { .. }
                    | StoreError::Unauthenticated { .. }
                    | StoreError::UnknownConfigurationKey { .. }
            ),
            _ => true,
        }
    }
}
