//! The columns that the phrases of a question name.

use kg::value::Op;

use super::super::plan::{Against, Hop, PlanStep, bit};
use super::super::state::State;
use super::super::words::Explainer;
use super::paths::{KNOWN, Known, Path, add, best, label_behind, name_of, named, nameless};
use super::plan::Shown;
use super::request::{Label, Phrase, Request, Role};
use crate::call::Aggregate;
use crate::exec::Relation;
use crate::rank::stem;

/// A plan that is being composed.
pub(super) struct Composer<'c, 's, 'g> {
    pub(super) base: &'c State,
    /// What the set itself explains.
    pub(super) known: Vec<f32>,
    pub(super) paths: &'c [Path],
    pub(super) request: &'c Request,
    pub(super) explainer: &'c Explainer<'s, 'g>,
    /// Where the question asks how many, unless the graph has that number.
    pub(super) count: Option<usize>,
    /// The paths of the plan.
    pub(super) chosen: Vec<Vec<Hop>>,
    pub(super) words: Vec<f32>,
    pub(super) asked: f32,
    pub(super) relations: usize,
    pub(super) cues: i32,
    /// Whether a phrase of the question names a class.
    pub(super) class_named: bool,
}

/// What the phrases of a request became.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) shown: Vec<(usize, Shown)>,
    pub(super) keys: Vec<usize>,
    pub(super) counted: Option<usize>,
    pub(super) order: Option<usize>,
    pub(super) mean: Option<(usize, Op)>,
    /// Whether a key is the member of the set.
    pub(super) own_key: bool,
    /// Whether a key is a column that is shown.
    pub(super) key_shown: bool,
    /// Whether a column stands for what would be computed of one value.
    pub(super) single: bool,
    /// How many last names were added because the question asks for names.
    pub(super) rests: usize,
}

impl<'c> Composer<'c, '_, '_> {
    /// The columns that the phrases name.
    pub(super) fn columns(&mut self) -> Columns {
        let mut columns = Columns::default();
        let request = self.request;
        for phrase in &request.phrases {
            match phrase.role {
                // `in each country? List the country name`: that column is the key.
                Role::Key if request.is_shown(phrase) => columns.key_shown = true,
                Role::Condition | Role::Without => {}
                Role::Column => {
                    let shown = self.shown_by(phrase).filter(|&path| !self.says_truth(path));
                    let rest = shown.and_then(|path| self.rest_of_name(phrase, path));
                    columns.rests += usize::from(rest.is_some());
                    for path in shown.into_iter().chain(rest).map(Shown::Path) {
                        if !columns.shown.iter().any(|(_, old)| *old == path) {
                            columns.shown.push((phrase.at, path));
                        } else if phrase.label.is_some()
                            && !phrase.words.is_empty() | !phrase.of.is_empty()
                        {
                            // `the names of players and of their coaches` are two columns.
                            self.cues -= 1;
                        }
                    }
                }
                // `the total of ferries` is a number of things.
                Role::Computed(Aggregate::Sum)
                    if self.is_known(phrase) && !self.is_column(phrase) => {}
                Role::Computed(aggregate) => {
                    if let Some(path) = self.named_by(phrase) {
                        let one = if self.is_one(path) {
                            // The sum of one value is that value. Nobody asks for it where one
                            // thing was found by a relation: the capital as `all cities`.
                            let walk = |step: &PlanStep| matches!(step, PlanStep::Walk(_));
                            self.cues += i32::from(!self.base.plan.steps.iter().any(walk));
                            columns.single = true;
                            Shown::Path(path)
                        } else {
                            self.cues += 1;
                            Shown::Computed(aggregate, path)
                        };
                        columns.shown.push((phrase.at, one));
                    } else {
                        // `the average height and team` of each player
                        let role = Role::Column;
                        let path = self.named_by(&Phrase {
                            role,
                            ..phrase.clone()
                        });
                        columns
                            .shown
                            .extend(path.map(|path| (phrase.at, Shown::Path(path))));
                    }
                }
                // `every film genre` is a genre.
                Role::Key if self.ends_with_class(phrase) => columns.own_key = true,
                Role::Key => match self.named_by(phrase) {
                    Some(path) => columns.keys.push(path),
                    None => columns.own_key |= self.is_known(phrase),
                },
                Role::Order => {
                    // `the three biggest ships by tonnage`: what stands last says how they are ordered.
                    columns.order = self.named_by(phrase).or(columns.order);
                }
                Role::Counted => {
                    if !self.is_members(phrase) || self.is_number_of(phrase) {
                        let path = self.named_by(phrase);
                        columns.counted = columns.counted.or(path);
                    }
                }
                Role::Mean(op) => {
                    let path = self.named_by(phrase);
                    columns.mean = columns.mean.or(path.map(|path| (path, op)));
                }
            }
        }
        self.order_by_shown(&mut columns);
        // `the average weight and year for each year`: years are groups.
        for (_, one) in &mut columns.shown {
            if let Shown::Computed(_, path) = *one
                && columns.keys.contains(&path)
            {
                *one = Shown::Path(path);
                self.cues -= 1;
            }
        }
        let counts_members = |phrase: &Phrase| {
            phrase.role == Role::Counted && phrase.words.iter().any(|&at| self.known[at] >= KNOWN)
        };
        if columns
            .counted
            .is_some_and(|path| columns.keys.contains(&path))
            && request.phrases.iter().any(counts_members)
        {
            // `how many customers live in each city` counts customers.
            columns.counted = None;
        }
        columns
    }

    /// The path to the last name, if `path` leads to the first name, which stands for what the phrase names.
    fn rest_of_name(&mut self, phrase: &Phrase, path: usize) -> Option<usize> {
        let said = self.chosen_path(path)?.explains(&phrase.words);
        if said { None } else { self.last_name(path) }
    }

    /// The path to the last name, if `path` leads to the first name.
    pub(super) fn last_name(&mut self, path: usize) -> Option<usize> {
        let (last, before) = self.chosen.get(path)?.split_last()?;
        let Relation::Plain(first) = last.relation else {
            return None;
        };
        let schema = self.explainer.session.kg().schema();
        let mut names = schema.row_names.iter();
        let second = names.find_map(|columns| match columns.as_slice() {
            [one, second] if *one == first => Some(Relation::Plain(*second)),
            _ => None,
        })?;
        let hop = Hop {
            relation: second,
            ..*last
        };
        let hops: Vec<Hop> = before.iter().copied().chain([hop]).collect();
        let found = self.paths.iter().find(|path| path.hops == hops)?;
        Some(self.choose(found, found))
    }

    /// The path that was chosen with this index.
    fn chosen_path(&self, index: usize) -> Option<&'c Path> {
        let chosen = self.chosen.get(index)?;
        self.paths.iter().find(|path| path.hops == *chosen)
    }

    /// Whether the path with this index leads to numbers.
    pub(super) fn is_number(&self, path: usize) -> bool {
        let found = self.chosen_path(path);
        found.is_some_and(|path| path.leads_to_numbers(self.explainer.session.kg()))
    }

    /// Whether the question counts what the last relation of a path is called. The names of things on the way do not count.
    pub(super) fn is_counted_number(&self, path: usize) -> bool {
        let counted = |phrase: &&Phrase| phrase.role == Role::Counted;
        let found = self.chosen_path(path);
        let mut phrases = self.request.phrases.iter().filter(counted);
        found.is_some_and(|path| phrases.any(|phrase| path.explains(&phrase.words)))
    }

    /// Whether the path with this index leads to keys.
    pub(super) fn is_key(&self, path: usize) -> bool {
        let found = self.chosen_path(path);
        found.is_some_and(|path| path.key)
    }

    /// Whether a phrase is what the members have a number of: the `seats` of a branch.
    fn is_number_of(&self, phrase: &Phrase) -> bool {
        let kg = self.explainer.session.kg();
        let of =
            |path: &Path| !path.key && path.is_called(&phrase.words) && path.leads_to_numbers(kg);
        self.paths.iter().any(of)
    }

    /// Whether the path with this index leads to times, or to numbers that are years.
    pub(super) fn is_time(&self, path: usize) -> bool {
        let last = self.chosen.get(path).and_then(|hops| hops.last());
        !self.is_number(path) || last.is_some_and(|hop| self.explainer.dated(hop.relation))
    }

    /// Whether the path with this index leads from one thing to one value, of which nothing is
    /// computed.
    fn is_one(&self, path: usize) -> bool {
        let found = self.chosen_path(path);
        self.base.nodes.len() < 2 && found.is_some_and(Path::leads_to_one)
    }

    /// Whether the set itself explains a phrase.
    pub(super) fn is_known(&self, phrase: &Phrase) -> bool {
        let all = phrase.words.iter().chain(&phrase.of);
        // `the most professors`, where the set has those with that value.
        let value = |at: usize| {
            self.explainer
                .asked
                .words
                .get(at)
                .and_then(|word| word.value)
        };
        let used = |at: usize| value(at).is_some_and(|at| self.base.tally.values & bit(at) != 0);
        let mut known = all.map(|&at| self.known.get(at).is_some_and(|p| *p >= KNOWN) || used(at));
        known.next() == Some(true) && known.all(|known| known)
    }

    /// Whether a way leads from several members through other things, and so may lead from one to a group twice.
    pub(super) fn leads_through(&self) -> bool {
        self.base.nodes.len() > 1 && self.chosen.iter().any(|path| path.len() > 1)
    }

    /// Whether a phrase of several words ends with the class of the set.
    fn ends_with_class(&self, phrase: &Phrase) -> bool {
        let says = |at: &usize| self.known.get(*at).is_some_and(|p| *p >= 1.0);
        phrase.words.len() > 1 && phrase.of.is_empty() && phrase.words.last().is_some_and(says)
    }

    /// Whether the last relation of a set of which a part is left out leads to what a phrase names: the `neighbours` of a
    /// country that do not have the euro.
    fn is_reached(&self, phrase: &Phrase) -> bool {
        let focus = self.explainer.focus;
        self.request.without
            && self.base.last >= KNOWN
            && focus.is_some_and(|at| phrase.words == [at])
    }

    /// Whether a phrase names the members of the set by their class, and by what the set was found with: `novels set` in a
    /// town.
    fn is_members(&self, phrase: &Phrase) -> bool {
        let says = |words: &[f32], at: usize| words.get(at).is_some_and(|p| *p >= KNOWN);
        let walks = !self.base.plan.steps.is_empty();
        let mut all = phrase.words.iter().chain(&phrase.of);
        self.is_known(phrase)
            || walks
                && phrase
                    .words
                    .first()
                    .is_some_and(|&at| says(&self.known, at))
                && all.all(|&at| says(&self.known, at) || says(&self.base.words, at))
    }

    /// Whether a column of the set is called by the words of a phrase: the `job` of an employee.
    fn is_column(&self, phrase: &Phrase) -> bool {
        self.paths.iter().any(|path| self.says_whole(phrase, path))
    }

    /// Whether a phrase says the whole name of a column, up to a general word at its end: `job` is `job_title`, and `song` is
    /// no `song_release_year`. What the class explains as well is no column.
    fn says_whole(&self, phrase: &Phrase, path: &Path) -> bool {
        const GENERAL: &str = "title type kind code status description date";
        let [hop] = path.hops.as_slice() else {
            return false;
        };
        if !path.is_called_better(&phrase.words, &self.known) {
            return false;
        }
        let (mut own, _) = self.explainer.relation_words(hop.relation);
        let general = |name: &String| {
            let label = phrase.label == Some(Label::Name) && *name == stem("name");
            label || GENERAL.split(' ').any(|word| stem(word) == *name)
        };
        if !own.iter().all(general) {
            own.retain(|name| !general(name));
        }
        let asked = &self.explainer.asked.words;
        let said = |name: &String| phrase.words.iter().any(|&at| asked[at].stem == *name);
        own.iter().all(said)
    }

    /// The path that a column shows: of a phrase that names the members, these themselves.
    fn shown_by(&mut self, phrase: &Phrase) -> Option<usize> {
        let alone = phrase.words.is_empty() && phrase.label == Some(Label::Name);
        let member = match phrase.label {
            None => (self.is_known(phrase) || self.is_reached(phrase)) && !self.is_column(phrase),
            Some(_) => alone && !nameless(self.explainer.session, &self.base.nodes),
        };
        if alone && member {
            return self.named_by(phrase).or_else(|| self.member_path());
        }
        let member = if member { self.member_path() } else { None };
        member.or_else(|| self.named_by(phrase))
    }

    /// The path that a phrase names, as an index.
    fn named_by(&mut self, phrase: &Phrase) -> Option<usize> {
        let path = match self.beside(phrase) {
            Some(path) => path,
            None => self.best(phrase)?,
        };
        let shown = if phrase.role == Role::Order {
            path
        } else {
            named(self.paths, path)
        };
        Some(self.choose(path, shown))
    }

    /// The path that fits a phrase best. What the class of the set explains may still be a column.
    fn best(&self, phrase: &Phrase) -> Option<&'c Path> {
        // `their joining dates` of who joined after a day: the set explains it too.
        let literal = |path: &&Path| {
            let [hop] = path.hops.as_slice() else {
                return false;
            };
            let (own, _) = self.explainer.relation_words(hop.relation);
            let asked = &self.explainer.asked.words;
            let said = |at: &usize| own.contains(&asked[*at].stem);
            phrase.words.len() > 1 && phrase.words.iter().all(said) && self.says_whole(phrase, path)
        };
        if phrase.role == Role::Column
            && phrase.of.is_empty()
            && let Some(path) = self.paths.iter().find(literal)
        {
            return Some(path);
        }
        // `the continent name` of a country, where continents are no things.
        let text = |path: &&Path| {
            path.is_text(self.explainer.session.kg()) && self.says_whole(phrase, path)
        };
        if phrase.label == Some(Label::Name)
            && let Some(path) = self.paths.iter().find(text)
        {
            return Some(path);
        }
        let known = Known {
            class: &self.known,
            set: &self.base.words,
        };
        let kg = self.explainer.session.kg();
        if phrase.role == Role::Counted {
            // Nobody counts what everything has only one of.
            return best(self.paths, phrase, known, |path| path.can_be_counted(kg));
        }
        // What is longest is a number or a time.
        let degree = |&at: &usize| self.explainer.asked.words[at].adjective.is_some();
        if phrase.role == Role::Order && phrase.words.iter().any(degree) {
            let found = best(self.paths, phrase, known, |path| {
                path.has_an_order(kg) && !path.key
            });
            if found.is_some() {
                return found;
            }
        }
        if let Role::Computed(_) | Role::Mean(_) = phrase.role {
            // Nobody wants the mean of keys, nor the greatest of them.
            return best(self.paths, phrase, known, |path| {
                let number = path.leads_to_numbers(kg);
                let ordered =
                    matches!(phrase.role, Role::Computed(Aggregate::Max | Aggregate::Min));
                !path.key && !path.coded && (number || ordered && path.has_an_order(kg))
            });
        }
        let any = |_: &Path| true;
        best(self.paths, phrase, known, any).or_else(|| {
            let none: Vec<f32> = self.known.iter().map(|_| 0.0).collect();
            let beside = phrase.role == Role::Column && !self.chosen.is_empty();
            let known = Known {
                class: &none,
                ..known
            };
            beside
                .then(|| best(self.paths, phrase, known, any))
                .flatten()
        })
    }

    /// For a phrase that says only `name` or `id` after a column with the name or key of a thing:
    /// the path to the name or key of that same thing.
    fn beside(&self, phrase: &Phrase) -> Option<&'c Path> {
        let label = phrase.label?;
        let last = self.chosen.last()?;
        let (_, before) = last.split_last()?;
        let alone = phrase.words.is_empty() && phrase.of.is_empty();
        // `Which branch has the most employees? Give its name.`
        if alone && self.is_listed_of(phrase) {
            return label_behind(self.paths, &[], label);
        }
        let labels = [Label::Name, Label::Key];
        let is_label = labels.into_iter().any(|label| {
            label_behind(self.paths, before, label).is_some_and(|path| path.hops == *last)
        });
        (alone && is_label)
            .then(|| label_behind(self.paths, before, label))
            .flatten()
    }

    /// Whether a phrase stands in a sentence that lists what belongs to what was asked for.
    fn is_listed_of(&self, phrase: &Phrase) -> bool {
        let first = self
            .request
            .listed
            .and_then(|at| self.request.phrases.get(at));
        self.request.listed_of && first.is_some_and(|first| phrase.at >= first.at)
    }

    /// Whether the set keeps those of which a column says that it is so: branches with a cafe need not show it.
    fn says_truth(&self, path: usize) -> bool {
        let hops = self.chosen.get(path).map(Vec::as_slice);
        self.base.plan.steps.iter().any(|step| match step {
            PlanStep::Compare(relation, _, Against::Truth(_)) => {
                hops.is_some_and(|hops| matches!(hops, [hop] if hop.relation == *relation))
            }
            _ => false,
        })
    }

    /// Takes a path into the plan, with the path that is shown for it.
    fn choose(&mut self, path: &Path, shown: &Path) -> usize {
        add(&mut self.words, &path.words);
        let known = self.chosen.iter().position(|hops| *hops == shown.hops);
        if let Some(known) = known {
            return known;
        }
        self.asked += path.asked;
        self.relations += path.relations();
        self.chosen.push(shown.hops.clone());
        self.chosen.len() - 1
    }

    /// The path to the members of the set themselves.
    pub(super) fn own_path(&mut self) -> usize {
        self.index_of(Vec::new())
    }

    /// The index of a chosen path, which is added if it is new.
    fn index_of(&mut self, hops: Vec<Hop>) -> usize {
        let known = self.chosen.iter().position(|known| *known == hops);
        known.unwrap_or_else(|| {
            self.chosen.push(hops);
            self.chosen.len() - 1
        })
    }

    /// The path to the members of the set, or to their names if they have none of their own.
    pub(super) fn member_path(&mut self) -> Option<usize> {
        let session = self.explainer.session;
        let hops = if nameless(session, &self.base.nodes) {
            name_of(self.paths, &[])?.hops.clone()
        } else {
            Vec::new()
        };
        Some(self.index_of(hops))
    }
}
