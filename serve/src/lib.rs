//! One process that people, programs and other agents ask: it opens graphs and models once and
//! answers over HTTP.
//!
//! ```text
//! http (axum) ──▶ answering ──▶ pool: plain threads ──▶ infer's agents
//!      │              │
//!      ▼              ▼
//!    view           store, metrics          service: graphs, models
//! ```
//!
//! Invariants: HTTP knows nothing of tensors, and the threads that decode know nothing of HTTP. No
//! answer contains a path of the machine. This crate does not print and does not read the
//! environment. It logs with `tracing`; what it logs has no text of a question.

mod answering;
mod clients;
mod clock;
mod error;
mod explain;
mod fault;
mod feedback;
mod feedback_files;
mod given;
mod http;
mod lookup;
mod markdown;
mod mcp;
mod metrics;
mod pool;
mod queue;
mod schemas;
mod served;
mod service;
mod store;
mod view;

pub use clients::ClientLimits;
pub use error::ServeError;
pub use http::{AccessRules, Server, TlsFiles};
pub use mcp::serve_mcp;
pub use service::{Service, ServiceOptions};
