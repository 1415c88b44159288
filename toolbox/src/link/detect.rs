//! Entity detection: every span of a question's words that is the name of a node; the best spans
//! that do not overlap become mentions.
//!
//! Spans are scored by length first, because long names rarely match by accident; then by spelling
//! (MetaQA's brackets, quotes, capitals); then by the quality of the match. In a question that uses
//! capitals, a lower-case word counts as a common noun unless the graph writes the name in lower
//! case too.

use super::choose::choose;
use super::error::LinkError;
use super::words::{Word, words};
use crate::rank::{RankError, Ranker};
use kg::Kg;
use kg::search::{LabelIndex, LabelMatch, MatchKind, NameKind, NodeRole, SearchError, normalise};
use kg::term::NodeId;

/// Number of words of the longest mention.
const LONGEST: usize = 14;
/// Number of nodes with one name that are compared with the question, by degree.
const CHOICES: usize = 12;
/// Number of spans per question that are searched with edits or by words: each costs about a
/// hundred plain lookups.
const FUZZY_SPANS: usize = 4;

/// A mention of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Its byte range in the question.
    pub span: (usize, usize),
    /// The chosen node.
    pub node: NodeId,
    /// How its name matched.
    pub how: MatchKind,
    /// All nodes that the mention may refer to, best first, with their scores.
    pub candidates: Vec<(NodeId, f32)>,
}

/// A span of words with its candidates.
struct Span {
    first: usize,
    last: usize,
    weight: f32,
    found: Vec<LabelMatch>,
}

/// The entities that a question mentions, in order of mention.
///
/// # Errors
/// Returns [`LinkError`] if the label index is damaged or the ranker fails.
pub fn detect(kg: &dyn Kg, question: &str, ranker: &dyn Ranker) -> Result<Vec<Mention>, LinkError> {
    let index = kg.label_index()?;
    let words = words(question);
    let spans = match marked(index, question, &words)? {
        // Brackets mark all topic entities, so nothing else is a mention.
        Some(spans) => spans,
        None => {
            let mut spans = best_first(plain(index, question, &words)?);
            spans.extend(uncertain(index, question, &words, &spans)?);
            spans
        }
    };
    let mut bare = question.to_owned();
    let mut ranges: Vec<(usize, usize)> = spans.iter().map(|span| range(&words, span)).collect();
    ranges.sort_unstable();
    for &(start, end) in ranges.iter().rev() {
        bare.replace_range(start..end, " ");
    }
    let mut mentions: Vec<Mention> = spans
        .into_iter()
        .filter_map(|span| decide(kg, &bare, &words, span, ranker).transpose())
        .collect::<Result<_, _>>()?;
    mentions.sort_by_key(|mention| mention.span);
    Ok(mentions)
}

fn range(words: &[Word], span: &Span) -> (usize, usize) {
    (words[span.first].start, words[span.last].end)
}

/// Chooses the node of a span.
fn decide(
    kg: &dyn Kg,
    bare: &str,
    words: &[Word],
    mut span: Span,
    ranker: &dyn Ranker,
) -> Result<Option<Mention>, RankError> {
    let at = range(words, &span);
    span.found.sort_by(|a, b| {
        a.how
            .cmp(&b.how)
            .then(b.degree.cmp(&a.degree))
            .then(a.node.cmp(&b.node))
    });
    span.found.truncate(CHOICES);
    let nodes: Vec<NodeId> = span.found.iter().map(|candidate| candidate.node).collect();
    let prior: Vec<f32> = span
        .found
        .iter()
        .map(|candidate| PRIOR * candidate.score)
        .collect();
    let scores = if nodes.len() == 1 {
        vec![1.0]
    } else {
        choose(kg, bare, &nodes, &prior, ranker)?
    };
    let mut candidates: Vec<(NodeId, f32)> = nodes.into_iter().zip(scores).collect();
    candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let best = candidates
        .first()
        .and_then(|&(node, _)| span.found.iter().find(|found| found.node == node));
    Ok(best.map(|best| Mention {
        span: at,
        node: best.node,
        how: best.how,
        candidates,
    }))
}

/// Weight of the name match against the match with the question: an exact name beats a shortened
/// one unless the latter is far better known.
const PRIOR: f32 = 1.0;

/// Mentions in square brackets; `None` if the graph knows none of them.
fn marked(
    index: &LabelIndex,
    question: &str,
    words: &[Word],
) -> Result<Option<Vec<Span>>, SearchError> {
    let mut spans = Vec::new();
    for (open, _) in question.match_indices('[') {
        let Some(length) = question[open..].find(']') else {
            continue;
        };
        let inside = |word: &&Word| word.start > open && word.end <= open + length;
        let Some(first) = words.iter().position(|word| inside(&word)) else {
            continue;
        };
        let count = words[first..]
            .iter()
            .take_while(|word| inside(word))
            .count();
        let mut found = index.candidates(&question[open + 1..open + length], CHOICES)?;
        // Marked text is usually quoted exactly, so only the best kind of match counts.
        let best = found.iter().map(|candidate| candidate.how).min();
        found.retain(|candidate| Some(candidate.how) == best);
        if !found.is_empty() {
            spans.push(Span {
                first,
                last: first + count - 1,
                weight: 0.0,
                found,
            });
        }
    }
    Ok((!spans.is_empty()).then_some(spans))
}

/// Every span of words that is the name of a node and is written like a name.
fn plain(index: &LabelIndex, question: &str, words: &[Word]) -> Result<Vec<Span>, SearchError> {
    let cased = words.iter().skip(1).any(|word| word.capital);
    let mut spans = Vec::new();
    for first in 0..words.len() {
        for last in first..words.len().min(first + LONGEST) {
            let inside = &words[first..=last];
            if inside.iter().all(|word| word.stop || word.number) && !titled(inside, first, cased) {
                continue;
            }
            let text = &question[words[first].start..words[last].end];
            let mut found = index.named(text, CHOICES, NodeRole::Entity)?;
            let quoted = is_quoted(question, inside);
            // An article belongs to a mention only if it belongs to the name.
            let article = article(text);
            found.retain(|candidate| {
                article.is_none_or(|article| {
                    normalise(&candidate.label).split(' ').next() == Some(article)
                })
            });
            found.retain(|candidate| {
                quoted || reads_as_name(index, inside, text, candidate, cased).unwrap_or(false)
            });
            let Some(best) = found
                .iter()
                .map(|candidate| candidate.score)
                .reduce(f32::max)
            else {
                continue;
            };
            let content = inside.iter().filter(|word| !word.stop).count();
            let weight =
                inside.len() as f32 + content as f32 + best + if quoted { 2.0 } else { 0.0 };
            spans.push(Span {
                first,
                last,
                weight,
                found,
            });
        }
    }
    Ok(spans)
}

/// The article at the beginning of a text.
fn article(text: &str) -> Option<&'static str> {
    let first = text.split_whitespace().next()?;
    ["the", "a", "an"]
        .into_iter()
        .find(|article| first.eq_ignore_ascii_case(article))
}

/// Whether stop words are written as a title, as in `The Who`.
fn titled(inside: &[Word], first: usize, cased: bool) -> bool {
    cased
        && first > 0
        && inside.len() > 1
        && inside.iter().all(|word| word.capital)
        && !inside.iter().all(|word| word.number)
}

fn is_quoted(question: &str, inside: &[Word]) -> bool {
    let before = question[..inside[0].start].chars().next_back();
    let after = question[inside[inside.len() - 1].end..]
        .trim_start_matches(['?', '.', ',', '!'])
        .chars()
        .next();
    matches!(
        (before, after),
        (
            Some('"' | '“' | '”' | '\'' | '‘' | '`'),
            Some('"' | '”' | '“' | '\'' | '’' | '`')
        )
    )
}

/// Whether a span is written like the name of this candidate and not like ordinary words.
fn reads_as_name(
    index: &LabelIndex,
    inside: &[Word],
    text: &str,
    candidate: &LabelMatch,
    cased: bool,
) -> Result<bool, SearchError> {
    let content: Vec<&Word> = inside.iter().filter(|word| !word.stop).collect();
    if content.iter().any(|word| word.capital)
        || candidate.how == MatchKind::Exact && candidate.kind != NameKind::Short
    {
        return Ok(true);
    }
    if content.len() >= 2 {
        return Ok(true);
    }
    // A single lower-case word is a common noun if the question writes names in capitals, or if the
    // graph has a class or a relation of that name.
    Ok(!cased && !is_vocabulary(index, text)?)
}

/// Whether a word is the name of a class or of a relation.
fn is_vocabulary(index: &LabelIndex, text: &str) -> Result<bool, SearchError> {
    let normal = normalise(text);
    let forms = [Some(normal.clone()), kg::search::singular(&normal)];
    for form in forms.iter().flatten() {
        if index.knows(form, NodeRole::Class)? || index.knows(form, NodeRole::Relation)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The best spans that do not overlap, by decreasing weight.
fn best_first(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| {
        b.weight
            .total_cmp(&a.weight)
            .then(a.first.cmp(&b.first))
            .then(b.last.cmp(&a.last))
    });
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        if kept
            .iter()
            .all(|other| span.last < other.first || span.first > other.last)
        {
            kept.push(span);
        }
    }
    kept
}

/// Whether a candidate that shares words with a text may be its referent: it contains all words of
/// the text and at most one more (a surname), or it is a longer name with a spelling mistake.
fn stands_for(text: &str, candidate: &LabelMatch) -> bool {
    let (normal, name) = (normalise(text), normalise(&candidate.label));
    let (words, have): (Vec<&str>, Vec<&str>) =
        (normal.split(' ').collect(), name.split(' ').collect());
    let whole = words.iter().all(|word| have.contains(word));
    whole && have.len() <= words.len() + 1 && normal.len() > 3
        || words.len() > 1 && candidate.score >= ALIKE
}

/// Minimum similarity between a text of several words and a candidate.
const ALIKE: f32 = 0.65;

/// Runs of capitalised words without a matching name, searched with edits and by words.
fn uncertain(
    index: &LabelIndex,
    question: &str,
    words: &[Word],
    kept: &[Span],
) -> Result<Vec<Span>, SearchError> {
    let free = |at: usize| kept.iter().all(|span| at < span.first || at > span.last);
    let mut spans = Vec::new();
    let mut at = 0;
    while at < words.len() && spans.len() < FUZZY_SPANS {
        let starts = free(at) && words[at].capital && !words[at].stop && at > 0;
        if !starts {
            at += 1;
            continue;
        }
        let mut last = at;
        for (next, word) in words.iter().enumerate().take(at + LONGEST).skip(at + 1) {
            if !free(next) {
                break;
            }
            if word.capital || word.number {
                last = next;
            } else if !word.stop {
                break;
            }
        }
        let text = &question[words[at].start..words[last].end];
        let mut found = index.fuzzy(text, CHOICES, NodeRole::Entity)?;
        if found.is_empty() {
            found = index.partial(text, CHOICES, NodeRole::Entity)?;
            found.retain(|candidate| stands_for(text, candidate));
        }
        if !found.is_empty() {
            spans.push(Span {
                first: at,
                last,
                weight: 0.0,
                found,
            });
        }
        at = last + 1;
    }
    Ok(spans)
}
