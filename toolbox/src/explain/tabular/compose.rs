//! Makes a plan from a set, its columns and what the question asks of a table.

use std::sync::Arc;

use kg::value::Extreme;

use super::super::naming::is_person;
use super::super::plan::{Start, bit};
use super::super::state::State;
use super::super::words::{Explainer, names, strength};
use super::columns::{Columns, Composer};
use super::paths::{EXPLAINED, KNOWN, Path, add, nameless};
use super::plan::{Kept, Shown, TablePlan};
use super::request::{Phrase, Request, Role};
use super::without::Without;
use crate::call::Aggregate;

/// A plan with what it explains.
pub(super) struct Composed {
    pub(super) plan: TablePlan,
    /// The state of its set, with the words that the columns explain too.
    pub(super) state: State,
    /// Cues for tables that the plan answers, less those that it does not.
    pub(super) cues: i32,
    /// Relations of its columns beyond the first of each.
    pub(super) relations: usize,
    /// Whether it has the number that the question asks for.
    pub(super) counts: bool,
    /// Whether it keeps an extreme.
    pub(super) extreme: bool,
    /// Whether the things of which some are left out are of the kind that the question asks for.
    pub(super) class_said: bool,
}

/// The plan that answers a request from a set; `None` if it would need no extended tool. With things in `without`, the
/// answer is those of them that are not in the set, and `paths` begin at these.
pub(super) fn compose(
    base: &State,
    without: Option<&Without>,
    paths: &[Path],
    request: &Request,
    explainer: &mut Explainer<'_, '_>,
) -> Option<Composed> {
    let kg = explainer.session.kg();
    let classes = match (without.map(|all| &all.plan.start), base.nodes.first()) {
        (Some(Start::Class(class)), _) if without.is_some_and(Without::is_class) => vec![*class],
        (_, Some(&first)) => kg.types(first),
        (_, None) => Vec::new(),
    };
    let mut known: Vec<f32> = base.words.iter().map(|_| 0.0).collect();
    for class in classes {
        add(&mut known, &explainer.class(class));
    }
    let class_named = names_class(request, explainer);
    let mut composer = Composer {
        class_named,
        base,
        known,
        paths,
        request,
        explainer,
        count: request.count,
        chosen: Vec::new(),
        words: base.words.to_vec(),
        asked: 0.0,
        relations: 0,
        cues: 0,
    };
    let known = composer.known.clone();
    add(&mut composer.words, &known);
    composer.compose(without)
}

/// Whether a phrase names a class.
fn names_class(request: &Request, explainer: &mut Explainer<'_, '_>) -> bool {
    let classes = explainer.session.classes();
    let mut phrases = request.phrases.iter();
    phrases.any(|phrase| {
        let mut words = phrase.words.iter().chain(&phrase.of);
        words.any(|&at| (classes.iter()).any(|&class| names(&explainer.class(class), Some(at))))
    })
}

impl Composer<'_, '_, '_> {
    fn compose(mut self, without: Option<&Without>) -> Option<Composed> {
        let mut columns = self.columns();
        let request = self.request;
        if self.repeats_extreme() {
            return None;
        }
        // A number that the graph has is compared, not counted.
        let measured = self.show_measured(&mut columns);
        let mut kept = self.kept().filter(|_| !measured);
        let computed = (columns.shown.iter()).any(|(_, one)| matches!(one, Shown::Computed(..)));
        // `the lowest and the highest price of each book`: a book has one price.
        let alone = computed && columns.keys.is_empty() && self.computes_of_one(&columns);
        let grouping = kept.is_some()
            || !computed && without.is_none() && self.counts_in_groups(&columns)
            || computed && self.computes_in_groups(&columns, alone);
        let members = without.is_none() && self.counts_members(&columns, kept);
        let count =
            members || self.count.is_some() && without.is_some() && columns.shown.is_empty();
        if members {
            // Where some are kept by the number of what they have, each is a group.
            let own = self.own_path();
            columns.keys = vec![own];
            columns.shown = vec![(0, Shown::Path(own))];
            self.cues += 1 + i32::from(kept.is_some());
        } else if count {
            self.cues += 1;
        } else if grouping {
            self.key_columns(&mut columns, computed, kept.is_some())?;
            if let (Some(extreme), None) = (request.best, kept) {
                kept = Some(Kept::Extreme(extreme, take_computed(&mut columns)?));
            }
        } else if computed {
            columns
                .shown
                .retain(|(_, one)| matches!(one, Shown::Computed(..)));
        } else if columns.shown.is_empty() {
            self.member(&mut columns, without.is_some())?;
        }
        self.above_mean(&mut columns);
        let order = self.order(&columns, grouping);
        self.cues += i32::from(without.is_some()) + i32::from(columns.mean.is_some());
        self.cues += i32::from(request.first.is_some() && order.is_some());
        let shown: Vec<Shown> = columns.shown.iter().map(|(_, one)| *one).collect();
        self.cues += i32::from(self.shows_columns(&shown, columns.rests));
        let keys = (grouping || computed).then(|| columns.keys.clone());
        let repeats = || self.groups_members_alone(&columns) || self.counts_again(&columns);
        if self.cues <= 0 || shown.is_empty() && !count || grouping && repeats() {
            return None;
        }
        // A question that names a class asks for its members.
        self.relations += usize::from(self.class_named && !self.asks_for_class());
        self.missing(
            kept.is_some(),
            computed || columns.single,
            grouping || alone,
        );
        if self.cues <= 0 {
            // The plan answers less of the question than it leaves out.
            return None;
        }
        for &word in &request.said {
            if let Some(word) = self.words.get_mut(word) {
                *word = 1.0;
            }
        }
        let counts = count || shown.contains(&Shown::Count) || computed;
        let distinct = columns.counted.is_none() && self.leads_through();
        let extreme = self.keeps_extreme(&shown, kept, order.is_some());
        let focus = self.explainer.focus;
        let says = |words: &[f32]| strength(words, focus) >= 1.0;
        // Cities without a launch site are no countries without one.
        let class_said = without.is_none() || says(&self.known);
        let mut state = self.base.clone();
        state.words = Arc::from(self.words);
        state.tally.asked += self.asked;
        // The number of a group is used like a value.
        state.tally.filters += usize::from(matches!(kept, Some(Kept::Number(..))));
        Some(Composed {
            plan: TablePlan {
                base: self.base.plan.clone(),
                without: without.map(|all| all.plan.clone()),
                paths: self.chosen,
                keys,
                shown,
                kept,
                mean: columns.mean,
                first: request.first.filter(|_| order.is_some()),
                order,
                distinct,
                count,
            },
            state,
            cues: self.cues,
            relations: self.relations,
            counts,
            extreme,
            class_said,
        })
    }

    /// Whether the graph has the number that the question compares or asks for, which is shown if it asks: `the names and
    /// numbers of staff`.
    fn show_measured(&mut self, columns: &mut Columns) -> bool {
        let total = |path: usize| self.request.total && self.is_key(path);
        let measured = (columns.counted)
            .filter(|&path| self.is_number(path) && !total(path) && self.is_counted_number(path))
            .filter(|_| !self.counts_members(columns, None));
        if let (Some(at), Some(path)) = (self.count, measured) {
            columns.shown.push(if self.request.total {
                self.cues += 1;
                (at, Shown::Computed(Aggregate::Sum, path))
            } else {
                (at, Shown::Path(path))
            });
            columns.shown.sort_by_key(|(at, _)| *at);
            (self.count, columns.counted) = (None, None);
        }
        measured.is_some()
    }

    /// Whether the rows are the extreme of something.
    fn keeps_extreme(&self, shown: &[Shown], kept: Option<Kept>, ordered: bool) -> bool {
        let best = |one: &Shown| matches!(one, Shown::Computed(Aggregate::Max | Aggregate::Min, _));
        shown.iter().any(best)
            || self.request.most.is_some()
            || self.request.best.is_some() && kept.is_some()
            || self.request.first.is_some() && ordered
    }

    fn kept(&self) -> Option<Kept> {
        let request = self.request;
        let number = request.having.map(|(op, number)| Kept::Number(op, number));
        // A number that the set compares with is used, and `more than 4 cylinders` counts cylinders.
        let number = number.filter(|_| !self.compares_number() && self.explains_had());
        number.or(request
            .most
            .filter(|_| self.base.tally.extremes == 0 && !self.counts_population())
            .map(|extreme| Kept::Extreme(extreme, Shown::Count)))
    }

    /// Whether the most people are no number of people in the graph, since what is asked for has a population.
    fn counts_population(&self) -> bool {
        let phrases = self.request.phrases.iter();
        let mut counted = phrases.filter(|phrase| phrase.role == Role::Counted);
        let words = &self.explainer.asked.words;
        let person = |at: &usize| words.get(*at).is_some_and(|word| is_person(&word.stem));
        counted.any(|phrase| phrase.words.iter().any(person)) && self.explainer.is_populated()
    }

    /// Whether the question counts the members of the set, of which it keeps some: `how many countries have more than two
    /// makers`, `how many players are taller than the average`.
    fn counts_members(&self, columns: &Columns, kept: Option<Kept>) -> bool {
        let number = matches!(kept, Some(Kept::Number(..)));
        let until = match number {
            true => self.request.had,
            false => self.request.phrases.len(),
        };
        let mut phrases = self.request.phrases.iter().take(until);
        let counted = phrases.any(|one| one.role == Role::Counted && self.is_known(one));
        self.count.is_some() && counted && (number || columns.mean.is_some())
    }

    /// Whether the request asks for the extremes of what is extreme already, which say nothing.
    fn repeats_extreme(&self) -> bool {
        let best = |phrase: &Phrase| {
            matches!(phrase.role, Role::Computed(Aggregate::Max | Aggregate::Min))
        };
        let request = self.request;
        let asks =
            request.first.is_some() || request.best.is_some() || request.phrases.iter().any(best);
        self.base.tally.extremes > 0 && asks
    }

    /// Whether the plan shows several columns, not counting `rests`, the last names that were added. Where things have no
    /// names of their own, one column with names is enough.
    fn shows_columns(&self, shown: &[Shown], rests: usize) -> bool {
        let paths = shown.iter().filter(|one| matches!(one, Shown::Path(_)));
        let several = paths.count().saturating_sub(rests);
        let labels =
            || self.request.wants_labels() && nameless(self.explainer.session, &self.base.nodes);
        several > 1 || several == 1 && self.cues == 0 && labels()
    }

    /// Whether the plan explains what the question compares the number of.
    fn explains_had(&self) -> bool {
        let phrase = self.request.phrases.get(self.request.had);
        let explained = |at: &usize| self.words.get(*at).is_some_and(|p| *p >= EXPLAINED);
        phrase.is_none_or(|phrase| {
            let mut words = phrase.words.iter().chain(&phrase.of);
            phrase.words.is_empty() || words.any(explained)
        })
    }

    /// Whether the set compares something with the number of the things that are counted.
    fn compares_number(&self) -> bool {
        let Some((_, number)) = self.request.having else {
            return false;
        };
        let values = &self.explainer.session.linked().values;
        (values.iter().enumerate()).any(|(at, value)| {
            self.base.tally.values & bit(at) != 0 && value.lexical == number.to_string()
        })
    }

    /// Whether the set compares what the question counts with its number: `more than 4 cylinders`.
    fn compares_counted(&self) -> bool {
        let counted = |phrase: &&Phrase| phrase.role == Role::Counted;
        let mut words =
            (self.request.phrases.iter().filter(counted)).flat_map(|phrase| phrase.words.iter());
        let unknown = |at: &usize| {
            let p = |words: &[f32]| words.get(*at).copied().unwrap_or_default();
            p(&self.known) < KNOWN && p(&self.base.words) >= KNOWN
        };
        words.any(unknown)
    }

    /// Decides what rows are grouped by and which columns are shown for each group.
    fn key_columns(&mut self, columns: &mut Columns, computed: bool, kept: bool) -> Option<()> {
        let is_path = |one: &Shown| matches!(one, Shown::Path(_));
        // `who won the most prizes`: prizes are counted, and people are the answer.
        if let (true, Some(counted)) = (kept, columns.counted) {
            (columns.shown).retain(|(_, one)| *one != Shown::Path(counted));
        }
        let beside: Vec<usize> = columns
            .shown
            .iter()
            .filter_map(|(_, one)| match one {
                Shown::Path(path) => Some(*path),
                _ => None,
            })
            .collect();
        if let Some(counted) = columns.counted {
            // Each member has several of what is counted.
            if beside.contains(&counted) || columns.keys.contains(&counted) {
                return None;
            }
        }
        let mut keys = columns.keys.clone();
        for path in beside {
            if !keys.contains(&path) {
                keys.push(path);
            }
        }
        if keys.is_empty() {
            // The members themselves are the groups: rows differ only by what is counted or computed.
            if !computed {
                columns.counted?;
            }
            keys.push(self.member_path()?);
        }
        self.cues += 1;
        let count = self.count.filter(|_| !computed);
        let mut shown: Vec<(usize, Shown)> = columns.shown.clone();
        if kept && count.is_none() {
            shown.retain(|(_, one)| is_path(one));
        }
        // The column of the key comes first if rows are counted; otherwise it is where the question
        // names it.
        for &key in &keys {
            let known = shown.iter().any(|(_, one)| *one == Shown::Path(key));
            if !known && (!kept || columns.shown.is_empty()) {
                let at = if computed { self.place_of_keys() } else { 0 };
                shown.push((at, Shown::Path(key)));
            }
        }
        if let Some(at) = count {
            let before = columns.shown.iter().any(|(place, _)| *place < at);
            let at = if before || !columns.keys.is_empty() || columns.shown.is_empty() {
                usize::MAX
            } else {
                at
            };
            shown.push((at, Shown::Count));
            self.cues += i32::from(kept);
        }
        shown.sort_by_key(|(at, _)| *at);
        columns.shown = shown;
        columns.keys = keys;
        Some(())
    }

    /// Where the question names what rows are grouped by.
    fn place_of_keys(&self) -> usize {
        let key = |phrase: &&Phrase| phrase.role == Role::Key;
        let first = self.request.phrases.iter().find(key);
        first.map_or(usize::MAX, |phrase| phrase.at)
    }

    /// Shows the members of the set where the question names no column.
    fn member(&mut self, columns: &mut Columns, without: bool) -> Option<()> {
        let ordered = self.request.order.is_some() && columns.order.is_some();
        if without || ordered || columns.mean.is_some() {
            let path = self.member_path()?;
            let names = [Some(path), self.last_name(path)];
            let shown = names
                .into_iter()
                .flatten()
                .map(|path| (0, Shown::Path(path)));
            columns.shown.extend(shown);
        }
        Some(())
    }

    /// Shows the members where the only column is what is compared with its mean: `who earns more than the
    /// average`.
    fn above_mean(&mut self, columns: &mut Columns) {
        let Some((path, _)) = columns.mean else {
            return;
        };
        if let [(at, Shown::Path(shown))] = *columns.shown
            && shown == path
            && let Some(member) = self.member_path()
        {
            columns.shown = vec![(at, Shown::Path(member))];
        }
    }

    /// The column by which rows are ordered.
    fn order(&mut self, columns: &Columns, grouping: bool) -> Option<(Shown, bool)> {
        let mut last = self.request.order?;
        let counted = grouping && columns.shown.iter().any(|(_, one)| *one == Shown::Count);
        let first = columns.shown.first().map(|(_, one)| *one);
        if let (Some(first), Some(path)) = (self.request.sorted, columns.order) {
            last = first[usize::from(self.is_time(path))] == Extreme::Max;
        }
        let by = match columns.order {
            Some(path) if !grouping || columns.keys.contains(&path) => Shown::Path(path),
            _ if counted => Shown::Count,
            _ => first?,
        };
        self.cues += 1;
        Some((by, last))
    }

    /// Whether a phrase names the class of the members and is neither left out nor a condition.
    fn asks_for_class(&self) -> bool {
        let subject = |at: &usize| self.request.subjects.contains(at);
        let out = |(at, phrase): &(usize, &Phrase)| {
            !matches!(phrase.role, Role::Without | Role::Condition) || subject(at)
        };
        let mut words = (self.request.phrases.iter().enumerate().filter(out))
            .flat_map(|(_, phrase)| phrase.words.iter().chain(&phrase.of));
        words.any(|&at| self.known.get(at).is_some_and(|p| *p >= KNOWN))
    }

    /// Number of entities of the question that the set does not use.
    fn unused(&self) -> usize {
        let entities = self.explainer.session.linked().entities.len();
        let used = |at: &usize| self.base.tally.uses(*at, self.explainer);
        entities - (0..entities).filter(used).count()
    }

    /// Takes off the cues that the plan does not answer.
    fn missing(&mut self, kept: bool, computed: bool, grouping: bool) {
        let request = self.request;
        let asks =
            |wanted: fn(&Role) -> bool| request.phrases.iter().any(|phrase| wanted(&phrase.role));
        let missing = [
            request.having.is_some() && !kept && !self.compares_counted(),
            asks(|role| matches!(role, Role::Computed(_))) && !computed,
            request.grouped && !grouping && (self.count.is_some() || computed),
            request.most == Some(Extreme::Max) && !kept && self.base.tally.extremes == 0,
            request.most == Some(Extreme::Min) && !kept && self.base.tally.extremes == 0,
        ];
        let missing = missing.iter().filter(|missing| **missing).count() + self.unused();
        self.cues -= i32::try_from(missing).unwrap_or_default();
    }
}

/// Takes the only computed column out of what is shown; `None` if there are several or none, or if nothing
/// else is shown.
fn take_computed(columns: &mut Columns) -> Option<Shown> {
    let computed = |one: &Shown| matches!(one, Shown::Computed(..));
    let mut all = columns.shown.iter().filter(|(_, one)| computed(one));
    let (_, taken) = *all.next()?;
    let only = all.next().is_none() && columns.shown.len() > 1;
    columns.shown.retain(|(_, one)| !computed(one));
    only.then_some(taken)
}
