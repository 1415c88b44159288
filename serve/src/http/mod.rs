//! The addresses of the server.

mod ask;
mod events;
mod graphs;
mod guard;
mod listen;
mod openai;
mod operations;
mod page;
mod parameters;
mod reply;
mod sparql;
mod unsent;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::fault::Fault;
use crate::service::Service;

pub use guard::AccessRules;
pub use listen::Server;

/// What every request can reach.
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
    pub(crate) access: AccessRules,
    /// Room for large bodies that clients have not read.
    pub(crate) unsent: unsent::Room,
}

/// All addresses behind the guard.
fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/page/{file}", get(page::file))
        .route("/api/ask", post(ask::ask))
        .route("/api/answers/{id}", get(ask::answer))
        .route("/api/feedback", post(ask::say))
        .route("/v1/models", get(openai::models))
        .route("/v1/chat/completions", post(openai::chat))
        .route("/api/agents", get(graphs::agents))
        .route("/api/graphs", get(graphs::list))
        .route("/api/graphs/{name}/search", get(graphs::search))
        .route("/api/graphs/{name}/entity", get(graphs::entity))
        .route("/api/graphs/{name}/schema", get(graphs::schema))
        .route("/sparql/{name}", get(sparql::get).post(sparql::post))
        .route("/livez", get(operations::alive))
        .route("/readyz", get(operations::ready))
        .route("/metrics", get(operations::metrics))
        .fallback(async || Fault::unknown("unknown_address", "there is nothing at this address"))
        .method_not_allowed_fallback(async || {
            Fault::new(405, "method", "this address does not take this method")
        })
        .layer(from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}
