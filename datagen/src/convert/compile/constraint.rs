//! Constraints that narrow a set in place: entities that it must lead to, comparisons of its
//! attributes.

use kg::term::Term;
use kg::value::Op;
use toolbox::call::{Arg, Tool};

use super::super::exact::{ComparisonCheck, ComparisonRequirement};
use super::super::view::{Start, StartEntry, TreeView};
use super::{BRANCH_SIZE, Compiler};
use crate::graph::{GraphNode, PathStep, Var, algebra, mirrored};
use crate::refusal::Refusal;

impl Compiler<'_> {
    pub(super) fn is_compared(&self, view: &TreeView<'_>, var: Var) -> bool {
        view.group
            .comparisons
            .iter()
            .any(|comparison| comparison.var == var)
            || view.group.choices.iter().any(|(known, _)| *known == var)
            || view.group.differ.iter().any(|(known, term)| {
                *known == var && self.answer != Some(var) && self.is_known(term)
            })
            || view.group.ordered.iter().any(|pair| pair.involves(var))
    }

    /// Whether the graph, if there is one, contains a term. Everything differs from a term that it
    /// does not contain.
    fn is_known(&self, term: &Term) -> bool {
        self.names.kg.is_none_or(|kg| kg.find(term).is_some())
    }

    /// A branch that ends in an entity. A single edge on an inner node becomes a semi-join (rule
    /// R14); any other branch is compiled from the entity towards the node and intersected. On the
    /// answer the entity starts its own branch, because the planner meets the second topic there.
    pub(super) fn entity_constraint(
        &mut self,
        view: &TreeView<'_>,
        node: Var,
        set: Arg,
        start: &Start,
    ) -> Result<Arg, Refusal> {
        if let StartEntry::Edge(edge) = start.entry
            && let (GraphNode::Entity(iri), [step]) =
                (view.far(edge, node), view.edge(edge).steps.as_slice())
            && step.forward == view.is_subject(edge, node)
            && (self.answer != Some(node) || self.is_wide(iri, &step.relation))
        {
            let rest = vec![
                Arg::Name(self.names.relation(&step.relation)?),
                Arg::Op(Op::Eq),
                Arg::Name(self.names.iri(iri)?),
            ];
            return Ok(self.along(Tool::GetEntityByConstraint, &set, rest));
        }
        let branch = self.enter(view, node, start)?;
        Ok(self.intersect(set, branch))
    }

    fn is_wide(&self, iri: &str, relation: &str) -> bool {
        let Some(kg) = self.names.kg else {
            return false;
        };
        let find = |iri: &str| kg.find(&Term::Iri(iri.to_owned()));
        match (find(iri), find(relation)) {
            (Some(entity), Some(relation)) => {
                kg.heads(relation.relation(), entity).len() > BRANCH_SIZE
            }
            _ => false,
        }
    }

    /// Comparisons of one attribute. If it has alternatives, each is compared and the results are
    /// united.
    pub(super) fn attribute(
        &mut self,
        view: &TreeView<'_>,
        node: Var,
        set: &Arg,
        edge: usize,
    ) -> Result<Arg, Refusal> {
        let along = view.is_subject(edge, node);
        let steps = view.edge(edge).steps.as_slice();
        if steps.is_empty() || steps.iter().any(|step| step.forward != along) {
            return Err(Refusal::Filter);
        }
        let kept = steps
            .iter()
            .map(|step| self.compared(view, set.clone(), edge, node, step))
            .collect::<Result<_, _>>()?;
        Ok(self.combine(Tool::Union, kept))
    }

    /// Comparisons of the tails of one step.
    fn compared(
        &mut self,
        view: &TreeView<'_>,
        mut set: Arg,
        edge: usize,
        node: Var,
        step: &PathStep,
    ) -> Result<Arg, Refusal> {
        let relation = self.names.relation(&step.relation)?;
        let reached = set.clone();
        let mut wanted = Vec::new();
        let mut requirement = ComparisonRequirement::Tests {
            tests: Vec::new(),
            others: Vec::new(),
        };
        match view.far(edge, node) {
            GraphNode::Literal(literal) => {
                wanted.push((Op::Eq, self.literal(literal)));
                requirement = ComparisonRequirement::Term(Term::Literal(literal.clone()));
            }
            GraphNode::Entity(_) => {}
            GraphNode::Var(var) => {
                let (mut tests, mut others) = (Vec::new(), Vec::new());
                for comparison in view
                    .group
                    .comparisons
                    .iter()
                    .filter(|comparison| comparison.var == *var)
                {
                    wanted.push((comparison.op, self.literal(&comparison.value)));
                    tests.push(algebra::of_tail(&comparison.test, *var));
                }
                for (_, either) in view.group.choices.iter().filter(|(known, _)| known == var) {
                    let sets = either.iter().map(|comparison| {
                        let rest = vec![
                            Arg::name(&relation),
                            Arg::Op(comparison.op),
                            self.literal(&comparison.value),
                        ];
                        self.along(Tool::GetEntityByConstraint, &set, rest)
                    });
                    let sets: Vec<Arg> = sets.collect();
                    set = self.combine(Tool::Union, sets);
                    tests.push(algebra::of_tail(&algebra::any(either), *var));
                }
                for (_, term) in view
                    .group
                    .differ
                    .iter()
                    .filter(|(known, term)| known == var && self.is_known(term))
                {
                    // Literals that attributes must not equal have become comparisons.
                    let value = self.names.node(term)?;
                    wanted.push((Op::Ne, Arg::Name(value)));
                    let constant = algebra::constant(term).ok_or(Refusal::OddTerm)?;
                    tests.push(algebra::differs(algebra::tail().into(), constant));
                }
                for ordered in &view.group.ordered {
                    let (op, other) = match (ordered.left == *var, ordered.right == *var) {
                        (true, _) => (ordered.op, ordered.right),
                        (_, true) => (mirrored(ordered.op), ordered.left),
                        _ => continue,
                    };
                    // The right side is an attribute of other entities. The tool rejects it if it
                    // has more than one value.
                    if std::mem::replace(&mut self.comparing, true) {
                        return Err(Refusal::VariableComparison);
                    }
                    let value = self.set(view, other, None)?;
                    self.comparing = false;
                    wanted.push((op, value.clone()));
                    tests.push(algebra::of_tail(&ordered.test, *var));
                    others.push((other, value));
                }
                if !tests.is_empty() {
                    requirement = ComparisonRequirement::Tests { tests, others };
                }
            }
        }
        for (op, value) in wanted {
            set = self.along(
                Tool::GetEntityByConstraint,
                &set,
                vec![Arg::name(&relation), Arg::Op(op), value],
            );
        }
        if set != reached {
            self.checks.push(ComparisonCheck {
                input: reached,
                output: set.clone(),
                relation: step.relation.clone(),
                requirement,
            });
        }
        Ok(set)
    }
}
