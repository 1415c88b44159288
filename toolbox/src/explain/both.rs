//! Candidate programs for two values of one relation, each from a row of its own: `countries where both
//! English and French are spoken`.

use kg::value::Op;

use super::plan::{Against, Plan, PlanStep, Start, bit};
use super::search::Search;
use super::state::{State, used_value};
use super::values::reached;
use super::words::Explainer;
use crate::exec::{EntSet, Session, intersection};

impl Search<'_> {
    /// The members of a plan's set that the same plan finds for another text of the question too. The
    /// plan has left the rows that have these texts: no row has two.
    pub(super) fn both_values(
        &self,
        state: &State,
        explainer: &Explainer<'_, '_>,
        next: &mut Vec<State>,
    ) {
        let session = explainer.session;
        let values = &session.linked().values;
        let steps = &state.plan.steps;
        if values.len() < 2 || !matches!(steps.last(), Some(PlanStep::Walk(_))) {
            return;
        }
        for (at, step) in steps.iter().enumerate() {
            let PlanStep::Compare(relation, Op::Eq, Against::Value(first)) = step else {
                continue;
            };
            for (second, value) in values.iter().enumerate().skip(first + 1) {
                let text = value.lexical.chars().any(char::is_alphabetic);
                if !text || state.tally.values & bit(second) != 0 {
                    continue;
                }
                let mut other = state.plan.clone();
                other.steps[at] = PlanStep::Compare(*relation, Op::Eq, Against::Value(second));
                let Some(found) = members(session, &other) else {
                    continue;
                };
                let nodes: EntSet = intersection(&[&state.nodes, &found]).into();
                if nodes.is_empty() {
                    continue;
                }
                let (mut words, mut tally) = (state.words.to_vec(), state.tally);
                tally.filters += 1;
                tally.parallel += 1;
                used_value(second, &mut words, &mut tally, explainer);
                let state = State {
                    plan: state.plan.and(PlanStep::Meet(Box::new(other))),
                    nodes,
                    words: words.into(),
                    tally,
                    ..state.clone()
                };
                self.keep(next, state);
            }
        }
    }
}

/// What a plan of relations and comparisons with values finds; `None` if it has other steps.
fn members(session: &Session<'_>, plan: &Plan) -> Option<EntSet> {
    let linked = session.linked();
    let mut nodes: EntSet = match plan.start {
        Start::Entity(index) => [*linked.entities.get(index)?].into(),
        Start::Class(class) => session.kg().instances(class).into_owned().into(),
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
            PlanStep::Extreme(..) | PlanStep::Class(_) | PlanStep::Meet(_) => return None,
        };
    }
    Some(nodes)
}
