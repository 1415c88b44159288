//! Grounding replaces what the query leaves open by what the graph has: the relations of an edge
//! with a variable predicate and one constant end. It also drops alternatives and intervals that
//! have no effect on the graph.

use kg::Kg;
use kg::term::{RelId, Term};
use toolbox::limits::MAX_SET_ARGS;

use crate::graph::{Edge, GraphNode, PathStep, PatternGroup, QueryGraph, Var};
use crate::refusal::Refusal;

/// Replaces every variable predicate by the relations that the graph has at the edge's constant
/// end, best supported first.
pub(super) fn predicates(graph: &mut QueryGraph, kg: Option<&dyn Kg>) -> Result<(), Refusal> {
    let asked = [graph.form.answer(), graph.extreme.map(|(var, _)| var)];
    let mut open = Vec::new();
    collect(&graph.group, &mut open);
    for (i, var) in open.iter().enumerate() {
        // Leave a predicate that is asked for, compared or shared between edges: it is not a
        // wildcard.
        if asked.contains(&Some(*var))
            || open[i + 1..].contains(var)
            || is_constrained(&graph.group, *var)
        {
            return Err(Refusal::VariablePredicate);
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    ground(&mut graph.group, kg.ok_or(Refusal::VariablePredicate)?)
}

/// Drops intervals of which the graph has neither end: they keep every node.
pub(super) fn intervals(group: &mut PatternGroup, kg: &dyn Kg) {
    let absent = |iri: &String| kg.find(&Term::Iri(iri.clone())).is_none();
    group
        .intervals
        .retain(|interval| !(absent(&interval.from) && absent(&interval.to)));
    group
        .unions
        .iter_mut()
        .flatten()
        .for_each(|branch| intervals(branch, kg));
}

/// Drops alternatives that are empty on the graph, if another one remains.
pub(super) fn alternatives(group: &mut PatternGroup, kg: &dyn Kg) {
    let known = |iri: &str| kg.find(&Term::Iri(iri.to_owned())).is_some();
    for edge in &mut group.edges {
        if edge.steps.iter().any(|step| known(&step.relation)) {
            edge.steps.retain(|step| known(&step.relation));
        }
    }
    for branches in &mut group.unions {
        branches
            .iter_mut()
            .for_each(|branch| alternatives(branch, kg));
        if branches.iter().any(|branch| holds(branch, &known)) {
            branches.retain(|branch| holds(branch, &known));
        }
    }
}

/// Whether the graph contains every constant of the group's edges and classes.
fn holds(group: &PatternGroup, known: &dyn Fn(&str) -> bool) -> bool {
    let node = |node: &GraphNode| match node {
        GraphNode::Entity(iri) => known(iri),
        GraphNode::Var(_) | GraphNode::Literal(_) => true,
    };
    group.edges.iter().all(|edge| {
        node(&edge.subject)
            && node(&edge.object)
            && edge.steps.iter().all(|step| known(&step.relation))
    }) && group
        .classes
        .iter()
        .all(|(at, class)| node(at) && known(class))
        && group
            .unions
            .iter()
            .all(|branches| branches.iter().any(|branch| holds(branch, known)))
}

fn collect(group: &PatternGroup, into: &mut Vec<Var>) {
    into.extend(group.edges.iter().filter_map(|edge| edge.predicate));
    group
        .unions
        .iter()
        .flatten()
        .for_each(|branch| collect(branch, into));
}

fn is_constrained(group: &PatternGroup, var: Var) -> bool {
    let mut bare = group.clone();
    bare.edges.iter_mut().for_each(|edge| edge.predicate = None);
    bare.mentions(var) || group.differ.iter().any(|(known, _)| *known == var)
}

fn ground(group: &mut PatternGroup, kg: &dyn Kg) -> Result<(), Refusal> {
    let step = |relation: &RelId| match kg.term(relation.node()) {
        Term::Iri(relation) => Some(PathStep {
            relation,
            forward: true,
        }),
        Term::Blank(_) | Term::Literal(_) => None,
    };
    for edge in &mut group.edges {
        if edge.predicate.take().is_some() {
            edge.steps = steps(edge, kg)?;
            group.unseen.push((
                edge.order,
                kg.schema().hidden.iter().filter_map(step).collect(),
            ));
        }
    }
    group.unseen.retain(|(_, steps)| !steps.is_empty());
    group
        .unions
        .iter_mut()
        .flatten()
        .try_for_each(|branch| ground(branch, kg))
}

fn steps(edge: &Edge, kg: &dyn Kg) -> Result<Vec<PathStep>, Refusal> {
    let find = |iri: &str| {
        kg.find(&Term::Iri(iri.to_owned()))
            .ok_or(Refusal::UnknownConstant)
    };
    let mut relations: Vec<(usize, RelId)> = match (&edge.subject, &edge.object) {
        (GraphNode::Entity(subject), GraphNode::Var(_)) => {
            let node = find(subject)?;
            kg.out_relations(node)
                .into_iter()
                .map(|relation| (kg.tails(node, relation).len(), relation))
                .collect()
        }
        (GraphNode::Var(_), GraphNode::Entity(object)) => {
            let node = find(object)?;
            kg.in_relations(node)
                .into_iter()
                .map(|relation| (kg.heads(relation, node).len(), relation))
                .collect()
        }
        _ => return Err(Refusal::VariablePredicate),
    };
    if relations.is_empty() || relations.len() > MAX_SET_ARGS {
        return Err(Refusal::VariablePredicate);
    }
    relations.sort_by_key(|&(support, relation)| (std::cmp::Reverse(support), relation));
    let iris = relations
        .into_iter()
        .map(|(_, relation)| match kg.term(relation.node()) {
            Term::Iri(relation) => Ok(PathStep {
                relation,
                forward: true,
            }),
            Term::Blank(_) | Term::Literal(_) => Err(Refusal::VariablePredicate),
        });
    iris.collect()
}
