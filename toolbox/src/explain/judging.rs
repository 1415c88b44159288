//! The plans that end in a truth value.

use std::sync::Arc;

use kg::value::{Kind, Op};

use super::adjective::{Degree, adjective};
use super::asked_word::AskedWord;
use super::both::members;
use super::ops::ops;
use super::plan::{Against, Finish, Hop, Plan, PlanStep, Start, Way, bit};
use super::search::{Search, Searched};
use super::state::{Found, State, joined};
use super::values::{kind_of, opposite, same_class, truth};
use super::words::{Explainer, speaks};
use crate::call::ToolTable;
use crate::exec::{Adjacent, Relation, Value, intersection};

/// The probability from which `is it a …` and `does it have …` name a class or a relation.
pub(super) const NAMED: f32 = 0.1;

impl Explainer<'_, '_> {
    /// Whether the question compares by adjectives that do not speak of a relation: nobody is `older` by a number of
    /// students.
    pub(super) fn is_unmeasured(&mut self, relation: Relation) -> bool {
        let comparative = |word: &AskedWord| {
            let degree = adjective(&word.word).map(|(_, degree)| degree);
            // Versions later than 5 have greater numbers.
            let later = matches!(word.word.as_str(), "later" | "earlier");
            degree == Some(Degree::Comparative) && !later
        };
        let words = &self.asked.words;
        let said: Vec<usize> = (0..words.len())
            .filter(|&at| comparative(&words[at]))
            .collect();
        let explained = self.hop(Hop {
            relation,
            way: Way::Out,
        });
        !said.is_empty() && said.iter().all(|&at| explained.words[at] < NAMED)
    }
}

impl Search<'_> {
    /// Whether the only thing of the question is what it asks for (`is the Amazon a river`) or has
    /// it (`was Frida Kahlo married`). Every word must be said by the class or the relation.
    pub(super) fn judge_alone(&mut self, state: &State, explainer: &mut Explainer<'_, '_>) {
        let session = explainer.session;
        let linked = session.linked();
        let (&[entity], &Start::Entity(index), true) = (
            linked.entities.as_slice(),
            &state.plan.start,
            linked.values.is_empty(),
        ) else {
            return;
        };
        let said = |words: &[f32]| {
            let mut content = (explainer.asked.words.iter().zip(words))
                .filter(|(word, _)| !word.is_mark())
                .peekable();
            content.peek().is_some() && content.all(|(_, p)| *p >= NAMED)
        };
        // `is it a museum`, not `are there museums in it`.
        let behind = |words: &[f32]| {
            let mention = explainer.asked.mentions.get(index).copied().flatten();
            let mut named = (explainer.asked.words.iter().zip(words))
                .filter(|(_, p)| **p >= NAMED)
                .peekable();
            named.peek().is_some()
                && named.all(|(word, _)| mention.is_some_and(|(_, end)| word.at >= end))
        };
        match state.plan.steps.as_slice() {
            [] if explainer.asked.is && !explainer.asked.exists => {
                for class in self.classes.clone() {
                    if !behind(&explainer.class(class)) {
                        continue;
                    }
                    let words = joined(&state.words, &explainer.class(class));
                    let types = &session.kg().schema().type_relations;
                    for relation in types.iter().map(|&id| Relation::Plain(id)) {
                        let held = !session
                            .satisfying_node(&[entity], relation, class)
                            .is_empty();
                        let finish = Finish::Judge(relation, Op::Eq, Against::Named(class));
                        let mut done = state.finish(finish);
                        done.words = Arc::clone(&words);
                        done.tally.filters += 1;
                        if said(&words) {
                            self.record(Found {
                                state: done,
                                answer: Value::Bool(held),
                            });
                        }
                    }
                }
            }
            [PlanStep::Walk(Hop { relation, way })] if said(&state.words) => {
                let out = !session.step(entity, *relation, true).is_empty();
                // What it has is what it has.
                let (steps, against) = match (way, out) {
                    (Way::Out, _) | (Way::Both, true) => (Vec::new(), Against::Own(index)),
                    (Way::In, _) | (Way::Both, false) => (
                        vec![PlanStep::Walk(Hop {
                            relation: *relation,
                            way: Way::In,
                        })],
                        Against::Entity(index),
                    ),
                };
                let mut done = state.clone();
                done.plan = Plan {
                    steps,
                    finish: Finish::Judge(*relation, Op::Eq, against),
                    ..state.plan.clone()
                };
                self.record(Found {
                    state: done,
                    answer: Value::Bool(true),
                });
            }
            _ => {}
        }
    }

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
            // "Does it border Hungary" does not ask what the neighbours border, but "were they in the same film" does.
            let followed = !explainer.asked.same
                && state.plan.steps.iter().any(
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
                .filter(|_| !followed && explainer.asked.judge)
            {
                let condition = (one.relation, Op::Eq, Against::Named(named));
                self.judged(state, condition, true, explainer);
            }
            self.judge_own(state, one, explainer);
            for (index, value) in session.linked().values.iter().enumerate() {
                if state.tally.values & bit(index) != 0 || !explainer.asked.judge {
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

    /// Whether two entities lead to the same: `are Goethe and Schiller from the same country`.
    pub(super) fn judge_alike(&mut self, state: &State, explainer: &Explainer<'_, '_>) {
        let (asked, session) = (explainer.asked, explainer.session);
        let Start::Entity(first) = state.plan.start else {
            return;
        };
        if !asked.judge || !asked.same && !asked.both || state.plan.steps.is_empty() {
            return;
        }
        for second in first + 1..session.linked().entities.len() {
            let other = Plan {
                start: Start::Entity(second),
                ..state.plan.clone()
            };
            let theirs = members(session, &other).filter(|theirs| !theirs.is_empty());
            let (Some(theirs), Some(mut plan)) = (theirs, alike(&state.plan, second)) else {
                continue;
            };
            // The paper's tools compare with one value.
            let compares = matches!(plan.finish, Finish::Judge(_, _, Against::Found(_)));
            let out =
                matches!(state.plan.steps.last(), Some(PlanStep::Walk(hop)) if hop.way == Way::Out);
            if compares && !(out && state.nodes.len() == 1) {
                if session.options().tools != ToolTable::Extended {
                    continue;
                }
                plan = state.finish(Finish::Meets(Box::new(other))).plan;
            }
            let mut done = state.clone().using(second, explainer);
            done.plan = plan;
            done.tally.filters += 1;
            done.tally.parallel += 1;
            let held = !intersection(&[&state.nodes, &theirs]).is_empty();
            self.record(Found {
                state: done,
                answer: Value::Bool(held),
            });
        }
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
        let said = explainer
            .hop(Hop {
                relation,
                way: Way::Out,
            })
            .words;
        let compared = state.compare(relation, op, against.clone(), nodes, explainer);
        // `Klose, goals for Germany?` does not ask whether he is German.
        let mut content = (compared.words.iter().zip(&explainer.asked.words))
            .filter(|(_, word)| !word.is_mark())
            .peekable();
        if !explainer.asked.judge && content.peek().is_some() && content.all(|(p, _)| *p < NAMED) {
            return;
        }
        let mut done = state.finish(Finish::Judge(relation, op, against.clone()));
        done.words = compared.words;
        done.tally = compared.tally;
        done.progress = state.progress.follow(state.chain(explainer), &said);
        // Barcelona is not the capital of Spain, although it is that of a region which is in Spain.
        let entities = matches!(against, Against::Entity(_));
        let said = speaks(&said, explainer);
        if state.tally.hops == 0 {
            self.denied |= entities && said && !held;
        } else {
            done.tally.denied = self.denied && entities && !said;
        }
        self.record(Found {
            state: done,
            answer: Value::Bool(held),
        });
    }
}

/// The plan that judges whether relations lead from an entity to what they lead to from the one of `plan`; `None` if the
/// last of them is followed both ways.
fn alike(plan: &Plan, entity: usize) -> Option<Plan> {
    let hop = |step: &PlanStep| match step {
        PlanStep::Walk(hop) => Some(*hop),
        _ => None,
    };
    let hops: Vec<Hop> = plan.steps.iter().map(hop).collect::<Option<_>>()?;
    let (first, rest) = hops.split_first()?;
    let at = |steps: &[Hop], last: Hop, against: Against| Plan {
        start: Start::Entity(entity),
        steps: steps.iter().copied().map(PlanStep::Walk).collect(),
        finish: Finish::Judge(last.relation, Op::Eq, against),
    };
    match hops.split_last()? {
        (last, before) if last.way == Way::Out => {
            Some(at(before, *last, Against::Found(Box::new(plan.clone()))))
        }
        (last, _) if last.way == Way::In => {
            // Back along the other's relations: `a film with both`.
            let back = rest.iter().rev().map(|hop| match hop.way {
                Way::Out => (hop.relation, Way::In),
                Way::In => (hop.relation, Way::Out),
                Way::Both => (hop.relation, Way::Both),
            });
            let mut back = back.fold(plan.clone(), |plan, (relation, way)| {
                plan.and(PlanStep::Walk(Hop { relation, way }))
            });
            match first.way {
                Way::In => {
                    back.finish = Finish::Judge(first.relation, Op::Eq, Against::Entity(entity));
                    Some(back)
                }
                Way::Out => Some(at(&[], *first, Against::Found(Box::new(back)))),
                Way::Both => None,
            }
        }
        _ => None,
    }
}
