//! From a URL to the store that serves it.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use url::Url;

use super::RemoteOptions;
use crate::error::{Error, Result};

/// Where a dataset is: which store, and where in it.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) prefix: ObjectPath,
    /// For messages: as given, less credentials and a closing slash.
    pub(crate) url: String,
}

/// What kind of store a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Local,
    Http,
    S3,
    Gcs,
    Azure,
}

/// What the schemes are, for messages.
const KNOWN: &str = "known are a path, file://, http://, https://, s3://, gs://, az://, azure:// and abfs://";

impl Location {
    pub(crate) fn parse(text: &str, options: &RemoteOptions) -> Result<Self> {
        let Some(url) = parse_url(text)? else { return local(text.as_ref(), text) };
        let scheme = Scheme::of(&url)
            .ok_or_else(|| Error::config(format!("{text}: there is no store for `{}://`; {KNOWN}", url.scheme())))?;
        let shown = shown(&url);
        if url.query().is_some() || url.fragment().is_some() {
            let message = format!("{shown}: a dataset's URL is that of a directory, without `?` or `#`");
            return Err(Error::config(message));
        }
        if scheme == Scheme::Local {
            let path =
                url.to_file_path().map_err(|()| Error::config(format!("{text} is not a path on this machine")))?;
            return local(&path, text);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(Error::config(format!("{shown} has no host or bucket")));
        }
        let store = build(scheme, &url, options).map_err(|error| explain(error, &shown))?;
        let prefix = ObjectPath::from_url_path(url.path())
            .map_err(|error| Error::config(format!("{shown} has a path that is none")).with_source(error))?;
        Ok(Self { store, prefix, url: shown })
    }

    /// Where the object called `name` is.
    pub(crate) fn path(&self, name: &str) -> ObjectPath {
        name.split('/').fold(self.prefix.clone(), ObjectPath::join)
    }
}

impl Scheme {
    fn of(url: &Url) -> Option<Self> {
        Some(match url.scheme() {
            "file" => Self::Local,
            "http" | "https" => Self::Http,
            "s3" | "s3a" => Self::S3,
            "gs" => Self::Gcs,
            "az" | "azure" | "abfs" | "abfss" | "adl" => Self::Azure,
            _ => return None,
        })
    }
}

/// `None`: a plain path.
fn parse_url(text: &str) -> Result<Option<Url>> {
    if !text.contains("://") {
        return Ok(None);
    }
    let url =
        Url::parse(text).map_err(|error| Error::config(format!("{text} is no URL; {KNOWN}")).with_source(error))?;
    Ok(Some(url))
}

/// The URL for people to see. A password in it is not for them.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    if url.password().is_some() {
        // Fails for URLs that cannot have one only.
        let _ = url.set_password(None);
    }
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

fn local(path: &Path, text: &str) -> Result<Location> {
    let store = LocalFileSystem::new_with_prefix(path)
        .map_err(|error| Error::config(format!("there is no directory {text}")).with_source(error))?;
    let url = path.display().to_string();
    Ok(Location { store: Arc::new(store), prefix: ObjectPath::default(), url })
}

#[cold]
fn explain(error: object_store::Error, url: &str) -> Error {
    Error::config(format!("{url} cannot be read with these settings")).with_source(error)
}

#[cfg(not(any(feature = "http", feature = "s3", feature = "gcs", feature = "azure")))]
fn build(scheme: Scheme, _: &Url, _: &RemoteOptions) -> object_store::Result<Arc<dyn ObjectStore>> {
    Err(left_out(scheme))
}

/// The store for a URL, set up by the environment and then by `options`.
#[cfg(any(feature = "http", feature = "s3", feature = "gcs", feature = "azure"))]
fn build(scheme: Scheme, url: &Url, options: &RemoteOptions) -> object_store::Result<Arc<dyn ObjectStore>> {
    use_some_tls();
    match scheme {
        #[cfg(feature = "http")]
        Scheme::Http => cloud::http(url, options),
        #[cfg(feature = "s3")]
        Scheme::S3 => cloud::s3(url, options),
        #[cfg(feature = "gcs")]
        Scheme::Gcs => cloud::gcs(url, options),
        #[cfg(feature = "azure")]
        Scheme::Azure => cloud::azure(url, options),
        other => Err(left_out(other)),
    }
}

#[cold]
fn left_out(scheme: Scheme) -> object_store::Error {
    let feature = match scheme {
        Scheme::Local => "remote",
        Scheme::Http => "http",
        Scheme::S3 => "s3",
        Scheme::Gcs => "gcs",
        Scheme::Azure => "azure",
    };
    let source = format!("this program was built without the feature `{feature}` of lockstep-dataset").into();
    object_store::Error::Generic { store: "lockstep", source }
}

/// The HTTP client leaves the choice of a cryptography library to the program; where it made none, take ours.
#[cfg(any(feature = "http", feature = "s3", feature = "gcs", feature = "azure"))]
fn use_some_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Whoever was faster has made a choice, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(any(feature = "http", feature = "s3", feature = "gcs", feature = "azure"))]
mod cloud {
    use std::time::Duration;

    use object_store::{ClientOptions, RetryConfig};

    use super::*;

    type Built = object_store::Result<Arc<dyn ObjectStore>>;

    /// Requests are retried by us, who know which part of an object has arrived; and a transfer may take as long as bytes
    /// arrive.
    fn retry() -> RetryConfig {
        RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() }
    }

    fn client(options: &RemoteOptions) -> ClientOptions {
        ClientOptions::new()
            .with_timeout_disabled()
            .with_connect_timeout(options.connect_timeout)
            .with_pool_idle_timeout(Duration::from_secs(30))
    }

    #[cfg(feature = "http")]
    pub(super) fn http(url: &Url, options: &RemoteOptions) -> Built {
        let mut root = url.clone();
        root.set_path("/");
        let mut client = client(options).with_allow_http(url.scheme() == "http");
        for (key, value) in &options.store {
            client = client.with_config(key.parse()?, value);
        }
        let store = object_store::http::HttpBuilder::new()
            .with_url(root.as_str())
            .with_retry(retry())
            .with_client_options(client)
            .build()?;
        Ok(Arc::new(store))
    }

    #[cfg(feature = "s3")]
    pub(super) fn s3(url: &Url, options: &RemoteOptions) -> Built {
        use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
        let mut builder = AmazonS3Builder::from_env();
        // What mosaicml-streaming calls it.
        if let Ok(endpoint) = std::env::var("S3_ENDPOINT_URL") {
            builder = builder.with_endpoint(endpoint);
        }
        for (key, value) in &options.store {
            builder = builder.with_config(key.parse()?, value);
        }
        let endpoints = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
        let endpoint = endpoints.iter().find_map(|key| builder.get_config_value(key));
        // Who names an endpoint without encryption wants it.
        let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let store = builder
            .with_url(format!("s3://{}", url.host_str().unwrap_or_default()))
            .with_retry(retry())
            .with_client_options(client(options).with_allow_http(plain))
            .build()?;
        Ok(Arc::new(store))
    }

    #[cfg(feature = "gcs")]
    pub(super) fn gcs(url: &Url, options: &RemoteOptions) -> Built {
        let mut builder = object_store::gcp::GoogleCloudStorageBuilder::from_env();
        for (key, value) in &options.store {
            builder = builder.with_config(key.parse()?, value);
        }
        let store = builder
            .with_url(format!("gs://{}", url.host_str().unwrap_or_default()))
            .with_retry(retry())
            .with_client_options(client(options))
            .build()?;
        Ok(Arc::new(store))
    }

    #[cfg(feature = "azure")]
    pub(super) fn azure(url: &Url, options: &RemoteOptions) -> Built {
        use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
        let mut builder = MicrosoftAzureBuilder::from_env();
        for (key, value) in &options.store {
            builder = builder.with_config(key.parse()?, value);
        }
        let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
        let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
            || builder.get_config_value(&AzureConfigKey::UseEmulator).is_some_and(|value| value == "true");
        let store = builder
            .with_url(url.as_str())
            .with_retry(retry())
            .with_client_options(client(options).with_allow_http(plain))
            .build()?;
        Ok(Arc::new(store))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Location::parse(text, &RemoteOptions::default()).expect_err("this is no dataset's URL").to_string()
    }

    #[test]
    fn what_is_no_dataset_is_named() {
        assert_eq!(error("ftp://host/x"), format!("ftp://host/x: there is no store for `ftp://`; {KNOWN}"));
        assert_eq!(error("/no/such/directory"), "there is no directory /no/such/directory");
        assert_eq!(error("file:///no/such/directory"), "there is no directory file:///no/such/directory");
        assert_eq!(error("s3:///x"), "s3:///x has no host or bucket");
        assert!(error("http://[/").starts_with("http://[/ is no URL"));
    }

    #[test]
    fn credentials_are_not_shown() {
        let text = error("https://me:secret@host/x?token=secret");
        assert_eq!(text, "https://me@host/x: a dataset's URL is that of a directory, without `?` or `#`");
    }

    #[test]
    fn plain_paths_and_file_urls_are_the_same() {
        let dir = tempfile::tempdir().unwrap();
        for text in [dir.path().display().to_string(), format!("file://{}", dir.path().display())] {
            let location = Location::parse(&text, &RemoteOptions::default()).unwrap();
            assert_eq!(location.url, dir.path().display().to_string());
            assert_eq!(location.path("a/b c.mds").to_string(), "a/b c.mds");
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn names_lie_below_the_path_of_the_url() {
        let location = Location::parse("http://host/data/digits%20x/", &RemoteOptions::default()).unwrap();
        assert_eq!(location.url, "http://host/data/digits%20x");
        assert_eq!(location.path("0/a.mds").to_string(), "data/digits x/0/a.mds");
    }

    #[cfg(not(feature = "gcs"))]
    #[test]
    fn a_feature_that_is_off_is_named() {
        let error = Location::parse("gs://bucket/x", &RemoteOptions::default()).expect_err("the feature is off");
        let cause = std::error::Error::source(&error).expect("it has a cause").to_string();
        assert!(cause.contains("without the feature `gcs`"), "{cause}");
    }
}
