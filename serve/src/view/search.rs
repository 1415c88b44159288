//! Search by label: names that begin with the text, then names that resemble it.

use kg::Kg;
use kg::search::{NodeRole, SearchError};
use serde_json::{Value, json};

/// Entities and classes whose name begins with or resembles `text`, at most `k`.
///
/// # Errors
/// If the label index is damaged.
pub(crate) fn search(kg: &dyn Kg, text: &str, k: usize) -> Result<Value, SearchError> {
    let index = kg.label_index()?;
    let mut found = Vec::new();
    for role in [NodeRole::Entity, NodeRole::Class] {
        let resembling = index.search(text, k, role)?;
        let exact = resembling.iter().filter(|one| one.score >= 0.9).cloned();
        let mut matches: Vec<_> = exact.collect();
        matches.extend(index.completing(text, k, role)?);
        matches.extend(resembling);
        for one in matches {
            if found.len() < k && !found.iter().any(|(node, _)| *node == one.node) {
                found.push((one.node, one));
            }
        }
    }
    let rows = found.into_iter().map(|(node, found)| {
        let classes = kg.types(node).into_iter().take(3);
        let classes: Vec<String> = classes
            .map(|class| kg.label(class).unwrap_or_else(|| kg.name(class)))
            .collect();
        json!({
            "name": kg.name(node), "label": kg.label(node), "matched": found.label,
            "classes": classes, "degree": found.degree,
        })
    });
    Ok(json!({ "results": rows.collect::<Vec<_>>() }))
}
