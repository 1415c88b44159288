//! Fingerprints of programs, so that a test notices every change of a conversion, and not only those that change an
//! answer.

use std::fmt::Write as _;

use datagen::convert::{Context, convert};
use kg::spargebra::Query;

/// The program of a query in each of these contexts, or why there is none, one line a context.
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

/// Eight hexadecimal digits of a text (FNV-1a).
pub(crate) fn of(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:08x}")
}
