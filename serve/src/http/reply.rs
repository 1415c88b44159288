//! Responses: JSON, and faults in the form that their address has.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::fault::Fault;

/// Seconds after which a refused client may ask again.
const RETRY_SECONDS: u32 = 2;

/// JSON with status 200.
pub(super) fn object(value: &Value) -> Response {
    text("application/json", value.to_string())
}

/// A body of this media type with status 200.
pub(super) fn text(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

impl IntoResponse for Fault {
    /// A response without a body: the guard writes it in the form of the address ([`fill`]).
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(self);
        response
    }
}

/// A fault in the form of OpenAI's API.
pub(super) fn openai_error(fault: &Fault) -> Value {
    let kind = match fault.status {
        401 => "authentication_error",
        status if status < 500 => "invalid_request_error",
        _ => "server_error",
    };
    json!({ "error": {
        "message": fault.message, "type": kind, "param": null, "code": fault.code,
    }})
}

/// Writes the fault that a response carries, if there is one. `/v1` has the form of OpenAI's API.
pub(super) fn fill(response: Response, path: &str) -> Response {
    let Some(fault) = response.extensions().get::<Fault>() else {
        return response;
    };
    let body = if path.starts_with("/v1/") {
        openai_error(fault)
    } else {
        json!({ "error": { "code": fault.code, "message": fault.message } })
    };
    let allow = response.headers().get(header::ALLOW).cloned();
    let mut filled = object(&body);
    *filled.status_mut() =
        StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = filled.headers_mut();
    if let Some(methods) = allow {
        headers.insert(header::ALLOW, methods);
    }
    if fault.again {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    }
    if fault.status == 401 {
        headers.insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"kgagent\""),
        );
    }
    filled
}
