//! ASK (rules A.2.3 g): the query's last comparison becomes a `judge` call on the set that the rest
//! of the query allows. If nothing is compared, the question is whether something exists. Then
//! `judge` asks for a tail that differs from an entity, and the graph must show that this entity is
//! not among the tails.

use kg::spargebra::algebra::Expression;
use kg::term::Term;
use kg::value::Op;
use toolbox::call::{Arg, Tool};

use super::compile::{Compiler, JudgementKind, OptionalConstraint};
use super::exact::{ComparisonCheck, ComparisonRequirement};
use super::view::TreeView;
use crate::graph::{Edge, GraphNode, PatternGroup, Var, algebra, mirrored};
use crate::refusal::Refusal;

/// A `judge` call for one edge: its subject, and what it compares the subject with.
struct Judgement {
    edge: usize,
    iri: String,
    subject: GraphNode,
    relation: String,
    op: Op,
    value: RightSide,
    /// The entity that a judgement of existence compares with.
    other: Option<Arg>,
}

impl Judgement {
    /// The constraint to leave out when another judgement is tried.
    fn constraint(&self, group: &PatternGroup) -> OptionalConstraint {
        let kind = match self.value {
            RightSide::Constant(_) | RightSide::Set(_) => JudgementKind::Compared,
            RightSide::Within(_) => JudgementKind::Within,
            RightSide::Nothing => JudgementKind::Exists,
        };
        OptionalConstraint::Judgement(group.edges[self.edge].order, kind)
    }
}

/// The right side of a judgement.
enum RightSide {
    Constant(Arg),
    /// A set from a part of the query that is not connected with the subject otherwise. The tool
    /// requires it to have one value.
    Set(Var),
    /// Such a set of any size: the subject is first narrowed to the nodes that lead into it.
    Within(Var),
    /// No comparison: whether a tail exists.
    Nothing,
}

pub(super) fn ask(compiler: &mut Compiler<'_>, group: &PatternGroup) -> Result<Arg, Refusal> {
    if !group.unions.is_empty()
        || !group.choices.is_empty()
        || group.ordered.len() > 1
        || !group.differ.is_empty()
    {
        return Err(Refusal::Unsupported);
    }
    if !TreeView::new(group, compiler.topics).closing.is_empty() {
        return Err(Refusal::Cycle);
    }
    let mut judged: Vec<Judgement> = (0..group.edges.len())
        .rev()
        .filter_map(|i| judged(compiler, group, i).transpose())
        .collect::<Result<_, _>>()?;
    judged.extend(existing(compiler, group)?);
    // Constants come first, because a set on the right side must be a single value; existence comes
    // last.
    judged.sort_by_key(|last| match last.value {
        RightSide::Constant(_) => 0,
        RightSide::Set(_) => 1,
        RightSide::Within(_) => 2,
        RightSide::Nothing => 3,
    });
    if judged.is_empty() {
        return if group.edges.is_empty() {
            of_class(compiler, group)
        } else {
            Err(Refusal::Unsupported)
        };
    }
    let mut reason = Refusal::Disconnected;
    for last in judged {
        let constraint = last.constraint(group);
        if compiler.without.contains(&constraint) {
            continue;
        }
        let mark = (compiler.calls.len(), compiler.next, compiler.checks.len());
        match sides(compiler, group, &last) {
            Ok((mut set, mut value)) => {
                let requirement = requirement(group, &last, &value);
                if let (RightSide::Within(_), Some(other)) = (&last.value, &last.other) {
                    let leading = compiler.along(
                        Tool::GetHeadEntity,
                        &value,
                        vec![Arg::Name(last.relation.clone())],
                    );
                    set = compiler.emit(Tool::Intersect, vec![set, leading]);
                    value = other.clone();
                }
                let truth = compiler.along(
                    Tool::Judge,
                    &set,
                    vec![Arg::Name(last.relation), Arg::Op(last.op), value],
                );
                if let Some(requirement) = requirement {
                    compiler.checks.push(ComparisonCheck {
                        input: set,
                        output: truth.clone(),
                        relation: last.iri,
                        requirement,
                    });
                }
                return Ok(truth);
            }
            Err(other) => {
                compiler.calls.truncate(mark.0);
                compiler.next = mark.1;
                compiler.checks.truncate(mark.2);
                reason = other;
            }
        }
    }
    Err(reason)
}

/// Whether a node of the query has a class. The class relation is not listed, but `judge` accepts
/// it.
fn of_class(compiler: &mut Compiler<'_>, group: &PatternGroup) -> Result<Arg, Refusal> {
    let [(node, relation, class)] = group.typed.as_slice() else {
        return Err(Refusal::HiddenRelation);
    };
    let mut rest = group.clone();
    rest.typed.clear();
    rest.classes.clear();
    let set = match node {
        GraphNode::Var(var) => compiler.select(&rest, *var, None)?,
        GraphNode::Entity(iri) if rest == PatternGroup::default() => {
            compiler.found.push(Term::Iri(iri.clone()));
            Arg::Name(compiler.names.iri(iri)?)
        }
        GraphNode::Entity(_) | GraphNode::Literal(_) => return Err(Refusal::Disconnected),
    };
    let (relation, name) = (compiler.names.iri(relation)?, compiler.names.iri(class)?);
    compiler.classes.push(Term::Iri(class.clone()));
    Ok(compiler.along(
        Tool::Judge,
        &set,
        vec![Arg::Name(relation), Arg::Op(Op::Eq), Arg::Name(name)],
    ))
}

/// Judgements of existence: a tail, or a tail within a set.
fn existing(compiler: &Compiler<'_>, group: &PatternGroup) -> Result<Vec<Judgement>, Refusal> {
    let entity = group
        .edges
        .iter()
        .flat_map(|edge| [&edge.subject, &edge.object])
        .find_map(|node| match node {
            GraphNode::Entity(iri) => Some(iri),
            GraphNode::Var(_) | GraphNode::Literal(_) => None,
        });
    let Some(entity) = entity else {
        return Ok(Vec::new());
    };
    let view = TreeView::new(group, &[]);
    let mut found = Vec::new();
    for (edge, candidate) in group.edges.iter().enumerate().rev() {
        let [step] = candidate.steps.as_slice() else {
            continue;
        };
        let (subject, object) = if step.forward {
            (&candidate.subject, &candidate.object)
        } else {
            (&candidate.object, &candidate.subject)
        };
        let GraphNode::Var(var) = object else {
            continue;
        };
        let is_compared = group
            .comparisons
            .iter()
            .any(|comparison| comparison.var == *var)
            || group.ordered.iter().any(|pair| pair.involves(*var));
        if is_compared {
            continue;
        }
        let value = if view.is_leaf(*var) {
            RightSide::Nothing
        } else {
            RightSide::Within(*var)
        };
        // A relation that planners never see, such as a label to display, cannot be judged.
        let Ok(relation) = compiler.names.relation(&step.relation) else {
            continue;
        };
        let other = Some(Arg::Name(compiler.names.iri(entity)?));
        found.push(Judgement {
            edge,
            iri: step.relation.clone(),
            subject: subject.clone(),
            relation,
            op: Op::Ne,
            value,
            other,
        });
    }
    Ok(found)
}

/// The judgement of an edge, if the edge is a comparison.
fn judged(
    compiler: &Compiler<'_>,
    group: &PatternGroup,
    index: usize,
) -> Result<Option<Judgement>, Refusal> {
    let Edge {
        subject,
        object,
        steps,
        ..
    } = &group.edges[index];
    let [step] = steps.as_slice() else {
        return Ok(None);
    };
    let (subject, object) = if step.forward {
        (subject, object)
    } else {
        (object, subject)
    };
    let (op, value) = match object {
        GraphNode::Entity(iri) => (
            Op::Eq,
            RightSide::Constant(Arg::Name(compiler.names.iri(iri)?)),
        ),
        GraphNode::Literal(literal) => (Op::Eq, RightSide::Constant(compiler.literal(literal))),
        GraphNode::Var(var) => match against(compiler, group, *var) {
            Some(found) => found,
            None => return Ok(None),
        },
    };
    let relation = compiler.names.relation(&step.relation)?;
    Ok(Some(Judgement {
        edge: index,
        iri: step.relation.clone(),
        subject: subject.clone(),
        relation,
        op,
        value,
        other: None,
    }))
}

/// What the query requires of the judgement; `None` if it compares entities.
fn requirement(
    group: &PatternGroup,
    last: &Judgement,
    value: &Arg,
) -> Option<ComparisonRequirement> {
    if last.other.is_some() {
        // Any tail is enough.
        return Some(ComparisonRequirement::Tests {
            tests: Vec::new(),
            others: Vec::new(),
        });
    }
    let edge = &group.edges[last.edge];
    let object = if edge.steps.first()?.forward {
        &edge.object
    } else {
        &edge.subject
    };
    match object {
        GraphNode::Entity(_) => None,
        GraphNode::Literal(literal) => {
            Some(ComparisonRequirement::Term(Term::Literal(literal.clone())))
        }
        GraphNode::Var(var) => {
            let mut tests: Vec<_> = group
                .comparisons
                .iter()
                .filter(|comparison| comparison.var == *var)
                .map(|c| algebra::of_tail(&c.test, *var))
                .collect();
            let mut others = Vec::new();
            for ordered in group.ordered.iter().filter(|pair| pair.involves(*var)) {
                tests.push(algebra::of_tail(&ordered.test, *var));
                others.push((
                    if ordered.left == *var {
                        ordered.right
                    } else {
                        ordered.left
                    },
                    value.clone(),
                ));
            }
            if tests.is_empty() {
                let (one, other) = (
                    Box::new(algebra::tail().into()),
                    Box::new(algebra::variable(*var).into()),
                );
                tests.push(Expression::SameTerm(one, other));
                others.push((*var, value.clone()));
            }
            Some(ComparisonRequirement::Tests { tests, others })
        }
    }
}

/// The operator and the right side for an attribute, from the rest of the query.
fn against(compiler: &Compiler<'_>, group: &PatternGroup, var: Var) -> Option<(Op, RightSide)> {
    let mut comparisons = group
        .comparisons
        .iter()
        .filter(|comparison| comparison.var == var);
    let leaf = TreeView::new(group, &[]).is_leaf(var);
    match (
        comparisons.next(),
        comparisons.next(),
        group.ordered.first(),
    ) {
        (Some(only), None, None) if leaf => {
            Some((only.op, RightSide::Constant(compiler.literal(&only.value))))
        }
        (None, None, Some(ordered)) if leaf && ordered.left == var => {
            Some((ordered.op, RightSide::Set(ordered.right)))
        }
        (None, None, Some(ordered)) if leaf && ordered.right == var => {
            Some((mirrored(ordered.op), RightSide::Set(ordered.left)))
        }
        (None, None, None) if !leaf => Some((Op::Eq, RightSide::Set(var))),
        _ => None,
    }
}

/// Compiles everything but the judged edge: the set of its subject, and the value to compare with.
fn sides(
    compiler: &mut Compiler<'_>,
    group: &PatternGroup,
    last: &Judgement,
) -> Result<(Arg, Arg), Refusal> {
    let mut rest = group.clone();
    let removed = rest.edges.remove(last.edge);
    rest.ordered.clear();
    let compared = [removed.subject.var(), removed.object.var()];
    rest.comparisons
        .retain(|comparison| !compared.contains(&Some(comparison.var)));
    let view = TreeView::new(&rest, compiler.topics);
    let mut here = std::collections::BTreeSet::new();
    let mut value = None;
    if let RightSide::Set(var) | RightSide::Within(var) = &last.value {
        here = view.component(*var);
        if last
            .subject
            .var()
            .is_some_and(|subject| here.contains(&subject))
        {
            return Err(Refusal::Cycle);
        }
        value = Some(*var);
    }
    here.extend(
        last.subject
            .var()
            .into_iter()
            .flat_map(|subject| view.component(subject)),
    );
    let mut facts = Vec::new();
    for (index, edge) in rest.edges.iter().enumerate() {
        if edge.subject.var().or(edge.object.var()).is_none() {
            facts.push(index);
        }
    }
    if !rest.own_variables().all(|var| here.contains(&var))
        || rest.classes.iter().any(|(node, _)| node.var().is_none())
    {
        return Err(Refusal::Disconnected);
    }
    let value = match (&last.value, value) {
        (RightSide::Constant(arg), _) => arg.clone(),
        (RightSide::Nothing, _) => last.other.clone().ok_or(Refusal::Unsupported)?,
        (RightSide::Set(_) | RightSide::Within(_), Some(var)) => {
            compiler.select(&rest, var, None)?
        }
        (RightSide::Set(_) | RightSide::Within(_), None) => return Err(Refusal::Disconnected),
    };
    let set = match &last.subject {
        GraphNode::Var(var) if facts.is_empty() => compiler.select(&rest, *var, None)?,
        GraphNode::Entity(iri) => {
            // Facts about the entity: all but the last become constraints on it.
            let mut set = Arg::Name(compiler.names.iri(iri)?);
            for index in facts {
                let other = judged(compiler, &rest, index)?
                    .filter(|other| other.subject == last.subject)
                    .ok_or(Refusal::Disconnected)?;
                let RightSide::Constant(value) = other.value else {
                    return Err(Refusal::Disconnected);
                };
                set = compiler.along(
                    Tool::GetEntityByConstraint,
                    &set,
                    vec![Arg::Name(other.relation), Arg::Op(other.op), value],
                );
            }
            set
        }
        GraphNode::Var(_) | GraphNode::Literal(_) => return Err(Refusal::Disconnected),
    };
    Ok((set, value))
}
