//! Mentions in other words than the name: nations by their adjective (`french rivers`) or another
//! name (`holland`), parts of names and misspelt names (`pieces`), and initials.

use kg::Kg;
use kg::search::{
    LabelMatch, MatchKind, NameKind, NodeRole, SearchError, forms_of, normalise, singular,
};
use kg::term::NodeId;

use super::alike::named_alike;
use super::error::LinkError;
use super::language::{
    home_of, is_adjective, is_club, is_concept, is_designator, is_institution, is_nation,
    is_nearly_ordinary, is_ordinary, is_title, nations, other_names, subjects_of, written_out,
};
use super::names::{
    Asked, is_column_value, is_in_class_name, is_maker, is_topic, is_value, is_vocabulary,
    is_vocabulary_name,
};
use super::pieces::{Fit, Part, Token, distinct, fit, tokens};
use super::span::{CHOICES, Span, add};
use super::turned;
use super::words::{Word, words};

/// Number of words of the longest adjective or other name of a nation.
const NATION_WORDS: usize = 4;
/// Names read per word of a question, by degree.
const NAMES: usize = 48;
/// Words per question that are searched with edits: each costs about a hundred plain lookups.
const MISSPELT: usize = 4;
/// Initials have at most this many letters.
const INITIALS: usize = 5;
/// Score of a nation that is named by its adjective: before a noun, the adjective means the nation
/// rather than its language.
const ADJECTIVE: f32 = 0.95;
/// Neighbours that turn a word into the name of a language.
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
pub(super) fn add_nations(asked: &Asked<'_>, spans: &mut Vec<Span>) -> Result<(), LinkError> {
    let words = asked.words;
    let mut end_of_last = 0;
    for first in 0..words.len() {
        asked.check()?;
        // The longest adjective counts: `south american` is not `american`.
        for last in (first.max(end_of_last)..words.len().min(first + NATION_WORDS)).rev() {
            let (begin, end) = (words[first], words[last]);
            if begin.number || end.stop || end.number {
                continue;
            }
            let text = normalise(asked.text(first, last));
            let mut names = other_names(&text);
            // `the States`
            if begin.stop && names.is_empty() {
                continue;
            }
            let known = spans
                .iter()
                .any(|span| (span.first, span.last) == (first, last));
            if known {
                names.clear();
            }
            let adjective = nations(&text);
            if !adjective.is_empty() {
                end_of_last = last + 1;
            }
            let speech = (speaks(asked, first, last) && !adjective.is_empty() && !known)
                .then(|| format!("{text} language"));
            let described = describes(asked, first, last, &text);
            if described {
                names.extend(adjective);
            }
            let home = match described && first == last && !known && names.is_empty() {
                true => home_of(&text),
                false => None,
            };
            let names = names.into_iter().chain(speech.as_deref());
            for name in names.chain(home) {
                for mut found in asked.index.named(name, CHOICES, NodeRole::Entity)? {
                    if found.kind == NameKind::Short {
                        continue;
                    }
                    found.score = ADJECTIVE;
                    found.how = MatchKind::Normalised;
                    let length = (last - first + 1) as f32;
                    add(spans, first, last, 2.0 * length + ADJECTIVE, found);
                }
            }
        }
    }
    Ok(())
}

/// Whether a word for a language stands next to an adjective of a nation: `Portuguese speaking`. Or `in` before it, and no
/// noun behind it: `sung in Italian`.
fn speaks(asked: &Asked<'_>, first: usize, last: usize) -> bool {
    let next = [asked.before(first), asked.next(last + 1)];
    let noun = next[1].is_some() && !asked.words[last + 1].stop;
    let inside = matches!(next[0].as_deref(), Some("in" | "into")) && !noun;
    inside
        || next
            .iter()
            .flatten()
            .any(|word| LANGUAGE.contains(&word.as_str()))
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
    let ends = last + 1 == asked.words.len() || asked.words[last + 1].stop;
    let article = matches!(
        before.as_deref(),
        Some(
            "a" | "an" | "by" | "the" | "many" | "which" | "any" | "famous" | "he" | "she" | "they"
        )
    );
    let is = |word: &str| matches!(word, "is" | "was" | "are" | "were");
    plural
        || article
        || ends && (before.as_deref().is_some_and(is) || begins(&["is", "was", "are", "were"]))
}

/// Adds nodes that are mentioned by a part of their name, by a misspelt name, or by initials.
pub(super) fn add_pieces(asked: &Asked<'_>, spans: &mut Vec<Span>) -> Result<(), LinkError> {
    let tokens = tokens(asked.question, asked.words);
    let mut budget = MISSPELT;
    let mut pieces: Vec<(Fit, LabelMatch)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        asked.check()?;
        let word = asked.words[token.word];
        let text = token.text.as_str();
        let known = spans
            .iter()
            .any(|span| span.last > span.first && span.covers(token.word) && !is_tag(span));
        if known
            || word.stop
            || word.number
            || text.len() < 2
            || !named_alike(asked.kg, text).is_empty()
        {
            continue;
        }
        if is_ordinary(text) || is_concept(text) {
            pieces.extend(topics(asked, &tokens, at)?);
            if is_ordinary(text) {
                continue;
            }
        }
        let mut found = asked.index.containing(text, NAMES, NodeRole::Entity)?;
        let mut fits = fits(asked, &tokens, at, &found);
        // Such a word alone is no part of a name, but several are (`best actress`).
        // The name of a class is no part of a name either (`the contract`).
        let written_small = !word.capital || token.word == 0;
        let common = is_concept(text) || written_small && is_vocabulary_name(asked.index, text)?;
        fits.retain(|(fit, _)| !common || fit.last > fit.first && !fit.misspelt);
        let covered = spans.iter().any(|span| span.covers(token.word));
        let known = common || is_adjective(text) || is_nation(text) || is_nearly_ordinary(text);
        let may_err = budget > 0 && !covered && !known;
        if fits.is_empty() && may_err {
            budget -= 1;
            found = asked.index.resembling(text, NAMES, NodeRole::Entity)?;
            fits = self::fits(asked, &tokens, at, &found);
        }
        // `trials` are no trial called `Driftwood trial` where the graph has clinical trials.
        if written_small && !fits.is_empty() && is_vocabulary(asked, text)? {
            fits.retain(|(fit, _)| fit.last > fit.first || !fit.part.is_end());
        }
        if written_small && !fits.is_empty() && is_in_class_name(asked, token.word)? {
            fits.retain(|(fit, _)| {
                fit.part == Part::Whole || fit.last > fit.first + 1 && !fit.misspelt
            });
        }
        if written_small && is_row_noun(asked.kg, text) {
            fits.retain(|(fit, _)| fit.last > fit.first);
        }
        if fits.is_empty() && !covered && may_be_initials(asked, token) {
            fits.extend(by_initials(asked, token)?);
        }
        pieces.extend(fits);
    }
    // A node that the words name in full needs no piece.
    pieces.retain(|(fit, found)| {
        spans.iter().all(|span| {
            (span.first, span.last) != (fit.first, fit.last)
                || span.found.iter().all(|named| named.node != found.node)
        })
    });
    let mut joining = distinct(asked, pieces);
    joining.retain(|(fit, found)| {
        may_join(asked, spans, fit, found)
            && (fit.part == Part::Whole || !is_column_value(asked, fit.first, fit.last))
    });
    for (fit, found) in joining {
        let inside = &asked.words[fit.first..=fit.last];
        let content = inside.iter().filter(|word| !word.stop).count();
        let weight = inside.len() as f32 + content as f32 + fit.quality - 0.5;
        add(spans, fit.first, fit.last, weight, found);
    }
    Ok(())
}

/// Whether a word, in the singular or plural, ends most names of a table: no `library` means one library where they are
/// called `Central Library`, `Elmfield Library` and so on.
fn is_row_noun(kg: &dyn Kg, word: &str) -> bool {
    let one = singular(word);
    let nouns = &kg.schema().row_nouns;
    (nouns.iter()).any(|(_, noun)| noun == word || one.as_ref() == Some(noun))
}

/// Nodes whose name is an ordinary word and a word for its kind (`historical fiction`), if the word
/// stands where a question names its topic.
fn topics(
    asked: &Asked<'_>,
    tokens: &[Token],
    at: usize,
) -> Result<Vec<(Fit, LabelMatch)>, SearchError> {
    let token = &tokens[at];
    if !is_topic(asked, token.word, token.word)? {
        return Ok(Vec::new());
    }
    let found = asked
        .index
        .containing(&token.text, NAMES, NodeRole::Entity)?;
    let kind = |candidate: &LabelMatch| is_of_kind(&normalise(&candidate.label), &token.text);
    let whole = |part: Part| Fit {
        first: token.word,
        last: token.word,
        quality: 0.85,
        part,
        misspelt: false,
    };
    let found = found.into_iter().filter(kind);
    Ok(found
        .map(|found| (whole(Part::Distinctive), found))
        .collect())
}

/// Whether a name consists of a word and a word for its kind.
fn is_of_kind(name: &str, word: &str) -> bool {
    name.strip_prefix(word)
        .and_then(|rest| rest.strip_prefix(' '))
        .is_some_and(is_designator)
}

/// Whether a word may consist of initials: short, without an apostrophe, and no ordinary word.
fn may_be_initials(asked: &Asked<'_>, token: &Token) -> bool {
    let text = asked.text(token.word, token.word);
    let capitals = text.chars().all(|c| c.is_uppercase() || c == '.');
    token.text.len() <= INITIALS
        && !text.contains(['\'', '’', '-'])
        && !is_adjective(&token.text)
        && (capitals || !asked.cased && !is_nearly_ordinary(&token.text))
}

/// The only node with these initials.
fn by_initials(asked: &Asked<'_>, token: &Token) -> Result<Option<(Fit, LabelMatch)>, SearchError> {
    let mut found = asked.index.initials(&token.text, 2, NodeRole::Entity)?;
    let one = found.pop().filter(|_| found.is_empty());
    let fit = Fit {
        first: token.word,
        last: token.word,
        quality: 0.6,
        part: Part::Initials,
        misspelt: false,
    };
    Ok(one.map(|found| (fit, found)))
}

/// Whether a piece may be a mention in a question that also contains full names.
fn may_join(asked: &Asked<'_>, spans: &[Span], fit: &Fit, found: &LabelMatch) -> bool {
    let (first, last) = (fit.first, fit.last);
    let edge = asked.words[first].stop || asked.words[last].stop;
    let crosses = spans.iter().any(|span| {
        span.last > span.first
            && span.first <= last
            && first <= span.last
            && (span.first, span.last) != (first, last)
    });
    if (edge || crosses) && fit.part != Part::Whole {
        return false;
    }
    let part = matches!(fit.part, Part::Tail | Part::Head | Part::Initials);
    if first == last && (part || fit.misspelt) {
        // The name of an unknown node (`Hans Landa`) is no part of another name.
        let behind = last + 1;
        let other = |at: usize| spans.iter().all(|span| !span.covers(at)) && is_unknown(asked, at);
        // `Mo Salah` is Mohamed Salah.
        let short = || {
            let given = normalise(asked.text(first - 1, first - 1));
            given.len() > 1 && normalise(&found.label).starts_with(&given)
        };
        let before = asked.next(first).is_some() && other(first - 1) && !short();
        let possessive = !asked.question[asked.words[last].end..].starts_with(char::is_whitespace);
        if before || asked.next(behind).is_some() && !possessive && other(behind) {
            return false;
        }
    }
    let named = spans
        .iter()
        .find(|span| (span.first, span.last) == (first, last));
    let Some(named) = named else {
        return true;
    };
    // A whole name replaces a longer one in three cases: the longer one is the name of a club; the
    // whole name is a lower-case tag and the longer one a proper name; the question asks for a value
    // (`by Hitchcock`, `Hitchcock's films`) and the whole name is not one.
    let value = (is_value(asked, first) || is_maker(asked, first, last))
        && named
            .found
            .iter()
            .filter(|found| found.label.contains(char::is_uppercase))
            .all(|found| asked.kg.in_relations(found.node).is_empty());
    let proper = is_tag(named) && found.label.contains(char::is_uppercase);
    match fit.part {
        Part::Whole => true,
        Part::Distinctive => {
            let label = normalise(&found.label);
            let text = normalise(asked.text(first, last));
            let kind = is_of_kind(&label, &text) && !label.split(' ').any(is_institution);
            label.split(' ').any(is_club) || kind
        }
        Part::Tail => proper || value,
        Part::Head | Part::Initials => false,
    }
}

/// Whether all candidates of a span have a name in lower case.
fn is_tag(span: &Span) -> bool {
    span.found
        .iter()
        .all(|found| !found.label.contains(char::is_uppercase))
}

/// Whether a word is neither ordinary nor grammatical: a name in most questions.
fn is_unknown(asked: &Asked<'_>, at: usize) -> bool {
    let word = asked.words[at];
    let text = normalise(asked.text(at, at));
    if word.stop || word.number || is_title(&text) || is_adjective(&text) {
        return false;
    }
    let first = at == 0 || !asked.cased;
    if first {
        !is_nearly_ordinary(&text)
    } else {
        word.capital
    }
}

/// The names that fit the words around a token.
fn fits(
    asked: &Asked<'_>,
    tokens: &[Token],
    at: usize,
    found: &[LabelMatch],
) -> Vec<(Fit, LabelMatch)> {
    // A span that is a name in full was judged before.
    let judged = |fit: &Fit, form: &str| {
        fit.part == Part::Whole && normalise(asked.text(fit.first, fit.last)) == form
    };
    let best = |candidate: &LabelMatch| {
        let forms = forms_of(&candidate.label);
        forms
            .iter()
            .filter_map(|form| {
                let fit = fit(asked.words, tokens, at, form, asked.cased)?;
                (!judged(&fit, form)).then_some(fit)
            })
            .max_by(|a, b| a.quality.total_cmp(&b.quality))
    };
    // `code=FIN` is the key of a row, which no part of it names.
    let key = |candidate: &&LabelMatch| candidate.label.contains('=');
    found
        .iter()
        .filter(|candidate| !key(candidate))
        .filter_map(|candidate| best(candidate).map(|fit| (fit, candidate.clone())))
        .collect()
}

/// The byte range at which a question mentions a node in other words than its names: the forms that
/// [`super::detect`] finds, without a search.
pub(super) fn mention(kg: &dyn Kg, question: &str, node: NodeId) -> Option<(usize, usize)> {
    let names = kg::normal_names(kg, node);
    let all = words(question);
    let range = |first: usize, last: usize| (all[first].start, all[last].end);
    for first in (0..all.len()).filter(|&first| !all[first].stop) {
        for last in (first..all.len().min(first + NATION_WORDS)).rev() {
            let (start, end) = range(first, last);
            let text = normalise(&question[start..end]);
            let one = singular(&text).is_some_and(|one| names.contains(&one));
            let mut known = nations(&text).into_iter().chain(other_names(&text));
            let written = written_out(&text).is_some_and(|name| names.contains(&name));
            let subject = || subjects_of(&text).iter().any(|name| names.contains(name));
            if one || written || subject() || known.any(|name| names.contains(name)) {
                return Some((start, end));
            }
        }
    }
    let cased = all.iter().skip(1).any(|word| word.capital);
    let texts: Vec<String> = (0..all.len())
        .map(|at| normalise(&question[all[at].start..all[at].end]))
        .collect();
    let tokens = tokens(question, &all);
    let mut best: Option<Fit> = None;
    for name in &names {
        if let Some((first, last)) = turned::mention(&texts, name) {
            return Some(range(first, last));
        }
        for (at, token) in tokens.iter().enumerate() {
            let word = all[token.word];
            if is_ordinary(&token.text) && is_of_kind(name, &token.text) {
                return Some((word.start, word.end));
            }
            if word.stop || word.number || is_ordinary(&token.text) {
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

/// The name that a question without other mentions ends with, if it is an ordinary word in lower
/// case (`who directed moon`): a node with facts and a name with a capital.
pub(super) fn last_word(asked: &Asked<'_>) -> Result<Option<Span>, SearchError> {
    let Some(last) = asked.words.len().checked_sub(1) else {
        return Ok(None);
    };
    let word = asked.words[last];
    let text = normalise(asked.text(last, last));
    if asked.cased || last == 0 || word.stop || !is_ordinary(&text) || is_vocabulary(asked, &text)?
    {
        return Ok(None);
    }
    let mut found = asked.index.named(&text, CHOICES, NodeRole::Entity)?;
    found.retain(|found| {
        found.label.starts_with(char::is_uppercase)
            && normalise(&found.label) == text
            && !asked.kg.out_relations(found.node).is_empty()
    });
    Ok((!found.is_empty()).then_some(Span {
        first: last,
        last,
        weight: 0.0,
        found,
    }))
}
