//! Values that nothing has of what a question leaves out: `locations where no cinema has over 800 seats`.

use kg::term::NodeId;
use kg::value::Kind;

use super::super::plan::{Hop, Plan, PlanStep, Start, Way};
use super::super::search_limits::SearchLimits;
use super::super::state::State;
use super::super::values::reached;
use super::super::words::{Explainer, is_part_of_name, names};
use super::compose::Composed;
use super::paths::EXPLAINED;
use super::plan::TablePlan;
use super::request::{Request, Role};
use crate::exec::EntSet;

/// The values of a column that nothing has of what the question leaves out: `locations where no cinema has over 800 seats` are
/// those of all cinemas, without those of the cinemas that have. `locations of cinemas without` are those of the other cinemas.
pub(super) fn values_left(
    base: &State,
    request: &Request,
    explainer: &mut Explainer<'_, '_>,
    limits: SearchLimits,
) -> Option<Composed> {
    let from = request.left_out().next()?.at;
    let asked = request.phrases.first().filter(|one| {
        let column = matches!(one.role, Role::Column | Role::Counted);
        column && one.label.is_none() && one.of.is_empty() && one.at < from
    })?;
    let between = request.phrases.iter().skip(1).any(|one| one.at < from);
    let left_out: Vec<usize> = (request.left_out())
        .flat_map(|one| one.words.iter().chain(&one.of))
        .copied()
        .collect();
    let explained = |at: &usize| base.words.get(*at).is_some_and(|p| *p >= EXPLAINED);
    if between || base.plan.steps.is_empty() || !left_out.iter().any(explained) {
        return None;
    }
    let session = explainer.session;
    let kg = session.kg();
    let class = kg.types(*base.nodes.first()?).into_iter().next()?;
    let members: EntSet = kg.instances(class).into_owned().into();
    if members.len() <= base.nodes.len() || members.len() > limits.class {
        return None;
    }
    // What is left out is what has the column, and no class is asked for.
    let start = match base.plan.start {
        Start::Class(start) => start,
        Start::Entity(_) | Start::Entities | Start::Alike(..) => class,
    };
    let mut said = |class: NodeId, words: &[usize]| {
        let of_class = explainer.class(class);
        words.iter().any(|&at| names(&of_class, Some(at)))
    };
    let itself = said(class, &left_out) || said(start, &left_out);
    if !itself
        || session
            .classes()
            .iter()
            .any(|&class| said(class, &asked.words))
    {
        return None;
    }
    let column = session
        .adjacent(&members)
        .into_iter()
        .filter(|one| one.out)
        .find(|one| {
            let (relation, way) = (one.relation, Way::Out);
            let words = explainer.hop(Hop { relation, way }).words;
            let values = session.literals(&session.step(one.member, relation, true));
            let text = !values.is_empty()
                && values
                    .iter()
                    .all(|value| Kind::majority([value]) == Kind::Text);
            text && !asked.words.is_empty()
                && asked
                    .words
                    .iter()
                    .all(|&at| is_part_of_name(&words, Some(at)))
        })?;
    let hop = Hop {
        relation: column.relation,
        way: Way::Out,
    };
    let (all, had) = (
        reached(session, &members, hop),
        reached(session, &base.nodes, hop),
    );
    if all.len() <= had.len() {
        return None;
    }
    let step = PlanStep::Walk(hop);
    let state = base.walk(hop, had, explainer);
    let plan = TablePlan {
        without: Some(Plan::at(Start::Class(class)).and(step.clone())),
        count: request.count.is_some(),
        ..TablePlan::of_set(base.plan.and(step))
    };
    Some(Composed {
        plan,
        state,
        cues: 2,
        relations: 0,
        counts: request.count.is_some(),
        extreme: false,
        class_said: true,
    })
}
