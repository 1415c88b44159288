//! Entity detection: every span of a question's words that may refer to a node; the best spans that
//! do not overlap become mentions.
//!
//! Spans are scored by length first, because long names rarely match by accident; then by spelling
//! (MetaQA's brackets, quotes, capitals); then by the quality of the match. Names come first
//! (`names`), then other words for a node (`loose`). In a question that uses capitals, a lower-case
//! word counts as a common noun unless the graph writes the name in lower case too.

use common::cancel::Cancel;

use super::context::{Surroundings, scores};
use super::error::{LinkError, check_question};
use super::loose::{add_nations, add_pieces, last_word};
use super::names::{Asked, is_maker, is_value, named};
use super::short::add_short;
use super::span::{CHOICES, LONGEST, Span, best_first};
use super::spelling::spelled;
use super::turned::add_turned;
use super::words::{Word, words};
use crate::rank::{RankError, Ranker};
use kg::search::{LabelIndex, LabelMatch, MatchKind, NodeRole, SearchError, normalise};
use kg::term::{NodeId, Term};
use kg::{Kg, is_meta_class};

/// Number of runs of capitalised words per question that are searched with edits: each costs about
/// a hundred plain lookups.
const FUZZY_SPANS: usize = 4;
/// Content words before and after a mention that tell what kind of thing it is.
const NEAR: usize = 2;
/// Number of words after a mention that may name the thing that it describes.
const AFTER: usize = 3;

/// A mention of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Its byte range in the plain question ([`plainly`](crate::carrier::plainly)).
    pub span: (usize, usize),
    /// The chosen node.
    pub node: NodeId,
    /// How its name matched.
    pub how: MatchKind,
    /// All nodes that the mention may refer to, best first, with their scores.
    pub candidates: Vec<(NodeId, f32)>,
}

/// The entities that a question mentions, in order of mention.
///
/// # Errors
/// Returns [`LinkError`] if the question is too long or cancelled, the label index is damaged or the
/// ranker fails.
pub fn detect(
    kg: &dyn Kg,
    question: &str,
    ranker: &dyn Ranker,
    cancel: &Cancel,
) -> Result<Vec<Mention>, LinkError> {
    check_question(question)?;
    let question = &spelled(kg, question);
    let words = words(question);
    let asked = Asked::new(kg, question, &words, cancel)?;
    let mut spans = match marked(asked.index, question, &words)? {
        // Brackets mark all topic entities, so nothing else is a mention.
        Some(spans) => spans,
        None => {
            let mut spans = named(&asked)?;
            add_nations(&asked, &mut spans)?;
            add_short(&asked, &mut spans)?;
            add_turned(&asked, &mut spans)?;
            add_pieces(&asked, &mut spans)?;
            let mut spans = best_first(spans);
            spans.extend(misspelt_runs(&asked, &spans)?);
            if spans.is_empty() {
                spans.extend(last_word(&asked)?);
            }
            spans
        }
    };
    // Words that name a property ask for it, and nobody asks about `rdfs:Class`.
    for span in &mut spans {
        let (start, end) = span.range(&words);
        let text = question[start..end].to_lowercase();
        span.found.retain(|&LabelMatch { node, .. }| {
            !kg.is_property(node) && !is_meta(kg, node) && !lacks_key(kg, node, &text)
        });
    }
    spans.retain(|span| !span.found.is_empty());
    spans.sort_by_key(|span| span.first);
    let mut bare = question.to_owned();
    for span in spans.iter().rev() {
        let (start, end) = span.range(&words);
        bare.replace_range(start..end, " ");
    }
    let mut mentions = Vec::with_capacity(spans.len());
    for at in 0..spans.len() {
        asked.check()?;
        mentions.extend(decide(&asked, &bare, &spans, at, ranker)?);
    }
    Ok(mentions)
}

/// Whether a node belongs to the modelling language.
fn is_meta(kg: &dyn Kg, node: NodeId) -> bool {
    matches!(kg.term(node), Term::Iri(iri) if is_meta_class(&iri))
}

/// Whether a node is a row of a table that is named by its key alone (`room 307`), and a text does
/// not have that key: `the room` means none of the rooms.
fn lacks_key(kg: &dyn Kg, node: NodeId, text: &str) -> bool {
    let Term::Iri(iri) = kg.term(node) else {
        return false;
    };
    let Some((_, key)) = iri.rsplit_once('=') else {
        return false;
    };
    let key = key.to_lowercase();
    let label = kg.label(node).unwrap_or_default().to_lowercase();
    label.ends_with(&key) && !text.contains(&key)
}

/// Chooses the node of a span.
fn decide(
    asked: &Asked<'_>,
    bare: &str,
    spans: &[Span],
    at: usize,
    ranker: &dyn Ranker,
) -> Result<Option<Mention>, RankError> {
    let span = &spans[at];
    let mut found = span.found.clone();
    found.sort_by(|a, b| {
        a.how
            .cmp(&b.how)
            .then(b.degree.cmp(&a.degree))
            .then(a.node.cmp(&b.node))
    });
    found.truncate(CHOICES);
    let nodes: Vec<NodeId> = found.iter().map(|candidate| candidate.node).collect();
    // In a question or mention without capitals, the case of a name means nothing.
    let capital = (span.first..=span.last).any(|at| asked.words[at].capital);
    let prior: Vec<f32> = found
        .iter()
        .map(|candidate| match candidate.how {
            MatchKind::Exact if !asked.cased || !capital => PRIOR * candidate.score * UNCASED,
            _ => PRIOR * candidate.score,
        })
        .collect();
    let scores = if nodes.len() == 1 {
        vec![1.0]
    } else {
        let around = surroundings(asked, bare, spans, at);
        scores(asked.kg, &around, &nodes, &prior, ranker, asked.cancel)?
    };
    let mut candidates: Vec<(NodeId, f32)> = nodes.into_iter().zip(scores).collect();
    candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let best = candidates
        .first()
        .and_then(|&(node, _)| found.iter().find(|found| found.node == node));
    Ok(best.map(|best| Mention {
        span: span.range(asked.words),
        node: best.node,
        how: best.how,
        candidates,
    }))
}

/// Weight of the name match against the match with the question: an exact name beats a shortened
/// one unless the latter is far better known.
const PRIOR: f32 = 1.0;
/// Factor that makes an exact match count as much as one in normal form.
const UNCASED: f32 = 0.9;

fn surroundings<'a>(
    asked: &Asked<'_>,
    bare: &'a str,
    spans: &[Span],
    at: usize,
) -> Surroundings<'a> {
    let span = &spans[at];
    let free = |word: &usize| spans.iter().all(|span| !span.covers(*word));
    let content = |word: &usize| free(word) && !asked.words[*word].stop;
    let text = |word: usize| asked.text(word, word);
    let before = (0..span.first).rev().take(NEAR + 2).filter(content);
    let before: Vec<usize> = before.take(NEAR).collect();
    let behind = (span.last + 1..asked.words.len())
        .take(NEAR)
        .filter(content);
    let near = before.into_iter().rev().chain(behind).map(text);
    let after = (span.last + 1..asked.words.len())
        .take(AFTER)
        .take_while(content)
        .map(text);
    let single = |other: &Span| match &other.found[..] {
        [one] => Some(one.node),
        _ => None,
    };
    let neighbours = [at.checked_sub(1), Some(at + 1)];
    let coordinated = neighbours.into_iter().flatten().filter_map(|other| {
        let other = spans.get(other)?;
        let (from, to) = (other.last.min(span.last) + 1, other.first.max(span.first));
        let joins = [
            "and", "or", "nor", "as", "well", "both", "also", "with", "versus", "vs",
        ];
        let joined =
            from < to && (from..to).all(|word| joins.contains(&normalise(text(word)).as_str()));
        joined.then(|| single(other)).flatten()
    });
    let mut near: Vec<&str> = near.collect();
    if plays_for(asked, span.first) {
        near.push("team");
    }
    Surroundings {
        bare,
        near: near.join(" "),
        after: after.collect::<Vec<_>>().join(" "),
        value: is_value(asked, span.first) || is_maker(asked, span.first, span.last),
        topic: asked.before(span.first).as_deref() == Some("about"),
        coordinated: coordinated.collect(),
        others: others(spans, at),
    }
}

/// Whether the words before `first` say that somebody plays there: `played for Porto` means the club.
fn plays_for(asked: &Asked<'_>, first: usize) -> bool {
    const PLAYING: &str =
        "play plays played playing sign signed appear appeared score scored turned";
    let verb = first
        .checked_sub(2)
        .map(|at| asked.text(at, at).to_lowercase());
    let playing = verb.is_some_and(|verb| PLAYING.split(' ').any(|one| one == verb));
    playing && asked.before(first).as_deref() == Some("for")
}

/// The nodes that the other mentions may refer to, where few come into question.
fn others(spans: &[Span], at: usize) -> Vec<NodeId> {
    const FEW: usize = 3;
    (spans.iter().enumerate())
        .filter(|(other, span)| *other != at && span.found.len() <= FEW)
        .flat_map(|(_, span)| span.found.iter().map(|found| found.node))
        .collect()
}

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

/// Runs of several capitalised words without a matching name, searched with edits: a name whose
/// words are split or joined in another way.
fn misspelt_runs(asked: &Asked<'_>, kept: &[Span]) -> Result<Vec<Span>, LinkError> {
    let words = asked.words;
    let free = |at: usize| kept.iter().all(|span| !span.covers(at));
    let mut spans = Vec::new();
    let mut at = 1;
    let mut searched = 0;
    while at < words.len() && searched < FUZZY_SPANS {
        let starts = free(at) && words[at].capital && !words[at].stop;
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
        if last > at {
            searched += 1;
            asked.check()?;
            let text = asked.text(at, last);
            let found = asked.index.fuzzy(text, CHOICES, NodeRole::Entity)?;
            if !found.is_empty() {
                spans.push(Span {
                    first: at,
                    last,
                    weight: 0.0,
                    found,
                });
            }
        }
        at = last + 1;
    }
    Ok(spans)
}
