//! What every request passes first: the host it was sent to, the page it comes from, the token, and
//! the size and time of its body. And what every response gets: headers for browsers.
//!
//! A page of a foreign site cannot use the server through a visitor's browser. Its scripts and forms
//! send a foreign `Origin`; its pictures, frames and links send none, but browsers say in
//! `Sec-Fetch-Site` where they come from. A site whose name was made to point at this machine (DNS
//! rebinding) sends a foreign `Host`. Programs that are no browsers send none of these.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq;

use super::reply::fill;
use super::{App, cors};
use crate::clients::ClientLimits;
use crate::fault::Fault;

/// Maximum bytes of a body.
const BODY_BYTES: usize = 1 << 20;
/// Time for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(15);
/// Scripts, styles and requests of the page come from here only; nothing is inline, nothing foreign.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Where a request comes from, as browsers say: `same-origin`, `same-site`, `cross-site` or `none`.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What kind of request it is.
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// What the response is for.
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// Pages of other sites cannot include a response, such as in a picture or a script.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// Pages of other sites that have opened the page cannot reach its window.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// What only an operator may use.
pub(super) const RELOAD: &str = "/api/reload";

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// What a client must send as `Authorization: Bearer TOKEN`; without it, every client on this
    /// machine may ask.
    pub token: Option<String>,
    /// The operator's token, which allows every request. If it is missing and `token` is set, nobody can
    /// reload over HTTP. If both are missing, everybody on this machine can.
    pub operator_token: Option<String>,
    /// Host names besides `localhost` and addresses in numbers. Without a token, only loopback addresses
    /// are taken.
    pub hosts: Vec<String>,
    /// Origins (`https://name` or `https://name:port`) of other sites whose pages may use the server.
    pub origins: Vec<String>,
    /// What one client may use at the same time.
    pub limits: ClientLimits,
    /// Whether the log gets a line for each request.
    pub log_requests: bool,
}

impl AccessRules {
    fn check_host(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let host = text(headers, &header::HOST).unwrap_or_default();
        let name = host_name(host);
        let number: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let named = self
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name));
        // Without a token, other machines cannot connect. Addresses such as 0.0.0.0 lead here as well,
        // but browsers may not say to them where a request comes from.
        let own = |number: IpAddr| self.token.is_some() || number.is_loopback();
        if number.is_some_and(own) || named || name.eq_ignore_ascii_case("localhost") {
            return Ok(());
        }
        Err(Fault::new(
            403,
            "host",
            "the request is for another host; the server's operator can allow it with --host",
        ))
    }

    /// Refuses what a page of another site sends.
    fn check_site(&self, path: &str, headers: &HeaderMap) -> Result<(), Fault> {
        if cors::origin(&self.origins, headers).is_some() {
            return Ok(());
        }
        let host = text(headers, &header::HOST).unwrap_or_default();
        // The header names this server, as `ORIGIN` or as an address below it.
        let is_own = |value: &HeaderValue| {
            let value = value.to_str().unwrap_or_default();
            let from = value.split_once("://").map_or("", |(_, rest)| rest);
            let from = from.split('/').next().unwrap_or_default();
            !host.is_empty() && from.eq_ignore_ascii_case(host)
        };
        let own = match (headers.get(header::ORIGIN), headers.get(&SITE)) {
            (Some(origin), _) => is_own(origin),
            // `none` is a bookmark or an address that somebody has typed.
            (None, Some(site)) => {
                site == "same-origin" || site == "none" || opens_page(path, headers)
            }
            // Not a browser, or an old one, which may say which page has a picture or a link.
            (None, None) => path == "/" || headers.get(header::REFERER).is_none_or(is_own),
        };
        let message =
            "pages of other sites may not use this server; its operator can allow it with --origin";
        own.then_some(())
            .ok_or_else(|| Fault::new(403, "origin", message))
    }

    fn check_token(&self, path: &str, headers: &HeaderMap) -> Result<(), Fault> {
        let given = text(headers, &header::AUTHORIZATION).and_then(|value| {
            let (scheme, given) = value.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then_some(given.trim())
        });
        let given = given.unwrap_or_default();
        let is_given = |token: &String| bool::from(token.as_bytes().ct_eq(given.as_bytes()));
        if self.operator_token.as_ref().is_some_and(is_given) {
            return Ok(());
        }
        let (token, message) = match (&self.token, &self.operator_token) {
            (_, Some(operator)) if path == RELOAD => (
                Some(operator),
                "send the operator's token as `Authorization: Bearer TOKEN`",
            ),
            (token, _) => (
                token.as_ref(),
                "send the server's token as `Authorization: Bearer TOKEN`",
            ),
        };
        if token.is_some_and(|token| !is_given(token)) {
            return Err(Fault::new(401, "token", message));
        }
        if path == RELOAD && self.token.is_some() {
            let message = "only an operator may do this, and the server has no operator's token \
                           (--operator-token-file); its operator can send it SIGHUP instead";
            return Err(Fault::new(403, "operator", message));
        }
        Ok(())
    }
}

/// Whether a link of another site opens the page itself, in a window and not in a frame.
fn opens_page(path: &str, headers: &HeaderMap) -> bool {
    let says = |name, value| text(headers, &name) == Some(value);
    path == "/" && says(MODE, "navigate") && says(DESTINATION, "document")
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The page itself holds no secret, and probes have no token.
fn is_open(path: &str) -> bool {
    matches!(path, "/" | "/livez" | "/readyz") || path.starts_with("/page/")
}

/// Checks a request, reads its body, and completes its response.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path = request.uri().path().to_owned();
    let method = request.method().to_string();
    let named = cors::origin(&app.access.origins, request.headers());
    let passed = match pass(&app.access, &path, request).await {
        Ok(request) if named.is_some() && cors::asks_first(&request) => cors::may_send(&request),
        Ok(request) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    let mut response = fill(app.unsent.hold(passed).await, &path);
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(RESOURCE_POLICY, "same-origin");
    set(OPENER_POLICY, "same-origin");
    set(header::CACHE_CONTROL, "no-store");
    if let Some(origin) = named {
        cors::may_read(headers, origin);
    }
    if app.access.log_requests {
        // The path has no question; parameters, which may have one, are left out.
        let status = response.status().as_u16();
        let ms = begun.elapsed().as_micros() as f64 / 1e3;
        tracing::info!(method, path, status, ms, "request");
    }
    response
}

async fn pass(access: &AccessRules, path: &str, request: Request) -> Result<Request, Fault> {
    if percent_decode_str(path).decode_utf8().is_err() {
        return Err(Fault::bad("address", "the address is not UTF-8"));
    }
    access.check_host(request.headers())?;
    access.check_site(path, request.headers())?;
    if !is_open(path) && !cors::asks_first(&request) {
        access.check_token(path, request.headers())?;
    }
    let (head, body) = request.into_parts();
    let declared = text(&head.headers, &header::CONTENT_LENGTH);
    let too_large = || {
        Fault::new(
            413,
            "too_large",
            format!("a body has at most {BODY_BYTES} bytes"),
        )
    };
    if declared.is_some_and(|size| size.parse().is_ok_and(|size: usize| size > BODY_BYTES)) {
        return Err(too_large());
    }
    let read = tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, BODY_BYTES)).await;
    let bytes = read
        .map_err(|_| Fault::new(408, "timeout", "the body did not arrive in time"))?
        .map_err(|_| too_large())?;
    Ok(Request::from_parts(head, Body::from(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_with_or_without_a_port() {
        for (host, name) in [
            ("localhost:8765", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(host_name(host), name);
        }
    }
}
