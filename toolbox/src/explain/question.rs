//! What a question asks, read from its English words.

use kg::value::{Extreme, Op};
use kg::words;

use super::adjective::{Degree, adjective};
use super::around_numbers::{AroundNumber, around_numbers};
use super::asked_word::AskedWord;
use super::compared::{Compared, compared};
use super::cues::{
    amounts, comparison, counts, degree_word, degrees, gives_range, is_of_century, joins_by_or,
    negates, rank, whole_words,
};
use super::embedded::{after_own_words, asks_kind, courtesy, is_journey, request};
use super::focus::{BE, COUNTING, QUESTION_WORDS, focus, is_content, is_extreme, is_noun};
use super::marks::{asking_marks, base};
use super::mentions;
use super::name_parts::name_part;
use super::naming::{is_anybody, names_people};
use super::plan::bit;
use super::table::WordTables;
use super::text_part::{TextPart, text_part};
use super::totals::{amount_names, asks_for_most, is_amount};
use super::vocabulary::is_chatter;
use super::yes_no::{asks_for_any, ends_with_tag, judges, tells};
use crate::link::{
    Linked, has_date, is_code_of, is_month, is_short_code, is_size, number_of_word,
    words_of_nation, words_of_sex,
};

/// Words that ask for keys.
const KEYS: &str = "number numbers no nr id ids code codes key keys identifier";

/// How surely a word that may be written as a code must mean a relation to mean no code: `published`.
const KNOWN: f32 = 0.3;

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
        let bare = mentions::blanked(question, linked, tables);
        let mut placed = whole_words(&bare);
        for (_, word) in &mut placed {
            if word == "whereabouts" {
                "where".clone_into(word);
            }
            if let Some((_, meant)) = typos.iter().find(|(typo, _)| typo == word) {
                word.clone_from(meant);
            }
        }
        let all: Vec<String> = placed.iter().map(|(_, word)| word.clone()).collect();
        // `the total point` of a game that has `total_points`
        let named = amount_names(&all, |words| {
            let several = || {
                let (last, before) = words.split_last()?;
                let mut all = before.to_vec();
                all.push(format!("{last}s"));
                Some(is_relation(&all))
            };
            is_relation(words) || words.len() > 1 && several() == Some(true)
        });
        let mut counted = all.clone();
        for (word, _) in counted.iter_mut().zip(&named).filter(|(_, named)| **named) {
            word.clear();
        }
        let of_names = placed.iter().zip(&named).filter(|(_, named)| **named);
        let mut asked = Self {
            count: counts(&counted),
            amounts: of_names.map(|((at, _), _)| *at).collect(),
            judge: judges(question),
            tells: tells(question),
            is: (all.first()).is_some_and(|word| BE.contains(&word.as_str())),
            typos: typos.to_vec(),
            part: text_part(question),
            ..Self::default()
        };
        let values: Vec<Vec<String>> = (linked.values.iter())
            .map(|value| {
                // `norwegian` is of the value `NO`, `asian` of `Asia`.
                let of_nation = words_of_nation(&value.lexical).iter().cloned();
                let of_sex = words_of_sex(&value.lexical).map(str::to_owned);
                (words(&value.lexical).into_iter().chain(of_nation))
                    .chain(of_sex)
                    .collect()
            })
            .collect();
        // `weddings` are of the value `Wedding`.
        let one = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
        let of_value = |word: &String| {
            let same = |part: &String| part == word || *part == one(word);
            let said = values.iter().position(|value| value.iter().any(same));
            said.or_else(|| {
                let written = |text: &str| all.contains(&text.to_lowercase());
                let meant = || adjective(word).is_none() && tables.known(&base(word)) < KNOWN;
                let codes = |text: &str| {
                    is_short_code(text) && is_code_of(text, word) && !written(text) && meant()
                };
                (linked.values.iter()).position(|value| codes(&value.lexical))
            })
        };
        let stems: Vec<String> = all.iter().map(|word| base(word)).collect();
        let ranked = rank(&all);
        // `Please check whether` says nothing.
        let polite = courtesy(&all);
        let mut skip = request(&all).max(polite);
        let tagged = ends_with_tag(question);
        let begin = after_own_words(question);
        for (index, (at, word)) in placed.iter().enumerate() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if asked.part.as_ref().is_some_and(|part| part.covers(*at)) {
                continue;
            }
            let value = of_value(word);
            let tag = index + 1 == placed.len() && tagged;
            // `which languages count as official`
            let counts_as = word.starts_with("count")
                && matches!(all.get(index + 1).map(String::as_str), Some("as" | "among"));
            // `I fancy seeing it in person`
            let person = word == "person" && index > 0 && all[index - 1] == "in";
            // `I'd love to know`
            let love = word == "love" && all.get(index + 1).is_some_and(|next| next == "to");
            if value.is_none()
                && (*at < begin || person || tag || counts_as || love || is_journey(&all, index))
            {
                continue;
            }
            let phrase = || tables.phrase(&all[index..], &stems[index..]);
            // The graph's own name for it means more than a phrase: `sits on`.
            let phrase = || phrase().filter(|&of| !is_relation(&all[index..index + of]));
            // `the mean pay in each department` is no `pay in`.
            let phrase = || phrase().filter(|&of| !is_of_each(&all, index + of));
            let phrase = || phrase().map(|of| (stems[index..index + of].join(" "), of));
            let part = name_part(&all, index).map(|(part, of)| (base(part), of));
            if let (Some((stem, length)), None) = (part.or_else(phrase), value) {
                asked.push(AskedWord {
                    stem,
                    word: all[index..index + length].join(" "),
                    at: *at,
                    ..AskedWord::default()
                });
                skip = length - 1;
                continue;
            }
            let total = named[index] || word == "total" && is_amount(&all, index);
            if asked.count && value.is_none() && COUNTING.contains(&word.as_str()) && !total {
                continue;
            }
            // `what does she do`: what she does is her job.
            let job = word == "do" && value.is_none() && mentions::asks_for_job(&all[..index])
                || word == "why";
            let cast = value.is_none() && mentions::asks_for_cast(&placed, &all, index);
            // `else` says which answers are asked for, and `over the years` asks for no year.
            let ever = word == "years" && all[..index].ends_with(&["over".into(), "the".into()])
                || word == "days" && all[..index].ends_with(&["these".into()])
                || word == "right" && all.get(index + 1).is_some_and(|next| next == "now")
                || is_around_us(&all, index);
            // `what do people pay with`: anybody does.
            let anybody = matches!(word.as_str(), "people" | "folks" | "locals")
                && index > 0
                && matches!(all[index - 1].as_str(), "do" | "did" | "can");
            let kind = asks_kind(&all, index);
            // A column may be called so.
            let column =
                matches!(word.as_str(), "kind" | "sort") && is_relation(&all[index..=index]);
            let empty = !is_content(word) && !kind && !column
                || is_chatter(word)
                || matches!(word.as_str(), "else" | "fewest")
                || ever
                || anybody;
            if value.is_none() && !job && !cast && empty {
                continue;
            }
            if kind {
                // Nobody asks for a novel.
                skip = 2;
            }
            let stem = base(if cast { "starring" } else { word });
            // Numbers are explained by being used, not by a relation's name.
            let month = has_date(&linked.values) && is_month(word);
            let number = month
                || !word.chars().any(char::is_alphabetic)
                || is_size(word)
                || is_of_century(&all, index)
                || ranked.is_some_and(|(at, _)| at == index)
                || number_of_word(word).is_some_and(|number| number > 1);
            if number || value.is_none() && names.contains(&stem) {
                continue;
            }
            let own = typos
                .iter()
                .any(|(typo, meant)| typo == meant && typo == word);
            let meant = if own { None } else { tables.meant(&stem) };
            asked.push(AskedWord {
                stem: meant.unwrap_or(stem),
                word: word.clone(),
                at: *at,
                value,
                named: value.is_none() && mentions::has_capital(question, *at),
                adjective: adjective(word).map(|(found, _)| found),
            });
        }
        for mark in asking_marks(&bare, &placed) {
            asked.push(AskedWord {
                stem: mark.to_owned(),
                word: mark.trim_start_matches('#').replace('-', " "),
                at: bare.len(),
                ..AskedWord::default()
            });
        }
        asked.initials = (2..=5)
            .flat_map(|length| all.windows(length))
            .map(|part| {
                let initials = part.iter().filter_map(|word| word.chars().next());
                let stems: Vec<String> = part.iter().map(|word| base(word)).collect();
                (initials.collect(), stems)
            })
            // `date and total` is no `date`, whose stem is `dat`.
            .filter(|(initials, stems): &(String, _)| !stems.contains(initials))
            .collect();
        [asked.extreme, asked.either] = degrees(&all[polite..], lists_choices(question, linked));
        let how = |pair: &[String]| {
            let plain = adjective(&pair[1]).is_some_and(|(_, degree)| degree == Degree::Plain);
            pair[0] == "how" && plain
        };
        asked.extreme_value = asked.extreme.is_some() && all.windows(2).any(how);
        let superlative = degree_word(&all).filter(|_| asked.extreme.is_some());
        asked.superlative = superlative.and_then(|at| asked.index(&all[at]));
        asked.rank = ranked.map_or(1, |(_, rank)| rank);
        asked.most_of = asks_for_most(&all);
        asked.compare = comparison(&all);
        asked.or_clause = joins_by_or(&all);
        asked.compared = compared(&bare, &all, &linked.values);
        asked.numbers = around_numbers(&placed, &linked.values, |at| asked.placed(at));
        asked.between = gives_range(&all);
        asked.than = all.iter().any(|word| word == "than");
        asked.than_entity = mentions::compared_with(question, linked);
        asked.negated = negates(&all);
        // `other_details` are no others.
        let column = (0..all.len()).any(|at| {
            all[at] == "other"
                && (at + 2..=all.len().min(at + 4)).any(|to| is_relation(&all[at..to]))
        });
        asked.others = !column && mentions::asks_for_others(&all);
        asked.has_question_word = all
            .iter()
            .any(|word| QUESTION_WORDS.contains(&word.as_str()));
        let is = |list: &[&str]| all.iter().any(|word| list.contains(&word.as_str()));
        asked.times = is(&["times", "often"]);
        let key = |word: &String| KEYS.split(' ').any(|key| key == word);
        let of = |at: usize| all.get(at + 1).is_some_and(|next| next == "of");
        // `the largest number of people` asks for no key.
        asked.keys = (0..all.len()).any(|at| key(&all[at]) && !(all[at] == "number" && of(at)));
        asked.same = mentions::asks_for_common(&all);
        asked.both = is(&["both"]) || mentions::are_joined(question, linked);
        asked.any_of = mentions::are_alternatives(question, linked);
        asked.joined = is(&["and", "both", "also", "too", "&"]);
        asked.exists = asked.judge && asks_for_any(&all);
        // `Is it the Elbe or the Loire that is longer?` asks for one of them.
        let texts = || asked.compared.iter().any(|one| one.or.is_some());
        let chosen = asked.either.is_some()
            && !asked.than
            && (mentions::or_between(question, linked) || texts());
        asked.chosen = chosen;
        asked.judge &= !chosen;
        asked.tells &= !chosen;
        asked.place = mentions::stand_for_places(question, linked);
        asked.within = (0..linked.entities.len())
            .filter(|&entity| mentions::stands_within(question, linked, entity))
            .fold(0, |all, entity| all | bit(entity));
        asked.heading = (0..linked.entities.len())
            .map(|entity| mentions::heading(question, linked, entity))
            .collect();
        asked.verbs = (0..linked.entities.len())
            .map(|entity| mentions::verb_before(question, linked, entity))
            .collect();
        asked.mentions = (0..linked.entities.len())
            .map(|entity| linked.span(entity))
            .collect();
        asked.focus = focus(&bare, &placed).and_then(|word| asked.index(&placed[word].1));
        let focus = asked.focus.and_then(|at| asked.words.get(at));
        asked.focus_is_noun = focus.is_some_and(|word| is_noun(&placed, word.at));
        asked.extreme_of_focus = focus.is_some_and(|word| is_extreme(&placed, word.at));
        asked.wants_place =
            focus.is_some_and(|word| matches!(word.word.as_str(), "birthplace" | "hometown"));
        let people =
            |word: &AskedWord| names_people(word.word.split(' ').next().unwrap_or_default());
        asked.wants_people =
            all.windows(2).any(|pair| is_anybody(&pair[0], &pair[1])) || focus.is_some_and(people);
        asked.amount = amounts(&all);
        asked
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

/// Whether the word at `at` only says that something is here: `mechanics working here`, `jobs on record`.
fn is_around_us(all: &[String], at: usize) -> bool {
    let back = at.checked_sub(1).map_or("", |at| all[at].as_str());
    let next = all.get(at + 1).map_or("", String::as_str);
    match all[at].as_str() {
        "work" | "works" | "working" => next == "here",
        "record" | "file" => back == "on",
        _ => false,
    }
}

/// Whether the word before `at` belongs to `each` behind it: `in each department`.
fn is_of_each(all: &[String], at: usize) -> bool {
    let each = |word: &String| matches!(word.as_str(), "each" | "every");
    let in_of = |word: &String| matches!(word.as_str(), "in" | "by" | "for" | "from" | "to" | "of");
    all.get(at).is_some_and(each) && in_of(&all[at - 1])
}

#[cfg(test)]
mod tests;
