//! String values of a question: words that the graph contains as attribute values. In graphs made
//! from tables, entities often have such values instead of labels, so finding them replaces entity
//! linking.

use crate::text::{find_words, replace_ranges, word_spans};
use kg::Kg;
use kg::search::singular;
use kg::term::{Literal, Term};

/// Words that never count as a value alone: question words, conjunctions and pronouns.
const PLAIN_WORDS: &[&str] = &[
    "a", "about", "above", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "average", "be", "before", "below", "between", "both", "but", "by", "can", "count", "did",
    "do", "does", "each", "either", "find", "for", "from", "give", "given", "had", "has", "have",
    "he", "her", "him", "his", "how", "if", "in", "into", "is", "it", "its", "least", "less",
    "list", "many", "me", "more", "most", "much", "my", "name", "names", "no", "not", "number",
    "of", "on", "one", "or", "other", "our", "out", "over", "per", "please", "return", "she",
    "show", "so", "tell", "than", "that", "the", "their", "there", "they", "this", "to", "total",
    "under", "up", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose",
    "with", "you", "your",
];

/// The string literals of the graph that occur in a text, in order of occurrence. Longer matches
/// win, and each word is used once. Common variations of case match; the result has the graph's
/// spelling.
#[must_use]
pub fn texts_of(kg: &dyn Kg, text: &str) -> Vec<Literal> {
    const LONGEST: usize = 8;
    let spans = word_spans(text);
    let prefixes_of: Vec<Vec<Alive>> = (0..spans.len())
        .map(|start| prefixes(kg, text, &spans[start..spans.len().min(start + LONGEST)]))
        .collect();
    let mut used = vec![false; spans.len()];
    let mut found: Vec<(usize, Literal)> = Vec::new();
    for length in (1..=LONGEST.min(spans.len())).rev() {
        for start in 0..=spans.len() - length {
            if used[start..start + length].contains(&true) {
                continue;
            }
            let alive = prefixes_of[start].get(length - 1);
            let begun = length == 1 || prefixes_of[start].len() + 1 == length;
            if alive.is_none() && begun {
                let words = &text[spans[start].0..spans[start + length - 1].1];
                let one = one_of(kg, words);
                if let Some(literal) = one {
                    used[start..start + length].fill(true);
                    found.push((start, literal));
                }
            }
            let Some(alive) = alive else {
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

/// The value that a text in `s` has in the singular: `the apprentices` are those with the value
/// `Apprentice`.
fn one_of(kg: &dyn Kg, words: &str) -> Option<Literal> {
    const SHORTEST: usize = 3;
    let plain = words.strip_suffix('s').filter(|one| !one.ends_with('s'));
    let other = singular(words).filter(|one| Some(one.as_str()) != plain);
    let forms = plain.map(str::to_owned).into_iter().chain(other);
    let mut long = forms.filter(|one| one.chars().count() >= SHORTEST);
    long.find_map(|one| value_of(kg, &one))
}

/// For each spelling in [`spellings`], whether some literal of the graph begins with it.
type Alive = [bool; SPELLINGS];

/// The string literal that equals `words` in one of the case variations and is the value of an
/// attribute.
pub(crate) fn value_of(kg: &dyn Kg, words: &str) -> Option<Literal> {
    // Most words begin no literal, which is cheaper to see than that none equals them.
    let alive = prefixes(kg, words, &[(0, words.len())]);
    text_value(kg, words, alive.first()?)
}

/// [`value_of`] with the case variations of `alive`.
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
            // A literal that is only a label is not a value.
            if node.is_some_and(|node| !kg.in_relations(node).is_empty()) {
                return Some(literal);
            }
        }
    }
    None
}

/// Number of case variations.
const SPELLINGS: usize = 5;

/// The wanted case variations: unchanged, lower case, first word or every word capitalised, upper
/// case.
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

/// For the first one, two, three words and so on: the spellings with which literals of the graph
/// begin. Stops at the first length without any, because a spelling that begins no literal cannot
/// begin one when it is extended.
fn prefixes(kg: &dyn Kg, text: &str, spans: &[(usize, usize)]) -> Vec<Alive> {
    let mut alive = [true; SPELLINGS];
    let mut all = Vec::new();
    for span in spans {
        let forms = spellings(&text[spans[0].0..span.1], &alive);
        for i in 0..SPELLINGS {
            if let Some(form) = &forms[i] {
                // Equal spellings have the same result.
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

/// The span, extended by a closing bracket if the span contains an open one, as in `(sw)`.
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
    let Some(first) = chars.next() else {
        return String::new();
    };
    let mut capital = String::with_capacity(text.len());
    capital.extend(first.to_uppercase());
    capital.push_str(chars.as_str());
    capital
}

/// The text with the first mention of each value replaced by its handle (`x0`): the spelling of a
/// value does not help to choose relations.
#[must_use]
pub fn mask_values(text: &str, values: &[Literal]) -> String {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let spellings = [Some(value.lexical.clone()), thousands(&value.lexical)];
        let span = spellings
            .iter()
            .flatten()
            .find_map(|spelling| find_words(text, spelling));
        if let Some((start, end)) = span
            && found
                .iter()
                .all(|(from, to, _)| end <= *from || start >= *to)
        {
            found.push((start, end, format!("x{index}")));
        }
    }
    found.sort_unstable();
    replace_ranges(text, &found)
}

/// An integer with thousands separators.
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

/// Maximum number of attributes shown for a value.
const SHOWN_ATTRIBUTES: usize = 3;

/// The names of the relations that have a string as value. Numbers have too many relations to be
/// useful.
#[must_use]
pub fn attributes_of(kg: &dyn Kg, value: &Literal) -> Vec<String> {
    if value.datatype.is_some() || !value.lexical.chars().any(char::is_alphabetic) {
        return Vec::new();
    }
    let relations = kg
        .find(&Term::Literal(value.clone()))
        .map(|node| kg.in_relations(node))
        .unwrap_or_default();
    relations
        .iter()
        .take(SHOWN_ATTRIBUTES)
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
        assert_eq!(attributes_of(&graph(), &Literal::plain("france")), ["name"]);
        assert_eq!(
            attributes_of(&graph(), &Literal::plain("spain")),
            Vec::<String>::new()
        );
    }
}
