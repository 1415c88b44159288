//! Mentions by name: every span of a question's words that is the name of a node and is written
//! like a name.
//!
//! Ordinary words are names too in many graphs (`film`, `good`, `writer`). A lower-case word links
//! only if it is not in the graph's vocabulary (names of classes and relations) and not the name of
//! a role (`writer of …`). An ordinary word must also be where a question names its topic (`films
//! about dreams`).

use common::cancel::{Cancel, Cancelled};
use kg::Kg;
use kg::search::{LabelIndex, LabelMatch, MatchKind, NameKind, NodeRole, SearchError, normalise};

use super::error::LinkError;
use super::language::{
    is_adjective, is_concept, is_nearly_ordinary, is_ordinary, subjects_of, written_out,
};
use super::span::{CHOICES, LONGEST, Span};
use super::units::unit_named;
use super::words::Word;
use crate::rank::stem;

/// Number of letters of a stem that all its words begin with.
const STEM: usize = 4;

/// A question whose names are searched.
pub(super) struct Asked<'a> {
    pub(super) kg: &'a dyn Kg,
    pub(super) index: &'a LabelIndex,
    pub(super) question: &'a str,
    pub(super) words: &'a [Word],
    /// Whether the question writes names with capitals.
    pub(super) cased: bool,
    /// Ends the linking early. Looked at before each search.
    pub(super) cancel: &'a Cancel,
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        kg: &'a dyn Kg,
        question: &'a str,
        words: &'a [Word],
        cancel: &'a Cancel,
    ) -> Result<Self, SearchError> {
        Ok(Self {
            kg,
            index: kg.label_index()?,
            question,
            words,
            cased: words.iter().skip(1).any(|word| word.capital),
            cancel,
        })
    }

    /// Whether the linking may go on.
    pub(super) fn check(&self) -> Result<(), Cancelled> {
        self.cancel.check()
    }

    /// The text of a span of words.
    pub(super) fn text(&self, first: usize, last: usize) -> &'a str {
        &self.question[self.words[first].start..self.words[last].end]
    }

    /// The normal form of a word, if there is one at this place and no punctuation before it.
    pub(super) fn next(&self, at: usize) -> Option<String> {
        let (before, word) = (self.words.get(at.checked_sub(1)?)?, self.words.get(at)?);
        let between = &self.question[before.end..word.start];
        (!between.contains([',', ';', ':', '?', '.', '!'])).then(|| normalise(self.text(at, at)))
    }

    /// The normal form of the word before this place.
    pub(super) fn before(&self, at: usize) -> Option<String> {
        let at = at.checked_sub(1)?;
        Some(normalise(self.text(at, at)))
    }
}

/// Every span of words that is the name of a node and is written like a name.
pub(super) fn named(asked: &Asked<'_>) -> Result<Vec<Span>, LinkError> {
    let words = asked.words;
    let mut spans = Vec::new();
    for first in 0..words.len() {
        for last in first..words.len().min(first + LONGEST) {
            asked.check()?;
            let inside = &words[first..=last];
            let year = first == last && is_year_value(asked, first);
            if inside.iter().all(|word| word.stop || word.number)
                && !year
                && !titled(inside, first, asked.cased)
            {
                continue;
            }
            let text = asked.text(first, last);
            let mut found = asked.index.named(text, CHOICES, NodeRole::Entity)?;
            if found.is_empty()
                && let Some(written) = written_out(&normalise(text))
            {
                found = asked.index.named(&written, CHOICES, NodeRole::Entity)?;
            }
            if found.is_empty() && first == last {
                for subject in subjects_of(&normalise(text)) {
                    found.extend(asked.index.named(&subject, CHOICES, NodeRole::Entity)?);
                }
            }
            if found.is_empty() {
                continue;
            }
            // An article belongs to a mention only if it belongs to the name.
            let article = article(text);
            found.retain(|candidate| {
                article.is_none_or(|article| {
                    normalise(&candidate.label).split(' ').next() == Some(article)
                })
            });
            let quoted = is_quoted(asked.question, inside);
            if !quoted && !year {
                found = read_as_names(asked, first, last, found)?;
            }
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

/// Whether a word is a year that may be an entity: not the bound of a comparison.
fn is_year_value(asked: &Asked<'_>, at: usize) -> bool {
    let word = asked.words[at];
    let bounds = [
        "above", "after", "before", "below", "between", "from", "least", "most", "over", "since",
        "than", "to", "under", "until",
    ];
    word.number
        && word.end - word.start == 4
        && asked
            .before(at)
            .is_none_or(|before| !bounds.contains(&before.as_str()))
}

/// The article at the beginning of a text.
fn article(text: &str) -> Option<&'static str> {
    let first = text.split_whitespace().next()?;
    ["the", "a", "an"]
        .into_iter()
        .find(|article| first.eq_ignore_ascii_case(article))
}

/// Ordinary words that are a name if they are all of it.
const TITLE_WORDS: usize = 4;

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

/// The candidates whose name a span is written like.
fn read_as_names(
    asked: &Asked<'_>,
    first: usize,
    last: usize,
    mut found: Vec<LabelMatch>,
) -> Result<Vec<LabelMatch>, SearchError> {
    let text = asked.text(first, last);
    let content: Vec<(usize, &Word)> = (first..=last)
        .map(|at| (at, &asked.words[at]))
        .filter(|(_, word)| !word.stop)
        .collect();
    if content.iter().any(|(at, word)| word.capital && *at > 0) {
        return Ok(found);
    }
    // So many words are a name by no accident: `some like it hot`.
    if last - first + 1 >= TITLE_WORDS && found.iter().any(|one| is_same(&one.label, text)) {
        found.retain(|candidate| is_same(&candidate.label, text));
        return Ok(found);
    }
    if let [(_, word)] = content[..] {
        let plain = normalise(&asked.question[word.start..word.end]);
        if word.number {
            return Ok(found);
        }
        if is_unit(asked, first) {
            return Ok(Vec::new());
        }
        if is_vocabulary(asked, &normalise(text))?
            || is_vocabulary(asked, &plain)?
            || is_role(asked, &plain, last)
        {
            return Ok(Vec::new());
        }
        let topic = is_topic(asked, first, last)? || is_determined(asked, first);
        if is_ordinary(&plain) && !topic {
            return Ok(Vec::new());
        }
        if asked.cased && !word.capital {
            // A lower-case word is a common noun if the question writes names in capitals, unless
            // the graph writes it in lower case too or uses it as a value.
            let common = topic || is_concept(&plain) || is_adjective(&plain);
            let reads = |found: &LabelMatch| {
                found.how == MatchKind::Exact && found.kind != NameKind::Short
                    || common && !asked.kg.in_relations(found.node).is_empty()
            };
            if !found.iter().any(reads) {
                return Ok(Vec::new());
            }
            found.retain(|candidate| reads(candidate) || is_same(&candidate.label, text));
        }
        return Ok(found);
    }
    if is_vocabulary_name(asked.index, &normalise(text))? {
        return Ok(Vec::new());
    }
    // Several ordinary words link only to a name that is the same word for word: `french films` is
    // not `French Film`.
    let known = content.iter().all(|(_, word)| {
        let word = normalise(&asked.question[word.start..word.end]);
        is_ordinary(&word) || is_concept(&word) || is_adjective(&word)
    });
    if known {
        found.retain(|candidate| is_same(&candidate.label, text));
    }
    Ok(found)
}

/// Whether an article makes a word a thing in a question about an ontology, whose things are called by common nouns.
fn is_determined(asked: &Asked<'_>, first: usize) -> bool {
    let before = asked.before(first);
    asked.kg.schema().is_ontology && matches!(before.as_deref(), Some("the" | "a" | "an" | "of"))
}

/// Whether a span is the whole value of an attribute, or its plural: `GM` is a title before it is Gideon
/// Marsh, and `sensors` are parts of the kind `sensor` before they are Xanthor Sensors.
pub(super) fn is_column_value(asked: &Asked<'_>, first: usize, last: usize) -> bool {
    let text = asked.text(first, last);
    let is_value = |text: &str| crate::text_values::value_of(asked.kg, text).is_some();
    is_value(text) || kg::search::singular(&normalise(text)).is_some_and(|one| is_value(&one))
}

/// Whether a word is the unit of the number before it: `4000 m` does not mention the film `M`.
fn is_unit(asked: &Asked<'_>, at: usize) -> bool {
    let number = at.checked_sub(1).is_some_and(|at| asked.words[at].number);
    number && unit_named(asked.text(at, at)).is_some()
}

/// Whether two names differ at most in case and punctuation.
fn is_same(a: &str, b: &str) -> bool {
    normalise(a) == normalise(b)
}

/// Whether a normalised word belongs to the name of a class or relation, in any form, or a
/// normalised text is such a name.
pub(super) fn is_vocabulary(asked: &Asked<'_>, text: &str) -> Result<bool, SearchError> {
    if is_vocabulary_name(asked.index, text)? {
        return Ok(true);
    }
    if text.contains(' ') {
        return Ok(false);
    }
    let stemmed = stem(text);
    let prefix: String = stemmed.chars().take(STEM).collect();
    asked
        .index
        .is_vocabulary(&prefix, &|other| stem(other) == stemmed)
}

/// Whether the words before a place ask for a value of a relation: `directed by …`, `about …`.
pub(super) fn is_value(asked: &Asked<'_>, first: usize) -> bool {
    matches!(
        asked.before(first).as_deref(),
        Some("about" | "by" | "featuring" | "starring")
    )
}

/// Whether a mention is said to have made something: `Hitchcock's films`, `what did Hitchcock direct`.
pub(super) fn is_maker(asked: &Asked<'_>, first: usize, last: usize) -> bool {
    const MADE: &str = "film films movie movies flicks pictures works novel novels book books song songs album albums \
        paintings operas directed wrote starred made painted composed";
    const MAKE: &str = "direct write star make paint compose";
    let next = asked.next(last + 1).unwrap_or_default();
    let is_one = |list: &str| list.split(' ').any(|one| one == next);
    let behind = &asked.question[asked.words[last].end..];
    let did = asked.before(first).as_deref() == Some("did") && is_one(MAKE);
    is_one(MADE) || behind.starts_with("'s ") || did
}

/// Whether a text is the name of a class or of a relation, in the singular or plural.
pub(super) fn is_vocabulary_name(index: &LabelIndex, normal: &str) -> Result<bool, SearchError> {
    let (head, last) = normal.rsplit_once(' ').unwrap_or(("", normal));
    let one = kg::search::singular(last).map(|one| format!("{head} {one}").trim().to_owned());
    for form in [Some(normal.to_owned()), one].iter().flatten() {
        if index.knows(form, NodeRole::Class)? || index.knows(form, NodeRole::Relation)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a word and one next to it are the name of a class: `railway stations` are no station that is called so.
pub(super) fn is_in_class_name(asked: &Asked<'_>, word: usize) -> Result<bool, LinkError> {
    let pairs = [
        word.checked_sub(1).map(|first| (first, word)),
        Some((word, word + 1)),
    ];
    for (first, last) in pairs.into_iter().flatten() {
        let plain = |at: usize| {
            asked
                .words
                .get(at)
                .is_some_and(|one| !one.stop && !one.number)
        };
        if plain(first) && plain(last) {
            let said = normalise(asked.text(first, last));
            if is_vocabulary_name(asked.index, &said)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a word names a role: `painter of …`, `the novelist behind …`, `by the actor Tom Hanks`.
fn is_role(asked: &Asked<'_>, word: &str, last: usize) -> bool {
    let next = asked.next(last + 1);
    let of = matches!(next.as_deref(), Some("of" | "behind" | "for"));
    let one = kg::search::singular(word).is_none();
    // A proper name behind it is that of the person.
    let name = |word: &Word, next: &str| {
        if asked.cased {
            word.capital
        } else {
            !(word.stop || word.number || is_nearly_ordinary(next))
        }
    };
    let behind = next.as_deref().zip(asked.words.get(last + 1));
    let names = one && behind.is_some_and(|(next, word)| name(word, next));
    is_concept(word) && (of || names)
}

/// Whether a span stands where a question names its topic: after `about`, or before a word for
/// works or for a class.
pub(super) fn is_topic(asked: &Asked<'_>, first: usize, last: usize) -> Result<bool, SearchError> {
    if let Some(before) = asked.before(first)
        && matches!(
            before.as_str(),
            "about" | "genre" | "topic" | "theme" | "tagged" | "tag"
        )
    {
        return Ok(true);
    }
    let Some(next) = asked.next(last + 1) else {
        return Ok(false);
    };
    let text = normalise(asked.text(first, last));
    let one = kg::search::singular(&next).unwrap_or(next);
    let works = [
        "film", "movie", "flick", "picture", "novel", "book", "story", "song", "show", "series",
    ];
    let describes = !QUALITIES.contains(&text.as_str());
    Ok(describes && (works.contains(&one.as_str()) || asked.index.knows(&one, NodeRole::Class)?))
}

/// Ordinary words before a noun that describe it without naming a topic.
const QUALITIES: &[&str] = &[
    "acted",
    "all",
    "any",
    "best",
    "big",
    "bigger",
    "biggest",
    "different",
    "directed",
    "earlier",
    "earliest",
    "early",
    "famous",
    "favorite",
    "favourite",
    "final",
    "first",
    "full",
    "good",
    "great",
    "greatest",
    "high",
    "highest",
    "large",
    "larger",
    "largest",
    "last",
    "late",
    "later",
    "latest",
    "list",
    "little",
    "long",
    "longer",
    "longest",
    "made",
    "main",
    "major",
    "named",
    "new",
    "newest",
    "next",
    "nice",
    "old",
    "older",
    "oldest",
    "only",
    "original",
    "own",
    "popular",
    "previous",
    "recent",
    "released",
    "same",
    "second",
    "several",
    "short",
    "shorter",
    "shortest",
    "single",
    "small",
    "smaller",
    "smallest",
    "tall",
    "taller",
    "tallest",
    "third",
    "top",
    "total",
    "twin",
    "which",
    "whole",
    "worst",
    "written",
    "young",
    "youngest",
];
