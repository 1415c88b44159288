//! What the words of a question ask of a table: its columns, what is computed of them, by what rows
//! are grouped, kept and ordered (rules D).

use kg::value::{Extreme, Op};

use super::super::asked_word::AskedWord;
use super::super::cues::is_generic;
use super::super::question::Asked;
use super::super::words::{Explainer, names};
use crate::call::Aggregate;
use crate::link::{is_size, number_of_word, unit_named};

/// Words behind which no other column is named.
pub(super) const BEHIND: [&str; 17] = [
    "for", "in", "from", "by", "at", "on", "across", "they", "he", "she", "we", "you", "i", "us",
    "to", "are", "is",
];
/// What was done by somebody: irregular verbs.
pub(super) const DONE: &str =
    "held made sold built won led sung run taught written given taken paid owned";

/// What the words of a phrase are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A column of the answer.
    Column,
    /// A value that is computed of a column.
    Computed(Aggregate),
    /// What rows are grouped by.
    Key,
    /// What rows are ordered by.
    Order,
    /// What is counted.
    Counted,
    /// What the things of the answer do not have.
    Without,
    /// What is compared with its own mean.
    Mean(Op),
    /// What the things of the answer are: the plan explains it.
    Condition,
}

/// Neighbouring words of a question that name one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) role: Role,
    /// The byte offset of its first word.
    pub(super) at: usize,
    /// Its content words, by their index in the question.
    pub(super) words: Vec<usize>,
    /// The content words behind its `of`.
    pub(super) of: Vec<usize>,
    /// Whether it asks for names or keys.
    pub(super) label: Option<Label>,
}

/// What stands for a thing in a table. `name` and `id` are no content words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Its name.
    Name,
    /// Its key.
    Key,
}

/// What a question asks of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) phrases: Vec<Phrase>,
    /// Where it asks how many.
    pub(super) count: Option<usize>,
    /// Whether it asks for a column and for a number of things, as in `the name and how many`.
    pub(super) count_beside: bool,
    /// How many of something each thing of the answer has.
    pub(super) having: Option<(Op, u64)>,
    /// The index of the phrase that says of what.
    pub(super) had: usize,
    /// Whether the answer has most or fewest of something.
    pub(super) most: Option<Extreme>,
    /// Whether the answer has the highest or the lowest of what is computed: `the highest average salary`.
    pub(super) best: Option<Extreme>,
    /// The extreme that comes first in the order of rows: of numbers, and of times.
    pub(super) sorted: Option<[Extreme; 2]>,
    /// Whether rows are grouped: `per`, `each`.
    pub(super) grouped: bool,
    /// Whether things that have something are left out.
    pub(super) without: bool,
    /// Whether it begins with a command, or with `what are`, and so names what it asks for: `show the title and the date`.
    pub(super) commands: bool,
    /// The first phrase of a sentence that lists the columns: `… Give the title and the date.`
    pub(super) listed: Option<usize>,
    /// Whether it asks for a total number, which is a sum where the graph has numbers.
    pub(super) total: bool,
    /// Whether it has a question word, and is no list of keywords.
    pub(super) asks: bool,
    /// Whether it asks for one more value: `and when was it founded`.
    pub(super) and_value: bool,
    /// The phrases before those that a sentence lists: they name what the columns are of.
    pub(super) subjects: Vec<usize>,
    /// Whether what is listed belongs to what was asked for: `Give their titles.`
    pub(super) listed_of: bool,
    /// Whether rows are ordered, and if so, whether the last comes first.
    pub(super) order: Option<bool>,
    /// How many rows are asked for.
    pub(super) first: Option<u64>,
    /// The content words that say what is done with the rows.
    pub(super) said: Vec<usize>,
}

impl Request {
    /// Settles what the phrases share, after all have been read.
    pub(super) fn settle(&mut self, asked: &Asked) {
        self.keep_names_of_keys();
        self.keep_listed();
        self.keep_keys();
        self.keep_one_column(asked);
        // `the age and height of the players`: both are of players.
        for at in (1..self.phrases.len()).rev() {
            let (before, behind) = self.phrases.split_at_mut(at);
            let (Some(one), Some(next)) = (before.last_mut(), behind.first()) else {
                continue;
            };
            if one.role == next.role && one.role == Role::Column && one.of.is_empty() {
                one.of.clone_from(&next.of);
            }
            // `the largest and the smallest area`: both are computed of areas.
            let empty = one.words.is_empty() && one.label.is_none();
            if empty
                && matches!(
                    (one.role, next.role),
                    (Role::Computed(_), Role::Computed(_))
                )
            {
                *one = Phrase {
                    role: one.role,
                    at: one.at,
                    ..next.clone()
                };
            }
        }
        // `a population above the average`: of populations. `an age smaller than the average`: of ages.
        let degree = |at: &usize| {
            asked
                .words
                .get(*at)
                .is_some_and(|word| is_generic(&word.word))
        };
        for at in 1..self.phrases.len() {
            let (before, behind) = self.phrases.split_at_mut(at);
            let says = |one: &&Phrase| one.words.is_empty() || !one.words.iter().all(degree);
            let one = before.iter().rev().find(says).or(before.last());
            if let (Some(one), Some(next)) = (one, behind.first_mut())
                && matches!(next.role, Role::Mean(_))
                && next.words.is_empty()
            {
                next.words.clone_from(&one.words);
            }
        }
    }

    /// Takes back what the graph shows to be meant otherwise.
    pub(super) fn fit(&mut self, explainer: &mut Explainer<'_, '_>) {
        let session = explainer.session;
        // What is the highest of a class is one of its things, not a value: `what is the highest mountain`.
        let classes = session.classes();
        let mut is_class = |at: usize| {
            let mut all = classes.iter();
            all.any(|&class| names(&explainer.class(class), Some(at)))
        };
        for phrase in &mut self.phrases {
            let extreme = matches!(phrase.role, Role::Computed(Aggregate::Max | Aggregate::Min));
            if extreme && phrase.words.last().is_some_and(|&at| is_class(at)) {
                phrase.role = Role::Column;
            }
        }
    }

    /// Whether it asks for a number that is computed of others.
    pub(super) fn computes(&self) -> bool {
        let computed = |one: &Phrase| matches!(one.role, Role::Computed(_));
        self.phrases.iter().any(computed)
    }

    /// Where a sentence lists several columns, what was said before says only of what.
    fn keep_listed(&mut self) {
        if self.lists_columns() {
            let before = self
                .phrases
                .iter_mut()
                .take(self.listed.unwrap_or_default());
            for (at, phrase) in before
                .enumerate()
                .filter(|(_, one)| one.role == Role::Column)
            {
                phrase.role = Role::Condition;
                self.subjects.push(at);
            }
        }
    }

    /// `for each genre, its name and the number of tracks`: the name is that of the genre, which is shown anyway.
    fn keep_names_of_keys(&mut self) {
        let key = self
            .phrases
            .first()
            .is_some_and(|one| one.role == Role::Key);
        if key && self.grouped && self.count.is_some() {
            let name = |one: &Phrase| {
                one.role == Role::Column
                    && one.label == Some(Label::Name)
                    && one.words.is_empty()
                    && one.of.is_empty()
            };
            let left = |at: usize| {
                let before = self.phrases.iter().take(at);
                before.filter(|one| !name(one)).count()
            };
            (self.had, self.listed) = (left(self.had), self.listed.map(left));
            self.phrases.retain(|one| !name(one));
        }
    }

    /// Whether a sentence of its own lists several columns, or columns of what the question asks for.
    fn lists_columns(&self) -> bool {
        let listed = self.listed.and_then(|at| self.phrases.get(at..));
        let columns = listed
            .into_iter()
            .flatten()
            .filter(|one| one.role == Role::Column);
        columns.count() > usize::from(!self.listed_of)
    }

    /// Where nothing is counted or computed, `every gym` groups nothing.
    fn keep_keys(&mut self) {
        let computed = |one: &Phrase| matches!(one.role, Role::Computed(_));
        let groups = self.count.is_some()
            || self.having.is_some()
            || self.most.is_some()
            || self.phrases.iter().any(computed);
        if !groups {
            for phrase in self.phrases.iter_mut().filter(|one| one.role == Role::Key) {
                phrase.role = Role::Condition;
            }
        }
    }

    /// Leaves one column to a question for people, places or times: `who wrote and directed it` has one answer.
    fn keep_one_column(&mut self, asked: &Asked) {
        let column = |one: &&mut Phrase| one.role == Role::Column;
        let labels =
            (self.phrases.iter()).any(|one| one.role == Role::Column && one.label.is_some());
        if labels
            || self.lists_columns()
            || self.and_value
            || self.commands
            || !self.asks
            || asked.count
            || !asked.words.iter().any(AskedWord::is_mark)
        {
            return;
        }
        for phrase in self.phrases.iter_mut().filter(column).skip(1) {
            phrase.role = Role::Condition;
        }
    }

    /// The request if a plan says by itself what the question leaves out.
    pub(super) fn without_negation(&self) -> Self {
        let mut request = self.clone();
        request.without = false;
        for phrase in request
            .phrases
            .iter_mut()
            .filter(|one| one.role == Role::Without)
        {
            phrase.role = Role::Condition;
        }
        request
    }

    /// The phrases of what the question leaves out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &Phrase> + Clone {
        (self.phrases.iter()).filter(|phrase| phrase.role == Role::Without)
    }

    /// Whether a column names what a phrase says, and more.
    pub(super) fn is_shown(&self, phrase: &Phrase) -> bool {
        let names = |one: &Phrase| {
            let more = one.label.is_some() || one.words.len() > phrase.words.len();
            one.role == Role::Column
                && more
                && !phrase.words.is_empty()
                && (phrase.words.iter()).all(|at| one.words.contains(at) || one.of.contains(at))
        };
        self.phrases.iter().any(names)
    }

    /// Whether it asks for the names or keys of things.
    pub(super) fn wants_labels(&self) -> bool {
        let label = |one: &Phrase| one.role == Role::Column && one.label.is_some();
        self.phrases.iter().any(label)
    }

    /// Whether it asks for more than a set, a number or a truth value of the thirteen tools.
    pub(super) fn wants_table(&self) -> bool {
        let columns = self.phrases.iter().filter(|one| one.role == Role::Column);
        let computed = |one: &Phrase| matches!(one.role, Role::Computed(_) | Role::Mean(_));
        columns.count() > 1
            || self.phrases.iter().any(computed)
            || self.having.is_some()
            || self.most.is_some()
            || self.without
            || self.order.is_some()
            || self.first.is_some()
            || self.total
            || self.count.is_some() && self.is_grouped()
    }

    /// Whether rows may be grouped: by a key, or by the other columns if one column is a number.
    pub(super) fn is_grouped(&self) -> bool {
        self.grouped || self.count_beside
    }
}

/// The whole number that a word writes.
pub(super) fn number(word: &str) -> Option<u64> {
    let named = || number_of_word(word);
    (word.parse().ok()).or_else(|| named().map(|at| at as u64))
}

/// Whether a word behind a number says that it is no number of things: a unit, a currency, a size.
pub(super) fn is_of_quantity(word: &str) -> bool {
    const OTHERS: &str = "years year months weeks euro euros eur dollar dollars usd pound pounds gbp percent gb tb mb";
    is_one_of(word, OTHERS) || is_size(word) || unit_named(word).is_some()
}

/// Whether a word is one of those in a text.
pub(super) fn is_one_of(word: &str, words: &str) -> bool {
    words.split(' ').any(|one| one == word)
}
