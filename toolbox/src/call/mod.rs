//! The call language: what a planner writes and the executor runs (rules A.1, KG-Agent Table 8 and
//! Appendix B).
//!
//! Two tables, [`SIGNATURES`] and its extension [`EXTENDED`], drive the parser, the printer, the
//! acceptor and the tool list.
//! Printed calls parse back:
//!
//! ```
//! use toolbox::call::{parse_call, parse_program};
//!
//! let call = parse_call("v1 = get_entity_by_constraint(v0, sports.stint.from_to, =, 2011)")?;
//! assert_eq!(parse_call(&call.to_string())?, call);
//!
//! let program = parse_program("get_relation(<Lisbon, (old town)>);\nans = end([])")?;
//! assert_eq!(program.len(), 2);
//! # Ok::<(), toolbox::call::ParseError>(())
//! ```

pub mod accept;
mod ast;
mod except;
mod grammar;
mod parse;
mod print;
mod schema;
mod words;

pub use accept::{CallAcceptor, CallState, Live, LiveColumn, LiveSet, LiveTable};
pub use ast::{Aggregate, Arg, Call, Field, Handle, HandleKind, Repeat, Target, TextTest, Tool};
pub use except::{Except, ExceptState};
pub use grammar::{EXTENDED, Param, Returns, SIGNATURES, Signature, ToolTable, tool_list};
pub use parse::{ParseError, Span, parse_call, parse_program};
pub use print::{print_name, print_program};
pub use schema::{argument_names, arguments_of, call_of, live_schema, tool_definitions};
