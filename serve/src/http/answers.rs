//! `GET /api/answers/ID`: what is behind a kept answer.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use kg::TriplesFormat;

use super::App;
use super::reply::{object, text};
use super::sparql::accepted_triples;
use crate::explain::whole;
use crate::fault::Fault;
use crate::lookup::{not_acceptable, unwritten};

pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let stored = app.service.answer(&id)?;
    let service = Arc::clone(&app.service);
    let value = tokio::task::spawn_blocking(move || whole(&service, &stored)).await;
    Ok(object(&value.map_err(|_| Fault::internal())??))
}

/// The triples that prove the answer, in a format of RDF.
pub(super) async fn evidence(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let stored = app.service.answer(&id)?;
    let format = accepted_triples(&headers).ok_or_else(|| {
        let types = TriplesFormat::ALL.map(TriplesFormat::media_type);
        not_acceptable(&types)
    })?;
    let evidence = stored.answer.evidence.iter();
    let written = format.write(evidence.map(|triple| &triple.triple));
    let bytes = written.map_err(|error| unwritten(&error))?;
    let mut response = text(format.media_type(), bytes);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// The trace as a file that `kgagent replay` reads.
pub(super) async fn trace(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let stored = app.service.answer(&id)?;
    let mut lines: Vec<u8> = Vec::new();
    toolbox::trace::write(&stored.events, &mut lines).map_err(|_| Fault::internal())?;
    Ok(text("application/x-ndjson", lines))
}
