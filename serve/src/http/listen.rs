//! Connections: accepting them, and ending them in time.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::tls::{Tls, TlsFiles};
use super::unsent::Room;
use super::{AccessRules, App, router};
use crate::clients::{Client, Clients};
use crate::error::{ServeError, TOKEN_LENGTH};
use crate::service::Service;

/// Connections at the same time; more wait to be accepted.
const CONNECTIONS: usize = 512;
/// Time for the head of a request to arrive.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Threads that read and write connections; the work is done in the pool.
const THREADS: usize = 2;
/// Threads that look into graphs for the page.
const LOOKING: usize = 8;
/// For a client that has too many connections.
const TOO_MANY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// How often the wish to stop is looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// Time for accepted questions to finish when the server stops.
const GRACE: Duration = Duration::from_secs(4);

/// A server that is bound to its address.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    app: Arc<App>,
    tls: Option<Arc<Tls>>,
}

impl Server {
    /// Binds an address. Clients that connect now are answered by [`run`](Self::run).
    ///
    /// # Errors
    /// [`ServeError`] if the address is open to other machines and there is no token, a token is too
    /// short, or both tokens are equal, or the address cannot be bound.
    pub fn bind(
        service: Arc<Service>,
        address: SocketAddr,
        access: AccessRules,
    ) -> Result<Self, ServeError> {
        match &access.token {
            None if !address.ip().is_loopback() => return Err(ServeError::Open(address)),
            Some(token) if Some(token) == access.operator_token.as_ref() => {
                return Err(ServeError::SameToken);
            }
            _ => {}
        }
        for token in [&access.token, &access.operator_token]
            .into_iter()
            .flatten()
        {
            let length = token.chars().count();
            if length < TOKEN_LENGTH {
                return Err(ServeError::Token(length));
            }
        }
        let io = |what: String| move |source| ServeError::Io { what, source };
        let listener =
            TcpListener::bind(address).map_err(io(format!("cannot listen on {address}")))?;
        let ready = listener.set_nonblocking(true);
        ready.map_err(io("cannot listen".to_owned()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(LOOKING)
            .enable_all()
            .build()
            .map_err(io("cannot start threads".to_owned()))?;
        Ok(Self {
            runtime,
            listener,
            app: Arc::new(App {
                clients: Clients::new(access.limits),
                service,
                access,
                unsent: Room::default(),
            }),
            tls: None,
        })
    }

    /// The same server, whose connections are secret.
    ///
    /// # Errors
    /// [`ServeError::Tls`] if a file is missing or wrong.
    pub fn with_tls(self, files: TlsFiles) -> Result<Self, ServeError> {
        let tls = Some(Arc::new(Tls::open(files)?));
        Ok(Self { tls, ..self })
    }

    /// The address, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// [`ServeError::Io`].
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        self.listener.local_addr().map_err(|source| ServeError::Io {
            what: "the server has no address".to_owned(),
            source,
        })
    }

    /// Serves until `stop` is set. Then nothing new is accepted, accepted questions have four
    /// seconds to finish, and those that still wait are told that the server stops. When `reload` is
    /// set, graphs, models and certificates are opened again.
    ///
    /// # Errors
    /// [`ServeError::Io`].
    pub fn run(self, stop: &AtomicBool, reload: &AtomicBool) -> Result<(), ServeError> {
        let Self {
            runtime,
            listener,
            app,
            tls,
        } = self;
        let served = runtime.block_on(serve(listener, app, tls, stop, reload));
        runtime.shutdown_timeout(Duration::from_millis(200));
        served
    }
}

async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    tls: Option<Arc<Tls>>,
    stop: &AtomicBool,
    reload: &AtomicBool,
) -> Result<(), ServeError> {
    let listener =
        tokio::net::TcpListener::from_std(listener).map_err(|source| ServeError::Io {
            what: "cannot listen".to_owned(),
            source,
        })?;
    let service = Arc::clone(&app.service);
    let clients = Arc::clone(&app.clients);
    let router = router(app);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let (ending, ends) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut glance = tokio::time::interval(GLANCE);
    while !stop.load(Ordering::Relaxed) {
        // The place is taken before the connection, so that the rest wait in the system's queue.
        let free = room.available_permits() > 0;
        tokio::select! {
            accepted = listener.accept(), if free => {
                // A connection that failed before it was accepted concerns nobody else.
                let Ok((stream, peer)) = accepted else {
                    tokio::time::sleep(GLANCE).await;
                    continue;
                };
                let client = clients.client(peer.ip());
                let Some(share) = client.connection() else {
                    // What does not fit at once is not worth waiting for.
                    let _ = stream.try_write(TOO_MANY);
                    continue;
                };
                let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
                let (router, ends) = (router.clone(), ends.clone());
                let acceptor = tls.as_ref().map(|tls| tls.acceptor());
                // Events are small and should arrive one by one.
                let _ = stream.set_nodelay(true);
                connections.spawn(async move {
                    match acceptor {
                        None => connection(stream, client, router, ends).await,
                        Some(acceptor) => {
                            let accepted = timeout(HEAD_TIME, acceptor.accept(stream)).await;
                            // A client that does not trust the certificate has left.
                            if let Ok(Ok(stream)) = accepted {
                                connection(stream, client, router, ends).await;
                            }
                        }
                    }
                    drop((place, share));
                });
            }
            Some(_) = connections.join_next() => {}
            _ = glance.tick() => {
                if reload.swap(false, Ordering::Relaxed) {
                    let (service, tls) = (Arc::clone(&service), tls.clone());
                    tokio::task::spawn_blocking(move || reload_and_log(&service, tls.as_deref()));
                }
            }
        }
    }
    drop(listener);
    service.stopping.store(true, Ordering::Relaxed);
    let _ = ending.send(true);
    let rest = async { while connections.join_next().await.is_some() {} };
    if timeout(GRACE, rest).await.is_err() {
        tracing::warn!("stopping: some connections did not end in time and are closed");
    }
    Ok(())
}

fn reload_and_log(service: &Service, tls: Option<&Tls>) {
    if let Some(Err(error)) = tls.map(Tls::reopen) {
        tracing::error!("reload: {error}; the earlier certificate stays");
    }
    match service.reload() {
        Ok(rows) => tracing::info!("reloaded: {rows}"),
        Err(fault) => tracing::warn!("not reloaded: {}", fault.message),
    }
}

/// Serves one connection until it closes or the server stops.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    client: Client,
    router: axum::Router,
    mut ends: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(client.clone());
        router.call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    // The client sees the errors of its connection; they concern nobody else.
    tokio::select! {
        _ = serving.as_mut() => return,
        _ = ends.wait_for(|ending| *ending) => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}
