//! The states of the search: plans so far, the sets that they reach and what they explain.

use std::sync::Arc;

use kg::term::{NodeId, Term};
use kg::value::{Extreme, Kind, Op};

use super::kinship::Lineage;
use super::mentions::is_of_kind;
use super::nodes::{connects, is_event_row, is_nameless, literal_kind, measurable};
use super::plan::{Against, Finish, Hop, Plan, PlanStep, Start, Way, bit, order};
use super::possessive::Progress;
use super::tally::Tally;
use super::words::{Explainer, names, speaks, strength};
use crate::exec::{EntSet, Relation, Session, Value, sorted};

/// The probability with which an entity explains the words that mention it, if they may mean a relation too.
pub(super) const MENTIONED: f32 = 0.15;

/// A plan so far.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) plan: Plan,
    /// The set that it reaches.
    pub(super) nodes: EntSet,
    /// Whether the set consists of statement nodes, which are no answers.
    pub(super) statements: bool,
    /// For each content word, the probability with which the plan explains it.
    pub(super) words: Arc<[f32]>,
    /// How well the last step explains the word that names what is asked for, from 0 to 1.
    pub(super) last: f32,
    /// Whether that word is part of the last relation's name.
    pub(super) relation_said: bool,
    /// Whether the set is of a class that this word names.
    pub(super) class_said: bool,
    /// How far from the mention of the first entity the word stands that the last relation explains.
    pub(super) distance: Option<usize>,
    /// The family relations followed last.
    pub(super) lineage: Lineage,
    /// How far it has come in what the question says of its first entity.
    pub(super) progress: Progress,
    /// The things, if the set consists of their names, which end a plan.
    pub(super) named: Option<EntSet>,
    pub(super) tally: Tally,
}

/// A plan with its result.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) state: State,
    pub(super) answer: Value,
}

/// Whether a hop leads to a column that names rows together with others: first and last names.
fn is_part_of_names(hop: Hop, explainer: &Explainer<'_, '_>) -> bool {
    let Relation::Plain(relation) = hop.relation else {
        return false;
    };
    let names = &explainer.session.kg().schema().row_names;
    hop.way == Way::Out && (names.iter()).any(|all| all.len() > 1 && all.contains(&relation))
}

/// What a plan explains after one more step. Marks of question words ask about the answer, so only
/// the last step explains them.
fn followed(before: &[f32], step: &[f32], explainer: &Explainer<'_, '_>) -> Arc<[f32]> {
    (before.iter().zip(step).zip(&explainer.asked.words))
        .map(|((before, step), word)| {
            if word.is_mark() {
                *step
            } else {
                before.max(*step)
            }
        })
        .collect()
}

/// Whether a plan explains every content word that is neither a mark nor a value.
pub(super) fn explains_all(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    (state.words.iter().zip(&explainer.asked.words))
        .all(|(p, word)| *p > 0.0 || word.is_mark() || word.adjective.is_some())
}

pub(super) fn joined(a: &[f32], b: &[f32]) -> Arc<[f32]> {
    a.iter().zip(b).map(|(a, b)| a.max(*b)).collect()
}

/// Notes that a plan uses a linked entity of the question.
pub(super) fn used_entity(
    index: usize,
    words: &mut [f32],
    tally: &mut Tally,
    explainer: &Explainer<'_, '_>,
) {
    tally.entities |= bit(index);
    for (word, mentioned) in words.iter_mut().zip(&explainer.mentioned) {
        if *mentioned == Some(index) {
            *word = word.max(MENTIONED);
        }
    }
}

/// Notes that a comparison uses a value of the question.
pub(super) fn used_value(
    index: usize,
    words: &mut [f32],
    tally: &mut Tally,
    explainer: &Explainer<'_, '_>,
) {
    tally.values |= bit(index);
    for (word, asked) in words.iter_mut().zip(&explainer.asked.words) {
        if asked.value == Some(index) {
            *word = 1.0;
        }
    }
}

impl State {
    /// The state at a start.
    pub(super) fn start(start: Start, nodes: EntSet, explainer: &mut Explainer<'_, '_>) -> Self {
        let mut tally = Tally::default();
        let words: Arc<[f32]>;
        match &start {
            Start::Entity(index) => {
                tally.entities = bit(*index);
                let of_name = explainer.named_by(*index);
                tally.values = of_name.iter().fold(0, |all, &value| all | bit(value));
                words = (explainer.asked.words.iter().zip(&explainer.mentioned))
                    .map(|(word, mentioned)| {
                        let named = word.value.is_some_and(|at| of_name.contains(&at));
                        match named {
                            true => 1.0,
                            false if *mentioned == Some(*index) => MENTIONED,
                            false => 0.0,
                        }
                    })
                    .collect();
            }
            Start::Entities => {
                tally.entities = u64::MAX;
                words = (explainer.mentioned.iter())
                    .map(|mentioned| if mentioned.is_some() { MENTIONED } else { 0.0 })
                    .collect();
            }
            Start::Class(class) => words = explainer.class(*class),
            Start::Alike(word, _) => words = explainer.of_alike(*word).into(),
        }
        let class = matches!(start, Start::Class(_))
            .then(|| nodes.first())
            .flatten();
        let statements = class.is_some_and(|&node| connects(explainer.session, node));
        let mut state = Self {
            plan: Plan::at(start),
            statements,
            nodes,
            words,
            last: 0.0,
            relation_said: false,
            class_said: false,
            distance: None,
            lineage: Lineage::default(),
            progress: Progress::default(),
            named: None,
            tally,
        };
        state.see_classes(explainer);
        state
    }

    /// Adds what the classes of the first members explain.
    fn see_classes(&mut self, explainer: &mut Explainer<'_, '_>) {
        let at = explainer.focus;
        for mut said in explainer.classes_of(&self.nodes) {
            if let Start::Entity(entity) = self.plan.start
                && self.plan.steps.is_empty()
            {
                said = explainer.class_of_topic(&said, entity);
            }
            self.words = joined(&self.words, &said);
            self.last = self.last.max(strength(&said, at));
            self.class_said |= names(&said, at);
        }
    }

    /// The state after following a relation.
    pub(super) fn walk(&self, hop: Hop, nodes: EntSet, explainer: &mut Explainer<'_, '_>) -> Self {
        let mut explained = explainer.hop(hop);
        if !measurable(explainer.session, &nodes) {
            explained.words = Arc::clone(&explained.to_things);
        }
        let statements = nodes
            .first()
            .is_some_and(|&node| connects(explainer.session, node));
        let mut tally = self.tally;
        if self.names_things(hop, explainer) {
            // The name of a thing stands for the thing.
            tally.names += 1;
            return Self {
                plan: self.plan.and(PlanStep::Walk(hop)),
                nodes,
                words: joined(&self.words, &explained.words),
                named: Some(self.nodes.clone()),
                tally,
                ..self.clone()
            };
        }
        let mut lineage = self.lineage;
        let relations = explainer.relative(&mut lineage, hop, &mut explained.words);
        // `dogs` are what is of the species: the question has no words for that.
        let of_kind = self.is_of_kind(hop, &nodes, explainer);
        let before = match self.plan.steps.last() {
            Some(PlanStep::Walk(before)) => Some(*before),
            _ => None,
        };
        // What lies in a city lies in its country.
        let lies =
            before.is_some_and(|before| explainer.lies_in(before, hop, [&self.nodes, &nodes]));
        // `the rowers, last names please`: a part of a name stands for the thing.
        let named_in_part = self.class_said
            && is_part_of_names(hop, explainer)
            && speaks(&explained.words, explainer);
        if !of_kind {
            tally.asked += explained.asked;
            tally.hops += usize::from(!statements && !named_in_part);
            tally.lies += usize::from(lies);
            tally.incoming += usize::from(hop.way == Way::In);
        }
        // The relations that lead to a relative count as one.
        tally.hops -= relations.saturating_sub(1).min(tally.hops);
        tally.both += usize::from(hop.way == Way::Both);
        let returns = self.plan.steps.iter().any(|step| {
            matches!(step, PlanStep::Walk(earlier)
                if earlier.relation == hop.relation && earlier.way != hop.way)
        });
        // A relation that the question says once is followed once.
        let again = relations == 0 && self.plan.steps.contains(&PlanStep::Walk(hop));
        tally.returns += usize::from(returns);
        tally.unasked += usize::from(returns && !explainer.says_again(hop, &self.nodes));
        let distance = match self.plan.start {
            // The way back needs no words of its own.
            _ if returns => None,
            Start::Entity(entity) => explainer.distance(&explained.words, entity),
            _ => None,
        };
        tally.order += order(self.distance, distance);
        tally.order -= i32::from(explainer.is_against_verb(hop, self.plan.topic()));
        let away = explainer.leads_away(hop);
        let mut next = Self {
            plan: self.plan.and(PlanStep::Walk(hop)),
            nodes,
            statements,
            words: explained.words.iter().map(|_| 0.0).collect(),
            last: if away {
                0.0
            } else {
                strength(&explained.words, explainer.focus)
            },
            relation_said: !away && explainer.says_focus(hop, &explained.words),
            class_said: named_in_part,
            distance: distance.or(self.distance),
            lineage,
            progress: self.progress,
            named: None,
            tally,
        };
        // At first only the words that the classes of the new set explain.
        let silent = !speaks(&explained.words, explainer);
        next.see_classes(explainer);
        let first = next.nodes.first().filter(|_| statements);
        let row = first.is_some_and(|&node| is_event_row(explainer.session, node));
        next.tally.rows += usize::from(row && !speaks(&next.words, explainer));
        let said = joined(&explained.words, &next.words);
        next.progress = self.progress.follow(self.chain(explainer), &said);
        let told = next.progress.told > self.progress.told;
        let within = explainer.is_within(hop, &self.plan, &self.nodes);
        let free = statements || of_kind || lies || within;
        let leaves = explainer.leaves(hop, &self.plan, &self.nodes);
        let unsaid = leaves || silent && !free && !speaks(&next.words, explainer);
        let unsaid = usize::from(unsaid) + usize::from(again && !told);
        next.tally.unsaid += usize::from(explained.past);
        (next.lineage).settle(unsaid, relations, &mut next.tally.unsaid);
        let own = followed(&self.words, &explained.words, explainer);
        next.words = joined(&own, &next.words);
        next
    }

    /// The relations that the question says of the entity at which the plan begins.
    pub(super) fn chain<'a>(&self, explainer: &'a Explainer<'_, '_>) -> &'a [Vec<usize>] {
        match self.plan.start {
            Start::Entity(entity) => {
                let chains = &explainer.chains;
                chains.get(entity).map_or(&[], Vec::as_slice)
            }
            _ => &[],
        }
    }

    /// How many relations that the question says of the first entity have no step of their own, although
    /// the plan explains their words.
    pub(super) fn untold(&self, explainer: &Explainer<'_, '_>) -> usize {
        self.progress.untold(self.chain(explainer), &self.words)
    }

    /// Whether a hop leads from an entity that the question mentions as a kind of things.
    fn is_of_kind(&self, hop: Hop, nodes: &[NodeId], explainer: &Explainer<'_, '_>) -> bool {
        let topic = match self.plan.start {
            Start::Entity(entity) => Some(entity),
            _ => None,
        };
        let walked = self.plan.steps.iter().map(|step| match step {
            PlanStep::Walk(hop) => Some(*hop),
            _ => None,
        });
        let walked: Option<Vec<Hop>> = walked.collect();
        let (kg, kind) = (explainer.session.kg(), explainer.asked.kind);
        let sets = [&self.nodes, nodes];
        walked.is_some_and(|walked| is_of_kind(kg, kind, topic, &walked, hop, sets))
    }

    /// Whether a hop leads from things without a label to their names, as in graphs made from
    /// tables. The name of what the question names itself is no answer.
    fn names_things(&self, hop: Hop, explainer: &Explainer<'_, '_>) -> bool {
        let kg = explainer.session.kg();
        let Relation::Plain(relation) = hop.relation else {
            return false;
        };
        let topic = matches!(self.plan.start, Start::Entity(_)) && self.plan.steps.is_empty();
        hop.way == Way::Out
            && !topic
            && kg.schema().alias_relations.contains(&relation)
            && self
                .nodes
                .first()
                .is_some_and(|&node| matches!(kg.term(node), Term::Iri(_)) && is_nameless(kg, node))
    }

    /// What an attribute explains, and the tally with it. A condition asks for its relation less
    /// explicitly than a walk does: "films of 1979".
    fn attribute(
        &self,
        relation: Relation,
        explainer: &mut Explainer<'_, '_>,
    ) -> (Arc<[f32]>, Tally) {
        let way = Way::Out;
        let explained = explainer.hop(Hop { relation, way });
        let mut tally = self.tally;
        tally.asked += 0.5 * explained.asked;
        (joined(&self.words, &explained.words), tally)
    }

    /// The state after a comparison with a value or an entity.
    pub(super) fn compare(
        &self,
        relation: Relation,
        op: Op,
        against: Against,
        nodes: EntSet,
        explainer: &mut Explainer<'_, '_>,
    ) -> Self {
        let (words, mut tally) = self.attribute(relation, explainer);
        let mut words = words.to_vec();
        tally.filters += 1;
        if let Against::Entity(index) | Against::Own(index) = against {
            used_entity(index, &mut words, &mut tally, explainer);
        }
        match against {
            Against::Entity(_) | Against::Truth(_) | Against::Found(_) | Against::Texts(_) => {}
            Against::Named(node) => {
                tally.everyday += 1;
                for &at in explainer.name_of(node).iter() {
                    words[at] = 1.0;
                }
            }
            Against::Own(_) => {
                tally.compared += 1;
                tally.contrary += 2 * usize::from(!explainer.says_attribute(relation));
            }
            Against::Value(index) | Against::Converted(index, _) => {
                tally.everyday += usize::from(explainer.everyday & bit(index) != 0);
                used_value(index, &mut words, &mut tally, explainer);
                tally.contrary += usize::from(op != Op::Eq && explainer.is_unmeasured(relation));
            }
            Against::Either(first, second) => {
                tally.filters += 1;
                used_value(first, &mut words, &mut tally, explainer);
                used_value(second, &mut words, &mut tally, explainer);
            }
        }
        Self {
            plan: self.plan.and(PlanStep::Compare(relation, op, against)),
            nodes,
            words: words.into(),
            tally,
            ..self.clone()
        }
    }

    /// The members of the plan's class, if it compares them once and the question names another property that they
    /// may have instead: `located in Norway or with more than 150 staff`.
    pub(super) fn either_condition(&self, explainer: &Explainer<'_, '_>) -> Option<EntSet> {
        let asked = explainer.asked;
        if !asked.or_clause || asked.any_of || asked.compared.iter().any(|one| one.or.is_some()) {
            return None;
        }
        match (&self.plan.start, self.plan.steps.as_slice()) {
            (Start::Class(class), [PlanStep::Compare(..)]) => {
                let members = explainer.session.kg().instances(*class);
                Some(members.into_owned().into())
            }
            _ => None,
        }
    }

    /// Of a state that compares the members of `before` once more: what has the last property or the one before.
    pub(super) fn or_before(mut self, before: &Self) -> Self {
        if let Some(last) = self.plan.steps.pop() {
            let other = Plan {
                steps: vec![last],
                ..before.plan.clone()
            };
            self.plan = before.plan.and(PlanStep::Join(Box::new(other)));
            let both = before.nodes.iter().chain(self.nodes.iter());
            self.nodes = sorted(both.copied().collect());
        }
        self
    }

    /// The state after keeping the extreme members.
    pub(super) fn extreme(
        &self,
        (relation, extreme, rank): (Relation, Extreme, usize),
        nodes: EntSet,
        explainer: &mut Explainer<'_, '_>,
    ) -> Self {
        let (words, mut tally) = self.attribute(relation, explainer);
        tally.extremes += 1;
        // `the biggest stadium` is the biggest of stadiums, not in the biggest city.
        let of_focus = explainer.asked.extreme_of_focus && explainer.class_asked;
        let other = !explainer.says_extreme(relation);
        tally.misplaced += usize::from(of_focus && !self.class_said || other);
        Self {
            plan: self.plan.and(PlanStep::Extreme(relation, extreme, rank)),
            nodes,
            words,
            tally,
            ..self.clone()
        }
    }

    /// The state after keeping the instances of a class.
    pub(super) fn class(
        &self,
        class: NodeId,
        nodes: EntSet,
        explainer: &mut Explainer<'_, '_>,
    ) -> Self {
        let mut tally = self.tally;
        tally.classes += 1;
        let words = explainer.class(class);
        Self {
            plan: self.plan.and(PlanStep::Class(class)),
            nodes,
            class_said: self.class_said || names(&words, explainer.focus),
            last: self.last.max(strength(&words, explainer.focus)),
            words: joined(&self.words, &words),
            tally,
            ..self.clone()
        }
    }

    /// The state after keeping what another plan finds too.
    pub(super) fn meet(&self, other: &Self, nodes: EntSet) -> Self {
        let mut tally = self.tally.with(other.tally);
        tally.filters += 1;
        tally.parallel += usize::from(self.plan.steps == other.plan.steps);
        Self {
            plan: self.plan.and(PlanStep::Meet(Box::new(other.plan.clone()))),
            nodes,
            words: joined(&self.words, &other.words),
            tally,
            ..self.clone()
        }
    }

    /// The state with another end.
    pub(super) fn finish(&self, finish: Finish) -> Self {
        Self {
            plan: Plan {
                finish,
                ..self.plan.clone()
            },
            ..self.clone()
        }
    }

    /// The kind of literals in the set; `None` if it has things.
    pub(super) fn literal_kind(&self, session: &Session<'_>) -> Option<Kind> {
        literal_kind(session, &self.nodes)
    }
}
