//! Words for kinds of things: in an ontology they are names, before such a word stands what is of that kind.

use kg::Kg;
use kg::search::{normalise, singular};
use kg::term::NodeId;

/// Whether the word `before` a mention makes it a thing in a question about an ontology, whose things are called by
/// common nouns.
pub(super) fn is_determined(kg: &dyn Kg, before: Option<&str>) -> bool {
    kg.schema().is_ontology && matches!(before, Some("the" | "a" | "an" | "of"))
}

/// Whether a word asks for things of a kind, in a question about an ontology: `which pizzas`, `how many pizzas`.
pub(super) fn is_head_of_kinds(kg: &dyn Kg, word: &str, before: Option<&str>) -> bool {
    let plural = singular(word).is_some();
    kg.schema().is_ontology
        && match before {
            None => plural,
            Some("which" | "what") => true,
            Some("many" | "all" | "list" | "show") => plural,
            Some(_) => false,
        }
}

/// Whether the noun behind a word names a class of a node.
pub(super) fn is_before_kind(kg: &dyn Kg, next: Option<&str>, node: NodeId) -> bool {
    let Some(next) = next else {
        return false;
    };
    let noun = singular(next).unwrap_or_else(|| next.to_owned());
    kg.types(node).into_iter().any(|class| {
        let name = kg.label(class);
        let name = name.or_else(|| kg::readable_name(&kg.iri(class)?));
        name.is_some_and(|name| normalise(&name).rsplit(' ').next() == Some(noun.as_str()))
    })
}

/// Whether a word, in the singular or plural, ends most names of a table: no `library` means one library where they are
/// called `Central Library`, `Elmfield Library` and so on. In an ontology all words are such: no `structure` means a
/// presumptive structure.
pub(super) fn is_row_noun(kg: &dyn Kg, word: &str) -> bool {
    if kg.schema().is_ontology {
        return true;
    }
    let one = singular(word);
    let nouns = &kg.schema().row_nouns;
    (nouns.iter()).any(|(_, noun)| noun == word || one.as_ref() == Some(noun))
}
