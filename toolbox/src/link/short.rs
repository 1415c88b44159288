//! Short forms that a graph states as values of things with labels: the abbreviation of an agency, the demonym of a country.

use kg::Kg;
use kg::search::{LabelMatch, MatchKind, NameKind, normalise};
use kg::term::{NodeId, Term};

use super::error::LinkError;
use super::language::is_nearly_ordinary;
use super::names::Asked;
use super::span::{Span, add};
use crate::rank::stem;
use crate::text::find_words;
use crate::text_values::value_of;

/// Names of relations to short forms, in lower case without separators.
const RELATIONS: [&str; 8] = [
    "abbreviation",
    "abbrev",
    "acronym",
    "demonym",
    "initials",
    "shortform",
    "shortname",
    "alsoknownas",
];
/// Stems of words that ask for a short form, or which thing has it.
const ASKED: [&str; 7] = [
    "abbrevi", "abbrev", "acronym", "demonym", "stand", "short", "initial",
];
const QUALITY: f32 = 0.9;

/// Adds the only thing that has a word of the question as its short form.
pub(super) fn add_short(asked: &Asked<'_>, spans: &mut Vec<Span>) -> Result<(), LinkError> {
    let kg = asked.kg;
    let words = 0..asked.words.len();
    let asks = |at: usize| ASKED.contains(&stem(&normalise(asked.text(at, at))).as_str());
    if kg.schema().named_by_iris() || words.clone().any(asks) {
        return Ok(());
    }
    for at in words {
        let (word, text) = (asked.words[at], asked.text(at, at));
        let name = word.capital || !asked.cased && !is_nearly_ordinary(&normalise(text));
        let known = spans.iter().any(|span| span.covers(at));
        if word.stop || word.number || !name || known {
            continue;
        }
        asked.check()?;
        if let Some((node, label)) = only(kg, text) {
            let found = LabelMatch {
                node,
                label,
                score: QUALITY,
                how: MatchKind::Normalised,
                kind: NameKind::Alias,
                degree: kg.degree(node) as u64,
            };
            add(spans, at, at, 2.0 + QUALITY, found);
        }
    }
    Ok(())
}

/// The only thing that has a short form, with its label.
fn only(kg: &dyn Kg, text: &str) -> Option<(NodeId, String)> {
    let form = kg.find(&Term::Literal(value_of(kg, text)?))?;
    let mut found = None;
    for relation in kg.in_relations(form) {
        if !is_short(kg, relation.node()) {
            continue;
        }
        for &head in kg.heads(relation, form).iter() {
            if found.is_some_and(|known| known != head) {
                return None;
            }
            found = Some(head);
        }
    }
    let node = found?;
    Some((node, kg.label(node)?))
}

/// Whether a relation leads to short forms.
fn is_short(kg: &dyn Kg, relation: NodeId) -> bool {
    let name = kg.name(relation).to_lowercase();
    let name = name.trim_end_matches('>');
    let own = name.rsplit(['.', '/', '#', ':']).next().unwrap_or(name);
    let local = own.replace(['_', '-', ' '], "");
    RELATIONS.contains(&local.as_str())
}

/// The byte range at which a question mentions a thing by a short form.
pub(super) fn mention(kg: &dyn Kg, question: &str, node: NodeId) -> Option<(usize, usize)> {
    let relations = kg.out_relations(node).into_iter();
    let mut short = relations.filter(|relation| is_short(kg, relation.node()));
    short.find_map(|relation| {
        let tails = kg.tails(node, relation);
        tails.iter().find_map(|&tail| match kg.term(tail) {
            Term::Literal(form) => find_words(question, &form.lexical),
            Term::Iri(_) | Term::Blank(_) => None,
        })
    })
}
