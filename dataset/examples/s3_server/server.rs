//! An S3 server on the loopback interface, over the directory of a file system.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;

/// The one bucket.
pub(crate) const BUCKET: &str = "bucket";

/// The one who may read it.
pub(crate) const KEY_ID: &str = "lockstep";

/// Their key.
pub(crate) const SECRET: &str = "lockstep-secret";

/// The server, which ends when dropped.
pub(crate) struct S3Server {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
    _root: tempfile::TempDir,
}

impl S3Server {
    /// Serves `dir` as the bucket, on `port` or any free one if that is 0.
    pub(crate) fn start(dir: &Path, port: u16) -> io::Result<Self> {
        // A bucket is a folder in the server's root.
        let root = tempfile::tempdir()?;
        std::os::unix::fs::symlink(dir.canonicalize()?, root.path().join(BUCKET))?;
        let files = s3s_fs::FileSystem::new(root.path()).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        let service = service.build().into_shared();

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    // A client that goes away is no fault of the server.
                    let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Ok(Self { address, _runtime: runtime, _root: root })
    }

    /// The URL of the server.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}
