//! Constraints that narrow a set in place: entities that it must lead to, comparisons of its
//! attributes.

use kg::term::Term;
use kg::value::Op;
use toolbox::call::{Arg, Tool};

use super::super::exact::{ComparisonCheck, ComparisonRequirement};
use super::super::view::{Start, StartEntry, TreeView};
use super::Compiler;
use crate::graph::{GraphNode, PathStep, Var, algebra, mirrored};
use crate::refusal::Refusal;

/// With a graph, an entity constraint on the answer gets its own branch only if the branch has at
/// most this many members (rule R14: never the set of all males).
const BRANCH_SIZE: usize = 1_000;

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
    /// answer the entity starts its own branch, because the second topic entity enters the program
    /// there.
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
        set: Arg,
        edge: usize,
        node: Var,
        step: &PathStep,
    ) -> Result<Arg, Refusal> {
        let relation = self.names.relation(&step.relation)?;
        let mut kept = set.clone();
        let mut constraints = Vec::new();
        let requirement = match view.far(edge, node) {
            GraphNode::Entity(_) => return Ok(set),
            GraphNode::Literal(literal) => {
                constraints.push((Op::Eq, self.literal(literal)));
                ComparisonRequirement::Term(Term::Literal(literal.clone()))
            }
            GraphNode::Var(var) => {
                kept = self.either(view, *var, kept, &relation);
                self.value_constraints(view, *var, &mut constraints)?
            }
        };
        for (op, value) in constraints {
            kept = self.constrain(&kept, &relation, op, value);
        }
        if kept != set {
            self.checks.push(ComparisonCheck {
                input: set,
                output: kept.clone(),
                relation: step.relation.clone(),
                requirement,
            });
        }
        Ok(kept)
    }

    fn constrain(&mut self, set: &Arg, relation: &str, op: Op, value: Arg) -> Arg {
        let rest = vec![Arg::name(relation), Arg::Op(op), value];
        self.along(Tool::GetEntityByConstraint, set, rest)
    }

    /// Narrows a set by the choices of a variable: the union of what each comparison keeps.
    fn either(&mut self, view: &TreeView<'_>, var: Var, mut set: Arg, relation: &str) -> Arg {
        for (_, either) in view.group.choices.iter().filter(|(known, _)| *known == var) {
            let sets = either.iter().map(|comparison| {
                let value = self.literal(&comparison.value);
                self.constrain(&set, relation, comparison.op, value)
            });
            let sets: Vec<Arg> = sets.collect();
            set = self.combine(Tool::Union, sets);
        }
        set
    }

    /// The operators and values that a variable is compared with, and what the query requires.
    fn value_constraints(
        &mut self,
        view: &TreeView<'_>,
        var: Var,
        constraints: &mut Vec<(Op, Arg)>,
    ) -> Result<ComparisonRequirement, Refusal> {
        let group = view.group;
        let (mut tests, mut others) = (Vec::new(), Vec::new());
        for comparison in group.comparisons.iter().filter(|known| known.var == var) {
            constraints.push((comparison.op, self.literal(&comparison.value)));
            tests.push(algebra::of_tail(&comparison.test, var));
        }
        for (_, either) in group.choices.iter().filter(|(known, _)| *known == var) {
            tests.push(algebra::of_tail(&algebra::any(either), var));
        }
        for (known, term) in &group.differ {
            // Literals that attributes must not equal have become comparisons.
            if *known == var && self.is_known(term) {
                constraints.push((Op::Ne, Arg::Name(self.names.node(term)?)));
                let constant = algebra::constant(term).ok_or(Refusal::OddTerm)?;
                tests.push(algebra::differs(algebra::tail().into(), constant));
            }
        }
        for pair in &group.ordered {
            let (op, other) = match (pair.left == var, pair.right == var) {
                (true, _) => (pair.op, pair.right),
                (_, true) => (mirrored(pair.op), pair.left),
                _ => continue,
            };
            // The right side is an attribute of other entities. The tool rejects it if it has more
            // than one value.
            if std::mem::replace(&mut self.comparing, true) {
                return Err(Refusal::VariableComparison);
            }
            let value = self.set(view, other, None)?;
            self.comparing = false;
            constraints.push((op, value.clone()));
            tests.push(algebra::of_tail(&pair.test, var));
            others.push((other, value));
        }
        Ok(ComparisonRequirement::Tests { tests, others })
    }
}
