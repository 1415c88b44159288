//! TLS: the certificate and the key of the server.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServeError;

/// Files in PEM form.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by those that lead to its authority.
    pub certificates: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// A certificate in use.
pub(super) struct Tls {
    files: TlsFiles,
    acceptor: RwLock<TlsAcceptor>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`ServeError::Tls`].
    pub(super) fn open(files: TlsFiles) -> Result<Self, ServeError> {
        let acceptor = RwLock::new(acceptor(&files)?);
        Ok(Self { files, acceptor })
    }

    /// Reads the files again, for certificates are renewed. If they are wrong, the earlier ones stay.
    ///
    /// # Errors
    /// [`ServeError::Tls`].
    pub(super) fn reopen(&self) -> Result<(), ServeError> {
        let new = acceptor(&self.files)?;
        *self
            .acceptor
            .write()
            .unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// What makes the next connection a secret one.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let acceptor = self.acceptor.read();
        acceptor.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServeError> {
    let (certificates, key) = (&files.certificates, &files.key);
    let wrong = |path: &PathBuf, error: &dyn std::fmt::Display| ServeError::Tls {
        path: path.clone(),
        message: error.to_string(),
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect);
    let chain = chain.map_err(|error| wrong(certificates, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(certificates, &error))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| wrong(certificates, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
