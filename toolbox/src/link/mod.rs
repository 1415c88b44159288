//! Linking a question: the entities that it mentions and the numbers, dates and strings that it
//! contains.

mod alike;
mod choose;
mod codes;
mod context;
mod dates;
mod detect;
mod error;
mod language;
mod literals;
mod loose;
mod names;
mod pieces;
mod short;
mod span;
mod spelling;
mod turned;
mod units;
mod words;
mod years;

pub(crate) use alike::named_alike;
pub use choose::choose;
pub(crate) use codes::{is_code_of, is_relation_name, is_short_code, is_vocabulary};
pub(crate) use context::is_connected;
pub(crate) use dates::{is_date, is_month};
pub use detect::{Mention, detect};
pub use error::{LinkError, QuestionTooLong, check_question};
pub(crate) use language::{
    is_adjective as is_nationality, kind_of_place, words_of_nation, words_of_sex,
};
pub use literals::literals;
pub(crate) use literals::{is_size, number_of_word, unit_of, year_of};
pub(crate) use units::unit_named;
pub(crate) use years::{LAST_DAY, decade_in_digits, decade_of_word};

use common::cancel::Cancel;
use rustc_hash::FxHashSet;

use self::spelling::spelled;
use self::words::is_stop;
use crate::carrier::plainly;
use crate::limits::QUESTION_VALUES;
use crate::rank::{Ranker, words};
use crate::text::{find_words, replace_ranges, word_spans};
use kg::Kg;
use kg::search::{LabelMatch, SearchError, edits_of, letters, nearly, normal_letters, normalise};
use kg::term::{Literal, NodeId, Term};

/// The linked items of a question. The planner sees them as `e0 = <id> [label]` and `x0 = 2011`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// Topic entities, in order of mention.
    pub entities: Vec<NodeId>,
    /// Literals of the question: numbers and dates, then texts, each in order of mention; then adjectives
    /// and codes of countries.
    pub values: Vec<Literal>,
    /// The byte range at which the question mentions each entity, stored because searching again
    /// for every derived text is slow.
    spans: Vec<Option<(usize, usize)>>,
    /// The plain question to which the byte ranges belong; `None` if nothing was linked.
    plain: Option<String>,
}

impl Linked {
    /// Links the given topic entities and the literals of the question. Entities are sorted by
    /// their mention; those without a mention by label follow in id order. Of more than
    /// [`QUESTION_VALUES`] literals, the first are kept.
    #[must_use]
    pub fn new(kg: &dyn Kg, question: &str, entities: &[NodeId]) -> Self {
        Self::of(kg, plainly(question), entities)
    }

    /// [`Linked::new`] of a question that people ask, in which swapped letters are put right.
    #[must_use]
    pub fn asked(kg: &dyn Kg, question: &str, entities: &[NodeId]) -> Self {
        Self::of(kg, spelled(kg, question), entities)
    }

    fn of(kg: &dyn Kg, plain: String, entities: &[NodeId]) -> Self {
        let question = &plain;
        let mut places: Vec<_> = entities
            .iter()
            .map(|&node| {
                let span = mention(kg, question, node);
                (span.map_or(usize::MAX, |span| span.0), node, span)
            })
            .collect();
        places.sort_unstable();
        places.dedup_by_key(|place| place.1);
        let (entities, spans): (Vec<_>, Vec<_>) = places
            .into_iter()
            .map(|(_, node, span)| (node, span))
            .unzip();
        // Handles would be words that the graph may have as values: `E1`.
        let masked = substituted(question, &replaced(question, &spans), |_| "|".to_owned());
        let mut values = literals(&masked);
        // `Peruvian` mentions Peru, and may be a cuisine too.
        let adjectives = spans.iter().flatten().filter_map(|&(start, end)| {
            let text = &question[start..end];
            language::is_adjective(&text.to_lowercase())
                .then(|| crate::text_values::value_of(kg, text))
                .flatten()
        });
        let texts = crate::text_values::texts_of(kg, &masked);
        let nations = other_values(kg, &masked);
        // The month of a date is no text.
        let dated = has_date(&values);
        let texts = texts
            .into_iter()
            .filter(|text| !dated || !is_month(&text.lexical));
        for value in texts.chain(adjectives).chain(nations) {
            if !values.iter().any(|known| known.lexical == value.lexical) {
                values.push(value);
            }
        }
        values.truncate(QUESTION_VALUES);
        Self {
            entities,
            values,
            spans,
            plain: Some(plain),
        }
    }

    /// The plain question that was linked.
    pub(crate) fn plain(&self) -> Option<&str> {
        self.plain.as_deref()
    }

    /// The linked question with the first mention of each entity replaced by its handle (see
    /// [`mask`]). `question` counts only where nothing was linked, here and below.
    #[must_use]
    pub fn mask(&self, question: &str) -> String {
        let question = self.plain().unwrap_or(question);
        masked(question, &replaced(question, &self.spans))
    }

    /// The linked question without its entity mentions, for rankers.
    #[must_use]
    pub fn bare(&self, question: &str) -> String {
        let question = self.plain().unwrap_or(question);
        substituted(question, &replaced(question, &self.spans), |_| {
            " ".to_owned()
        })
    }

    /// The linked question with spaces for its entity mentions, so that byte offsets stay.
    pub(crate) fn blanked(&self, question: &str) -> String {
        let question = self.plain().unwrap_or(question);
        let spaces = replaced(question, &self.spans)
            .into_iter()
            .map(|(start, end, _)| (start, end, " ".repeat(end - start)))
            .collect::<Vec<_>>();
        replace_ranges(question, &spaces)
    }

    /// The byte range at which the question mentions an entity, by the index of the entity.
    pub(crate) fn span(&self, entity: usize) -> Option<(usize, usize)> {
        self.spans.get(entity).copied().flatten()
    }

    /// Adds a literal unless an equal one is present; returns its index.
    pub fn require(&mut self, literal: &Literal) -> usize {
        self.value_index(literal).unwrap_or_else(|| {
            self.values.push(literal.clone());
            self.values.len() - 1
        })
    }

    /// The index of a literal with the same lexical form, regardless of datatype.
    #[must_use]
    pub fn value_index(&self, literal: &Literal) -> Option<usize> {
        self.values
            .iter()
            .position(|value| value.lexical == literal.lexical)
    }
}

/// Whether one of these values is a date or a month.
pub(crate) fn has_date(values: &[Literal]) -> bool {
    values.iter().any(|value| is_date(&value.lexical))
}

/// The values that a text names by other words: countries and continents by codes, as far as the graph has them as
/// countries (`NO` for `Norwegian passengers`), and by names (`Asia` for `Asian countries`); the sexes by codes (`F` for
/// `women`); subjects by the people who practise them (`cardiology` for `cardiologists`); short codes (`RT` for `retired`).
fn other_values(kg: &dyn Kg, text: &str) -> Vec<Literal> {
    const LONGEST: usize = 3;
    const COUNTRY: &str = "country countries nation nationality citizenship";
    const SEX: &str = "sex gender";
    let is_of = |value: &Literal, columns: &str| {
        let node = kg.find(&Term::Literal(value.clone()));
        let relations = node.map(|node| kg.in_relations(node)).unwrap_or_default();
        let of = |name: &String| columns.split(' ').any(|word| word == name);
        (relations.into_iter()).any(|relation| words(&kg.name(relation.node())).iter().any(of))
    };
    let spans = word_spans(text);
    let mut found: Vec<Literal> = Vec::new();
    for first in 0..spans.len() {
        // No nation begins with `of`, but `US` is one.
        let word = &text[spans[first].0..spans[first].1];
        if is_stop(word) && word != "US" {
            continue;
        }
        for last in first..spans.len().min(first + LONGEST) {
            let name = normalise(&text[spans[first].0..spans[last].1]);
            let coded = language::codes(&name).map(Literal::plain);
            found.extend(coded.filter(|code| is_of(code, COUNTRY)));
            // `Asian countries` have the continent `Asia`, unless the graph has `Asian` as a value.
            if language::is_adjective(&name) && crate::text_values::value_of(kg, &name).is_none() {
                let names = language::nations(&name).into_iter();
                found.extend(names.filter_map(|name| crate::text_values::value_of(kg, name)));
            }
            // `From France` means the value `French` if the graph has no value `France`.
            let forms = language::forms(&name);
            if !forms.is_empty() && crate::text_values::value_of(kg, &name).is_none() {
                let values = forms
                    .iter()
                    .filter_map(|form| crate::text_values::value_of(kg, form));
                found.extend(values.filter(|value| is_of(value, COUNTRY)));
            }
            if first == last {
                let sexes = language::sexes(&name).iter();
                let sexes = sexes.filter_map(|code| crate::text_values::value_of(kg, code));
                found.extend(sexes.filter(|value| is_of(value, SEX)));
                let subjects = language::subjects_of(&name).into_iter();
                found.extend(subjects.filter_map(|name| crate::text_values::value_of(kg, &name)));
                found.extend(codes::coded(kg, &name));
            }
        }
    }
    found
}

/// The byte range at which a question mentions a node: by its label, else by its name (both
/// ignoring case), else by any of its names in normal form, else by its label with a few typing
/// errors, else by a nation's adjective, a part of a name or initials. The first match of whole words counts.
#[must_use]
pub fn mention(kg: &dyn Kg, question: &str, node: NodeId) -> Option<(usize, usize)> {
    let label = kg.label(node);
    let written = label
        .as_deref()
        .and_then(|label| find_words(question, label))
        .or_else(|| find_words(question, &kg.name(node)));
    written
        .or_else(|| spoken(kg, question, node, &label?))
        .or_else(|| loose::mention(kg, question, node))
        .or_else(|| short::mention(kg, question, node))
}

/// The mention of a node by another of its names, or by its label with a few typing errors.
fn spoken(kg: &dyn Kg, question: &str, node: NodeId, label: &str) -> Option<(usize, usize)> {
    let spans = word_spans(question);
    let names = kg::normal_names(kg, node);
    let longest = names
        .iter()
        .map(|name| name.split(' ').count())
        .max()
        .unwrap_or(0)
        + 1;
    // Longest first, then in order of position.
    let windows = (1..=longest.min(spans.len()))
        .rev()
        .flat_map(|length| spans.windows(length));
    let label = normalise(label);
    // Most windows have too few or too many letters for any name, which is cheap to check.
    let lengths: FxHashSet<usize> = names.iter().map(|name| letters(name)).collect();
    let (length, edits) = (letters(&label), edits_of(&label));
    let may_fit = |text: &str| {
        normal_letters(text)
            .is_none_or(|own| lengths.contains(&own) || edits > 0 && own.abs_diff(length) <= edits)
    };
    let texts: Vec<((usize, usize), String)> = windows
        .map(|window| (window[0].0, window[window.len() - 1].1))
        .filter(|span| may_fit(&question[span.0..span.1]))
        .map(|span| (span, normalise(&question[span.0..span.1])))
        .collect();
    let found = |fits: &dyn Fn(&str) -> bool| {
        texts
            .iter()
            .find(|(_, text)| fits(text))
            .map(|(span, _)| *span)
    };
    // `or Barcelona` is no misspelt `FC Barcelona`.
    let has = |word: &str| !is_stop(word) || label.split(' ').any(|other| other == word);
    let misspelt = |text: &str| {
        let ends = [text.split(' ').next(), text.rsplit(' ').next()];
        nearly(text, &label) && ends.into_iter().flatten().all(has)
    };
    found(&|text| names.contains(text)).or_else(|| found(&misspelt))
}

/// The question with the first mention of each entity replaced by its handle (`e0`), including
/// brackets around it (MetaQA). Appends the replaced byte ranges to `spans`.
#[must_use]
pub fn mask(
    kg: &dyn Kg,
    question: &str,
    entities: &[NodeId],
    spans: &mut Vec<(usize, usize)>,
) -> String {
    let mentions: Vec<Option<(usize, usize)>> = entities
        .iter()
        .map(|&node| mention(kg, question, node))
        .collect();
    let replaced = replaced(question, &mentions);
    spans.extend(replaced.iter().map(|&(start, end, _)| (start, end)));
    masked(question, &replaced)
}

/// The byte ranges to replace by handles, in order, each with the index of its handle.
fn replaced(question: &str, mentions: &[Option<(usize, usize)>]) -> Vec<(usize, usize, usize)> {
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (index, mention) in mentions.iter().enumerate() {
        if let &Some((mut start, mut end)) = mention
            && let (Some(before), Some(behind)) = (question.get(..start), question.get(end..))
        {
            if before.ends_with('[') && behind.starts_with(']') {
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
        if kept
            .iter()
            .all(|other| place.1 <= other.0 || place.0 >= other.1)
        {
            kept.push(place);
        }
    }
    kept.sort_unstable();
    kept
}

fn masked(question: &str, replaced: &[(usize, usize, usize)]) -> String {
    substituted(question, replaced, |index| format!("e{index}"))
}

fn substituted(
    question: &str,
    replaced: &[(usize, usize, usize)],
    text: impl Fn(usize) -> String,
) -> String {
    let ranges: Vec<_> = replaced
        .iter()
        .map(|&(start, end, index)| (start, end, text(index)))
        .collect();
    replace_ranges(question, &ranges)
}

/// Nodes looked up for one mention: enough that the right one is included wherever the context can
/// decide.
const CANDIDATES: usize = 24;

/// Entities that a surface mention may refer to (tool E6), best first. Only the best kind of match
/// with any result counts.
///
/// # Errors
/// Returns [`SearchError`] if the label index is damaged.
pub fn candidates(kg: &dyn Kg, mention: &str) -> Result<Vec<LabelMatch>, SearchError> {
    kg.label_index()?.candidates(mention, CANDIDATES)
}

/// The entities that a question mentions, in order of mention: linking without gold entities.
///
/// # Errors
/// Returns [`LinkError`] if the question is too long, the label index is damaged or the ranker fails.
pub fn entities_of(
    kg: &dyn Kg,
    question: &str,
    ranker: &dyn Ranker,
) -> Result<Vec<NodeId>, LinkError> {
    topics(kg, question, &[], ranker, &Cancel::default())
}

/// The given topic entities by name, id or label, or else those that the question mentions. `ranker`
/// decides between entities of the same name.
///
/// # Errors
/// [`LinkError`]; [`LinkError::Unknown`] for a given entity that the graph does not have,
/// [`LinkError::Cancelled`] when `cancel` says so.
pub fn topics(
    kg: &dyn Kg,
    question: &str,
    given: &[String],
    ranker: &dyn Ranker,
    cancel: &Cancel,
) -> Result<Vec<NodeId>, LinkError> {
    let mut nodes = Vec::new();
    if given.is_empty() {
        for mention in detect(kg, question, ranker, cancel)? {
            if !nodes.contains(&mention.node) {
                nodes.push(mention.node);
            }
        }
        return Ok(nodes);
    }
    for name in given {
        cancel.check()?;
        let node = match kg.by_name(name) {
            Some(node) => Some(node),
            None => candidates(kg, name)?.first().map(|found| found.node),
        };
        nodes.push(node.ok_or_else(|| LinkError::Unknown(name.clone()))?);
    }
    Ok(nodes)
}

/// The mentions that `get_candidate_entity` may name: word spans of the question of up to six
/// words.
#[must_use]
pub fn mention_texts(question: &str) -> Vec<String> {
    const LONGEST: usize = 6;
    let spans = word_spans(question);
    let mut seen = FxHashSet::default();
    let mut texts = Vec::new();
    for start in 0..spans.len() {
        for end in start..spans.len().min(start + LONGEST) {
            let text = &question[spans[start].0..spans[end].1];
            if seen.insert(text) {
                texts.push(text.to_owned());
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_mentions_are_all_there_once_in_order_however_long_the_question() {
        assert_eq!(
            mention_texts("to be or to be"),
            [
                "to",
                "to be",
                "to be or",
                "to be or to",
                "to be or to be",
                "be",
                "be or",
                "be or to",
                "be or to be",
                "or",
                "or to",
                "or to be"
            ]
        );
        // A linear search per text would take minutes.
        let words: Vec<String> = (0..20_000).map(|i| format!("w{i}")).collect();
        let begun = std::time::Instant::now();
        assert_eq!(mention_texts(&words.join(" ")).len(), 6 * 20_000 - 15);
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }
}
