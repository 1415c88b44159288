//! Pages of other sites that the operator has named: their browser asks whether it may send a request
//! and show the response. All other pages get no such answer.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

/// Seconds for which a browser need not ask again.
const REMEMBERED: &str = "600";
/// Headers of responses that a script may read besides the usual ones.
const READABLE: &str = "retry-after, x-request-id";

/// The origin of a request, if it is one of these.
pub(super) fn origin(origins: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let known = |one: &String| one.eq_ignore_ascii_case(origin.to_str().unwrap_or_default());
    origins.iter().any(known).then(|| origin.clone())
}

/// Whether a browser asks what it may send, before it sends it. Such a request has no token.
pub(super) fn asks_first(request: &Request) -> bool {
    let asked = header::ACCESS_CONTROL_REQUEST_METHOD;
    request.method() == Method::OPTIONS && request.headers().contains_key(asked)
}

/// The answer to a browser that [asks first](asks_first): it may send the headers that it names.
pub(super) fn may_send(request: &Request) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let named = request
        .headers()
        .get(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
    set(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    if let Some(named) = named {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, named.clone());
    }
    response
}

/// Lets the pages of `origin` read a response.
pub(super) fn may_read(headers: &mut HeaderMap, origin: HeaderValue) {
    let mut set = |name: HeaderName, value| headers.insert(name, value);
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let readable = HeaderValue::from_static(READABLE);
    set(header::ACCESS_CONTROL_EXPOSE_HEADERS, readable);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
