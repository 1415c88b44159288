//! The cues by which a question asks for more than a set: numbers of things, sums, groups, order. English.

use kg::search::singular;
use kg::value::Extreme;

use super::super::adjective::{Degree, adjective};
use super::super::cues::{falls_short, is_negation};
use super::super::order::sorts;
use super::super::totals::{is_amount, is_unit_of_rate, is_value, things_follow};
use super::counted::LARGEST_COUNT;
use super::reading::{LISTING, Reader, Token};
use super::request::{DONE, Phrase, Role, is_one_of, number};
use crate::call::Aggregate;

/// Words that say how rows are ordered.
const ORDERS: &str = "decreasing order ordered sort sorted ascending descending alphabetical alphabetically alphabetic ranked increasing";
/// Words behind `ordered` where it says so.
const BEHIND_ORDERED: &str = "by in from alphabetically descending ascending";
/// Words behind `most` that ask for what occurs most.
const COMMON: &str = "common frequent commonly frequently";
/// Words behind `most` that ask for what happened most.
const OFTEN: &str = "often frequently times";
/// Words for what is computed of numbers.
const COMPUTED: &str = "average mean maximum minimum total sum";
/// Words that say that equal rows are one.
const DIFFERENT: &str = "different distinct unique corresponding respective";

/// Words between `except` and what is left out.
const EXCEPTED: &str = "for those the ones that who which had have has with";

impl Reader<'_> {
    /// Reads a cue and returns how many tokens it has.
    pub(super) fn cue(&mut self, at: usize) -> Option<usize> {
        let read = self.on_average(at).or_else(|| self.number_before(at));
        let read = read.or_else(|| self.number_of(at));
        let read = read.or_else(|| self.both_ends(at));
        let read = read.or_else(|| self.number_of_extremes(at));
        let read = read.or_else(|| self.number_of_best(at));
        if let Some(read) = read.or_else(|| self.order_of_ends(at)) {
            return Some(read);
        }
        if let Some(aggregate) = self.aggregate(at) {
            return Some(self.computed(at, aggregate));
        }
        let word = self.tokens[at].word.clone();
        if matches!(word.as_str(), "revenue" | "turnover" | "takings")
            && matches!(self.word(at + 1), "by" | "per")
        {
            // `revenue by country`: a sum of what is called so.
            self.begin(Role::Computed(Aggregate::Sum));
            return None;
        }
        let read = self.key(at).or_else(|| self.order(at));
        let read = read.or_else(|| self.most(at));
        if read.is_some() {
            return read;
        }
        if is_one_of(&word, DIFFERENT) {
            self.close();
            let computed = |one: &Phrase| matches!(one.role, Role::Computed(_));
            let before = (at.saturating_sub(3)..at).any(|at| self.word(at) == "for");
            if before && self.request.phrases.iter().any(computed) {
                // `the largest area for different continents`.
                self.begin(Role::Key);
                self.request.grouped = true;
            }
            return Some(1);
        }
        self.left_out(at)
    }

    /// Reads `the three largest cities`, `the three most expensive ones`.
    fn number_of_extremes(&mut self, at: usize) -> Option<usize> {
        let most = usize::from(self.word(at + 1) == "most");
        let measure = adjective(self.word(at + 1 + most));
        let measure = measure.filter(|(_, degree)| most == 1 || *degree == Degree::Superlative);
        let first = number(self.word(at)).filter(|&first| first <= LARGEST_COUNT);
        // `concerts of 2023, earliest first`
        let joined = self.tokens.get(at + 1).is_some_and(|next| !next.apart);
        let (Some(first), Some((found, _)), true) = (first, measure, joined) else {
            return None;
        };
        self.request.first = Some(first);
        self.request.order = Some(found.extremes[0] == Extreme::Max);
        self.begin(Role::Order);
        self.add(&self.tokens[at + 1 + most], None);
        // `publications with the 3 lowest prices`: the next words say of what.
        if !matches!(self.before_article(at), "with" | "have" | "having") {
            self.begin(Role::Column);
        }
        Some(2 + most)
    }

    /// Reads `the three best paid employees`.
    fn number_of_best(&mut self, at: usize) -> Option<usize> {
        let paid = at + 2;
        let last = match self.word(at + 1) {
            "best" | "highest" => true,
            "worst" | "lowest" => false,
            _ => return None,
        };
        let first = number(self.word(at))?;
        if self.word(paid) != "paid" && !self.word(paid).ends_with("ed") {
            return None;
        }
        self.request.first = Some(first);
        self.request.order = Some(last);
        self.begin(Role::Order);
        self.add(&self.tokens[paid], None);
        self.begin(Role::Column);
        Some(3)
    }

    /// Reads `from the cheapest to the dearest`, `oldest first`.
    fn order_of_ends(&mut self, at: usize) -> Option<usize> {
        let (order, read) = sorts(&self.tokens[at..])?;
        self.request.sorted = self.request.sorted.or(Some(order));
        self.request.order = Some(order[0] == Extreme::Max);
        self.begin(Role::Order);
        // `from the lowest to the highest salary`: the next words say of what.
        if !matches!(self.word(at), "lowest" | "highest") {
            self.add(&self.tokens[at], None);
            self.begin(Role::Column);
        }
        Some(read)
    }

    /// What the word at `at` computes of numbers.
    fn aggregate(&self, at: usize) -> Option<Aggregate> {
        let next = self.word(at + 1);
        match self.word(at) {
            "average" | "mean" | "avg" if !self.is_named_column(at) => Some(Aggregate::Average),
            // `the average and maximum total` of bills is of what they call so.
            // And the `total score` is what is called `total`.
            "total" if self.is_computed() && self.is_empty() || is_amount(self.tokens, at) => None,
            "total" if self.tokens[at].in_name && is_value(next) => None,
            _ if self.is_named_column(at) => None,
            "total" | "sum" | "combined" => Some(Aggregate::Sum),
            "much" if self.asks_in_all(at) => Some(Aggregate::Sum),
            // `the country with the maximum area` is an extreme, `a maximum of 5` a limit.
            "maximum" | "max" | "minimum" | "min"
                if self.is_of_things(at)
                    || next == "of" && self.word(at + 2).parse::<u64>().is_ok() =>
            {
                None
            }
            "maximum" | "max" => Some(Aggregate::Max),
            "minimum" | "min" => Some(Aggregate::Min),
            "highest" if self.is_value_asked(at) => Some(Aggregate::Max),
            "lowest" if self.is_value_asked(at) => Some(Aggregate::Min),
            _ => None,
        }
    }

    /// Reads what rows are ordered by: `ordered by year`, `the top 5`.
    fn order(&mut self, at: usize) -> Option<usize> {
        let next = self.word(at + 1).to_owned();
        let word = self.tokens[at].word.clone();
        match word.as_str() {
            // `order all stations by year`
            "order" | "sort" | "rank" if at == 0 => Some(1),
            // Not the orders of a shop, and not `what has she ordered`.
            _ if is_one_of(&word, ORDERS)
                && (word != "ordered" || is_one_of(&next, BEHIND_ORDERED))
                && (word != "sort" || next != "of")
                && (word != "order"
                    || self.request.order.is_some()
                    || matches!(next.as_str(), "by" | "of")
                    || at
                        .checked_sub(1)
                        .is_some_and(|before| self.word(before) == "in")) =>
            {
                self.begin(Role::Order);
                let last = matches!(word.as_str(), "descending" | "decreasing" | "ranked");
                let known = self.request.order.unwrap_or_default();
                self.request.order = Some(known || last);
                Some(1)
            }
            // `the top 5 longest tracks` are the five longest.
            "top" if self.is_superlative(at + 2) => Some(1),
            "top" => {
                self.request.first = Some(number(&next).filter(|&first| first <= LARGEST_COUNT)?);
                self.request.order = Some(true);
                let with = matches!(self.before_article(at), "with" | "have" | "having");
                self.begin(if with { Role::Order } else { Role::Column });
                Some(2)
            }
            "by" if self.request.first.is_some() => {
                self.begin(Role::Order);
                Some(1)
            }
            _ => None,
        }
    }

    /// Reads what there is most of: `the most common reason`, `booked most often`, `the fewest novels`.
    fn most(&mut self, at: usize) -> Option<usize> {
        let next = self.word(at + 1).to_owned();
        let word = self.tokens[at].word.clone();
        let extreme = match word.as_str() {
            "most" | "more" => Extreme::Max,
            "least" | "fewest" | "fewer" => Extreme::Min,
            _ => return None,
        };
        let (role, read) = match word.as_str() {
            // `which country do most of our customers come from`.
            "most" if next == "of" && self.is_asked_of(at) => {
                let our = self.tokens.get(at + 2);
                let our = our.is_some_and(|token| token.content.is_none());
                (Some(Role::Counted), 2 + usize::from(our))
            }
            // `the most common reason`.
            "most" | "least" if is_one_of(&next, COMMON) => {
                // `the most common type of status`
                let kind = is_one_of(self.word(at + 2), "type types kind kinds sort")
                    && self.word(at + 3) == "of";
                (Some(Role::Column), if kind { 4 } else { 2 })
            }
            // `booked most often`.
            "most" | "least" if is_one_of(&next, OFTEN) && self.count_last() => (None, 2),
            // `which author wrote more novels, Woolf or Joyce`
            "more" | "fewer" if self.chooses && next != "than" && self.counts_next(at) => {
                (Some(Role::Counted), 1)
            }
            "most" | "fewest" | "least" if self.counts_next(at) => (Some(Role::Counted), 1),
            _ => return None,
        };
        self.request.most = Some(extreme);
        if let Some(role) = role {
            self.begin(role);
        }
        Some(read)
    }

    /// Reads what is left out: `without`, `except for those that had a wedding`.
    fn left_out(&mut self, at: usize) -> Option<usize> {
        let next = self.word(at + 1).to_owned();
        let word = self.tokens[at].word.clone();
        let leaves_out = matches!(word.as_str(), "no" | "except" | "excluding")
            || word == "free" && next == "of"
            || is_negation(&word);
        if !leaves_out {
            return None;
        }
        let degree = adjective(&next).map(|(_, degree)| degree);
        let compared = matches!(next.as_str(), "more" | "less" | "fewer" | "later")
            || degree == Some(Degree::Comparative);
        let all: Vec<String> = self.tokens.iter().map(|one| one.word.clone()).collect();
        if compared || at == 0 || falls_short(&all, at) {
            return None;
        }
        self.request.without = true;
        self.begin(Role::Without);
        // What is left out may be an entity: `without Diane Keaton`.
        self.open_phrase(self.tokens[at].at);
        let filler = |at: &usize| is_one_of(self.word(*at), EXCEPTED);
        let fillers = match word.as_str() {
            "except" | "excluding" => (at + 1..).take_while(filler).count(),
            _ => usize::from(word == "free"),
        };
        Some(1 + fillers)
    }

    /// Whether `by` at `at` says who did something: `held by members`, `by Irish writers`.
    fn done_by(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let next = self.tokens.get(at + 1);
        before.ends_with("ed") || is_one_of(before, DONE) || next.is_some_and(|next| next.value)
    }

    /// Reads what rows are grouped by: `per city`, `for each city`, `by city`.
    fn key(&mut self, at: usize) -> Option<usize> {
        let next = self.word(at + 1).to_owned();
        let word = self.tokens[at].word.clone();
        match word.as_str() {
            "in" if next == "total" => Some(2),
            "each" if next == "time" => Some(2),
            // `list each museum name`.
            // And `list each genre with the average length`.
            "each" | "every" if self.is_listed(at) => {
                let computed = |one: &Token| is_one_of(&one.word, COMPUTED);
                if self.tokens[at..].iter().any(computed) {
                    self.begin(Role::Key);
                    self.request.grouped = true;
                }
                Some(1)
            }
            // `the name of each school and the total number of minutes`
            "each" | "every" if self.begins_of() && self.computes_beside(at) => {
                self.request.grouped = true;
                Some(1)
            }
            // `20 per hour`
            "per" if is_unit_of_rate(&next) => Some(2),
            "per" | "each" | "every" if !self.begins_of() => {
                if word == "per" {
                    self.count_before();
                }
                self.begin(Role::Key);
                self.request.grouped |= word != "every" || self.request.count.is_some();
                Some(1)
            }
            "each" | "every" if self.is_computed() => {
                // `the average age of each team`.
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(1)
            }
            // `how many ships of each type`, and `the average weight for people of each sex`.
            "each" | "every"
                if self.begins_of() && (self.role == Role::Counted || self.computes()) =>
            {
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(1)
            }
            "by" if (self.computes() || self.groups_count(at))
                && self.stands_before_a_word(at)
                && !self.done_by(at) =>
            {
                // `the average salary by job`, `number of cars by colour`.
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(1)
            }
            "for" | "in" | "from" | "by" | "to" if matches!(next.as_str(), "each" | "every") => {
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(2)
            }
            _ => None,
        }
    }

    /// Whether a computed column follows behind `at`: `… of each school and the total …`.
    fn computes_beside(&self, at: usize) -> bool {
        let rest = self.tokens.get(at..).unwrap_or_default();
        let and = rest.iter().position(|one| one.word == "and" || one.apart);
        let behind = and.and_then(|and| rest.get(and..)).unwrap_or_default();
        self.role == Role::Column && behind.iter().any(|one| is_one_of(&one.word, COMPUTED))
    }

    /// Whether the word at `at` is a superlative.
    fn is_superlative(&self, at: usize) -> bool {
        let superlative =
            |word| adjective(word).is_some_and(|(_, degree)| degree == Degree::Superlative);
        superlative(self.word(at))
            || self.word(at) == "most" && adjective(self.word(at + 1)).is_some()
    }

    /// Whether `by` at `at` stands between what is counted and a last noun in the singular: `number of cars by fuel type`.
    fn groups_count(&self, at: usize) -> bool {
        /// Words of such a noun, at most.
        const NOUN: usize = 3;
        let counted = self.role == Role::Counted && self.open.is_some() && !self.is_empty();
        let rest = self.tokens.get(at + 1..).unwrap_or_default();
        let nouns = rest
            .iter()
            .take_while(|one| one.content.is_some() && !one.apart);
        let (nouns, last) = (nouns.count(), rest.last());
        let one = last.is_some_and(|last| singular(&last.word).is_none());
        counted && one && nouns == rest.len() && nouns <= NOUN
    }

    /// Whether the token at `at` stands behind `list` or `give me`.
    fn is_listed(&self, at: usize) -> bool {
        let back = |back: usize| at.checked_sub(back).map_or("", |at| self.word(at));
        let me = usize::from(matches!(back(1), "me" | "us"));
        LISTING.contains(&back(1 + me))
    }

    /// Whether `most of` at `at` stands behind `do`, and not in `most of them`.
    fn is_asked_of(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let noun =
            (at + 2..at + 4).any(|at| self.tokens.get(at).is_some_and(|one| one.content.is_some()));
        matches!(before, "do" | "did" | "have" | "are" | "were") && noun
    }

    /// Whether `much` at `at` asks for a sum: `how much did they cost altogether`.
    fn asks_in_all(&self, at: usize) -> bool {
        let all = |token: &Token| matches!(token.word.as_str(), "altogether" | "overall");
        let total = |pair: &[Token]| pair[0].word == "in" && pair[1].word == "total";
        self.word(at.wrapping_sub(1)) == "how"
            && (self.tokens.iter().any(all) || self.tokens.windows(2).any(total))
    }

    /// Whether `most` at `at` stands before something to count, not before an adjective.
    pub(super) fn counts_next(&self, at: usize) -> bool {
        let next = self.tokens.get(at + 1);
        next.is_some_and(|next| next.content.is_some()) && things_follow(self.tokens, at)
    }
}
