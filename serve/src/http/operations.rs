//! For operators: is the server there, is it ready, what has it done.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::App;
use super::reply::{object, text};
use crate::fault::Fault;
use crate::queue::stopping;
use crate::schemas::OPENAPI;

pub(super) async fn alive() -> Response {
    text("text/plain; charset=utf-8", "alive\n")
}

pub(super) async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.service.is_stopping() {
        return stopping().into_response();
    }
    text("text/plain; charset=utf-8", "ready\n")
}

pub(super) async fn reload(State(app): State<Arc<App>>) -> Result<Response, Fault> {
    let service = Arc::clone(&app.service);
    let done = tokio::task::spawn_blocking(move || service.reload()).await;
    Ok(object(&done.map_err(|_| Fault::internal())??))
}

pub(super) async fn openapi() -> Response {
    object(&OPENAPI)
}

pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let pool = &app.service.pool;
    let lines = app.service.metrics.text(pool.waiting(), pool.running());
    text("text/plain; version=0.0.4; charset=utf-8", lines)
}
