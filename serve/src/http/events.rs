//! A response whose parts are sent while they are made: server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use hyper::body::{Bytes, Frame};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::reply::text;

/// Sends events. Once the client has left, they go nowhere.
#[derive(Clone)]
pub(super) struct EventSender(UnboundedSender<Bytes>);

impl EventSender {
    /// An event with a name. `data` is one line.
    pub(super) fn event(&self, name: &str, data: &str) {
        self.raw(format!("event: {name}\ndata: {data}\n\n"));
    }

    /// An event without a name.
    pub(super) fn data(&self, data: &str) {
        self.raw(format!("data: {data}\n\n"));
    }

    fn raw(&self, text: String) {
        // The receiver is gone if the client is.
        let _ = self.0.send(Bytes::from(text));
    }

    /// Calls `send` with the result of the work. If the client leaves before, the work is dropped,
    /// which cancels it.
    pub(super) fn when_done<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
        send: impl FnOnce(&Self, T) + Send + 'static,
    ) {
        tokio::spawn(async move {
            tokio::select! {
                done = work => send(&self, done),
                () = self.0.closed() => {}
            }
        });
    }
}

/// A sender and the response that has its events.
pub(super) fn stream() -> (EventSender, Response) {
    let (sender, receiver) = unbounded_channel();
    let body = Body::new(EventBody(receiver));
    (EventSender(sender), text("text/event-stream", body))
}

struct EventBody(UnboundedReceiver<Bytes>);

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|part| part.map(|bytes| Ok(Frame::data(bytes))))
    }
}
