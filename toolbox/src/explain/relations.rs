//! The words of relations: of their names, labels and aliases, and what they tell about a relation.

use std::borrow::Cow;
use std::sync::Arc;

use kg::term::{NodeId, RelId};
use kg::value::Kind;
use kg::words;

use super::adjective::Adjective;
use super::asked_word::AskedWord;
use super::cues::degrees;
use super::kinship::Lineage;
use super::name_parts::with_name_parts;
use super::naming::{aliases, class_nouns, is_event, is_mutual, nouns_of, same_kind};
use super::plan::{Hop, Plan, PlanStep, Start, Way, bit};
use super::possessive::SPOKEN_OF;
use super::state::State;
use super::values::is_value;
use super::vocabulary::{compounds, domain_stems, shortens, split, stems};
use super::words::{Explainer, is_part_of_name, speaks};
use crate::exec::Relation;
use crate::rank::stem;

/// The probability with which family relations explain the word for the relative.
const RELATIVE: f32 = 0.4;

impl Explainer<'_, '_> {
    /// Whether a relation always holds in both directions, even if the graph states only one.
    pub(super) fn symmetric(&self, relation: Relation) -> bool {
        let (own, _) = self.relation_words(relation);
        own.iter().any(|stem| is_mutual(stem))
    }

    /// Whether a relation of a plan has the question's extreme in its name: `the cheapest ticket` is the
    /// relation `lowest ticket price`.
    pub(super) fn names_extreme(&self, plan: &Plan) -> bool {
        let Some(wanted) = self.asked.extreme else {
            return false;
        };
        plan.steps.iter().any(|step| {
            let (PlanStep::Walk(Hop { relation, .. }) | PlanStep::Compare(relation, ..)) = step
            else {
                return false;
            };
            let name = self.session.relation_name(*relation);
            let [named, _] = degrees(&words(split(&name).0), false);
            named.is_some_and(|named| named[0] == wanted[0])
        })
    }

    /// Whether a hop leads away from what the question asks for: followed backwards, `capital` leads to a
    /// country, and the question asks for `the capital`.
    pub(super) fn leads_away(&self, hop: Hop) -> bool {
        let asked = self.focus.and_then(|at| self.asked.words.get(at));
        if hop.way == Way::Out && self.class_asked {
            // `painting.artist` leads away from paintings, and so does a label such as `language of the film`.
            let (_, domain) = self.relation_words(hop.relation);
            return asked.is_some_and(|word| domain.contains(&word.stem));
        }
        let noun = self.asked.focus_is_noun || self.class_asked && !self.asked.has_question_word;
        let Some(asked) = asked.filter(|_| hop.way == Way::In && noun) else {
            return false;
        };
        let (_, domain) = self.relation_words(hop.relation);
        let name = self.session.relation_name(hop.relation);
        let label = match hop.relation {
            Relation::Plain(id) => self.session.kg().label(id.node()),
            Relation::Interval(_) => None,
        };
        // `former band member` leads to a member, and back to a band.
        let named = [Some(split(&name).0), label.as_deref()]
            .into_iter()
            .flatten();
        let nouns: Vec<String> = named.flat_map(nouns_of).collect();
        nouns.contains(&asked.stem)
            && !domain.contains(&asked.stem)
            && !self.symmetric(hop.relation)
    }

    /// Whether the first hop from a topic leads against the verb of the question: `which courses require Algebra` does not ask for
    /// what Algebra requires.
    pub(super) fn is_against_verb(&self, hop: Hop, topic: Option<usize>) -> bool {
        let Some(entity) = topic else {
            return false;
        };
        if hop.way == Way::Out && self.is_whole_of(hop.relation, entity) {
            return true;
        }
        let Some(Some(verb)) = self.asked.verbs.get(entity) else {
            return false;
        };
        let name = words(split(&self.session.relation_name(hop.relation)).0);
        // `directed by` and `part of` are said the other way round.
        let [said, rest @ ..] = name.as_slice() else {
            return false;
        };
        let verbal = said.ends_with('s') || said.ends_with("ed");
        hop.way == Way::Out && verbal && rest.is_empty() && stem(said) == *verb
    }

    /// Whether the question has a word for a relation itself, and not only for what has it.
    pub(super) fn says(&mut self, relation: Relation) -> bool {
        let way = Way::Out;
        let words = self.hop(Hop { relation, way }).words;
        speaks(&words, self)
    }

    /// Whether a plan may go back along a relation: the question has a word for it. Things with the same value are asked for
    /// as such.
    pub(super) fn says_again(&mut self, hop: Hop, from: &[NodeId]) -> bool {
        let alike = self.asked.same || self.asked.others;
        self.says(hop.relation) && (alike || !is_value(self.session, from))
    }

    /// Whether a plan is at its first entity, and the question asks for what is in it.
    fn begins_within(&self, plan: &Plan) -> bool {
        let said = match plan.start {
            Start::Entity(entity) => self.asked.within & bit(entity) != 0,
            _ => false,
        };
        said && plan.steps.is_empty()
    }

    /// Whether a hop leads from a place to what is in it, and the question says so: `in the Netherlands`.
    pub(super) fn is_within(&self, hop: Hop, plan: &Plan, places: &[NodeId]) -> bool {
        self.begins_within(plan)
            && hop.way == Way::In
            && self.are_places(places)
            && !self.symmetric(hop.relation)
    }

    /// Whether the question has a word of a relation's name.
    fn names(&mut self, hop: Hop) -> bool {
        let words = self.hop(hop).words;
        (0..words.len()).any(|at| is_part_of_name(&words, Some(at)))
    }

    /// Whether a hop leads from a place to a thing that is not said to be in it, and the question asks for what is: the
    /// towns in a country are not its capital.
    pub(super) fn leaves(&mut self, hop: Hop, plan: &Plan, places: &[NodeId]) -> bool {
        self.begins_within(plan)
            && hop.way == Way::Out
            && self.class_asked
            && self.are_places(places)
            && !self.hop(hop).role.place
            && !self.names(hop)
    }

    /// Whether a word has the same stem as a relation's class but means something else: `painters` and
    /// `painting.museum`.
    pub(super) fn is_other_than(&self, word: &AskedWord, domain: &[String], hop: Hop) -> bool {
        let has_stem = hop.way == Way::In && domain.contains(&word.stem);
        let class = || {
            split(&self.session.relation_name(hop.relation))
                .1
                .to_owned()
        };
        has_stem && !same_kind(&word.word, &[class()])
    }

    /// Whether a relation's numbers of four digits are years: it is named after a year or an event.
    pub(super) fn dated(&self, relation: Relation) -> bool {
        let (own, _) = self.relation_words(relation);
        own.iter().any(|stem| is_event(stem))
    }

    /// Whether the question has a word for an attribute: `tallest` for the height.
    pub(super) fn says_attribute(&mut self, relation: Relation) -> bool {
        let way = Way::Out;
        let explained = self.hop(Hop { relation, way });
        speaks(&explained.words, self)
    }

    /// Whether a plan ends at the extreme of what the question asks for, and so at what has it, or at its name.
    pub(super) fn measures_focus(&self, state: &State) -> bool {
        let mut steps = state.plan.steps.iter().rev();
        let Some(PlanStep::Extreme(relation, ..)) = steps.nth(usize::from(state.named.is_some()))
        else {
            return false;
        };
        let (relation, way) = (*relation, Way::Out);
        let known = self.hops.get(&Hop { relation, way });
        known.is_some_and(|known| is_part_of_name(&known.words, self.focus))
    }

    /// Whether a plan ends at the values of which it took the extreme, and the question asks for them.
    pub(super) fn is_extreme_value(&self, state: &State) -> bool {
        self.is_value_of_extreme(state) && state.relation_said && self.asked.extreme_of_focus
    }

    /// Whether a plan ends at the values of which it took the extreme.
    pub(super) fn is_value_of_extreme(&self, state: &State) -> bool {
        match state.plan.steps.as_slice() {
            [.., PlanStep::Extreme(extreme, ..), PlanStep::Walk(hop)] => hop.relation == *extreme,
            _ => false,
        }
    }

    /// Whether a plan takes the extreme of a number of things that the question names: of `member count` for `the most
    /// members`.
    pub(super) fn counts_most(&self, plan: &Plan) -> bool {
        const NUMBERS: [&str; 4] = ["count", "numb", "number", "total"];
        let counts = |step: &PlanStep| {
            let PlanStep::Extreme(relation, ..) = step else {
                return false;
            };
            let (own, _) = self.relation_words(*relation);
            let number = own.iter().any(|stem| NUMBERS.contains(&stem.as_str()));
            number && (self.asked.words.iter()).any(|word| own.contains(&word.stem))
        };
        plan.steps.iter().any(counts)
    }

    /// Whether an attribute may be what the question's superlative is about.
    pub(super) fn says_extreme(&mut self, relation: Relation) -> bool {
        let of_time = || {
            let word = self
                .asked
                .superlative
                .and_then(|at| self.asked.words.get(at));
            let adjective = word.and_then(|word| word.adjective);
            adjective.is_none_or(Adjective::measures_time)
        };
        // The biggest of something has no date.
        if (self.asked.most_of || !of_time()) && self.is_time(relation) {
            return false;
        }
        let way = Way::Out;
        match self.asked.superlative {
            Some(at) => self.hop(Hop { relation, way }).words[at] >= SPOKEN_OF,
            None => self.says_attribute(relation),
        }
    }

    /// Whether a relation holds no longer, and the question does not ask for that: a former minister is not the
    /// minister.
    pub(super) fn is_past(&self, relation: Relation) -> bool {
        const PAST: [&str; 4] = ["former", "previous", "past", "ex"];
        let name = words(split(&self.session.relation_name(relation)).0);
        let past = name.iter().any(|word| PAST.contains(&word.as_str()));
        let said = || words(self.session.plain_question());
        past && !said().iter().any(|word| {
            PAST.contains(&word.as_str())
                || matches!(
                    word.as_str(),
                    "was" | "were" | "did" | "had" | "been" | "used"
                )
        })
    }

    /// Whether an attribute's values are times, as its first one shows.
    fn is_time(&self, relation: Relation) -> bool {
        let Relation::Plain(id) = relation else {
            return true;
        };
        let kg = self.session.kg();
        let mut kind = None;
        kg.each_pair(id, &mut |_, value| {
            kind = kg.term(value).as_literal().map(Kind::of);
            false
        });
        kind == Some(Kind::Time)
    }

    /// The stems of a relation's own name and label, and those of its domain.
    pub(super) fn relation_words(&self, relation: Relation) -> (Vec<String>, Vec<String>) {
        let name = self.session.relation_name(relation);
        let (mut last, mut domain) = split(&name);
        let mut to_things = false;
        let table = match relation {
            Relation::Plain(id) => {
                let (table, things) = self.table_of(id);
                to_things = things;
                table
            }
            _ => None,
        };
        // `animal_owner_id` is the owner of an animal.
        if let Some(table) = &table
            && let Some(column) = without_table(last, table)
                .or_else(|| without_short_table(last, table))
                .or_else(|| without_initials(last, table))
        {
            (last, domain) = (column, table);
        }
        let parts = |text: &str| {
            // `evergreen` is one word if the question says so.
            let asked = |stem: &str| self.asked.words.iter().any(|word| word.stem == stem);
            let known = |stem: &str| self.tables.has(stem);
            let mut stems = stems(&with_name_parts(&compounds(text, asked, known)));
            // `ref-maker`, `plays_in_club_inverse`: how it is stored, not what it means.
            let refers = text.starts_with("ref") || text.starts_with("Ref");
            let stored = |stem: &String| {
                stem == "ref" && refers || stem == "invers" || stem == "id" && to_things
            };
            if stems.len() > 1 {
                stems.retain(|stem| !stored(stem));
            }
            stems
        };
        // `no` is no negation in `emp_no`, nor in `bill_no` of a bill.
        let start = last.strip_suffix("no");
        let start = start.filter(|start| start.is_empty() || start.ends_with(is_separator));
        let last = start.map_or(Cow::Borrowed(last), |start| {
            Cow::Owned(format!("{start}number"))
        });
        let mut own = parts(&last);
        if let Relation::Plain(id) = relation
            && let Some(label) = self.session.kg().label(id.node())
        {
            own.extend(parts(split(&label).0));
        }
        self.by_schema(relation, &mut own);
        own.sort_unstable();
        own.dedup();
        (own, domain_stems(domain))
    }

    /// Whether a word asks who does what a relation only dates or counts: the publisher of a novel is not the year in
    /// which it was published.
    pub(super) fn asks_who(&self, word: &AskedWord, relation: Relation) -> bool {
        let Relation::Plain(id) = relation else {
            return false;
        };
        let noun = word.word.trim_end_matches('s');
        if !(noun.ends_with("er") || noun.ends_with("or")) {
            return false;
        }
        let kg = self.session.kg();
        let names = [
            Some(self.session.relation_name(relation)),
            kg.label(id.node()),
        ];
        let own: Vec<String> = (names.iter().flatten())
            .flat_map(|name| words(split(name).0))
            .collect();
        let value = || {
            let pair = self.first_pair(id);
            pair.is_some_and(|(_, tail)| kg.term(tail).as_literal().is_some())
        };
        let done = |name: &String| name.ends_with("ed") && stem(name) == word.stem;
        // `organized_by` says who did it.
        !own.iter().any(|name| name == "by") && own.iter().any(done) && value()
    }

    /// The first subject and object of a relation.
    fn first_pair(&self, relation: RelId) -> Option<(NodeId, NodeId)> {
        let mut first = None;
        self.session.kg().each_pair(relation, &mut |head, tail| {
            first = Some((head, tail));
            false
        });
        first
    }

    /// The name of the class of the first thing that has a relation, and whether the relation leads to things.
    fn table_of(&self, relation: RelId) -> (Option<String>, bool) {
        let kg = self.session.kg();
        let Some((head, tail)) = self.first_pair(relation) else {
            return (None, false);
        };
        let class = kg.types(head).first().map(|&class| kg.name(class));
        let table = class.map(|class| split(&class).0.to_owned());
        (table, kg.term(tail).as_literal().is_none())
    }

    /// The nouns of the classes of the first thing that has a relation.
    pub(super) fn subject_nouns(&self, relation: Relation) -> Vec<String> {
        let kg = self.session.kg();
        let first = match relation {
            Relation::Plain(id) => self.first_pair(id),
            Relation::Interval(_) => None,
        };
        let classes = first.map(|(head, _)| kg.types(head)).unwrap_or_default();
        (classes.into_iter())
            .flat_map(|class| class_nouns(kg, class))
            .collect()
    }

    /// Whether what the question asks for has a population.
    pub(super) fn is_populated(&self) -> bool {
        let asked = self.focus.and_then(|at| self.asked.words.get(at));
        let populous = |&id: &RelId| {
            let relation = Relation::Plain(id);
            let asked_for = |noun: &String| asked.is_some_and(|word| word.stem == *noun);
            let population = |name: &String| name == "popul";
            self.relation_words(relation).0.iter().any(population)
                && self.subject_nouns(relation).iter().any(asked_for)
        };
        self.session.kg().relations().iter().any(populous)
    }

    /// Adds a hop to the family relations followed. If they lead to a relative that the question
    /// names, they explain its word, and their number is returned.
    pub(super) fn relative(
        &self,
        lineage: &mut Lineage,
        hop: Hop,
        words: &mut Arc<[f32]>,
    ) -> usize {
        if !self.relatives {
            return 0;
        }
        *lineage = lineage.follow(&self.relation_words(hop.relation).0, hop.way);
        let mut longest = 0;
        for (at, word) in self.asked.words.iter().enumerate() {
            let Some(length) = lineage.leads_to(&word.word) else {
                continue;
            };
            longest = longest.max(length);
            let mut said = words.to_vec();
            said[at] = said[at].max(RELATIVE);
            *words = said.into();
        }
        longest
    }

    /// Whether some of these hops lead to a relative that the question names.
    pub(super) fn leads_to_relative(&self, hops: &[&Hop]) -> bool {
        let mut lineage = Lineage::default();
        self.relatives
            && hops.iter().any(|hop| {
                lineage = lineage.follow(&self.relation_words(hop.relation).0, hop.way);
                let words = &self.asked.words;
                words
                    .iter()
                    .any(|word| lineage.leads_to(&word.word).is_some())
            })
    }

    /// The stems of each alias of a relation (`skos:altLabel` and the like): by these its owner
    /// says how people ask for it.
    pub(super) fn further_names(&self, relation: Relation) -> Vec<Vec<String>> {
        match relation {
            Relation::Plain(id) => {
                let kg = self.session.kg();
                aliases(kg, kg.property_of(id))
            }
            _ => Vec::new(),
        }
    }
}

/// The name of a column without its table's name in front: `owner_id` of `animal_owner_id`. `None` if it
/// does not begin with the table's name.
fn without_table<'a>(column: &'a str, table: &str) -> Option<&'a str> {
    let mut rest = column;
    for letter in table.chars().filter(|letter| !is_separator(*letter)) {
        rest = rest.trim_start_matches(is_separator);
        let first = rest.chars().next()?;
        if !first.to_lowercase().eq(letter.to_lowercase()) {
            return None;
        }
        rest = &rest[first.len_utf8()..];
    }
    let column = rest.strip_prefix(is_separator)?;
    (!column.is_empty()).then_some(column)
}

/// The name of a column without a short form of its table's name in front: `code` of `Cls_Code` in the table `CLASS`.
fn without_short_table<'a>(column: &'a str, table: &str) -> Option<&'a str> {
    let (first, rest) = column.split_once(is_separator)?;
    let (first, table) = (first.to_lowercase(), table.to_lowercase());
    let short = !first.is_empty() && (table.starts_with(&first) || shortens(&first, &table));
    (short && !rest.is_empty()).then_some(rest)
}

/// The name of a column without the first letters of its table: `type` of `ptype` in the table `plant`.
fn without_initials<'a>(column: &'a str, table: &str) -> Option<&'a str> {
    const GENERAL: &str = "type name code date title status kind price cost size desc";
    const LONGEST: usize = 3;
    (1..=LONGEST).find_map(|length| {
        let (first, rest) = column.split_at_checked(length)?;
        let begins = table.to_lowercase().starts_with(&first.to_lowercase());
        let general = GENERAL
            .split(' ')
            .any(|word| rest.eq_ignore_ascii_case(word));
        (begins && general).then_some(rest)
    })
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '_' | '-')
}
