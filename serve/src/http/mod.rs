//! The addresses of the server.

mod accept;
mod answers;
mod ask;
mod cors;
mod events;
mod graphs;
mod guard;
mod listen;
mod mcp;
mod openai;
mod operations;
mod page;
mod parameters;
mod reply;
mod sparql;
mod text2sparql;
mod tls;
mod unsent;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

use crate::clients::Clients;
use crate::fault::Fault;
use crate::service::Service;

pub use guard::AccessRules;
pub use listen::Server;
pub use tls::TlsFiles;

/// What every request can reach.
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
    pub(crate) access: AccessRules,
    /// Room for large bodies that clients have not read.
    pub(crate) unsent: unsent::Room,
    pub(crate) clients: Arc<Clients>,
}

/// All addresses with their methods. `openapi.json` describes them.
fn routes() -> Vec<(&'static str, MethodRouter<Arc<App>>)> {
    vec![
        ("/", get(page::index)),
        ("/page/{file}", get(page::file)),
        ("/api/ask", post(ask::ask)),
        ("/api/answers/{id}", get(answers::answer)),
        ("/api/answers/{id}/evidence", get(answers::evidence)),
        ("/api/answers/{id}/trace", get(answers::trace)),
        ("/api/feedback", post(ask::say)),
        ("/api/agents", get(graphs::agents)),
        ("/api/graphs", get(graphs::list)),
        ("/api/graphs/{name}/search", get(graphs::search)),
        ("/api/graphs/{name}/entity", get(graphs::entity)),
        ("/api/graphs/{name}/schema", get(graphs::schema)),
        (guard::RELOAD, post(operations::reload)),
        ("/sparql/{name}", get(sparql::get).post(sparql::post)),
        ("/text2sparql", get(text2sparql::translate)),
        ("/v1/models", get(openai::models)),
        ("/v1/chat/completions", post(openai::chat)),
        ("/v1/completions", post(openai::complete)),
        ("/mcp", post(mcp::message)),
        ("/openapi.json", get(operations::openapi)),
        ("/livez", get(operations::alive)),
        ("/readyz", get(operations::ready)),
        ("/metrics", get(operations::metrics)),
    ]
}

/// All addresses behind the guard.
fn router(app: Arc<App>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    routes()
        .into_iter()
        .fold(Router::new(), add)
        .fallback(async || Fault::unknown("unknown_address", "there is nothing at this address"))
        .method_not_allowed_fallback(async || {
            Fault::new(405, "method", "this address does not take this method")
        })
        .layer(from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::schemas::OPENAPI;

    #[test]
    fn every_address_is_described_and_every_described_address_exists() {
        let described: BTreeSet<&str> = OPENAPI["paths"]
            .as_object()
            .into_iter()
            .flat_map(|paths| paths.keys().map(String::as_str))
            .collect();
        let own: BTreeSet<&str> = routes().into_iter().map(|(path, _)| path).collect();
        assert_eq!(own, described);
    }
}
