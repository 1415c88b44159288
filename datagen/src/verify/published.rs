//! Compares a program's answer with the answers that a data set lists.

use std::collections::BTreeSet;

use kg::{Kg, clean, fold};
use toolbox::exec::Value;

use super::gold::describe;

/// Requires the answer to be the published one by label or name, ignoring case and underscores.
pub(super) fn compare_published(
    kg: &dyn Kg,
    value: &Value,
    published: &[String],
) -> Result<(), String> {
    let wanted: BTreeSet<String> = published.iter().map(|text| fold(&clean(text))).collect();
    let nodes = match value {
        Value::Set(nodes) => nodes,
        Value::Int(_) | Value::Bool(_) | Value::Table(_) => {
            let ours = describe(kg, value);
            return if wanted.len() == 1 && wanted.contains(&ours) {
                Ok(())
            } else {
                Err(format!("{ours} instead of {}", published.join("|")))
            };
        }
    };
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut unpublished = None;
    for &node in nodes.iter() {
        let name = kg.name(node);
        let texts = [
            kg.label(node).map(|label| fold(&label)),
            Some(fold(&clean(&name))),
        ];
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
