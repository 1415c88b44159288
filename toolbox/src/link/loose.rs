//! Mentions in other words than the name: nations by their adjective (`french rivers`) or another
//! name (`holland`), parts of names and misspelt names (`pieces`), and initials.

use kg::Kg;
use kg::search::{
    LabelMatch, MatchKind, NameKind, NodeRole, SearchError, forms_of, normalise, singular,
};
use kg::term::NodeId;

use super::language::{
    is_adjective, is_club, is_nearly_ordinary, is_ordinary, nations, other_names,
};
use super::names::Asked;
use super::pieces::{Fit, Part, Token, fit, tokens};
use super::span::{CHOICES, Span, add};
use super::words::{Word, words};

/// Number of words of the longest adjective or other name of a nation.
const NATION_WORDS: usize = 4;
/// Names read per word of a question, by degree.
const NAMES: usize = 48;
/// Words per question that are searched with edits: each costs about a hundred plain lookups.
const MISSPELT: usize = 4;
/// Initials have at most this many letters.
const INITIALS: usize = 5;
/// Score of a nation that is named by its adjective, as a name in the normal form has.
const ADJECTIVE: f32 = 0.9;
/// Maximum difference to the best part of a name for one mention.
const EQUAL: f32 = 0.05;

/// Words beside a word that make it the name of a language.
const LANGUAGE: &[&str] = &[
    "language",
    "languages",
    "speak",
    "speaker",
    "speakers",
    "speaking",
    "speaks",
    "spoke",
    "spoken",
    "subtitles",
    "tongue",
    "translation",
];

/// Adds nations that are mentioned by an adjective or by another name.
pub(super) fn add_nations(asked: &Asked<'_>, spans: &mut Vec<Span>) -> Result<(), SearchError> {
    let words = asked.words;
    for first in 0..words.len() {
        for last in first..words.len().min(first + NATION_WORDS) {
            let (begin, end) = (words[first], words[last]);
            if begin.stop || begin.number || end.stop || end.number {
                continue;
            }
            let text = normalise(asked.text(first, last));
            let mut names = other_names(&text);
            let known = spans
                .iter()
                .any(|span| (span.first, span.last) == (first, last));
            if known {
                names.clear();
            }
            if describes(asked, first, last, &text) {
                names.extend(nations(&text));
            }
            for name in names {
                for mut found in asked.index.named(name, CHOICES, NodeRole::Entity)? {
                    if found.kind == NameKind::Short {
                        continue;
                    }
                    found.score *= ADJECTIVE;
                    found.how = MatchKind::Normalised;
                    let length = (last - first + 1) as f32;
                    add(spans, first, last, 2.0 * length + ADJECTIVE, found);
                }
            }
        }
    }
    Ok(())
}

/// Whether an adjective of a nation describes a thing or a person, rather than naming a language:
/// it stands before a noun, is a predicate, or is itself a noun.
fn describes(asked: &Asked<'_>, first: usize, last: usize, text: &str) -> bool {
    let (before, next) = (asked.before(first), asked.next(last + 1));
    let language =
        |word: &Option<String>| word.as_deref().is_some_and(|word| LANGUAGE.contains(&word));
    if language(&before) || language(&next) {
        return false;
    }
    if next.is_some() && !asked.words[last + 1].stop {
        return true;
    }
    let plural = !is_adjective(text) && singular(text).is_some();
    let begins = |words: &[&str]| words.contains(&normalise(asked.text(0, 0)).as_str());
    let ends = last + 1 == asked.words.len();
    let article = matches!(
        before.as_deref(),
        Some("a" | "an" | "by" | "the" | "many" | "which" | "any" | "famous")
    );
    plural || article || ends && begins(&["is", "was", "are", "were"])
}

/// Adds nodes that are mentioned by a part of their name, by a misspelt name, or by initials.
pub(super) fn add_pieces(asked: &Asked<'_>, spans: &mut Vec<Span>) -> Result<(), SearchError> {
    let tokens = tokens(asked.question, asked.words);
    let mut budget = MISSPELT;
    let mut pieces: Vec<(Fit, LabelMatch)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let word = asked.words[token.word];
        let text = token.text.as_str();
        let known = spans
            .iter()
            .any(|span| span.last > span.first && span.covers(token.word));
        if known || word.stop || word.number || is_ordinary(text) || text.len() < 2 {
            continue;
        }
        let mut found = asked.index.containing(text, NAMES, NodeRole::Entity)?;
        let mut fits = fits(asked, &tokens, at, &found);
        let covered = spans.iter().any(|span| span.covers(token.word));
        let may_err = budget > 0 && !covered && !is_adjective(text) && !is_nearly_ordinary(text);
        if fits.is_empty() && may_err {
            budget -= 1;
            found = asked.index.resembling(text, NAMES, NodeRole::Entity)?;
            fits = self::fits(asked, &tokens, at, &found);
        }
        if fits.is_empty() && !covered && text.len() <= INITIALS && !is_adjective(text) {
            for found in asked.index.initials(text, CHOICES, NodeRole::Entity)? {
                let whole = Fit {
                    first: token.word,
                    last: token.word,
                    quality: 0.6,
                    part: Part::Inner,
                    misspelt: false,
                };
                fits.push((whole, found));
            }
        }
        pieces.extend(fits);
    }
    for (fit, found) in distinct(pieces) {
        let named = spans
            .iter()
            .any(|span| (span.first, span.last) == (fit.first, fit.last));
        // A whole name is that of another node only if the longer name is that of a club.
        let club = || {
            let label = normalise(&found.label);
            fit.part == Part::Distinctive && label.split(' ').any(is_club)
        };
        if named && !club() && fit.part != Part::Whole {
            continue;
        }
        let inside = &asked.words[fit.first..=fit.last];
        let content = inside.iter().filter(|word| !word.stop).count();
        let weight = inside.len() as f32 + content as f32 + fit.quality - 0.5;
        add(spans, fit.first, fit.last, weight, found);
    }
    Ok(())
}

/// The names that fit the words around a token.
fn fits(
    asked: &Asked<'_>,
    tokens: &[Token],
    at: usize,
    found: &[LabelMatch],
) -> Vec<(Fit, LabelMatch)> {
    let best = |candidate: &LabelMatch| {
        let forms = forms_of(&candidate.label);
        forms
            .iter()
            .filter_map(|form| fit(asked.words, tokens, at, form, asked.cased))
            .max_by(|a, b| a.quality.total_cmp(&b.quality))
    };
    found
        .iter()
        .filter_map(|candidate| best(candidate).map(|fit| (fit, candidate.clone())))
        .collect()
}

/// The best fits of each span, without those that too many nodes share.
fn distinct(mut pieces: Vec<(Fit, LabelMatch)>) -> Vec<(Fit, LabelMatch)> {
    pieces.sort_by(|(a, one), (b, other)| {
        (a.first, a.last)
            .cmp(&(b.first, b.last))
            .then(b.quality.total_cmp(&a.quality))
            .then(one.node.cmp(&other.node))
    });
    pieces.dedup_by(|(a, one), (b, other)| {
        (a.first, a.last, one.node) == (b.first, b.last, other.node)
    });
    let same = |a: &Fit, b: &Fit| (a.first, a.last) == (b.first, b.last);
    let mut kept = Vec::new();
    for group in pieces.chunk_by(|(a, _), (b, _)| same(a, b)) {
        let best = group[0].0;
        let equal = |fit: &Fit| fit.quality >= best.quality - EQUAL;
        if group.iter().filter(|(fit, _)| equal(fit)).count() > best.part.most() {
            continue;
        }
        for (fit, found) in group.iter().filter(|(fit, _)| equal(fit)) {
            let how = if fit.misspelt {
                MatchKind::Fuzzy
            } else {
                MatchKind::Partial
            };
            let found = LabelMatch {
                score: fit.quality,
                how,
                ..found.clone()
            };
            kept.push((*fit, found));
        }
    }
    kept
}

/// The byte range at which a question mentions a node in other words than its names: the forms that
/// [`super::detect`] finds, without a search.
pub(super) fn mention(kg: &dyn Kg, question: &str, node: NodeId) -> Option<(usize, usize)> {
    let names = kg::normal_names(kg, node);
    let all = words(question);
    let range = |first: usize, last: usize| (all[first].start, all[last].end);
    for first in 0..all.len() {
        for last in (first..all.len().min(first + NATION_WORDS)).rev() {
            let (start, end) = range(first, last);
            let text = normalise(&question[start..end]);
            let mut known = nations(&text).into_iter().chain(other_names(&text));
            if !all[first].stop && known.any(|name| names.contains(name)) {
                return Some((start, end));
            }
        }
    }
    let cased = all.iter().skip(1).any(|word| word.capital);
    let tokens = tokens(question, &all);
    let mut best: Option<Fit> = None;
    for name in &names {
        for (at, token) in tokens.iter().enumerate() {
            if all[token.word].stop || all[token.word].number || is_ordinary(&token.text) {
                continue;
            }
            if let Some(fit) = fit(&all, &tokens, at, name, cased)
                && best.is_none_or(|best| fit.quality > best.quality)
            {
                best = Some(fit);
            }
        }
    }
    best.map(|fit| range(fit.first, fit.last))
        .or_else(|| initials(question, &all, &names))
}

/// The word that is made of the initials of one of these names.
fn initials(
    question: &str,
    all: &[Word],
    names: &std::collections::BTreeSet<String>,
) -> Option<(usize, usize)> {
    let of = |name: &str, skip: bool| -> String {
        name.split(' ')
            .filter(|word| !skip || !matches!(*word, "and" | "of" | "the"))
            .filter_map(|word| word.chars().next())
            .collect()
    };
    let made: Vec<String> = names
        .iter()
        .filter(|name| name.contains(' '))
        .flat_map(|name| [of(name, true), of(name, false)])
        .collect();
    let found = all.iter().find(|word| {
        let text = normalise(&question[word.start..word.end]);
        !word.stop && text.len() >= 2 && text.len() <= INITIALS && made.contains(&text)
    });
    found.map(|word| (word.start, word.end))
}
