//! Agents over a knowledge graph without a model: the call language and its 13 tools, the executor,
//! prompts, traces, answers and metrics. The graph itself is the crate `kg`; transcripts are in
//! `common`.
//!
//! ```text
//! text, tokens, limits, agent    shared basics
//! call, grammar ─▶ gbnf          the call language; grammars for short model outputs; GBNF export
//! rank ─▶ mention, link          ranking by relevance; linking of relations, entities and values
//! exec                           sessions: the tools, relation lists, evidence
//! explain                        candidate programs and the reasons for and against them
//! observe ─▶ prompt              observation of the surroundings; prompt templates, conversations
//! wording                        how a question is worded without its names
//! usage, answer ─▶ trace, metrics   results; tokens of a served model
//! oda, triad                     the turns of the two other agents
//! prompts ─▶ published           prompts as text files; ODA and Triad as published, for large models
//! ```
//!
//! Modules depend only on modules above them. Nothing here prints, exits, reads the environment or
//! runs a model.

pub mod agent;
pub mod answer;
pub mod call;
pub mod carrier;
mod era;
pub mod exec;
pub mod explain;
pub mod gbnf;
pub mod grammar;
pub mod limits;
pub mod link;
pub mod mention;
pub mod metrics;
pub mod observe;
pub mod oda;
pub mod prompt;
pub mod prompts;
pub mod published;
pub mod rank;
pub(crate) mod text;
pub mod text_values;
pub mod tokens;
pub mod trace;
pub mod triad;
pub mod usage;
pub mod wording;
