//! The words of a question, and which of them say something of what it asks.

use kg::words;

use super::adjective::adjective;
use super::cues::{is_of_century, rank, whole_words};
use super::embedded::{after_own_words, asks_kind, is_journey};
use super::focus::is_content;
use super::marks::base;
use super::mentions;
use super::name_parts::name_part;
use super::table::WordTables;
use super::totals::{amount_names, is_amount};
use super::vocabulary::is_chatter;
use super::yes_no::ends_with_tag;
use crate::link::{
    Linked, has_date, is_code_of, is_month, is_short_code, is_size, number_of_word,
    words_of_nation, words_of_sex,
};

/// How surely a word that may be written as a code must mean a relation to mean no code: `published`.
const KNOWN: f32 = 0.3;

/// The words of a linked question.
pub(super) struct QuestionText<'q> {
    pub(super) question: &'q str,
    pub(super) linked: &'q Linked,
    /// The misspelt words with those that were meant.
    pub(super) typos: &'q [(String, String)],
    /// Whether words are the whole name of a relation.
    pub(super) is_relation: &'q dyn Fn(&[String]) -> bool,
    pub(super) tables: &'q WordTables,
    /// The question without its mentions of entities.
    pub(super) bare: String,
    /// The words of `bare` with their byte offsets, as they were meant.
    pub(super) placed: Vec<(usize, String)>,
    /// The same words.
    pub(super) all: Vec<String>,
    stems: Vec<String>,
    /// Whether each word belongs to the name of a relation such as `total amount`.
    in_amount_name: Vec<bool>,
    /// The words of each value.
    values: Vec<Vec<String>>,
    /// The word that says which in an order is asked for, and which.
    pub(super) ranked: Option<(usize, usize)>,
    /// The byte offset behind what says something of who asks.
    begin: usize,
    /// Whether the last word is a tag: `…, right`.
    tagged: bool,
}

impl<'q> QuestionText<'q> {
    pub(super) fn of(
        question: &'q str,
        linked: &'q Linked,
        typos: &'q [(String, String)],
        is_relation: &'q dyn Fn(&[String]) -> bool,
        tables: &'q WordTables,
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
        let in_amount_name = amount_names(&all, |words| {
            let several = || {
                let (last, before) = words.split_last()?;
                let mut all = before.to_vec();
                all.push(format!("{last}s"));
                Some(is_relation(&all))
            };
            is_relation(words) || words.len() > 1 && several() == Some(true)
        });
        let values = linked.values.iter().map(|value| {
            // `norwegian` is of the value `NO`, `asian` of `Asia`.
            let of_nation = words_of_nation(&value.lexical).iter().cloned();
            let of_sex = words_of_sex(&value.lexical).map(str::to_owned);
            let own = words(&value.lexical).into_iter();
            own.chain(of_nation).chain(of_sex).collect()
        });
        Self {
            values: values.collect(),
            stems: all.iter().map(|word| base(word)).collect(),
            ranked: rank(&all),
            begin: after_own_words(question),
            tagged: ends_with_tag(question),
            question,
            linked,
            typos,
            is_relation,
            tables,
            bare,
            placed,
            all,
            in_amount_name,
        }
    }

    /// The words with those of names such as `total amount` blank.
    pub(super) fn counted(&self) -> Vec<String> {
        let words = self.all.iter().zip(&self.in_amount_name);
        let counted = |(word, named): (&String, &bool)| match named {
            true => String::new(),
            false => word.clone(),
        };
        words.map(counted).collect()
    }

    /// The byte offsets of the words of such names.
    pub(super) fn amounts(&self) -> Vec<usize> {
        let words = self.placed.iter().zip(&self.in_amount_name);
        let named = words.filter(|(_, named)| **named);
        named.map(|((at, _), _)| *at).collect()
    }

    /// Whether the word at `index` says that something is an amount.
    pub(super) fn is_total(&self, index: usize) -> bool {
        self.in_amount_name[index] || self.all[index] == "total" && is_amount(&self.all, index)
    }

    /// The value of the question that a word belongs to.
    pub(super) fn value_of(&self, word: &str) -> Option<usize> {
        // `weddings` are of the value `Wedding`.
        let one = word.strip_suffix('s').unwrap_or(word);
        let same = |part: &String| part == word || part == one;
        let said = |value: &Vec<String>| value.iter().any(same);
        self.values.iter().position(said).or_else(|| {
            let written = |text: &str| self.all.contains(&text.to_lowercase());
            let meant = || adjective(word).is_none() && self.tables.known(&base(word)) < KNOWN;
            let codes = |text: &str| {
                is_short_code(text) && is_code_of(text, word) && !written(text) && meant()
            };
            (self.linked.values.iter()).position(|value| codes(&value.lexical))
        })
    }

    fn next(&self, index: usize) -> &str {
        self.all.get(index + 1).map_or("", String::as_str)
    }

    fn before(&self, index: usize) -> &str {
        index.checked_sub(1).map_or("", |at| self.all[at].as_str())
    }

    /// Whether the word at `index` belongs to a phrase around the question.
    pub(super) fn is_aside(&self, index: usize) -> bool {
        let (at, word) = &self.placed[index];
        let (next, before) = (self.next(index), self.before(index));
        // `which languages count as official`
        let counts_as = word.starts_with("count") && matches!(next, "as" | "among");
        // `I fancy seeing it in person`
        let person = word == "person" && before == "in";
        // `I'd love to know`
        let love = word == "love" && next == "to";
        let tag = index + 1 == self.placed.len() && self.tagged;
        *at < self.begin || person || tag || counts_as || love || is_journey(&self.all, index)
    }

    /// The stem and the length of a part of a name or a phrase that begins at `index`.
    pub(super) fn phrase(&self, index: usize) -> Option<(String, usize)> {
        if let Some((part, of)) = name_part(&self.all, index) {
            return Some((base(part), of));
        }
        let of = (self.tables).phrase(&self.all[index..], &self.stems[index..])?;
        // The graph's own name for it means more than a phrase: `sits on`.
        // `the mean pay in each department` is no `pay in`.
        let named = (self.is_relation)(&self.all[index..index + of]);
        (!named && !is_of_each(&self.all, index + of))
            .then(|| (self.stems[index..index + of].join(" "), of))
    }

    /// Whether the word at `index` asks for a job or a reason. What she does is her job: `what does she do`.
    fn asks_for_job(&self, index: usize) -> bool {
        match self.all[index].as_str() {
            "do" => mentions::asks_for_job(&self.all[..index]),
            word => word == "why",
        }
    }

    /// Whether the word at `index` asks for a cast.
    pub(super) fn asks_for_cast(&self, index: usize) -> bool {
        mentions::asks_for_cast(&self.placed, &self.all, index)
    }

    /// Whether the word at `index`, which is of no value, says nothing of what is asked for.
    pub(super) fn is_empty(&self, index: usize) -> bool {
        let (all, word) = (&self.all, &self.all[index]);
        if self.asks_for_job(index) || self.asks_for_cast(index) {
            return false;
        }
        // `else` says which answers are asked for, and `over the years` asks for no year.
        let ever = word == "years" && all[..index].ends_with(&["over".into(), "the".into()])
            || word == "days" && all[..index].ends_with(&["these".into()])
            || word == "right" && self.next(index) == "now"
            || is_around_us(all, index);
        // `what do people pay with`: anybody does.
        let anybody = matches!(word.as_str(), "people" | "folks" | "locals")
            && matches!(self.before(index), "do" | "did" | "can");
        // A column may be called so.
        let column =
            matches!(word.as_str(), "kind" | "sort") && (self.is_relation)(&all[index..=index]);
        !is_content(word) && !asks_kind(all, index) && !column
            || is_chatter(word)
            || matches!(word.as_str(), "else" | "fewest")
            || ever
            || anybody
    }

    /// Whether the word at `index` is a number: numbers are explained by being used, not by a relation's
    /// name.
    pub(super) fn is_number(&self, index: usize) -> bool {
        let word = &self.all[index];
        has_date(&self.linked.values) && is_month(word)
            || !word.chars().any(char::is_alphabetic)
            || is_size(word)
            || is_of_century(&self.all, index)
            || self.ranked.is_some_and(|(at, _)| at == index)
            || number_of_word(word).is_some_and(|number| number > 1)
    }

    /// The stem that a word with this stem means. A misspelt word that is known means itself.
    pub(super) fn meant(&self, word: &str, stem: String) -> String {
        let own = |(typo, meant): &(String, String)| typo == meant && typo == word;
        if self.typos.iter().any(own) {
            return stem;
        }
        self.tables.meant(&stem).unwrap_or(stem)
    }

    /// The initials of neighbouring words, with the stems of these words.
    pub(super) fn initials(&self) -> Vec<(String, Vec<String>)> {
        (2..=5)
            .flat_map(|length| self.all.windows(length))
            .map(|part| {
                let initials = part.iter().filter_map(|word| word.chars().next());
                let stems: Vec<String> = part.iter().map(|word| base(word)).collect();
                (initials.collect(), stems)
            })
            // `date and total` is no `date`, whose stem is `dat`.
            .filter(|(initials, stems): &(String, _)| !stems.contains(initials))
            .collect()
    }
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
