//! `/text2sparql`: the query of a question, in the form of the TEXT2SPARQL challenge.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, RawQuery, State};
use axum::response::Response;
use serde_json::json;

use super::App;
use super::ask::asker;
use super::parameters::Parameters;
use super::reply::object;
use crate::answering::{AskRequest, Question};
use crate::clients::Client;
use crate::explain;
use crate::fault::Fault;
use crate::queue::queued;
use crate::service::Service;

pub(super) async fn translate(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let given = Parameters::of(query.as_deref(), &["dataset", "question"])?;
    let dataset = given.need("dataset")?;
    let text = given.need("question")?;
    let service = &app.service;
    let request = AskRequest {
        question: text.to_owned(),
        graph: Some(graph_of(service, dataset)),
        ..AskRequest::default()
    };
    let question = Question::of(service, request)?;
    let arrived = Instant::now();
    let pending = queued(service, asker(&client)?, move |service, cancel| {
        let stored = question.run(service, arrived, None, cancel)?;
        let none = |why: &str| {
            let message = format!("the question has no query: {why}");
            Fault::new(422, "no_query", message)
        };
        // A program that only gives up has a query without rows, which says nothing.
        if stored.answer.is_none() && stored.answer.program.len() < 2 {
            return Err(none(&stored.text));
        }
        explain::sparql(question.kg(), &stored).map_err(|why| none(&why))
    })?;
    let query = pending.finished().await?;
    Ok(object(
        &json!({ "dataset": dataset, "question": text, "query": query }),
    ))
}

/// The graph that a dataset means: the one of this name, or that of the last part of an IRI.
fn graph_of(service: &Service, dataset: &str) -> String {
    let served = service.served();
    let is_name = served.graphs.iter().any(|graph| graph.name == dataset);
    let mut parts = dataset.rsplit(['/', '#', ':']);
    let last = parts.find(|part| !part.is_empty());
    last.filter(|_| !is_name).unwrap_or(dataset).to_owned()
}
