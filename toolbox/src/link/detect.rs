//! Finding the entities that a question mentions: every span of words that some node is called by, the best ones that do not overlap.
//!
//! What makes a span a mention: its length first (a longer name is rarely an accident), then how it is written (in brackets as in MetaQA, in
//! quotes, in capitals), then how well it matches. What stands in lower case in a question that knows capitals is a common noun, unless the
//! graph writes the name in lower case too.

use super::choose::choose;
use super::words::{Word, words};
use crate::rank::Ranker;
use kg::Kg;
use kg::search::{LabelIndex, LabelMatch, MatchKind, NameKind, NodeRole, SearchError, normalise};
use kg::term::NodeId;

/// Words of the longest mention.
const LONGEST: usize = 14;
/// Nodes of one name among which the question decides, best known first.
const CHOICES: usize = 12;
/// Spans of a question that are looked up with edits or by their words: each costs a hundred times a plain look-up.
const FUZZY_SPANS: usize = 4;

/// A mention of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Its byte range in the question.
    pub span: (usize, usize),
    /// The node chosen.
    pub node: NodeId,
    /// How its name matches.
    pub how: MatchKind,
    /// All nodes that it may mean, best first, with the scores by which they were chosen.
    pub candidates: Vec<(NodeId, f32)>,
}

/// A span of words with what may be meant by it.
struct Span {
    first: usize,
    last: usize,
    weight: f32,
    found: Vec<LabelMatch>,
}

/// The entities that a question mentions, in order of mention.
///
/// # Errors
/// [`SearchError`] when the label index is damaged.
pub fn detect(
    kg: &dyn Kg,
    question: &str,
    ranker: &dyn Ranker,
) -> Result<Vec<Mention>, SearchError> {
    let index = kg.label_index()?;
    let words = words(question);
    let spans = match marked(index, question, &words)? {
        // Whoever puts brackets around the topic means that and nothing else.
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
        .filter_map(|span| decide(kg, &bare, &words, span, ranker))
        .collect();
    mentions.sort_by_key(|mention| mention.span);
    Ok(mentions)
}

fn range(words: &[Word], span: &Span) -> (usize, usize) {
    (words[span.first].start, words[span.last].end)
}

/// Chooses what a span means.
fn decide(
    kg: &dyn Kg,
    bare: &str,
    words: &[Word],
    mut span: Span,
    ranker: &dyn Ranker,
) -> Option<Mention> {
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
        choose(kg, bare, &nodes, &prior, ranker)
    };
    let mut candidates: Vec<(NodeId, f32)> = nodes.into_iter().zip(scores).collect();
    candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let node = candidates.first()?.0;
    let how = span
        .found
        .iter()
        .find(|candidate| candidate.node == node)?
        .how;
    Some(Mention {
        span: at,
        node,
        how,
        candidates,
    })
}

/// Weight of how well a name matches against what the question says: an exact name beats a shortened one unless that one is far better known.
const PRIOR: f32 = 1.0;

/// Mentions in square brackets; `None` where there is none that the graph knows.
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
        // What is marked is quoted letter for letter, if it can be.
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

/// Every span of words that is the name of a node and reads as one.
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
            // An article belongs to a mention only where it belongs to the name.
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

/// The article with which a text begins.
fn article(text: &str) -> Option<&'static str> {
    let first = text.split_whitespace().next()?;
    ["the", "a", "an"]
        .into_iter()
        .find(|article| first.eq_ignore_ascii_case(article))
}

/// Whether words that mean nothing by themselves are written as a title, as in `The Who`.
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

/// Whether a span reads as the name of this candidate and not as ordinary words.
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
        // Its first letter says nothing about the first word of a question, but then that is rarely a name.
        return Ok(true);
    }
    if content.len() >= 2 {
        return Ok(true);
    }
    // A lone word in lower case: a common noun where the question writes names in capitals, or where the graph has a class or a relation of
    // that name.
    Ok(!cased && !is_vocabulary(index, text)?)
}

/// Whether a word is the name of a class or a word of relations.
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

/// The best spans that do not overlap, heaviest first.
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

/// Whether a name that a text shares words with can be what the text means: it has all of them and one more at most, as a surname has, or it
/// is a longer name with something wrong in it.
fn stands_for(text: &str, candidate: &LabelMatch) -> bool {
    let (normal, name) = (normalise(text), normalise(&candidate.label));
    let (words, have): (Vec<&str>, Vec<&str>) =
        (normal.split(' ').collect(), name.split(' ').collect());
    let whole = words.iter().all(|word| have.contains(word));
    whole && have.len() <= words.len() + 1 && normal.len() > 3
        || words.len() > 1 && candidate.score >= ALIKE
}

/// Least similarity of a text of several words to the name that it is taken for.
const ALIKE: f32 = 0.65;

/// Runs of capitalised words that no name was found for, looked up with edits and by their words.
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
