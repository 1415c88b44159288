//! The SPARQL 1.1 Protocol, read-only, at `/sparql/NAME`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use kg::{ResultsFormat, TriplesFormat};

use super::App;
use super::ask::{asker, media_type};
use super::parameters::Parameters;
use super::reply::text;
use crate::clients::Client;
use crate::fault::Fault;
use crate::lookup::{self, Accepted, not_acceptable};
use crate::queue::{Asker, queued};
use crate::service::Service;

/// The parameters that choose a dataset. Parameters that the protocol does not have, such as `format`,
/// are ignored: clients send the ones of other servers.
const DATASET: [&str; 2] = ["default-graph-uri", "named-graph-uri"];

pub(super) async fn get(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let query = from_parameters(query.as_deref())?;
    answer(&app.service, &name, query, &headers, asker(&client)?).await
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
    let in_address = only_query(parameters.as_deref())?;
    if in_address.get("query").is_some() {
        let message = "a query that is posted is in the body, not in the address";
        return Err(Fault::bad("parameter", message));
    }
    let query = match media_type(&headers).as_deref() {
        Some("application/sparql-query") => body,
        Some("application/x-www-form-urlencoded") => from_parameters(Some(&body))?,
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
    };
    answer(&app.service, &name, query, &headers, asker(&client)?).await
}

fn from_parameters(text: Option<&str>) -> Result<String, Fault> {
    Ok(only_query(text)?.need("query")?.to_owned())
}

/// The parameters, which choose no dataset and no update: a graph is one dataset, and it is
/// read-only.
fn only_query(text: Option<&str>) -> Result<Parameters, Fault> {
    let all = form_urlencoded::parse(text.unwrap_or_default().as_bytes());
    let mut chosen = all.filter(|(name, graph)| DATASET.contains(&&**name) && !graph.is_empty());
    if chosen.next().is_some() {
        let message = "a dataset cannot be chosen here: the address names the graph";
        return Err(Fault::bad("dataset", message));
    }
    let given = Parameters::some_of(text, &["query", "update"])?;
    if given.get("update").is_some() {
        return Err(Fault::bad("update", "graphs are read-only here"));
    }
    Ok(given)
}

/// The formats that the client likes best, of rows and of triples.
///
/// # Errors
/// [`Fault`] if it takes neither.
fn accepted(headers: &HeaderMap) -> Result<Accepted, Fault> {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.map_or("*/*", |value| value.to_str().unwrap_or_default());
    let types = ResultsFormat::ALL.map(ResultsFormat::media_type);
    let rows = best(accept, &types);
    let triples = accepted_triples(headers);
    if rows.is_none() && triples.is_none() {
        let more = TriplesFormat::ALL.map(TriplesFormat::media_type);
        return Err(not_acceptable(&[&types[..], &more].concat()));
    }
    Ok(Accepted {
        rows: rows.map(|at| ResultsFormat::ALL[at]),
        triples,
    })
}

/// The format of triples that the client likes best; `None` if it takes none.
pub(super) fn accepted_triples(headers: &HeaderMap) -> Option<TriplesFormat> {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.map_or("*/*", |value| value.to_str().unwrap_or_default());
    let types = TriplesFormat::ALL.map(TriplesFormat::media_type);
    best(accept, &types).map(|at| TriplesFormat::ALL[at])
}

/// The place of the media type that an `Accept` header likes best; of equal ones the first.
fn best(accept: &str, types: &[&str]) -> Option<usize> {
    let mut best: Option<(f32, usize)> = None;
    for part in accept.split(',') {
        let mut fields = part.split(';').map(str::trim);
        let name = fields.next().unwrap_or_default().to_ascii_lowercase();
        let quality = fields.find_map(|field| field.strip_prefix("q="));
        let quality = quality.map_or(Some(1.0), |text| text.parse().ok());
        let quality: f32 = quality.unwrap_or(0.0);
        let matching = types.iter().position(|own| {
            // `application/json` stands for `application/sparql-results+json`.
            let short = own.replace("sparql-results+", "");
            let family = own.split('/').next().unwrap_or_default();
            name == *own || name == short || name == "*/*" || name == format!("{family}/*")
        });
        if let Some(at) = matching
            && quality > best.map_or(0.0, |(quality, _)| quality)
        {
            best = Some((quality, at));
        }
    }
    best.map(|(_, at)| at)
}

async fn answer(
    service: &Arc<Service>,
    name: &str,
    query: String,
    headers: &HeaderMap,
    asker: Asker,
) -> Result<Response, Fault> {
    let accepted = accepted(headers)?;
    let graph = service.graph(Some(name))?;
    let pending = queued(service, asker, move |service, cancel| {
        lookup::query(service, &graph, &query, accepted, cancel?)
    })?;
    let (media_type, bytes) = pending.finished().await?;
    let mut response = text(media_type, bytes);
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}
