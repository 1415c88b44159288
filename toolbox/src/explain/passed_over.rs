//! Relations that a question passes over: what is only told about a value, such as its unit.

use kg::term::RelId;
use kg::words;

use crate::exec::Session;
use crate::rank::stem;

/// The companions of values (`populationUnit`) that the question does not ask for; sorted.
pub(super) fn passed_over(session: &Session<'_>) -> Vec<RelId> {
    let companions = &session.kg().schema().companions;
    if companions.is_empty() {
        return Vec::new();
    }
    let said: Vec<String> = words(session.plain_question())
        .iter()
        .map(|word| stem(word))
        .collect();
    let asks = |what: &str| said.iter().any(|word| *word == stem(what));
    let asked = |what: &str| match what {
        "year" | "date" => ["when", "year", "date"].into_iter().any(asks),
        _ => asks(what),
    };
    let passed = companions.iter().filter(|one| !asked(&one.what));
    passed.map(|one| one.relation).collect()
}
