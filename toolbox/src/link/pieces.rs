//! Mentions by a part of a name (`Orwell`, `Bayern`, `Everest`) and by a misspelt name: aligns the
//! words of a question with the words of a name and judges the missing words.

use kg::search::{LabelMatch, MatchKind, nearly, normalise};

use super::language::{
    is_adjective, is_concept, is_designator, is_nation, is_nearly_ordinary, is_ordinary,
    is_particle,
};
use super::names::{Asked, is_value};
use super::words::Word;

/// Minimum length of a single misspelt word: a whole name, and a part of a longer one.
const MISSPELT: usize = 5;
const MISSPELT_PART: usize = 6;
/// Minimum length of a single word that stands for a longer name, in lower case and with a capital.
const PART: usize = 4;
const CAPITAL_PART: usize = 3;
/// Maximum number of words of a name that one word may stand for.
const LONG_NAME: usize = 5;
/// Minimum share of a name that several of its words must cover.
const COVERAGE: f32 = 0.4;

/// A normalised part of a question word: a hyphenated word has several.
pub(super) struct Token {
    pub(super) text: String,
    /// The index of its word.
    pub(super) word: usize,
}

pub(super) fn tokens(question: &str, words: &[Word]) -> Vec<Token> {
    let parts = words.iter().enumerate().flat_map(|(word, at)| {
        let normal = normalise(&question[at.start..at.end]);
        let parts: Vec<String> = normal.split(' ').map(str::to_owned).collect();
        parts.into_iter().map(move |text| Token { text, word })
    });
    parts.filter(|token| !token.text.is_empty()).collect()
}

/// How well a part stands for a whole name; greater is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// First and last word of the question.
    pub(super) first: usize,
    pub(super) last: usize,
    /// Quality in `(0, 1]`.
    pub(super) quality: f32,
    /// The kind of part.
    pub(super) part: Part,
    /// Whether a word is misspelt.
    pub(super) misspelt: bool,
}

/// Which part of a name is mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// All but words such as `river` or `fc`.
    Distinctive,
    /// The last words, several words, or all but an addition such as `II of Prussia`.
    Tail,
    /// Only the first word.
    Head,
    /// Its initials.
    Initials,
}

impl Part {
    /// Whether it is only the beginning or the end of a name.
    pub(super) fn is_end(self) -> bool {
        matches!(self, Self::Tail | Self::Head)
    }

    /// Number of nodes that may share the part; more make it ordinary or ambiguous.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Whole | Self::Distinctive | Self::Tail => usize::MAX,
            Self::Head => 5,
            Self::Initials => 1,
        }
    }
}

/// A run of tokens that equals a run of the words of a name, apart from spelling mistakes.
#[derive(Clone, Copy)]
struct Run {
    tokens: (usize, usize),
    name: (usize, usize),
    edits: usize,
}

/// The best fit of a normalised name to the tokens around `at`, which must be one of its words.
/// `cased` tells that the question writes names with capitals.
pub(super) fn fit(
    words: &[Word],
    tokens: &[Token],
    at: usize,
    name: &str,
    cased: bool,
) -> Option<Fit> {
    let name: Vec<&str> = name.split(' ').collect();
    let runs = (0..name.len()).filter_map(|place| run(words, tokens, at, &name, place));
    let best = runs.max_by_key(|run| {
        let length = run.tokens.1 - run.tokens.0;
        (length, std::cmp::Reverse(run.edits))
    })?;
    judge(words, tokens, best, &name, cased)
}

/// Whether a token may be this word of a name: the same word, or a misspelling of it that is not an
/// ordinary word.
fn matches(words: &[Word], token: &Token, word: &str) -> Option<bool> {
    // `Nobel Prize for physics` is the Nobel Prize in Physics.
    let small = |word: &str| ["for", "from", "in", "of"].contains(&word);
    if token.text == word || small(&token.text) && small(word) {
        return Some(true);
    }
    let known = words[token.word].stop
        || words[token.word].number
        || is_ordinary(&token.text)
        || is_concept(&token.text);
    (!known && !is_adjective(&token.text) && nearly(&token.text, word)).then_some(false)
}

/// The longest run through the token `at` and the word `place` of a name.
fn run(words: &[Word], tokens: &[Token], at: usize, name: &[&str], place: usize) -> Option<Run> {
    let mut edits = usize::from(!matches(words, &tokens[at], name[place])?);
    let (mut first, mut from) = (at, place);
    while first > 0 && from > 0 {
        let Some(same) = matches(words, &tokens[first - 1], name[from - 1]) else {
            break;
        };
        (first, from) = (first - 1, from - 1);
        edits += usize::from(!same);
    }
    let (mut last, mut to) = (at, place);
    while last + 1 < tokens.len() && to + 1 < name.len() {
        let Some(same) = matches(words, &tokens[last + 1], name[to + 1]) else {
            break;
        };
        (last, to) = (last + 1, to + 1);
        edits += usize::from(!same);
    }
    Some(Run {
        tokens: (first, last + 1),
        name: (from, to + 1),
        edits,
    })
}

/// Whether a run is enough of a name to stand for it.
fn judge(words: &[Word], tokens: &[Token], run: Run, name: &[&str], cased: bool) -> Option<Fit> {
    let matched = &tokens[run.tokens.0..run.tokens.1];
    let (first, last) = (matched.first()?.word, matched.last()?.word);
    let made = |quality: f32, part: Part| {
        let quality = quality - 0.02 * run.edits as f32;
        Some(Fit {
            first,
            last,
            quality,
            part,
            misspelt: run.edits > 0,
        })
    };
    let missing: Vec<&str> = name[..run.name.0]
        .iter()
        .chain(&name[run.name.1..])
        .copied()
        .collect();
    // The first word of a sentence has a capital anyway.
    let named = matched
        .iter()
        .any(|token| token.word > 0 && words[token.word].capital);
    let text = matched.first()?.text.as_str();
    let single = matched.len() == 1;
    let chars = text.chars().count();
    if single && (cased && !named && first > 0 || is_nearly(text, run.edits)) {
        return None;
    }
    let least = if missing.is_empty() || named {
        MISSPELT
    } else {
        MISSPELT_PART
    };
    if single && run.edits > 0 && chars < least {
        return None;
    }
    if missing.is_empty() {
        return made(0.95, Part::Whole);
    }
    if missing.iter().all(|word| is_designator(word)) {
        let other = [
            "people", "language", "empire", "republic", "film", "fiction", "state",
        ];
        let differs = is_adjective(text) && missing.iter().any(|word| other.contains(word));
        return if single && (differs || chars < CAPITAL_PART) {
            None
        } else {
            // `Nobel` means the person if the graph has one of that name, and otherwise the Nobel Prize.
            let named_after = |word: &&str| ["award", "museum", "prize"].contains(word);
            let named_after = missing.iter().any(named_after);
            made(if named_after { 0.65 } else { 0.85 }, Part::Distinctive)
        };
    }
    let small = |token: &Token| {
        let word = words[token.word];
        word.stop || !word.capital && is_ordinary(&token.text)
    };
    // `the ones you've got` are not the film `You've Got Mail`.
    if matched.iter().all(small) {
        return None;
    }
    let core = core(name);
    let (head, tail) = (
        run.name.0 == 0,
        run.name.1 == core || run.name.1 == name.len(),
    );
    if !single {
        let enough = matched.len() as f32 >= COVERAGE * name.len() as f32;
        let quality = if head || tail { 0.7 } else { 0.6 };
        return if enough || head && run.name.1 == core {
            made(quality, Part::Tail)
        } else {
            None
        };
    }
    let ordinary = |word: &&str| (is_ordinary(word) || is_concept(word)) && !is_particle(word);
    let least = if named { CAPITAL_PART } else { PART };
    if is_adjective(text)
        || is_nation(text)
        || core > LONG_NAME
        || chars < least
        || !named && missing.iter().any(ordinary)
    {
        return None;
    }
    match (head, tail) {
        (_, true) => made(0.7, Part::Tail),
        (true, _) if run.edits == 0 => made(0.5, Part::Head),
        // A middle name alone does not identify a person.
        _ => None,
    }
}

/// Whether a single word is an ordinary word, or a misspelt one that is not a word of the name.
fn is_nearly(text: &str, edits: usize) -> bool {
    if edits > 0 {
        is_nearly_ordinary(text)
    } else {
        is_ordinary(text) || is_concept(text)
    }
}

/// Number of words of a name before an addition: `Frederick | II of Prussia`, `Sammy Davis | Jr`.
fn core(name: &[&str]) -> usize {
    let addition = |word: &&str| {
        ["of", "the", "jr", "sr"].contains(word)
            || word.starts_with(|c: char| c.is_ascii_digit())
            || word.chars().all(|c| matches!(c, 'i' | 'v' | 'x'))
    };
    let cut = name.iter().skip(1).position(addition);
    cut.map_or(name.len(), |cut| cut + 1)
}

/// Maximum difference to the best part of a name for one mention.
const EQUAL: f32 = 0.05;

/// The best fits of each span, without those that too many nodes share.
pub(super) fn distinct(
    asked: &Asked<'_>,
    mut pieces: Vec<(Fit, LabelMatch)>,
) -> Vec<(Fit, LabelMatch)> {
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
    let is_tail = |(_, found): &&(Fit, LabelMatch)| !asked.kg.in_relations(found.node).is_empty();
    for group in pieces.chunk_by(|(a, _), (b, _)| same(a, b)) {
        // Where the question asks for a value, nodes that are values come first.
        let values: Vec<&(Fit, LabelMatch)> = if is_value(asked, group[0].0.first) {
            group.iter().filter(is_tail).collect()
        } else {
            Vec::new()
        };
        let group = if values.is_empty() {
            group.iter().collect()
        } else {
            values
        };
        let best = group[0].0;
        // `which gallery` asks for one.
        let asks = asked.before(best.first).as_deref() == Some("which");
        let word = asked.words[best.first];
        if asks && best.first == best.last && best.part != Part::Whole && !word.capital {
            continue;
        }
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

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    fn part(question: &str, word: &str, name: &str) -> Option<(Part, bool)> {
        let all = words(question);
        let tokens = tokens(question, &all);
        let cased = all.iter().skip(1).any(|word| word.capital);
        let at = tokens.iter().position(|token| token.text == word)?;
        fit(&all, &tokens, at, name, cased).map(|fit| (fit.part, fit.misspelt))
    }

    #[test]
    fn parts_of_names_are_told_apart() {
        for (question, word, name, found) in [
            (
                "books by orwell",
                "orwell",
                "george orwell",
                Some((Part::Tail, false)),
            ),
            (
                "films by hitchcok",
                "hitchcok",
                "alfred hitchcock",
                Some((Part::Tail, true)),
            ),
            (
                "has heath leger won",
                "heath",
                "heath ledger",
                Some((Part::Whole, true)),
            ),
            (
                "height of everest",
                "everest",
                "mount everest",
                Some((Part::Distinctive, false)),
            ),
            (
                "who beat bayern",
                "bayern",
                "bayern munich",
                Some((Part::Head, false)),
            ),
            (
                "did Frederick marry",
                "frederick",
                "frederick ii of prussia",
                Some((Part::Tail, false)),
            ),
            // An ordinary word, a word of a title, and a lower-case word where names have capitals.
            ("movies by night", "night", "the night watch", None),
            ("the populaton", "populaton", "population bomb", None),
            (
                "who directed citizen Kane, the citizen",
                "citizen",
                "citizen jones",
                None,
            ),
        ] {
            assert_eq!(part(question, word, name), found, "{question}");
        }
    }
}
