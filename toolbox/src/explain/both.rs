//! Candidate programs for two things that the question joins, each followed by the same steps: `countries
//! where both English and French are spoken`, `suppliers of both camping and bedding products`.

use kg::value::Op;

use super::plan::{Against, Plan, PlanStep, Start, bit};
use super::search::Search;
use super::state::{State, used_entity, used_value};
use super::values::reached;
use super::words::Explainer;
use crate::exec::{EntSet, Relation, Session, intersection};

/// The probability from which a relation says a word, and how many times as well as another one that does not.
const SAYS: f32 = 0.1;
const BETTER: f32 = 3.0;

impl State {
    /// The state with one more entity of the question used.
    pub(super) fn using(mut self, entity: usize, explainer: &Explainer<'_, '_>) -> Self {
        let mut words = self.words.to_vec();
        used_entity(entity, &mut words, &mut self.tally, explainer);
        self.words = words.into();
        self
    }
}

impl Explainer<'_, '_> {
    /// How a relation is compared with a second value of the question where it is compared with the first one already: with
    /// mountains `higher than 5,600 and lower than 5,200`, opened in `both 2010 and 2011`, with `English and French`.
    fn op_of_second(
        &mut self,
        relation: Relation,
        (first, op): (usize, Op),
        second: usize,
    ) -> Option<Op> {
        let asked = self.asked;
        let value = &self.session.linked().values[second];
        let text = value.lexical.chars().any(char::is_alphabetic);
        if op == Op::Eq {
            let equal = asked.both && asked.compare_of(second).is_none();
            return (text || equal).then_some(Op::Eq);
        }
        let place = asked.compare_of(first)?.iter().position(|one| *one == op)?;
        let op = asked.compare_of(second)?[place];
        (asked.joined && !text && self.is_of_number(relation, second)).then_some(op)
    }
}

impl Search<'_> {
    /// What two relations link to the same entity, if the question says both: `who was born and died in Paris`.
    pub(super) fn meet_again(
        &self,
        state: &State,
        branch: &State,
        explainer: &Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        let walks = |plan: &Plan| {
            let walk = |step: &PlanStep| matches!(step, PlanStep::Walk(_));
            plan.steps.len() <= 2 && plan.steps.iter().all(walk)
        };
        let same = state.plan.start == branch.plan.start;
        if !explainer.asked.joined || !same || !walks(&state.plan) || state.plan == branch.plan {
            return;
        }
        // Each says a word that the other one does not.
        let more = |one: &State, other: &State| {
            let words = explainer
                .asked
                .words
                .iter()
                .zip(one.words.iter().zip(&*other.words));
            words
                .filter(|(word, _)| !word.is_mark())
                .any(|(_, (p, other))| *p >= SAYS && *p >= BETTER * *other)
        };
        if !more(state, branch) || !more(branch, state) {
            return;
        }
        let nodes: EntSet = intersection(&[&state.nodes, &branch.nodes]).into();
        if !nodes.is_empty() {
            let mut met = state.meet(branch, nodes);
            // No other entity of the question is used.
            met.tally.filters -= 1;
            self.keep(next, met);
        }
    }

    /// The members of a plan's set that the same plan finds for another text or thing of the question too.
    /// The plan has left the rows that have the text: no row has two.
    pub(super) fn both(
        &self,
        state: &State,
        explainer: &mut Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        if matches!(state.plan.steps.last(), Some(PlanStep::Walk(_))) {
            self.both_values(state, explainer, next);
            if explainer.asked.both {
                self.both_entities(state, explainer, next);
            }
        }
    }

    fn both_values(&self, state: &State, explainer: &mut Explainer<'_, '_>, next: &mut Vec<State>) {
        for (at, step) in state.plan.steps.iter().enumerate() {
            let PlanStep::Compare(relation, op, Against::Value(first)) = step else {
                continue;
            };
            for second in first + 1..explainer.session.linked().values.len() {
                let used = state.tally.values & bit(second) != 0;
                let op = explainer.op_of_second(*relation, (*first, *op), second);
                let Some(op) = op.filter(|_| !used) else {
                    continue;
                };
                let mut other = state.plan.clone();
                other.steps[at] = PlanStep::Compare(*relation, op, Against::Value(second));
                let Some(mut met) = met(explainer.session, state, other) else {
                    continue;
                };
                let mut words = met.words.to_vec();
                used_value(second, &mut words, &mut met.tally, explainer);
                met.words = words.into();
                self.keep(next, met);
            }
        }
    }

    fn both_entities(&self, state: &State, explainer: &Explainer<'_, '_>, next: &mut Vec<State>) {
        let Start::Entity(first) = state.plan.start else {
            return;
        };
        for second in first + 1..explainer.session.linked().entities.len() {
            if state.tally.entities & bit(second) != 0 {
                continue;
            }
            let other = Plan {
                start: Start::Entity(second),
                ..state.plan.clone()
            };
            if let Some(met) = met(explainer.session, state, other) {
                self.keep(next, met.using(second, explainer));
            }
        }
    }
}

/// What a plan and another one of the same steps both find; `None` if that is nothing.
fn met(session: &Session<'_>, state: &State, other: Plan) -> Option<State> {
    let nodes: EntSet = intersection(&[&state.nodes, &members(session, &other)?]).into();
    let mut tally = state.tally;
    tally.filters += 1;
    tally.parallel += 1;
    (!nodes.is_empty()).then(|| State {
        plan: state.plan.and(PlanStep::Meet(Box::new(other))),
        nodes,
        tally,
        ..state.clone()
    })
}

/// What a plan of relations and comparisons with values finds; `None` if it has other steps.
pub(super) fn members(session: &Session<'_>, plan: &Plan) -> Option<EntSet> {
    let linked = session.linked();
    let mut nodes: EntSet = match plan.start {
        Start::Entity(index) => [*linked.entities.get(index)?].into(),
        Start::Class(class) => session.kg().instances(class).into_owned().into(),
        Start::Alike(_, ref nodes) => nodes.clone().into(),
        Start::Entities => return None,
    };
    for step in &plan.steps {
        nodes = match step {
            PlanStep::Walk(hop) => reached(session, &nodes, *hop),
            PlanStep::Compare(relation, op, against) => {
                let value = match against {
                    Against::Value(index) => linked.values.get(*index)?,
                    Against::Truth(value) | Against::Converted(_, value) => value,
                    _ => return None,
                };
                session.satisfying_value(&nodes, *relation, *op, value)
            }
            PlanStep::Extreme(..) | PlanStep::Class(_) | PlanStep::Meet(_) | PlanStep::Join(_) => {
                return None;
            }
        };
    }
    Some(nodes)
}
