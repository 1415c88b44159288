//! Fingerprints of programs, so that a test notices every change of a conversion, and not only those that change an
//! answer.

use std::fmt::Write as _;

use datagen::convert::{Context, convert};
use kg::spargebra::Query;

/// Converts a query in each context. Each line has the program, or the reason for the refusal.
pub(crate) fn programs(query: &Query, contexts: &[Context<'_>]) -> String {
    let mut text = String::new();
    for context in contexts {
        match convert(query, context) {
            Ok(program) => {
                let calls = toolbox::call::print_program(&program.calls).replace('\n', "; ");
                writeln!(text, "{calls} {:?}", program.exclude).unwrap();
            }
            Err(reason) => writeln!(text, "{reason:?}").unwrap(),
        }
    }
    text
}

/// A hash of a text as hexadecimal digits.
pub(crate) fn of(text: &str) -> String {
    format!("{:016x}", common::hash::quick(text.bytes()))
}
