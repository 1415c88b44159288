//! What a question asks, read from its English words.

use kg::value::{Extreme, Op};
use kg::words;

use super::adjective::{Degree, adjective};
use super::around_numbers::{AroundNumber, around_numbers};
use super::asked_word::AskedWord;
use super::compared::{Compared, compared};
use super::cues::{
    amounts, comparison, counts, degree_word, degrees, gives_range, joins_by_or, negates,
};
use super::embedded::{asks_kind, courtesy, request};
use super::focus::{BE, COUNTING, QUESTION_WORDS, focus, is_extreme, is_noun};
use super::marks::{asking_marks, base};
use super::mentions;
use super::naming::{is_anybody, names_people};
use super::plan::bit;
use super::question_text::QuestionText;
use super::table::WordTables;
use super::text_part::{TextPart, text_part};
use super::totals::asks_for_most;
use super::yes_no::{asks_for_any, judges, tells};
use crate::link::Linked;

/// Words that ask for keys.
const KEYS: &str = "number numbers no nr id ids code codes key keys identifier";

/// An analysed question.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Content words in order, each stem once.
    pub(super) words: Vec<AskedWord>,
    /// It asks for a number of things.
    pub(super) count: bool,
    /// It asks whether something is so.
    pub(super) judge: bool,
    /// It is a statement with a question mark: `the museum open on mondays?`.
    pub(super) tells: bool,
    /// It begins with a form of `be`: `is it a river`.
    pub(super) is: bool,
    /// It asks for an extreme: of a number, and of a time.
    pub(super) extreme: Option<[Extreme; 2]>,
    /// It asks for the most or the fewest of some things: `the most students`.
    pub(super) most_of: bool,
    /// The word that says what is extreme: `coldest`, `visited` of `most visited`.
    pub(super) superlative: Option<usize>,
    /// The word that names what is asked for stands next to that extreme.
    pub(super) extreme_of_focus: bool,
    /// Which in the order of that extreme: 1 for `longest`, 2 for `second longest`.
    pub(super) rank: usize,
    /// It compares: with a number, and with a time.
    pub(super) compare: Option<[Op; 2]>,
    /// How each of its values is compared.
    pub(super) compared: Vec<Compared>,
    /// The part of a text that it says.
    pub(super) part: Option<TextPart>,
    /// The words around each of its values that is a number.
    pub(super) numbers: Vec<Option<AroundNumber>>,
    /// It asks which of two, with the extremes of its comparative.
    pub(super) either: Option<[Extreme; 2]>,
    /// It compares with something: `than`.
    pub(super) than: bool,
    /// The linked entity that it compares with: the mention behind `than`.
    pub(super) than_entity: Option<usize>,
    /// It asks for the value of what is extreme: `how long is the longest river`.
    pub(super) extreme_value: bool,
    /// It gives a range.
    pub(super) between: bool,
    /// It asks for what is not so: `without`, `not`, `no`.
    pub(super) negated: bool,
    /// It asks for what is in a place: `in` stands before a mention, or the mention is an adjective.
    pub(super) place: bool,
    /// The linked entities before which `in` stands, as bits.
    pub(super) within: u64,
    /// For each linked entity, whether `from` (1) or `to` (-1) stands before it.
    pub(super) heading: Vec<i8>,
    /// For each linked entity, the stem of the verb before it.
    pub(super) verbs: Vec<Option<String>>,
    /// It names two things with `and` between them.
    pub(super) both: bool,
    /// It joins two properties by `or`.
    pub(super) or_clause: bool,
    /// It names all its things with `or` between them: `from France or Spain`.
    pub(super) any_of: bool,
    /// It asks for a place by a noun, such as `birthplace`.
    pub(super) wants_place: bool,
    /// It asks for people by a noun, such as `players`.
    pub(super) wants_people: bool,
    /// It asks how much, which is a number of the graph and no number of things.
    pub(super) amount: bool,
    /// It asks how many times something happened.
    pub(super) times: bool,
    /// It asks for keys: `number`, `id`.
    pub(super) keys: bool,
    /// It asks for what is the same, or shared.
    pub(super) same: bool,
    /// It asks whether there is something: `are there any ferries to Vis`.
    pub(super) exists: bool,
    /// It may say two things of one entity: `born and died in Paris`.
    pub(super) joined: bool,
    /// It asks for others than those that it names.
    pub(super) others: bool,
    /// For each linked entity, the work of its own that it mentions behind it: `Klimt's The Kiss`.
    pub(super) owned: Vec<Option<usize>>,
    /// The linked entity that it mentions as a kind of things: `dogs`, `the heaviest dog`.
    pub(super) kind: Option<usize>,
    /// The index of the content word that names what is asked for.
    pub(super) focus: Option<usize>,
    /// Whether it asks for one of two things that it names.
    pub(super) chosen: bool,
    /// Whether it has a question word.
    pub(super) has_question_word: bool,
    /// That word is a noun with an article or question word before it: `the capital`, `which director`.
    pub(super) focus_is_noun: bool,
    /// The byte range at which it mentions each linked entity.
    pub(super) mentions: Vec<Option<(usize, usize)>>,
    /// The byte offset of each content word of the question, with its index.
    places: Vec<(usize, usize)>,
    /// The byte offsets of words that belong to the name of a relation such as `total amount`.
    amounts: Vec<usize>,
    /// The misspelt words with those that were meant.
    typos: Vec<(String, String)>,
    /// The initials of neighbouring words, with the stems of these words.
    initials: Vec<(String, Vec<String>)>,
}

impl Asked {
    /// Analyses a linked question. `names` are stems of names that it mentions in other words, `typos` its
    /// misspelt words with those that were meant. `is_relation` says whether words are the whole name of a relation.
    pub(super) fn new(
        question: &str,
        linked: &Linked,
        names: &[String],
        typos: &[(String, String)],
        is_relation: &dyn Fn(&[String]) -> bool,
        tables: &WordTables,
    ) -> Self {
        let text = QuestionText::of(question, linked, typos, is_relation, tables);
        let all = &text.all;
        let mut asked = Self {
            count: counts(&text.counted()),
            amounts: text.amounts(),
            judge: judges(question),
            tells: tells(question),
            is: (all.first()).is_some_and(|word| BE.contains(&word.as_str())),
            typos: typos.to_vec(),
            part: text_part(question),
            ..Self::default()
        };
        asked.read_words(&text, names);
        for mark in asking_marks(&text.bare, &text.placed) {
            asked.push(AskedWord {
                stem: mark.to_owned(),
                word: mark.trim_start_matches('#').replace('-', " "),
                at: text.bare.len(),
                ..AskedWord::default()
            });
        }
        asked.initials = text.initials();
        asked.read_degrees(&text);
        asked.read_comparisons(&text);
        asked.read_kinds_of_answer(&text);
        asked.read_mentions(question, linked);
        asked.read_choice(question, linked);
        asked.read_focus(&text);
        asked
    }

    /// Reads the content words.
    fn read_words(&mut self, text: &QuestionText<'_>, names: &[String]) {
        // `Please check whether` says nothing.
        let mut skip = request(&text.all).max(courtesy(&text.all));
        for (index, (at, word)) in text.placed.iter().enumerate() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if self.part.as_ref().is_some_and(|part| part.covers(*at)) {
                continue;
            }
            let value = text.value_of(word);
            if value.is_none() && text.is_aside(index) {
                continue;
            }
            if let (Some((stem, length)), None) = (text.phrase(index), value) {
                self.push(AskedWord {
                    stem,
                    word: text.all[index..index + length].join(" "),
                    at: *at,
                    ..AskedWord::default()
                });
                skip = length - 1;
                continue;
            }
            let counting = self.count && COUNTING.contains(&word.as_str());
            if value.is_none() && (counting && !text.is_total(index) || text.is_empty(index)) {
                continue;
            }
            if asks_kind(&text.all, index) {
                // Nobody asks for a novel.
                skip = 2;
            }
            let cast = value.is_none() && text.asks_for_cast(index);
            let stem = base(if cast { "starring" } else { word });
            if text.is_number(index) || value.is_none() && names.contains(&stem) {
                continue;
            }
            self.push(AskedWord {
                stem: text.meant(word, stem),
                word: word.clone(),
                at: *at,
                value,
                named: value.is_none() && mentions::has_capital(text.question, *at),
                adjective: adjective(word).map(|(found, _)| found),
            });
        }
    }

    /// Reads extremes: `the second longest`.
    fn read_degrees(&mut self, text: &QuestionText<'_>) {
        let all = &text.all;
        let listed = lists_choices(text.question, text.linked);
        [self.extreme, self.either] = degrees(&all[courtesy(all)..], listed);
        let how = |pair: &[String]| {
            let plain = adjective(&pair[1]).is_some_and(|(_, degree)| degree == Degree::Plain);
            pair[0] == "how" && plain
        };
        self.extreme_value = self.extreme.is_some() && all.windows(2).any(how);
        let superlative = degree_word(all).filter(|_| self.extreme.is_some());
        self.superlative = superlative.and_then(|at| self.index(&all[at]));
        self.rank = text.ranked.map_or(1, |(_, rank)| rank);
        self.most_of = asks_for_most(all);
    }

    /// Reads what is compared, and what is left out.
    fn read_comparisons(&mut self, text: &QuestionText<'_>) {
        let (all, values) = (&text.all, &text.linked.values);
        self.compare = comparison(all);
        self.or_clause = joins_by_or(all);
        self.compared = compared(&text.bare, all, values);
        self.numbers = around_numbers(&text.placed, values, |at| self.placed(at));
        self.between = gives_range(all);
        self.than = all.iter().any(|word| word == "than");
        self.negated = negates(all);
        // `other_details` are no others.
        let column = (0..all.len()).any(|at| {
            all[at] == "other"
                && (at + 2..=all.len().min(at + 4)).any(|to| (text.is_relation)(&all[at..to]))
        });
        self.others = !column && mentions::asks_for_others(all);
    }

    /// Reads words that say what kind of answer is asked for.
    fn read_kinds_of_answer(&mut self, text: &QuestionText<'_>) {
        let all = &text.all;
        let is = |list: &[&str]| all.iter().any(|word| list.contains(&word.as_str()));
        self.has_question_word = is(QUESTION_WORDS);
        self.times = is(&["times", "often"]);
        let key = |word: &String| KEYS.split(' ').any(|key| key == word);
        let of = |at: usize| all.get(at + 1).is_some_and(|next| next == "of");
        // `the largest number of people` asks for no key.
        self.keys = (0..all.len()).any(|at| key(&all[at]) && !(all[at] == "number" && of(at)));
        self.same = mentions::asks_for_common(all);
        self.both = is(&["both"]) || mentions::are_joined(text.question, text.linked);
        self.joined = is(&["and", "both", "also", "too", "&"]);
        self.exists = self.judge && asks_for_any(all);
        self.amount = amounts(all);
    }

    /// Reads what is said of the linked entities.
    fn read_mentions(&mut self, question: &str, linked: &Linked) {
        let entities = || 0..linked.entities.len();
        self.than_entity = mentions::compared_with(question, linked);
        self.any_of = mentions::are_alternatives(question, linked);
        self.place = mentions::stand_for_places(question, linked);
        self.within = entities()
            .filter(|&entity| mentions::stands_within(question, linked, entity))
            .fold(0, |all, entity| all | bit(entity));
        self.heading = entities()
            .map(|entity| mentions::heading(question, linked, entity))
            .collect();
        self.verbs = entities()
            .map(|entity| mentions::verb_before(question, linked, entity))
            .collect();
        self.mentions = entities().map(|entity| linked.span(entity)).collect();
    }

    /// Reads whether one of two things is asked for: `Is it the Elbe or the Loire that is longer?`.
    fn read_choice(&mut self, question: &str, linked: &Linked) {
        let texts = || self.compared.iter().any(|one| one.or.is_some());
        let chosen = self.either.is_some()
            && !self.than
            && (mentions::or_between(question, linked) || texts());
        self.chosen = chosen;
        self.judge &= !chosen;
        self.tells &= !chosen;
    }

    /// Reads which word names what is asked for.
    fn read_focus(&mut self, text: &QuestionText<'_>) {
        let (all, placed) = (&text.all, &text.placed);
        self.focus = focus(&text.bare, placed).and_then(|word| self.index(&placed[word].1));
        let focus = self.focus.and_then(|at| self.words.get(at));
        self.focus_is_noun = focus.is_some_and(|word| is_noun(placed, word.at));
        self.extreme_of_focus = focus.is_some_and(|word| is_extreme(placed, word.at));
        self.wants_place =
            focus.is_some_and(|word| matches!(word.word.as_str(), "birthplace" | "hometown"));
        let people =
            |word: &AskedWord| names_people(word.word.split(' ').next().unwrap_or_default());
        self.wants_people =
            all.windows(2).any(|pair| is_anybody(&pair[0], &pair[1])) || focus.is_some_and(people);
    }

    /// Whether a name is the initials of a word and its neighbours, as 1 or 0: `gnp` is a gross
    /// national product.
    pub(super) fn abbreviated(&self, word: &AskedWord, name: &str) -> f32 {
        let found = (self.initials.iter())
            .any(|(initials, stems)| initials == name && stems.contains(&word.stem));
        if found { 1.0 } else { 0.0 }
    }

    /// The index of the content word of which a word of the question is the whole or a part.
    fn index(&self, word: &str) -> Option<usize> {
        let is = |one: &AskedWord| {
            one.word.split(' ').any(|part| part == word) && one.value.is_none() && !one.is_mark()
        };
        self.words.iter().position(is)
    }

    /// The number of bytes between a content word and the mention of an entity.
    pub(super) fn distance(&self, word: usize, entity: usize) -> Option<usize> {
        let (start, end) = (*self.mentions.get(entity)?)?;
        let at = self.words.get(word)?.at;
        Some(start.saturating_sub(at).max(at.saturating_sub(end)))
    }

    /// The word that was meant by a misspelt one.
    pub(super) fn meant(&self, word: &str) -> Option<&str> {
        let found = self.typos.iter().find(|(typo, _)| typo == word);
        found.map(|(_, meant)| meant.as_str())
    }

    /// Whether the word at a byte offset belongs to the name of a relation such as `total amount`.
    pub(super) fn is_in_amount_name(&self, at: usize) -> bool {
        self.amounts.contains(&at)
    }

    /// The index of the content word at a byte offset of the question.
    pub(super) fn placed(&self, at: usize) -> Option<usize> {
        let found = self.places.iter().find(|(place, _)| *place == at);
        found.map(|(_, index)| *index)
    }

    fn push(&mut self, word: AskedWord) {
        let known = (self.words.iter()).position(|known| known.stem == word.stem);
        let index = known.unwrap_or(self.words.len());
        self.places.push((word.at, index));
        if known.is_none() {
            self.words.push(word);
        }
    }
}

/// Whether a question lists the entities of which it asks for one: `Bach, Handel: who was the elder`, `the oldest of Bach,
/// Handel and Vivaldi`.
fn lists_choices(question: &str, linked: &Linked) -> bool {
    let spans = (0..linked.entities.len()).map(|at| linked.span(at));
    let Some(mut spans) = spans.collect::<Option<Vec<(usize, usize)>>>() else {
        return false;
    };
    spans.sort_unstable();
    let ([first, _, ..], Some(last)) = (spans.as_slice(), spans.last()) else {
        return false;
    };
    let joined = |pair: &[(usize, usize)]| {
        let between = question.get(pair[0].1..pair[1].0).map(str::trim);
        let joins = [",", "/", "&", "and", "vs", "vs.", ", and"];
        between.is_some_and(|text| joins.contains(&text))
    };
    let before = question.get(..first.0).unwrap_or_default().trim();
    let behind = question.get(last.1..).unwrap_or_default().trim_start();
    let of = words(before)
        .pop()
        .is_some_and(|word| matches!(word.as_str(), "of" | "between" | "among"));
    spans.windows(2).all(joined)
        && (of || before.is_empty() && behind.starts_with([':', '-', ',', ';', '–']))
}

#[cfg(test)]
mod tests;
