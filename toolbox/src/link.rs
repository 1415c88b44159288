//! Linking a question: where its entities are mentioned, and which numbers, dates and quoted strings it names.

use crate::kg::Kg;
use crate::term::{Literal, NodeId};

/// What a question is about, as the planner sees it: `e0 = <id> [label]`, `x0 = 2011`, `c0 = class`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// Topic entities, in order of mention.
    pub entities: Vec<NodeId>,
    /// Literals named in the question, in order of mention.
    pub values: Vec<Literal>,
}

impl Linked {
    /// Links the given topic entities and whatever literals the question names. Entities come out in order of mention; those that are not
    /// mentioned by label follow in id order.
    #[must_use]
    pub fn new(kg: &dyn Kg, question: &str, entities: &[NodeId]) -> Self {
        let mut places: Vec<(usize, NodeId)> =
            entities.iter().map(|&node| (mention(kg, question, node).map_or(usize::MAX, |span| span.0), node)).collect();
        places.sort_unstable();
        places.dedup_by_key(|place| place.1);
        let entities: Vec<NodeId> = places.into_iter().map(|place| place.1).collect();
        let masked = mask(kg, question, &entities, &mut Vec::new());
        let mut values = literals(&masked);
        for value in crate::text_values::texts_of(kg, &masked) {
            if !values.iter().any(|known| known.lexical == value.lexical) {
                values.push(value);
            }
        }
        Self { entities, values }
    }

    /// Adds a literal that must be nameable, unless an equal one is there.
    pub fn require(&mut self, literal: &Literal) -> usize {
        self.value_index(literal).unwrap_or_else(|| {
            self.values.push(literal.clone());
            self.values.len() - 1
        })
    }

    /// The position of a literal that is written the same way, whatever its datatype.
    #[must_use]
    pub fn value_index(&self, literal: &Literal) -> Option<usize> {
        self.values.iter().position(|value| value.lexical == literal.lexical)
    }
}

/// The byte range at which a question mentions a node by its label, else by its name; case does not matter, the first whole-word match counts.
#[must_use]
pub fn mention(kg: &dyn Kg, question: &str, node: NodeId) -> Option<(usize, usize)> {
    let label = kg.label(node).and_then(|label| find_words(question, &label));
    label.or_else(|| find_words(question, &kg.name(node)))
}

pub(crate) fn find_words(text: &str, needle: &str) -> Option<(usize, usize)> {
    let needle: Vec<char> = needle.trim().chars().flat_map(char::to_lowercase).collect();
    if needle.is_empty() {
        return None;
    }
    let hay: Vec<(usize, char)> = text.char_indices().collect();
    let fold = |c: char| c.to_lowercase().next().unwrap_or(c);
    let word = |i: usize| hay.get(i).is_some_and(|(_, c)| c.is_alphanumeric());
    'places: for start in 0..hay.len() {
        let end = start + needle.len();
        if end > hay.len() {
            break;
        }
        for (offset, &c) in needle.iter().enumerate() {
            if fold(hay[start + offset].1) != c {
                continue 'places;
            }
        }
        let open = start == 0 || !word(start - 1) || !needle[0].is_alphanumeric();
        let close = !word(end) || !needle[needle.len() - 1].is_alphanumeric();
        if open && close {
            return Some((hay[start].0, hay.get(end).map_or(text.len(), |(i, _)| *i)));
        }
    }
    None
}

/// The question with each entity's first mention replaced by its handle (`e0`); brackets around a mention (MetaQA) go with it. `spans`
/// receives the replaced byte ranges of the original text.
#[must_use]
pub fn mask(kg: &dyn Kg, question: &str, entities: &[NodeId], spans: &mut Vec<(usize, usize)>) -> String {
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (index, &node) in entities.iter().enumerate() {
        if let Some((mut start, mut end)) = mention(kg, question, node) {
            if question[..start].ends_with('[') && question[end..].starts_with(']') {
                start -= 1;
                end += 1;
            }
            found.push((start, end, index));
        }
    }
    // The longer of two overlapping mentions wins; ties go to the earlier entity.
    found.sort_by_key(|&(start, end, index)| (std::cmp::Reverse(end - start), index));
    let mut kept: Vec<(usize, usize, usize)> = Vec::new();
    for place in found {
        if kept.iter().all(|other| place.1 <= other.0 || place.0 >= other.1) {
            kept.push(place);
        }
    }
    kept.sort_unstable();
    let mut text = String::with_capacity(question.len());
    let mut at = 0;
    for (start, end, index) in kept {
        text.push_str(&question[at..start]);
        text.push_str(&format!("e{index}"));
        spans.push((start, end));
        at = end;
    }
    text.push_str(&question[at..]);
    text
}

/// The question without its entity mentions, for rankers.
#[must_use]
pub fn without_mentions(kg: &dyn Kg, question: &str, entities: &[NodeId]) -> String {
    let mut spans = Vec::new();
    let _masked = mask(kg, question, entities, &mut spans);
    let mut text = String::with_capacity(question.len());
    let mut at = 0;
    for (start, end) in spans {
        text.push_str(&question[at..start]);
        text.push(' ');
        at = end;
    }
    text.push_str(&question[at..]);
    text
}

/// Numbers, dates and quoted strings of a question, in order, without repeats.
///
/// A year also offers its last day, since "after 1990" compares with the end of that year (rule R10 takes `>` from the start).
#[must_use]
pub fn literals(question: &str) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    let mut add = |literal: Literal| {
        if !found.contains(&literal) {
            found.push(literal);
        }
    };
    let chars: Vec<char> = question.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c == '"' {
            if let Some(length) = chars[i + 1..].iter().position(|&c| c == '"') {
                if length > 0 {
                    add(Literal::plain(chars[i + 1..i + 1 + length].iter().collect::<String>()));
                }
                i += length + 2;
                continue;
            }
        } else if c.is_ascii_digit() && (i == 0 || !chars[i - 1].is_alphanumeric()) {
            let end = number_end(&chars, i);
            let followed = chars.get(end).is_some_and(|c| c.is_alphabetic());
            let text: String = chars[i..end].iter().filter(|&&c| c != ',').collect();
            if !followed {
                let year = text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit()) && matches!(text.as_bytes()[0], b'1' | b'2');
                add(Literal::plain(text.clone()));
                if year {
                    add(Literal::plain(format!("{text}-12-31")));
                }
            }
            i = end;
            continue;
        }
        i += 1;
    }
    found
}

/// One past the last character of the number or date that starts at `start`: digits, then `.` or `-` or a thousands comma if digits follow.
fn number_end(chars: &[char], start: usize) -> usize {
    let digits = |from: usize| chars[from.min(chars.len())..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut end = start + digits(start);
    while let Some(&c) = chars.get(end) {
        let next = digits(end + 1);
        let joins = match c {
            '.' | '-' => next > 0,
            ',' => next == 3,
            _ => false,
        };
        if !joins {
            break;
        }
        end += 1 + next;
    }
    end
}

/// Entities that a surface mention may mean (tool E6): exact label, then the label without case, most connected first.
#[must_use]
pub fn candidates(kg: &dyn Kg, mention: &str) -> Vec<NodeId> {
    let mut nodes = kg.by_label(mention);
    let degree = |node: NodeId| kg.out_relations(node).len() + kg.in_relations(node).len();
    nodes.sort_by_key(|&node| (std::cmp::Reverse(degree(node)), node));
    nodes
}

/// Entities that a question mentions by label, longest mentions first, each word used once: linking without gold entities.
#[must_use]
pub fn entities_of(kg: &dyn Kg, question: &str) -> Vec<NodeId> {
    const LONGEST: usize = 10;
    let spans = word_spans(question);
    let mut used = vec![false; spans.len()];
    let mut found: Vec<(usize, NodeId)> = Vec::new();
    for length in (1..=LONGEST.min(spans.len())).rev() {
        for start in 0..=spans.len() - length {
            if used[start..start + length].iter().any(|&u| u) {
                continue;
            }
            let text = &question[spans[start].0..spans[start + length - 1].1];
            let capital = text.chars().any(|c| c.is_uppercase() || c.is_ascii_digit());
            let bracketed = question[..spans[start].0].ends_with('[');
            if length == 1 && !capital && !bracketed {
                // A lone lower-case word ("river", "drama") is more often a common noun than a name.
                continue;
            }
            if let Some(&node) =
                candidates(kg, text).iter().find(|&&node| kg.term(node).as_literal().is_none() && !kg.classes().contains(&node))
            {
                used[start..start + length].fill(true);
                found.push((start, node));
            }
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, node)| node).collect()
}

/// Byte ranges of the words of a text; punctuation inside a word (`O'Neill`, `U.S.`) stays with it.
pub(crate) fn word_spans(text: &str) -> Vec<(usize, usize)> {
    text.split_whitespace()
        .filter_map(|word| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let trimmed = word.trim_start_matches(|c: char| !c.is_alphanumeric());
            let start = start + word.len() - trimmed.len();
            let trimmed = trimmed.trim_end_matches(|c: char| !c.is_alphanumeric());
            let trimmed = trimmed.strip_suffix("'s").unwrap_or(trimmed);
            if trimmed.is_empty() { None } else { Some((start, start + trimmed.len())) }
        })
        .collect()
}

/// Mentions that `get_candidate_entity` may name: word spans of the question up to six words.
#[must_use]
pub fn mention_texts(question: &str) -> Vec<String> {
    const LONGEST: usize = 6;
    let spans = word_spans(question);
    let mut texts = Vec::new();
    for start in 0..spans.len() {
        for end in start..spans.len().min(start + LONGEST) {
            let text = question[spans[start].0..spans[end].1].to_owned();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(question: &str) -> Vec<String> {
        literals(question).into_iter().map(|literal| literal.lexical).collect()
    }

    #[test]
    fn literals_are_numbers_dates_and_quotes() {
        assert_eq!(texts("teams in 2011 with more than 60,000 seats"), ["2011", "2011-12-31", "60000"]);
        assert_eq!(texts("born on 1985-02-05, rated 7.5."), ["1985-02-05", "7.5"]);
        assert_eq!(texts("who is called \"Young Forrest\""), ["Young Forrest"]);
        assert_eq!(texts("the 20th century of A1"), Vec::<String>::new());
    }

    #[test]
    fn words_match_whole() {
        assert_eq!(find_words("the Rome of Romeo", "Romeo"), Some((12, 17)));
        assert_eq!(find_words("a romeo", "Rome"), None);
        assert_eq!(find_words("ÉCOLE x", "école"), Some((0, 6)));
    }
}
