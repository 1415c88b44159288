//! Compares a program's answer with the answers that a data set lists.

use std::collections::BTreeSet;

use kg::{Kg, clean, fold};
use toolbox::exec::Value;
use toolbox::metrics::Reading;

use super::gold::describe;

/// Requires the answer to be the published one by label or name, ignoring case and underscores, or by
/// value (docs/metrics.md, *Equal answers*).
pub(super) fn compare_published(
    kg: &dyn Kg,
    value: &Value,
    published: &[String],
) -> Result<(), String> {
    let wanted: BTreeSet<String> = published.iter().map(|text| fold(&clean(text))).collect();
    let one = |ours: &Reading| match wanted.first().filter(|_| wanted.len() == 1) {
        Some(text) if Reading::of_text(text).same(ours) => Ok(()),
        _ => Err(format!(
            "{} instead of {}",
            describe(kg, value),
            published.join("|")
        )),
    };
    let nodes = match value {
        Value::Set(nodes) => nodes,
        Value::Int(number) => return one(&Reading::of_number(*number)),
        Value::Bool(truth) => return one(&Reading::of_truth(*truth)),
        Value::Table(_) => return one(&Reading::of_text(&describe(kg, value))),
    };
    let mut met: BTreeSet<String> = BTreeSet::new();
    let readings: Vec<(&String, Reading)> = (wanted.iter())
        .map(|text| (text, Reading::of_text(text)))
        .collect();
    let mut unpublished = None;
    for &node in nodes.iter() {
        let name = kg.name(node);
        let texts = [
            kg.label(node).map(|label| fold(&label)),
            Some(fold(&clean(&name))),
        ];
        let term = kg.term(node);
        let literal = term.as_literal();
        let read = literal.map(|literal| Reading::named(&term, &literal.lexical));
        let same = |read: &Reading| readings.iter().find(|(_, text)| text.same(read));
        let before = met.len();
        let mut known = false;
        for text in texts
            .into_iter()
            .flatten()
            .filter(|text| wanted.contains(text))
        {
            known = true;
            met.insert(text);
        }
        if !known && let Some((text, _)) = read.as_ref().and_then(same) {
            known = true;
            met.insert((*text).clone());
        }
        if !known && met.len() == before {
            unpublished = Some(name);
        }
    }
    let missing = wanted.iter().find(|text| !met.contains(*text));
    match (unpublished, missing) {
        (None, None) => Ok(()),
        (Some(name), _) => Err(format!(
            "{} answers, {} published; `{name}` is not among them",
            nodes.len(),
            published.len()
        )),
        (None, Some(text)) => Err(format!(
            "{} answers, {} published; `{text}` is missing",
            nodes.len(),
            published.len()
        )),
    }
}
