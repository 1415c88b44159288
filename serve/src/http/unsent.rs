//! Large bodies on their way to clients. A client that does not read keeps its body in memory; the
//! room for all of them is limited, and a body that nobody asks for is dropped.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as _, Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::Fault;

/// Bytes given to the connection at once. Shorter bodies need no room.
const PART: usize = 1 << 16;
/// Bytes of all bodies that are not sent yet. One query gives at most some hundred megabytes.
const ROOM: usize = 1 << 29;
/// Time after which a body is dropped if its client has read nothing.
const IDLE: Duration = Duration::from_secs(60);

/// The room for bodies that are not sent yet, in KiB.
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM >> 10)))
    }
}

impl Room {
    /// The response with its body in this room, if the body is large. Streams stay as they are.
    pub(super) async fn hold(&self, response: Response) -> Response {
        let size = response.body().size_hint().exact().unwrap_or(0);
        if size <= PART as u64 {
            return response;
        }
        let kib = u32::try_from(size >> 10).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.0).try_acquire_many_owned(kib) else {
            let message = "too many results wait for their clients; ask again in a few seconds";
            return Fault::busy("busy", message).into_response();
        };
        let (head, body) = response.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => Response::from_parts(head, Body::new(UnsentBody::new(bytes, permit))),
            Err(_) => Fault::internal().into_response(),
        }
    }
}

/// What is left of a body.
struct Rest {
    bytes: Bytes,
    /// When the connection last asked for a part.
    asked: Instant,
    _room: OwnedSemaphorePermit,
}

/// A body; `None` once it is dropped.
struct UnsentBody(Arc<Mutex<Option<Rest>>>);

fn lock(rest: &Mutex<Option<Rest>>) -> MutexGuard<'_, Option<Rest>> {
    rest.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UnsentBody {
    fn new(bytes: Bytes, room: OwnedSemaphorePermit) -> Self {
        let asked = Instant::now();
        let rest = Arc::new(Mutex::new(Some(Rest {
            bytes,
            asked,
            _room: room,
        })));
        let watched = Arc::downgrade(&rest);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(IDLE / 4).await;
                let Some(rest) = watched.upgrade() else {
                    return;
                };
                let mut rest = lock(&rest);
                if rest.as_ref().is_none_or(|rest| rest.asked.elapsed() > IDLE) {
                    *rest = None;
                    return;
                }
            }
        });
        Self(rest)
    }
}

impl hyper::body::Body for UnsentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let mut rest = lock(&self.0);
        let Some(rest) = rest.as_mut() else {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        };
        if rest.bytes.is_empty() {
            return Poll::Ready(None);
        }
        rest.asked = Instant::now();
        let part = rest.bytes.split_to(rest.bytes.len().min(PART));
        // A part of the same memory would keep all of it.
        let part = Bytes::copy_from_slice(&part);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn size_hint(&self) -> SizeHint {
        let left = lock(&self.0).as_ref().map_or(0, |rest| rest.bytes.len());
        SizeHint::with_exact(left as u64)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::http::reply::text;

    #[tokio::test]
    async fn large_bodies_need_room_until_they_are_read() {
        let room = Room(Arc::new(Semaphore::new(100)));
        let body = |size: usize| text("text/plain", vec![b'x'; size]);
        let refused = |response: &Response| response.extensions().get::<Fault>().is_some();
        let first = room.hold(body(80 << 10)).await;
        assert!(!refused(&first) && first.body().size_hint().exact() == Some(80 << 10));
        assert!(refused(&room.hold(body(80 << 10)).await));
        assert!(!refused(&room.hold(body(PART)).await));
        let read = to_bytes(first.into_body(), usize::MAX).await.unwrap();
        assert_eq!(read.len(), 80 << 10);
        assert!(!refused(&room.hold(body(80 << 10)).await));
    }
}
