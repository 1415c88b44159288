//! The plans that end in a truth value.

use kg::value::{Kind, Op};

use super::plan::{Against, Finish, PlanStep, Start, bit};
use super::search::{Search, Searched};
use super::state::{Found, State};
use super::values::{kind_of, opposite, ops, same_class, truth};
use super::words::Explainer;
use crate::exec::{Adjacent, Relation, Value};

impl Search<'_> {
    /// Whether a relation of the set links it to another entity, or satisfies a comparison.
    pub(super) fn judge(&mut self, state: &State, explainer: &mut Explainer<'_, '_>) -> Searched {
        let session = explainer.session;
        // "Is it made there" does not ask what else is made where it is made.
        if state.tally.returns > 0 && !explainer.asked.others {
            return Ok(());
        }
        let adjacent = session.adjacent(&state.nodes);
        for one in adjacent.iter().filter(|one| one.out) {
            self.cancel.check()?;
            // "Does it border Hungary" does not ask what the neighbours border.
            let followed =
                state.plan.steps.iter().any(
                    |step| matches!(step, PlanStep::Walk(hop) if hop.relation == one.relation),
                );
            for (index, &entity) in session.linked().entities.iter().enumerate() {
                if followed || state.tally.entities & bit(index) != 0 {
                    continue;
                }
                let held = session.satisfying_node(&state.nodes, one.relation, entity);
                let same = same_class(session, one, entity);
                if held.is_empty() && !same {
                    continue;
                }
                let condition = (one.relation, Op::Eq, Against::Entity(index));
                self.judged(state, condition, !held.is_empty(), explainer);
            }
            if let Some(named) = explainer
                .said_by_name(one, &state.nodes)
                .filter(|_| !followed)
            {
                let condition = (one.relation, Op::Eq, Against::Named(named));
                self.judged(state, condition, true, explainer);
            }
            self.judge_own(state, one, explainer);
            for (index, value) in session.linked().values.iter().enumerate() {
                if state.tally.values & bit(index) != 0 {
                    continue;
                }
                for op in ops(explainer, session, one, index) {
                    let held = session.satisfying_value(&state.nodes, one.relation, op, value);
                    let condition = (one.relation, op, Against::Value(index));
                    self.judged(state, condition, !held.is_empty(), explainer);
                }
            }
            // Judged by what is true of it: `is it open` is false where `open` is false.
            for said in [true, false] {
                let Some(value) = truth(explainer, one, &state.nodes, said) else {
                    continue;
                };
                let value = if said { value } else { opposite(&value) };
                let held = session.satisfying_value(&state.nodes, one.relation, Op::Eq, &value);
                let condition = (one.relation, Op::Eq, Against::Truth(value));
                self.judged(state, condition, !held.is_empty(), explainer);
                break;
            }
        }
        Ok(())
    }

    /// Whether an entity has more or less of something than another: "is Fuji higher than Etna".
    fn judge_own(&mut self, state: &State, one: &Adjacent, explainer: &mut Explainer<'_, '_>) {
        let session = explainer.session;
        let Some(op) = explainer
            .asked
            .compare
            .and_then(|ops| match kind_of(explainer, one)? {
                Kind::Int | Kind::Float | Kind::Quantity => Some(ops[0]),
                Kind::Time => Some(ops[1]),
                _ => None,
            })
        else {
            return;
        };
        // "Is Fuji higher than Etna" is not "is Etna higher than Fuji".
        let Start::Entity(first) = state.plan.start else {
            return;
        };
        for (index, &entity) in session.linked().entities.iter().enumerate() {
            let before = explainer.asked.mentions.get(first) < explainer.asked.mentions.get(index);
            if !before || state.tally.entities & bit(index) != 0 {
                continue;
            }
            let own = session.literals(&session.step(entity, one.relation, true));
            if let [own] = own.as_slice() {
                let held = session.satisfying_value(&state.nodes, one.relation, op, own);
                let condition = (one.relation, op, Against::Own(index));
                self.judged(state, condition, !held.is_empty(), explainer);
            }
        }
    }

    fn judged(
        &mut self,
        state: &State,
        (relation, op, against): (Relation, Op, Against),
        held: bool,
        explainer: &mut Explainer<'_, '_>,
    ) {
        let nodes = state.nodes.clone();
        let compared = state.compare(relation, op, against.clone(), nodes, explainer);
        let mut done = state.finish(Finish::Judge(relation, op, against));
        done.words = compared.words;
        done.tally = compared.tally;
        self.record(Found {
            state: done,
            answer: Value::Bool(held),
        });
    }
}
