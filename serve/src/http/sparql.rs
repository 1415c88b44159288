//! The SPARQL 1.1 Protocol, read-only, at `/sparql/NAME`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use kg::{ResultsFormat, TriplesFormat};

use super::App;
use super::accept;
use super::ask::{asker, media_type};
use super::parameters::Parameters;
use super::reply::text;
use crate::clients::Client;
use crate::fault::Fault;
use crate::lookup::{self, Accepted, ChosenDataset, not_acceptable};
use crate::queue::{Asker, queued};
use crate::service::Service;

/// The header of a note about the result.
const NOTE: HeaderName = HeaderName::from_static("kgagent-note");

/// What a request asks. Parameters that the protocol does not have, such as `format`, are ignored:
/// clients send the ones of other servers.
#[derive(Default)]
struct Asked {
    query: Option<String>,
    dataset: ChosenDataset,
}

pub(super) async fn get(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let asked = Asked::of(query.as_deref())?;
    answer(&app.service, &name, asked, &headers, asker(&client)?).await
}

pub(super) async fn post(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    RawQuery(parameters): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let body = String::from_utf8(body.to_vec());
    let body = body.map_err(|_| Fault::bad("body", "the body is not UTF-8"))?;
    let mut asked = Asked::of(parameters.as_deref())?;
    if asked.query.is_some() {
        let message = "a query that is posted is in the body, not in the address";
        return Err(Fault::bad("parameter", message));
    }
    match media_type(&headers).as_deref() {
        Some("application/sparql-query") => asked.query = Some(body),
        Some("application/x-www-form-urlencoded") => {
            let in_body = Asked::of(Some(&body))?;
            asked.query = in_body.query;
            asked.dataset.default.extend(in_body.dataset.default);
            asked.dataset.named.extend(in_body.dataset.named);
        }
        Some("application/sparql-update") => {
            return Err(Fault::new(403, "update", "graphs are read-only here"));
        }
        Some(other) => {
            let message = format!(
                "`{other}` is not the type of a query; send `application/sparql-query` or a form"
            );
            return Err(Fault::new(415, "media_type", message));
        }
        None => {
            let message = "the body has no Content-Type; send `application/sparql-query` or a form";
            return Err(Fault::bad("media_type", message));
        }
    }
    answer(&app.service, &name, asked, &headers, asker(&client)?).await
}

impl Asked {
    /// Reads parameters. There is no update: graphs are read-only.
    fn of(text: Option<&str>) -> Result<Self, Fault> {
        let given = Parameters::some_of(text, &["query", "update"])?;
        if given.get("update").is_some() {
            return Err(Fault::bad("update", "graphs are read-only here"));
        }
        let mut asked = Self {
            query: given.get("query").map(str::to_owned),
            dataset: ChosenDataset::default(),
        };
        // Unlike the query, a graph may be given several times.
        for (name, graph) in form_urlencoded::parse(text.unwrap_or_default().as_bytes()) {
            let graphs = match &*name {
                "default-graph-uri" => &mut asked.dataset.default,
                "named-graph-uri" => &mut asked.dataset.named,
                _ => continue,
            };
            if !graph.is_empty() {
                graphs.push(graph.into_owned());
            }
        }
        Ok(asked)
    }
}

/// The formats that the client likes best, of rows and of triples.
///
/// # Errors
/// [`Fault`] if it takes neither.
fn accepted(headers: &HeaderMap) -> Result<Accepted, Fault> {
    let rows = accept::best(headers, &ResultsFormat::ALL, |format| {
        (format.media_type(), format.aliases())
    });
    let triples = accepted_triples(headers);
    if rows.is_none() && triples.is_none() {
        let types = ResultsFormat::ALL.map(ResultsFormat::media_type);
        let more = TriplesFormat::ALL.map(TriplesFormat::media_type);
        return Err(not_acceptable(&[&types[..], &more].concat()));
    }
    Ok(Accepted { rows, triples })
}

/// The format of triples that the client likes best; `None` if it takes none.
pub(super) fn accepted_triples(headers: &HeaderMap) -> Option<TriplesFormat> {
    accept::best(headers, &TriplesFormat::ALL, |format| {
        (format.media_type(), format.aliases())
    })
}

async fn answer(
    service: &Arc<Service>,
    name: &str,
    asked: Asked,
    headers: &HeaderMap,
    asker: Asker,
) -> Result<Response, Fault> {
    let missing = || Fault::bad("parameter", "the parameter `query` is missing");
    let query = asked.query.ok_or_else(missing)?;
    let accepted = accepted(headers)?;
    let graph = service.graph(Some(name))?;
    let dataset = asked.dataset;
    let pending = queued(service, asker, move |service, cancel| {
        lookup::query(service, &graph, &query, &dataset, accepted, cancel?)
    })?;
    let written = pending.finished().await?;
    let mut response = text(written.media_type, written.bytes);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if let Some(note) = written
        .note
        .and_then(|note| HeaderValue::from_str(&note).ok())
    {
        headers.insert(NOTE, note);
    }
    Ok(response)
}
