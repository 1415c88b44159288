//! Values that a question spells out: strings that the graph holds as values of attributes. In graphs made from tables most things go by
//! such a value and not by a label, so linking them is what entity linking is elsewhere.

use crate::text::{find_words, word_spans};
use kg::Kg;
use kg::term::{Literal, Term};

/// Words that are values of no attribute when they stand alone: asking, joining and pointing words.
const PLAIN_WORDS: &[&str] = &[
    "a", "about", "above", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "before", "below", "between", "both", "but", "by", "can", "count", "did", "do", "does", "each",
    "either", "find", "for", "from", "give", "given", "had", "has", "have", "how", "in", "into",
    "is", "it", "its", "least", "less", "list", "many", "me", "more", "most", "much", "name",
    "names", "no", "not", "number", "of", "on", "one", "or", "other", "out", "over", "please",
    "return", "show", "tell", "than", "that", "the", "their", "there", "they", "this", "to",
    "under", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "with",
    "you",
];

/// String literals of the graph that a text spells out, in order of mention, longest mentions first, each word used once. Case may differ in
/// the usual ways; the graph's own spelling is given.
#[must_use]
pub fn texts_of(kg: &dyn Kg, text: &str) -> Vec<Literal> {
    const LONGEST: usize = 8;
    let spans = word_spans(text);
    let begun: Vec<Vec<Alive>> = (0..spans.len())
        .map(|start| begun(kg, text, &spans[start..spans.len().min(start + LONGEST)]))
        .collect();
    let mut used = vec![false; spans.len()];
    let mut found: Vec<(usize, Literal)> = Vec::new();
    for length in (1..=LONGEST.min(spans.len())).rev() {
        for start in 0..=spans.len() - length {
            let Some(alive) = begun[start]
                .get(length - 1)
                .filter(|_| !used[start..start + length].contains(&true))
            else {
                continue;
            };
            let words = with_bracket(text, spans[start].0, spans[start + length - 1].1);
            let plain = length == 1 && PLAIN_WORDS.contains(&words.to_lowercase().as_str());
            if plain || !words.chars().any(char::is_alphabetic) {
                continue;
            }
            if let Some(literal) = text_value(kg, words, alive) {
                used[start..start + length].fill(true);
                found.push((start, literal));
            }
        }
    }
    found.sort_by_key(|(start, _)| *start);
    found.into_iter().map(|(_, literal)| literal).collect()
}

/// Which spellings of a text some literal of the graph begins with, by their places in [`spellings`].
type Alive = [bool; SPELLINGS];

/// The string literal that is spelt like `words`, in their case or one that people change to, and that an attribute has.
fn text_value(kg: &dyn Kg, words: &str, alive: &Alive) -> Option<Literal> {
    let forms = spellings(words, alive);
    for (i, form) in forms.iter().enumerate() {
        let Some(form) = form.as_ref().filter(|_| !forms[..i].contains(form)) else {
            continue;
        };
        for lang in [None, Some("en".to_owned())] {
            let literal = Literal {
                lexical: form.clone(),
                datatype: None,
                lang,
            };
            let node = kg.find(&Term::Literal(literal.clone()));
            // What names a node only (its label) is no value.
            if node.is_some_and(|node| !kg.in_relations(node).is_empty()) {
                return Some(literal);
            }
        }
    }
    None
}

/// Ways in which people spell the same words.
const SPELLINGS: usize = 5;

/// The text as it stands, in small letters, with one or all of its words capital, and in capitals; only those wanted.
fn spellings(words: &str, wanted: &Alive) -> [Option<String>; SPELLINGS] {
    let lower = if wanted[1] || wanted[2] || wanted[3] {
        words.to_lowercase()
    } else {
        String::new()
    };
    let title = || lower.split_inclusive([' ', '-']).map(capital).collect();
    let (first, title) = (wanted[2].then(|| capital(&lower)), wanted[3].then(title));
    [
        wanted[0].then(|| words.to_owned()),
        wanted[1].then_some(lower),
        first,
        title,
        wanted[4].then(|| words.to_uppercase()),
    ]
}

/// For one, two, three of these words and so on: the spellings that literals of the graph begin with, as long as there are any. Longer texts
/// need not be looked up; and a spelling that nothing begins with, nothing begins with when it goes on.
fn begun(kg: &dyn Kg, text: &str, spans: &[(usize, usize)]) -> Vec<Alive> {
    let mut alive = [true; SPELLINGS];
    let mut all = Vec::new();
    for span in spans {
        let forms = spellings(&text[spans[0].0..span.1], &alive);
        for i in 0..SPELLINGS {
            if let Some(form) = &forms[i] {
                // What is spelt the same began the same.
                let same = forms[..i]
                    .iter()
                    .position(|known| known.as_ref() == Some(form));
                alive[i] = same.map_or_else(|| kg.begins_literal(form), |same| alive[same]);
            }
        }
        if alive == [false; SPELLINGS] {
            break;
        }
        all.push(alive);
    }
    all
}

/// The span, with the bracket behind it if it closes one inside: `(sw)` ends in its bracket.
fn with_bracket(text: &str, start: usize, end: usize) -> &str {
    let inside = &text[start..end];
    let open = inside.matches('(').count() > inside.matches(')').count();
    if open && text[end..].starts_with(')') {
        &text[start..=end]
    } else {
        inside
    }
}

/// The text with its first letter in upper case.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// A text in which the first mention of each value is its handle (`x0`): what a value is called says nothing about what is asked of it.
#[must_use]
pub fn mask_values(text: &str, values: &[Literal]) -> String {
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let spans = [Some(value.lexical.clone()), thousands(&value.lexical)];
        let span = spans
            .into_iter()
            .flatten()
            .find_map(|text_of_value| find_words(text, &text_of_value));
        if let Some((start, end)) = span
            && found
                .iter()
                .all(|&(from, to, _)| end <= from || start >= to)
        {
            found.push((start, end, index));
        }
    }
    found.sort_unstable();
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, index) in found {
        masked.push_str(&text[at..start]);
        masked.push_str(&format!("x{index}"));
        at = end;
    }
    masked.push_str(&text[at..]);
    masked
}

/// A whole number with commas between its thousands.
fn thousands(lexical: &str) -> Option<String> {
    if lexical.len() < 4 || !lexical.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut text = String::new();
    for (i, c) in lexical.chars().enumerate() {
        if i > 0 && (lexical.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    Some(text)
}

/// Attributes named behind a value.
const BEARERS: usize = 3;

/// Relations that have a string as a value, as names: what a value may be the value of. Numbers have too many to say anything.
#[must_use]
pub fn bearers(kg: &dyn Kg, value: &Literal) -> Vec<String> {
    if value.datatype.is_some() || !value.lexical.chars().any(char::is_alphabetic) {
        return Vec::new();
    }
    let relations = kg
        .find(&Term::Literal(value.clone()))
        .map(|node| kg.in_relations(node))
        .unwrap_or_default();
    relations
        .iter()
        .take(BEARERS)
        .map(|relation| kg.name(relation.node()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kg::FrozenKg;

    fn graph() -> FrozenKg {
        let iri = |name: &str| Term::Iri(format!("http://a.example/{name}"));
        let text = |text: &str| Term::Literal(Literal::plain(text));
        FrozenKg::from_triples([
            [iri("c1"), iri("name"), text("france")],
            [iri("c2"), iri("name"), text("New Caledonia")],
            [iri("m1"), iri("make"), text("hornet sportabout (sw)")],
        ])
    }

    #[test]
    fn values_are_found_in_other_cases_and_with_brackets() {
        let kg = graph();
        let found = |question: &str| {
            texts_of(&kg, question)
                .into_iter()
                .map(|value| value.lexical)
                .collect::<Vec<_>>()
        };
        assert_eq!(found("How many makers are there in France?"), ["france"]);
        assert_eq!(
            found("is 'new caledonia' in france"),
            ["New Caledonia", "france"]
        );
        assert_eq!(
            found("how fast is the hornet sportabout (sw)?"),
            ["hornet sportabout (sw)"]
        );
        assert_eq!(found("what is the name"), Vec::<String>::new());
    }

    #[test]
    fn values_are_masked_once_and_with_their_commas() {
        let values = [
            Literal::plain("france"),
            Literal::plain("60000"),
            Literal::plain("2011"),
            Literal::plain("2011-12-31"),
        ];
        assert_eq!(
            mask_values("seats over 60,000 in France since 2011", &values),
            "seats over x1 in x0 since x2"
        );
    }

    #[test]
    fn a_value_knows_its_attributes() {
        assert_eq!(bearers(&graph(), &Literal::plain("france")), ["name"]);
        assert_eq!(
            bearers(&graph(), &Literal::plain("spain")),
            Vec::<String>::new()
        );
    }
}
