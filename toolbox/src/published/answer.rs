//! Reading an answer in free text: a truth value, a number, or names of nodes.

use crate::answer::{AnswerValue, Member};
use kg::Kg;
use kg::term::{Literal, NodeId, Term};

use super::names::{forms, normal};

/// What separates the items of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separators {
    /// `|` and line breaks.
    Bars,
    /// Commas too, except inside a name of the graph or between quotation marks.
    Commas,
}

/// Reads an answer. A name that one of the `known` nodes has means that node, otherwise the best
/// connected node of that name; a name that the graph does not have stays a text.
#[must_use]
pub fn read_answer(
    kg: &dyn Kg,
    text: &str,
    known: &[NodeId],
    separators: Separators,
) -> AnswerValue {
    let mut whole = text.trim();
    if let Some(inside) = whole.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        whole = inside.trim();
    }
    let known: Vec<(Vec<String>, NodeId)> =
        known.iter().map(|&node| (forms(kg, node), node)).collect();
    let node = |name: &str| {
        let wanted = normal(name);
        let mut here = known.iter().filter(|(forms, _)| forms.contains(&wanted));
        here.next().map(|(_, node)| *node).or_else(|| {
            let nodes = kg.by_label(name).into_iter();
            nodes.max_by_key(|&node| (kg.degree(node), std::cmp::Reverse(node)))
        })
    };
    if known
        .iter()
        .all(|(forms, _)| !forms.contains(&normal(whole)))
    {
        match whole.to_lowercase().trim_end_matches('.') {
            "true" | "yes" => return AnswerValue::Truth(true),
            "false" | "no" => return AnswerValue::Truth(false),
            number => {
                if let Ok(number) = number.parse() {
                    return AnswerValue::Number(number);
                }
            }
        }
    }
    let pieces = whole.split(['|', '\n']).map(str::trim);
    let items = pieces.flat_map(|piece| match separators {
        Separators::Commas if node(piece).is_none() => at_commas(piece, &|name| {
            // A name that goes on after a comma.
            node(name).is_some()
        }),
        _ => vec![piece.to_owned()],
    });
    let item = |text: &String| unquoted(text).to_owned();
    let items: Vec<String> = items.map(|text| item(&text)).collect();
    let mut members: Vec<Member> = items
        .iter()
        .filter(|name| !name.is_empty())
        .map(|name| match node(name) {
            Some(node) => Member {
                label: kg.label(node).unwrap_or_else(|| name.clone()),
                name: kg.name(node),
                term: kg.term(node),
            },
            None => Member {
                term: Term::Literal(Literal::plain(name)),
                name: name.clone(),
                label: name.clone(),
            },
        })
        .collect();
    members.sort();
    members.dedup();
    AnswerValue::Set(members)
}

/// A text without the quotation marks around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    inside('"').or_else(|| inside('\'')).unwrap_or(text).trim()
}

/// Splits a text at its commas, except where several pieces together are a name, and between double
/// quotation marks.
fn at_commas(text: &str, is_name: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (mut ends, mut quoted) = (Vec::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => ends.push(at),
            _ => {}
        }
    }
    ends.push(text.len());
    let (mut items, mut start, mut next) = (Vec::new(), 0, 0);
    while next < ends.len() {
        let joined = (next + 1..ends.len())
            .rev()
            .find(|&last| is_name(text[start..ends[last]].trim()));
        let last = joined.unwrap_or(next);
        items.push(text[start..ends[last]].trim().to_owned());
        start = ends[last] + 1;
        next = last + 1;
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(value: &AnswerValue) -> Vec<&str> {
        match value {
            AnswerValue::Set(members) => members.iter().map(|m| m.label.as_str()).collect(),
            other => panic!("{other:?} is no set"),
        }
    }

    fn kg() -> kg::FrozenKg {
        let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
        let label = Term::Iri("http://www.w3.org/2000/01/rdf-schema#label".to_owned());
        let text = |text: &str| Term::Literal(Literal::plain(text));
        kg::FrozenKg::from_triples([
            [iri("Q61"), label.clone(), text("Washington, D.C.")],
            [iri("Q90"), label.clone(), text("Paris")],
            [iri("Q91"), label, text("Paris")],
            [iri("Q91"), iri("p"), iri("Q61")],
        ])
    }

    #[test]
    fn texts_are_read_as_truths_numbers_and_names() {
        let kg = kg::FrozenKg::from_triples(Vec::new());
        let read = |text: &str| read_answer(&kg, text, &[], Separators::Bars);
        assert_eq!(read("Yes."), AnswerValue::Truth(true));
        assert_eq!(read(" 42 "), AnswerValue::Number(42));
        assert_eq!(labels(&read("Paris | | Rome|Paris")), ["Paris", "Rome"]);
        assert_eq!(labels(&read("Paris, Texas")), ["Paris, Texas"]);
        assert_eq!(read(" | "), AnswerValue::Set(Vec::new()));
    }

    #[test]
    fn a_list_in_brackets_keeps_names_with_commas() {
        let kg = kg();
        let read = |text: &str| read_answer(&kg, text, &[], Separators::Commas);
        assert_eq!(labels(&read("[Washington, D.C., Rome]")).len(), 2);
        assert_eq!(labels(&read("Washington, D.C.")), ["Washington, D.C."]);
        assert_eq!(
            labels(&read("\"Rome, Georgia\", Oslo")),
            ["Oslo", "Rome, Georgia"]
        );
        assert_eq!(read("[True]"), AnswerValue::Truth(true));
    }

    /// Of two nodes with one name the known one is meant, otherwise the better connected.
    #[test]
    fn known_nodes_come_first() {
        let kg = kg();
        let node = |name: &str| kg.find(&Term::Iri(format!("http://e/{name}")));
        let term = |known: &[NodeId]| match read_answer(&kg, "paris", known, Separators::Commas) {
            AnswerValue::Set(members) => members[0].term.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(term(&[]), Term::Iri("http://e/Q91".to_owned()));
        let known: Vec<NodeId> = node("Q90").into_iter().collect();
        assert_eq!(term(&known), Term::Iri("http://e/Q90".to_owned()));
    }
}
