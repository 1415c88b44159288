//! From gold queries to programs of the extended tools (rules D.3), for queries that the thirteen
//! tools cannot express.
//!
//! ```text
//! algebra ──head──▶ groups, orders, projections ──body──▶ triples, filters, sub-queries
//!                                                  │
//!                        start, extend, where ◀────┘
//! ```
//! The tools on tables correspond to SPARQL's operators on bags of rows, so the algebra is
//! translated operator by operator. A group of triples starts from one constant, class or sub-query
//! and gets a column per variable. With a graph every call is run as soon as it is written. Columns
//! and class tests that change nothing are left out, and a comparison must keep the rows that the
//! query's own test keeps.

mod arithmetic;
mod body;
mod calls;
mod filters;
mod group;
mod head;
mod labels;
mod parts;
mod rewrite;
mod start;
mod truth;

use kg::spargebra::Query;
use kg::spargebra::algebra::GraphPattern;

use super::Context;
use super::names::CallNames;
use super::program::GoldProgram;
use crate::graph::Vocabulary;
use crate::refusal::Refusal;
use calls::CallWriter;

/// Converts a SELECT into a program that makes a table, a set or a number, and an ASK into one that
/// makes a truth value.
///
/// # Errors
/// The reason why the extended tools cannot express the query.
pub(super) fn convert_table(
    query: &Query,
    context: &Context<'_>,
    vocabulary: &Vocabulary,
) -> Result<GoldProgram, Refusal> {
    let names = CallNames {
        kg: context.kg,
        vocabulary,
    };
    let mut writer = TableWriter {
        calls: CallWriter::new(names)?,
        fresh: 0,
    };
    match query {
        Query::Select { pattern, .. } => writer.answer(&rewrite::normal(pattern))?,
        Query::Ask { pattern, .. } => writer.ask(&rewrite::normal(pattern))?,
        _ => return Err(Refusal::NotSelectOrAsk),
    }
    writer.calls.program().within_limit()
}

/// Writes the program of one query.
struct TableWriter<'a> {
    calls: CallWriter<'a>,
    /// Number of variables made for blank steps of paths.
    fresh: usize,
}

/// The names of all variables of a pattern that its group can see.
fn visible(pattern: &GraphPattern) -> Vec<String> {
    let mut names = Vec::new();
    pattern.on_in_scope_variable(|variable| {
        let name = variable.as_str().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    });
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use toolbox::call::{Arg, Tool};
    use toolbox::limits::MAX_STEPS;

    use super::*;

    /// Without a graph no session counts the calls that are undone.
    #[test]
    fn calls_that_are_undone_count() {
        let vocabulary = Vocabulary::new(None);
        let names = CallNames {
            kg: None,
            vocabulary: &vocabulary,
        };
        let mut calls = CallWriter::new(names).unwrap();
        let count = |calls: &mut CallWriter<'_>| calls.emit(Tool::Count, vec![Arg::Var(0)]);
        for _ in 0..8 * MAX_STEPS {
            let here = calls.snapshot();
            assert_eq!(count(&mut calls), Ok(Arg::Var(0)));
            calls.restore(here);
        }
        assert_eq!(count(&mut calls), Err(Refusal::TooLong));
    }
}
