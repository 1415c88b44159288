//! One request over HTTP and its response. Nothing that the server sends leaves this module with
//! the key in it.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::options::{Endpoint, RemoteOptions, public_address};
use super::reply::Reply;
use super::retry::retry_after;

/// Maximum size of a response body.
const BODY: u64 = 1 << 20;
/// Maximum size of a streamed response, in which every token has a JSON object around it.
const STREAM: u64 = 32 << 20;
/// Characters of a server's message that an error quotes.
const QUOTED: usize = 300;
/// A shorter key is not hidden: it may be a word that the model needs to write.
const SECRET: usize = 12;

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct Transport {
    agent: ureq::Agent,
    options: Arc<RemoteOptions>,
}

/// Whether a request that failed may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// It would fail again.
    Never,
    /// It may succeed, a few times.
    Transient,
    /// The server asks to come back, after this pause if it names one.
    Later(Option<Duration>),
}

/// Why a request failed.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) message: String,
    pub(super) retry: Retry,
}

impl RequestFailure {
    pub(super) fn permanent(message: String) -> Self {
        Self {
            message,
            retry: Retry::Never,
        }
    }

    pub(super) fn transient(message: String) -> Self {
        Self {
            message,
            retry: Retry::Transient,
        }
    }
}

impl Transport {
    /// # Errors
    /// A message, if the certificates cannot be read.
    pub(super) fn new(options: &Arc<RemoteOptions>) -> Result<Self, String> {
        let roots = match &options.authorities {
            Some(pem) => RootCerts::new_with_certs(&certificates(pem)?),
            None => RootCerts::PlatformVerifier,
        };
        let tls = TlsConfig::builder().root_certs(roots);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(tls.build())
            .build();
        Ok(Self {
            agent: config.into(),
            options: Arc::clone(options),
        })
    }

    /// Sends a request that may take `left`. Returns the reply, or `None` if it was streamed: then
    /// its pieces went to `piece`, which returns whether it wants more.
    pub(super) fn once(
        &self,
        body: &str,
        left: Duration,
        piece: &mut dyn FnMut(Value) -> bool,
    ) -> Result<Option<Reply>, RequestFailure> {
        self.exchange(body, left, piece)
            .map(|reply| reply.map(|reply| self.hidden(reply)))
            .map_err(|failure| RequestFailure {
                message: self.without_key(&failure.message),
                ..failure
            })
    }

    /// A reply without the key.
    pub(super) fn hidden(&self, reply: Reply) -> Reply {
        reply.map(|text| self.without_key(text))
    }

    /// A text without the key, and without the password that an address may hold.
    pub(super) fn without_key(&self, text: &str) -> String {
        let url = &self.options.url;
        let text = text.replace(url, &public_address(url));
        match &self.options.key {
            Some(key) if key.len() >= SECRET => text.replace(key.as_str(), "[key]"),
            _ => text,
        }
    }

    /// The beginning of a server's message, on one line. The key goes first, so that no part of it
    /// is left at the end.
    fn quoted(&self, text: &str) -> String {
        let text = self.without_key(text);
        let clean = text.chars().filter(|c| !c.is_control());
        clean.take(QUOTED).collect()
    }

    fn exchange(
        &self,
        body: &str,
        left: Duration,
        piece: &mut dyn FnMut(Value) -> bool,
    ) -> Result<Option<Reply>, RequestFailure> {
        let path = match self.options.endpoint {
            Endpoint::Chat => "chat/completions",
            Endpoint::Completions => "completions",
        };
        let mut request = self
            .agent
            .post(format!("{}/{path}", self.options.url))
            .header("content-type", "application/json")
            .config()
            .timeout_global(Some(left))
            .build();
        if let Some(key) = &self.options.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body).map_err(|error| self.unsent(&error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.refused(status, &mut response));
        }
        if header(&response, "content-type").contains("event-stream") {
            self.pieces(response.body_mut(), piece)?;
            return Ok(None);
        }
        let text = self.text(response.body_mut())?;
        let value: Value = serde_json::from_str(&text).map_err(|_| {
            RequestFailure::transient(format!("the answer is not JSON: {}", self.quoted(&text)))
        })?;
        Reply::of(&value).map(Some).map_err(|message| {
            RequestFailure::transient(format!("{message}: {}", self.quoted(&text)))
        })
    }

    /// Why a request could not be sent.
    fn unsent(&self, error: &ureq::Error) -> RequestFailure {
        if let ureq::Error::Timeout(_) = error {
            // No time is left for a retry.
            let message = format!("no answer within {:?}", self.options.deadline);
            return RequestFailure::permanent(message);
        }
        let message = format!("no answer: {error}");
        if message.contains("certificate") {
            return RequestFailure::permanent(format!(
                "{message}; if the server is yours, name its authority's certificate with --ca"
            ));
        }
        RequestFailure::transient(message)
    }

    /// Why a response ended early.
    fn broken(&self, error: &ureq::Error, limit: u64) -> RequestFailure {
        match error {
            ureq::Error::Timeout(_) => RequestFailure::permanent(format!(
                "the answer did not end within {:?}",
                self.options.deadline
            )),
            ureq::Error::BodyExceedsLimit(_) => {
                RequestFailure::permanent(format!("the answer has more than {limit} bytes"))
            }
            error => RequestFailure::transient(format!("the answer broke off: {error}")),
        }
    }

    /// The failure that a status other than 200 means.
    fn refused(
        &self,
        status: u16,
        response: &mut ureq::http::Response<ureq::Body>,
    ) -> RequestFailure {
        if (300..400).contains(&status) {
            let to = self.quoted(&header(response, "location"));
            return RequestFailure::permanent(format!(
                "status {status}: the server redirects to `{to}`; if you trust that address, name it with --model"
            ));
        }
        let wish = retry_after(&header(response, "retry-after"), SystemTime::now());
        // The status says enough if the body cannot be read.
        let text = self.text(response.body_mut()).unwrap_or_default();
        let message = format!("status {status}: {}", self.quoted(&text));
        let retry = match status {
            429 => Retry::Later(wish),
            500.. if wish.is_some() => Retry::Later(wish),
            500.. => Retry::Transient,
            _ => Retry::Never,
        };
        RequestFailure { message, retry }
    }

    /// The text of a body. Bytes that are not UTF-8 become replacement characters, which no call
    /// has.
    fn text(&self, body: &mut ureq::Body) -> Result<String, RequestFailure> {
        let bytes = body.with_config().limit(BODY).read_to_vec();
        let bytes = bytes.map_err(|error| self.broken(&error, BODY))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a stream of server-sent events until its end, or until `piece` wants no more.
    fn pieces(
        &self,
        body: &mut ureq::Body,
        piece: &mut dyn FnMut(Value) -> bool,
    ) -> Result<(), RequestFailure> {
        let mut reader = BufReader::new(body.with_config().limit(STREAM).reader());
        loop {
            let mut line = Vec::new();
            let read = reader.by_ref().read_until(b'\n', &mut line);
            let read = read.map_err(|error| self.broken(&error.into(), STREAM))?;
            if read == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(&line);
            // Other fields of an event, comments and the empty lines between events say nothing.
            let Some(data) = line.trim().strip_prefix("data:") else {
                continue;
            };
            let data = data.trim();
            if data == "[DONE]" {
                return Ok(());
            }
            let value = serde_json::from_str(data).map_err(|_| {
                RequestFailure::transient(format!("a piece is not JSON: {}", self.quoted(data)))
            })?;
            if !piece(value) {
                return Ok(());
            }
        }
    }
}

/// The certificates of a PEM file.
fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(format!("the certificates cannot be read: {error}")),
        }
    }
    if found.is_empty() {
        return Err(
            "the file of certificates has none: it must be PEM, with lines `-----BEGIN CERTIFICATE-----`"
                .to_owned(),
        );
    }
    Ok(found)
}

fn header(response: &ureq::http::Response<ureq::Body>, name: &str) -> String {
    let value = response.headers().get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}
