//! The answers that a data set lists, against a program's.

use std::collections::BTreeSet;

use kg::{Kg, clean, fold};
use toolbox::exec::Value;

use super::gold::describe;

/// Whether the answer is the published one, by label or name, without regard to case and underscores.
pub(super) fn compare_published(
    kg: &dyn Kg,
    value: &Value,
    published: &[String],
) -> Result<(), String> {
    let wanted: BTreeSet<String> = published.iter().map(|text| fold(&clean(text))).collect();
    let nodes = match value {
        Value::Set(nodes) => nodes,
        Value::Int(_) | Value::Bool(_) => {
            let ours = describe(kg, value);
            return if wanted.len() == 1 && wanted.contains(&ours) {
                Ok(())
            } else {
                Err(format!("{ours} instead of {}", published.join("|")))
            };
        }
    };
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut foreign = None;
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
            foreign = Some(name);
        }
    }
    let missing = wanted.iter().find(|text| !met.contains(*text));
    match (foreign, missing) {
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
