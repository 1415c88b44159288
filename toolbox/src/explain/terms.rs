//! The terms of a decision: a log-linear model over candidate programs.

use std::ops::{Index, IndexMut};

use kg::value::Kind;
use serde::{Deserialize, Serialize};

use super::compared::may_be_year;
use super::kinds::ends_at_place;
use super::naming::names_people;
use super::plan::Finish;
use super::state::{Found, State};
use super::words::Explainer;
use crate::exec::{EntSet, Value};

/// Probability of a word that nothing explains.
const FLOOR: f32 = 0.01;
/// A program explains a name only from this probability on. The word tables have seen `England` in questions about
/// births, so they give it a small probability.
const NAME: f32 = 0.3;
/// The same of a role: who plays at a club is not its coach.
const ROLE: f32 = 0.1;
/// The discount for a relation from a place to the place that contains it.
const LIES: f32 = 0.5;
/// The same if the question asks for the place at the end: `in which country is the restaurant`.
const LIES_IN: f32 = 0.8;
/// What a relation to rows costs that the question does not name, such as bookings between customers and branches.
const ROWS: f32 = 0.4;
/// How many words a fact about another thing counts as.
const OTHERS: f32 = 3.0;
/// How much more the name of an unknown thing counts where a plan uses no known one.
const NO_TOPIC: f32 = 8.0;

/// Declares [`DecisionTerm`], [`TERM_NAMES`] and [`TERMS`] from one list.
macro_rules! terms {
    ($($id:ident $name:literal,)*) => {
        /// The terms, in order. Names say what each counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DecisionTerm {
            $(#[doc = $name] $id,)*
        }

        /// The names of the terms, in order.
        pub const TERM_NAMES: [&str; TERMS] = [$($name,)*];

        /// Number of terms.
        pub const TERMS: usize = [$(DecisionTerm::$id,)*].len();
    };
}

terms! {
    Explained "explained",
    Asked "asked",
    Hops "hops",
    Incoming "incoming",
    BothWays "both ways",
    Filters "filters",
    EntitiesUnused "entities unused",
    ValuesUnused "values unused",
    CountMissing "count missing",
    CountNotAsked "count not asked for",
    ExtremeMissing "extreme missing",
    ExtremeNotAsked "extreme not asked for",
    TruthMissing "truth missing",
    TruthNotAsked "truth not asked for",
    AnswerIsTopic "answer is a topic",
    AnswerSize "answer size",
    TimeForWhen "time for when",
    ThingForWhen "thing for when",
    TextForWhoOrWhere "text for who or where",
    TextAnswer "text answer",
    NumberNotAsked "number not asked for",
    UnexplainedWords "unexplained words",
    GiveUp "give up",
    GiveUpPerWord "give up, per word",
    Model "model",
    ModelFirst "model's first choice",
    ModelGivesUp "model gives up",
    MarksExplained "question words explained",
    TruthHolds "truth holds",
    FocusLast "focus explained last",
    NothingExplained "nothing explained",
    KnownUnexplained "known words unexplained",
    GiveUpKnown "give up, known words",
    ComparedWithTopic "compared with a topic",
    ClassFilters "class filters",
    ComparisonNotAsked "comparison not asked for",
    NumberForWhoOrWhere "number or time for who or where",
    ClassMissing "class asked for is missing",
    NamesThings "names things",
    OthersMissing "others missing",
    OrderOfWords "order of words",
    GiveUpWithoutWords "give up, no words",
    TableCues "cues for tables",
    ColumnRelations "relations of columns",
    BackUnasked "goes back unasked",
    PersonForWho "person for who",
    SameOfBoth "the same of both",
    SaidOfOthers "said of others only",
    Unsaid "relations unsaid",
    Untold "one relation for two",
    EverydayValue "everyday word as a value",
    NamesUnused "names unused",
    WordingRead "wording read in training",
    NamesUnlinked "names unlinked",
    FocusUnexplained "focus unexplained",
    Scorer "scorer",
}

/// The terms of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f32>", into = "Vec<f32>")]
pub struct Terms(pub [f32; TERMS]);

impl From<Terms> for Vec<f32> {
    fn from(terms: Terms) -> Self {
        terms.0.to_vec()
    }
}

impl TryFrom<Vec<f32>> for Terms {
    type Error = String;

    fn try_from(terms: Vec<f32>) -> Result<Self, String> {
        let found = terms.len();
        let terms = terms.try_into();
        terms
            .map(Self)
            .map_err(|_| format!("{found} terms; this version has {TERMS}"))
    }
}

impl Terms {
    pub(super) const ZERO: Self = Self([0.0; TERMS]);
}

impl Index<DecisionTerm> for Terms {
    type Output = f32;

    fn index(&self, term: DecisionTerm) -> &f32 {
        &self.0[term as usize]
    }
}

impl IndexMut<DecisionTerm> for Terms {
    fn index_mut(&mut self, term: DecisionTerm) -> &mut f32 {
        &mut self.0[term as usize]
    }
}

/// The terms that a plan has before its end, by which the search prunes.
pub(super) fn of_state(state: &State, explainer: &Explainer<'_, '_>) -> Terms {
    let linked = explainer.session.linked();
    let tally = &state.tally;
    let mut terms = Terms::ZERO;
    for (p, word) in state.words.iter().zip(&explainer.asked.words) {
        // `who` and `when` are weaker evidence than content words.
        let term = if word.is_mark() {
            DecisionTerm::MarksExplained
        } else {
            DecisionTerm::Explained
        };
        terms[term] += (FLOOR + p.min(1.0 - FLOOR)).ln();
        terms[DecisionTerm::UnexplainedWords] += flag(*p < FLOOR && !word.is_mark());
        // A plan without a topic passes over the one that the question names.
        let topic = tally.entities != 0 || tally.values != 0;
        let named = if topic { 1.0 } else { NO_TOPIC };
        terms[DecisionTerm::NamesUnlinked] += named * flag(*p < NAME && word.named);
    }
    terms[DecisionTerm::Asked] = tally.asked;
    terms[DecisionTerm::Hops] =
        tally.hops as f32 - LIES * tally.lies as f32 + ROWS * tally.rows as f32;
    terms[DecisionTerm::Incoming] = tally.incoming as f32;
    terms[DecisionTerm::OrderOfWords] = tally.order as f32;
    terms[DecisionTerm::Unsaid] = tally.unsaid as f32;
    terms[DecisionTerm::BothWays] = tally.both as f32;
    terms[DecisionTerm::Untold] = state.untold(explainer) as f32;
    terms[DecisionTerm::EverydayValue] = tally.everyday as f32;
    terms[DecisionTerm::Filters] = tally.filters as f32;
    terms[DecisionTerm::ClassFilters] = tally.classes as f32;
    let entities = (0..linked.entities.len()).filter(|&at| !tally.uses(at, explainer));
    terms[DecisionTerm::EntitiesUnused] = entities.clone().count() as f32;
    terms[DecisionTerm::NamesUnused] = entities.filter(|&at| explainer.is_name(at)).count() as f32;
    terms[DecisionTerm::ValuesUnused] = tally.values_unused(&linked.values) as f32;
    terms
}

pub(super) fn flag(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

/// The terms of a candidate without a model.
pub(super) fn of_found(found: &Found, explainer: &Explainer<'_, '_>) -> Terms {
    let (state, tally) = (&found.state, &found.state.tally);
    let mut terms = of_state(state, explainer);
    if ends_at_place(state, explainer) {
        terms[DecisionTerm::Hops] -= (LIES_IN - LIES) * tally.lies as f32;
    }
    let facts = AnswerFacts::of(found, explainer);
    facts.persons_and_places(&mut terms);
    facts.counts_and_extremes(&mut terms);
    facts.truths(&mut terms);
    facts.kinds(&mut terms);
    facts.words(&mut terms);
    facts.classes_and_others(&mut terms);
    terms
}

/// What a candidate answers and what was asked for, as far as several terms need it.
struct AnswerFacts<'f, 'e, 'l, 'k> {
    found: &'f Found,
    explainer: &'e Explainer<'l, 'k>,
    /// The kind of its literals. Names stand for the things that have them.
    kind: Option<Kind>,
    /// The things that it finds.
    set: Option<&'f EntSet>,
    counted: bool,
    judged: bool,
    /// The question asks for the value of an extreme, and this is it.
    extreme_value: bool,
    /// The question asks for a time.
    when: bool,
    /// The answer is a time, or a number that may be a year where one is asked for.
    time: bool,
    /// The answer is a number and no year.
    number: bool,
}

impl<'f, 'e, 'l, 'k> AnswerFacts<'f, 'e, 'l, 'k> {
    fn of(found: &'f Found, explainer: &'e Explainer<'l, 'k>) -> Self {
        let (asked, state) = (explainer.asked, &found.state);
        let kind = state
            .literal_kind(explainer.session)
            .filter(|_| state.plan.finish == Finish::Set && state.named.is_none());
        let when = has_mark(explainer, &["#when", "#what-year"]);
        // `in what year was it founded` may be answered by a number.
        let year = when && kind == Some(Kind::Int) && are_years(state, explainer);
        let set = match &found.answer {
            Value::Set(set) => Some(state.named.as_ref().unwrap_or(set)),
            Value::Int(_) | Value::Bool(_) | Value::Table(_) => None,
        };
        Self {
            kind,
            set,
            counted: state.plan.finish == Finish::Count,
            judged: matches!(found.answer, Value::Bool(_)),
            extreme_value: asked.extreme_value && explainer.is_value_of_extreme(state),
            when,
            time: year || kind == Some(Kind::Time),
            number: !year && matches!(kind, Some(Kind::Int | Kind::Float | Kind::Quantity)),
            found,
            explainer,
        }
    }

    fn has_mark(&self, marks: &[&str]) -> bool {
        has_mark(self.explainer, marks)
    }

    /// `who` and `where` ask for people and places.
    fn persons_and_places(&self, terms: &mut Terms) {
        let explainer = self.explainer;
        let set = self.set.filter(|_| self.kind.is_none());
        let people = || {
            let things = set.filter(|set| !set.is_empty());
            things.map(|set| explainer.are_people(set))
        };
        let places = |set: Option<&EntSet>| set.is_some_and(|set| explainer.are_places(set));
        if self.has_mark(&["#who"]) || explainer.asked.wants_people {
            terms[DecisionTerm::PersonForWho] = match people() {
                Some(true) => 1.0,
                Some(false) if places(self.set) => -1.5,
                Some(false) => -0.5,
                None => 0.0,
            };
        } else if self.has_mark(&["#where"]) {
            terms[DecisionTerm::PersonForWho] = match people() {
                Some(true) => -1.0,
                _ if places(set) => 1.0,
                _ => 0.0,
            };
        }
    }

    /// Numbers of things, extremes and topics.
    fn counts_and_extremes(&self, terms: &mut Terms) {
        let (explainer, state) = (self.explainer, &self.found.state);
        let (asked, tally) = (explainer.asked, &state.tally);
        // What only connects things is counted where the question names it, or asks how often.
        let said = state.class_said || asked.times || tally.filters > 0;
        terms[DecisionTerm::Hops] += flag(self.counted && state.statements && !said);
        terms[DecisionTerm::SameOfBoth] = if asked.both {
            tally.parallel as f32
        } else {
            0.0
        };
        let value = self.extreme_value;
        terms[DecisionTerm::CountMissing] =
            flag(asked.count && !self.counted && !self.number || asked.extreme_value && !value);
        terms[DecisionTerm::CountNotAsked] = flag(self.counted && (!asked.count || asked.amount));
        let extreme = asked.extreme.is_some() || asked.either.is_some();
        let named = extreme && explainer.names_extreme(&state.plan);
        terms[DecisionTerm::ExtremeMissing] =
            flag(extreme && !named && tally.extremes <= tally.misplaced);
        // `Are there more people in Spain or in Colombia?` asks for a country.
        let topics = self.set.map_or(0.0, |set| explainer.share_of_topics(set));
        if asked.chosen && topics < 1.0 {
            terms[DecisionTerm::ExtremeMissing] = 1.0;
        }
        terms[DecisionTerm::ExtremeNotAsked] = flag((!extreme || named) && tally.extremes > 0);
        // Of several things, the topic may be one: `all films by the director of this one`.
        if asked.either.is_none() && !asked.others {
            terms[DecisionTerm::AnswerIsTopic] = topics;
        }
        terms[DecisionTerm::AnswerSize] =
            (self.set).map_or(0.0, |set| (set.len().max(1) as f32).ln());
        // `the party with the most members` is the one with the greatest `member count`.
        let most = asked.most_of && tally.extremes > tally.misplaced;
        terms[DecisionTerm::TableCues] = flag(most && explainer.counts_most(&state.plan));
    }

    fn truths(&self, terms: &mut Terms) {
        let (asked, tally) = (self.explainer.asked, &self.found.state.tally);
        terms[DecisionTerm::TruthMissing] = flag(asked.judge && !self.judged);
        terms[DecisionTerm::TruthNotAsked] = flag(self.judged && !asked.judge && !asked.tells);
        // `Do the Swiss pay in euros` asks for no neighbour's currency.
        let said = asked.judge || terms[DecisionTerm::UnexplainedWords] == 0.0;
        let is_true = self.found.answer == Value::Bool(true);
        let holds = is_true && !tally.denied && tally.unsaid == 0 && said;
        terms[DecisionTerm::TruthHolds] = flag(holds);
    }

    /// Times, numbers and texts.
    fn kinds(&self, terms: &mut Terms) {
        let (explainer, state) = (self.explainer, &self.found.state);
        let (asked, kind) = (explainer.asked, self.kind);
        let who = self.has_mark(&["#who", "#where"]) || asked.wants_place;
        terms[DecisionTerm::TimeForWhen] = flag(self.when && self.time);
        terms[DecisionTerm::ThingForWhen] = flag(self.when && self.set.is_some() && !self.time);
        terms[DecisionTerm::TextForWhoOrWhere] = flag(who && kind == Some(Kind::Text));
        terms[DecisionTerm::NumberForWhoOrWhere] =
            flag(who && kind.is_some_and(|kind| kind != Kind::Text));
        terms[DecisionTerm::TextAnswer] = flag(kind == Some(Kind::Text));
        terms[DecisionTerm::NumberNotAsked] = flag(
            self.number
                && !asked.count
                && !self.extreme_value
                && !explainer.is_called_so(state)
                && !explainer.is_extreme_value(state),
        );
    }

    /// The words that are explained, above all the one that names what is asked for.
    fn words(&self, terms: &mut Terms) {
        let (explainer, state) = (self.explainer, &self.found.state);
        let asked = explainer.asked;
        terms[DecisionTerm::FocusLast] = if self.extreme_value { 1.0 } else { state.last };
        let focus = explainer.focus.filter(|&at| {
            let word = &asked.words[at];
            !word.is_mark() && word.value.is_none() && explainer.mentioned[at].is_none()
        });
        // `the highest salary of any clerk` is a salary and no clerk.
        let measured =
            asked.extreme_of_focus && !state.class_said && explainer.measures_focus(state);
        let unexplained = focus.is_some_and(|at| {
            let role = names_people(&asked.words[at].word);
            state.words[at] < if role { ROLE } else { FLOOR }
        });
        terms[DecisionTerm::FocusUnexplained] = flag(unexplained) + 2.0 * flag(measured);
        let content = || {
            let words = asked.words.iter().zip(&*state.words);
            words.filter(|(word, _)| !word.is_mark())
        };
        let all = content().count();
        terms[DecisionTerm::NothingExplained] = flag(all > 0 && content().all(|(_, p)| *p < FLOOR));
        terms[DecisionTerm::KnownUnexplained] = content()
            .filter(|(_, p)| **p < FLOOR)
            .map(|(word, _)| explainer.known(word))
            .sum();
    }

    /// Classes that are asked for, and things other than the topic.
    fn classes_and_others(&self, terms: &mut Terms) {
        let (explainer, state) = (self.explainer, &self.found.state);
        let (asked, tally) = (explainer.asked, &state.tally);
        let others = OTHERS * flag(explainer.takes_from_others(&state.plan));
        terms[DecisionTerm::SaidOfOthers] =
            others + explainer.said_of_others(&state.words, tally.entities);
        terms[DecisionTerm::ComparedWithTopic] = tally.compared as f32;
        // The place of `place of birth` is a relation's word and not a class.
        let said = state.class_said || state.relation_said;
        // `who made the booking` asks for no booking.
        let person = self.has_mark(&["#who"]) && terms[DecisionTerm::PersonForWho] > 0.0;
        let class = explainer.class_asked || explainer.kind_named;
        terms[DecisionTerm::ClassMissing] = flag(class && !self.judged && !said && !person);
        terms[DecisionTerm::BackUnasked] = if asked.others {
            0.0
        } else {
            tally.unasked as f32
        };
        terms[DecisionTerm::ComparisonNotAsked] = tally.contrary as f32;
        terms[DecisionTerm::NamesThings] = tally.names as f32;
        // Which other countries Peru borders are neighbours.
        let others = asked.others && tally.returns == 0 && !explainer.is_like_topic(state);
        terms[DecisionTerm::OthersMissing] = flag(others);
    }
}

/// Whether the question has one of these question words.
fn has_mark(explainer: &Explainer<'_, '_>, marks: &[&str]) -> bool {
    let words = &explainer.asked.words;
    words.iter().any(|word| marks.contains(&&*word.stem))
}

/// Whether a plan finds numbers that may be years.
fn are_years(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    let values = explainer.session.literals(&state.nodes);
    values.iter().all(may_be_year)
}
