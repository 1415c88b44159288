//! What a knowledge-graph agent touches and says, without any model: the graph, the call language and its 13 tools, the executor, the
//! knowledge memory, transcripts, traces, answers and metrics.
//!
//! ```text
//! kg ──▶ exec ──▶ memory ──▶ transcript        term, value: what the graph's nodes are and how they compare
//!         ▲                      ▲             call: the language (grammar table → parser, printer, acceptor, tool list)
//!        call ───────────────────┘             trace, answer, metrics: what comes out
//! ```
//!
//! Invariants: only [`kg`] names oxigraph; nothing here prints, exits, reads the environment or knows a model.
pub mod answer;
pub mod call;
pub mod exec;
pub mod gbnf;
pub mod grammar;
pub mod limits;
pub mod link;
pub mod mention;
pub mod metrics;
pub mod observe;
pub mod oda;
pub mod prompt;
pub mod rank;
pub mod text_values;
pub mod tokens;
pub mod trace;
pub mod triad;
