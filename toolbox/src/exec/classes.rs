//! The classes offered with a question.

use super::types::ExecOptions;
use crate::limits;
use crate::rank::{RankError, best_first};
use kg::Kg;
use kg::term::NodeId;

/// The classes offered with a question, best first, including those in `must_offer`.
pub(super) fn offered_classes(
    kg: &dyn Kg,
    question: &str,
    must_offer: &[NodeId],
    options: &ExecOptions,
) -> Result<Vec<NodeId>, RankError> {
    let (classes, names): (Vec<NodeId>, Vec<String>) = kg
        .classes()
        .iter()
        .map(|&class| (class, kg.name(class)))
        .filter(|(_, name)| limits::fits_prompt(name))
        .unzip();
    let texts: Vec<String> = classes
        .iter()
        .zip(&names)
        .map(|(&class, name)| {
            kg.label(class)
                .map_or_else(|| name.clone(), |label| format!("{name} {label}"))
        })
        .collect();
    let order = best_first(
        &options.ranker.score(question, &texts, &options.cancel)?,
        &names,
    );
    let mut offered: Vec<NodeId> = order
        .into_iter()
        .take(limits::SHOWN_CLASSES)
        .map(|i| classes[i])
        .collect();
    for &class in must_offer {
        if !offered.contains(&class) && classes.binary_search(&class).is_ok() {
            if offered.len() >= limits::SHOWN_CLASSES
                && let Some(place) = offered.iter().rposition(|kept| !must_offer.contains(kept))
            {
                offered.remove(place);
            }
            offered.push(class);
        }
    }
    Ok(offered)
}
