//! The plans that end in a truth value.

use kg::value::Op;

use super::plan::{Against, Finish};
use super::search::{Search, Searched};
use super::state::{Found, State};
use super::values::{opposite, ops, same_class, truth};
use super::words::Explainer;
use crate::exec::{Relation, Value};

impl Search<'_> {
    /// Whether a relation of the set links it to another entity, or satisfies a comparison.
    pub(super) fn judge(&mut self, state: &State, explainer: &mut Explainer<'_, '_>) -> Searched {
        let session = explainer.session;
        let adjacent = session.adjacent(&state.nodes);
        for one in adjacent.iter().filter(|one| one.out) {
            self.cancel.check()?;
            for (index, &entity) in session.linked().entities.iter().enumerate() {
                if state.tally.entities & (1 << index.min(63)) != 0 {
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
            for (index, value) in session.linked().values.iter().enumerate() {
                if state.tally.values & (1 << index.min(63)) != 0 {
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
