//! ASK (spec A.2.3 g): the last comparison of the query is judged on the set that everything else allows.

use toolbox::call::{Arg, Tool};
use toolbox::value::Op;

use super::compile::Compiler;
use super::view::View;
use crate::graph::{Edge, Group, Node, bare};
use crate::refusal::Refusal;

/// What `judge` compares one edge's subject with.
struct Judged {
    edge: usize,
    subject: Node,
    relation: String,
    op: Op,
    value: Arg,
}

/// Compiles the group of an ASK.
pub(super) fn ask(compiler: &mut Compiler<'_>, group: &Group) -> Result<Arg, Refusal> {
    if !group.unions.is_empty() || !group.ordered.is_empty() || !group.differ.is_empty() {
        return Err(Refusal::Unsupported);
    }
    let judged: Vec<Judged> =
        (0..group.edges.len()).rev().filter_map(|i| judged(compiler, group, i).transpose()).collect::<Result<_, _>>()?;
    if judged.is_empty() {
        // Existence alone, or a class alone, is nothing that judge compares.
        return Err(if group.edges.is_empty() { Refusal::HiddenRelation } else { Refusal::Unsupported });
    }
    let mut reason = Refusal::Disconnected;
    for last in judged {
        let mark = (compiler.calls.len(), compiler.next);
        match subject_set(compiler, group, &last) {
            Ok(set) => return Ok(compiler.along(Tool::Judge, &set, vec![Arg::Name(last.relation), Arg::Op(last.op), last.value])),
            Err(other) => {
                compiler.calls.truncate(mark.0);
                compiler.next = mark.1;
                reason = other;
            }
        }
    }
    Err(reason)
}

/// The comparison that an edge is, if it is one: to a constant, or to an attribute with one comparison.
fn judged(compiler: &Compiler<'_>, group: &Group, index: usize) -> Result<Option<Judged>, Refusal> {
    let Edge { subject, object, steps, .. } = &group.edges[index];
    let [step] = steps.as_slice() else { return Ok(None) };
    let (subject, object) = if step.forward { (subject, object) } else { (object, subject) };
    let (op, value) = match object {
        Node::Entity(iri) => (Op::Eq, Arg::Name(compiler.names.iri(iri)?)),
        Node::Literal(literal) => (Op::Eq, Arg::Literal(bare(literal))),
        Node::Var(var) => {
            let mut comparisons = group.comparisons.iter().filter(|comparison| comparison.var == *var);
            match (comparisons.next(), comparisons.next()) {
                (Some(only), None) if View::new(group, &[], None).is_leaf(*var) => (only.op, Arg::Literal(bare(&only.value))),
                _ => return Ok(None),
            }
        }
    };
    let relation = compiler.names.relation(&step.relation)?;
    Ok(Some(Judged { edge: index, subject: subject.clone(), relation, op, value }))
}

/// Everything but the judged edge, as the set of its subject.
fn subject_set(compiler: &mut Compiler<'_>, group: &Group, last: &Judged) -> Result<Arg, Refusal> {
    let mut rest = group.clone();
    let gone = rest.edges.remove(last.edge);
    let compared = [gone.subject.var(), gone.object.var()];
    rest.comparisons.retain(|comparison| !compared.contains(&Some(comparison.var)));
    match &last.subject {
        Node::Var(var) => {
            let view = View::new(&rest, compiler.topics, None);
            let here = view.component(*var);
            let all_here = view.variables().is_subset(&here) && rest.edges.iter().all(|edge| edge.subject.var().or(edge.object.var()).is_some());
            if !all_here || rest.classes.iter().any(|(node, _)| node.var().is_none()) {
                return Err(Refusal::Disconnected);
            }
            compiler.select(&rest, *var, None)
        }
        Node::Entity(iri) => {
            // Facts about one entity: all but the last as constraints on it.
            let mut set = Arg::Name(compiler.names.iri(iri)?);
            if !rest.intervals.is_empty() || !rest.values.is_empty() || !rest.labels.is_empty() || !rest.classes.is_empty() {
                return Err(Refusal::Disconnected);
            }
            for index in 0..rest.edges.len() {
                let other = judged(compiler, &rest, index)?.filter(|other| other.subject == last.subject).ok_or(Refusal::Disconnected)?;
                set = compiler.along(Tool::GetEntityByConstraint, &set, vec![Arg::Name(other.relation), Arg::Op(other.op), other.value]);
            }
            Ok(set)
        }
        Node::Literal(_) => Err(Refusal::OddTerm),
    }
}
