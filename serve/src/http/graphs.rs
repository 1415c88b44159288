//! `/api/graphs`: what is served, and looking into a graph.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::App;
use super::parameters::Parameters;
use super::reply::object;
use crate::answering::agents_of;
use crate::fault::Fault;
use crate::lookup;
use crate::served::ServedGraph;
use crate::service::Service;
use crate::view::{self, EntityPage, Side};

/// Most results of a search, neighbours of a page, or relations of a schema at once.
const MOST: usize = 500;

pub(super) async fn list(State(app): State<Arc<App>>) -> Response {
    let served = app.service.served();
    let graphs = served.graphs.iter();
    let graphs = graphs.map(|graph| view::statistics(&graph.name, &graph.kg));
    object(&json!({ "graphs": graphs.collect::<Vec<_>>() }))
}

pub(super) async fn agents(State(app): State<Arc<App>>) -> Response {
    let served = app.service.served();
    let models = served.models.iter();
    let models =
        models.map(|model| json!({ "name": model.name, "agents": agents_of(Some(model)) }));
    object(&json!({
        "models": models.collect::<Vec<_>>(),
        "without_model": agents_of(None),
        "feedback": app.service.feedback.is_some(),
    }))
}

pub(super) async fn search(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let given = Parameters::of(query.as_deref(), &["q", "limit"])?;
    let text = given.need("q")?.to_owned();
    let limit = given.number("limit", 10, MOST)?;
    look(&app.service, &name, move |graph| {
        lookup::search(graph, &text, limit)
    })
    .await
}

pub(super) async fn entity(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let known = ["id", "relation", "direction", "offset", "limit"];
    let given = Parameters::of(query.as_deref(), &known)?;
    let id = given.need("id")?.to_owned();
    let relation = given.get("relation").map(str::to_owned);
    let side = given.get("direction").unwrap_or("out");
    let side =
        Side::named(side).ok_or_else(|| Fault::bad("parameter", "`direction` is `out` or `in`"))?;
    let offset = given.number("offset", 0, usize::MAX)?;
    let limit = given.number("limit", 50, MOST)?;
    look(&app.service, &name, move |graph| {
        let kg = &graph.kg;
        let node = lookup::node(kg, &id)?;
        let Some(relation) = relation else {
            return Ok(view::entity(kg, node));
        };
        let relation = lookup::relation(kg, &relation)?;
        let page = EntityPage {
            relation,
            side,
            offset,
            limit,
        };
        Ok(view::page(kg, node, page))
    })
    .await
}

pub(super) async fn schema(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let given = Parameters::of(query.as_deref(), &["offset", "limit"])?;
    let offset = given.number("offset", 0, usize::MAX)?;
    let limit = given.number("limit", 100, MOST)?;
    look(&app.service, &name, move |graph| {
        Ok(view::schema(&graph.kg, offset, limit))
    })
    .await
}

/// Reads a graph on a thread that may wait for the disk.
async fn look(
    service: &Service,
    graph: &str,
    read: impl FnOnce(&ServedGraph) -> Result<Value, Fault> + Send + 'static,
) -> Result<Response, Fault> {
    let graph = service.graph(Some(graph))?;
    let value = tokio::task::spawn_blocking(move || read(&graph)).await;
    Ok(object(&value.map_err(|_| Fault::internal())??))
}
