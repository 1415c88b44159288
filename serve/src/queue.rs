//! Work that waits for a thread of the pool: who asked for it, and what comes of it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use common::cancel::{Cancel, Cancelled};
use tokio::sync::oneshot;

use crate::clients::ClientPlace;
use crate::fault::Fault;
use crate::metrics::count;
use crate::pool::QueueFull;
use crate::service::Service;

/// The code of a question whose asker has left.
pub(crate) const CANCELLED: &str = "cancelled";

/// Who asks.
#[derive(Default)]
pub(crate) struct Asker {
    /// A part of the client's share; it is given back when the work is done.
    pub(crate) place: Option<ClientPlace>,
    /// Ends the work early. It is set as well when the [`Pending`] work is dropped.
    pub(crate) cancel: Cancel,
}

/// Work that is queued or being done. It is cancelled if this is dropped.
pub(crate) struct Pending<T> {
    reply: oneshot::Receiver<Result<T, Fault>>,
    cancel: Cancel,
    /// When this was dropped.
    left: Arc<OnceLock<Instant>>,
}

impl<T> Pending<T> {
    /// Waits for the result. A thread that dropped the work has failed.
    pub(crate) async fn finished(mut self) -> Result<T, Fault> {
        let reply = (&mut self.reply).await;
        reply.unwrap_or_else(|_| Err(Fault::internal()))
    }

    /// [`finished`](Self::finished) for a thread that may block.
    pub(crate) fn wait(mut self) -> Result<T, Fault> {
        let (_, unused) = oneshot::channel();
        let reply = std::mem::replace(&mut self.reply, unused).blocking_recv();
        reply.unwrap_or_else(|_| Err(Fault::internal()))
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        let _ = self.left.set(Instant::now());
        self.cancel.cancel();
    }
}

/// Queues work. It gets what cancels it, or why it ended before it began.
///
/// # Errors
/// [`Fault`] if the queue is full or the server is stopping.
pub(crate) fn queued<T: Send + 'static>(
    service: &Arc<Service>,
    asker: Asker,
    work: impl FnOnce(&Service, Result<&Cancel, Fault>) -> Result<T, Fault> + Send + 'static,
) -> Result<Pending<T>, Fault> {
    if service.is_stopping() {
        return Err(stopping());
    }
    let (reply, received) = oneshot::channel();
    let Asker { place, cancel } = asker;
    let cancel = cancel.within(service.deadline);
    let watched = cancel.clone();
    let shared = Arc::clone(service);
    let left = Arc::new(OnceLock::<Instant>::new());
    let leaving = Arc::clone(&left);
    let job = Box::new(move || {
        let begun = match watched.check() {
            Err(why) => Err(ended(why)),
            Ok(()) if shared.is_stopping() => Err(stopping()),
            Ok(()) => Ok(&watched),
        };
        let has_begun = begun.is_ok();
        let done = work(&shared, begun);
        if let Some(left) = leaving.get().filter(|_| has_begun) {
            let seconds = &shared.metrics.leaving_seconds;
            seconds.add(left.elapsed().as_secs_f64());
        }
        drop(place);
        // The asker may have left in the meantime.
        let _ = reply.send(done);
    });
    service.pool.submit(job).map_err(|QueueFull| {
        count(&service.metrics.rejected);
        Fault::busy(
            "busy",
            "all threads are busy and the queue is full; ask again in a few seconds",
        )
    })?;
    Ok(Pending {
        reply: received,
        cancel,
        left,
    })
}

/// Work that ended before it was done.
pub(crate) fn ended(why: Cancelled) -> Fault {
    match why {
        Cancelled::Asked => Fault::new(503, CANCELLED, why.to_string()),
        Cancelled::Deadline { .. } => Fault::new(503, "deadline", why.to_string()),
    }
}

pub(crate) fn stopping() -> Fault {
    Fault::busy("stopping", "the server is stopping")
}
