//! The residue of a query: the parts that its program does not express. These are inequalities
//! between variables, language tests, labels that are only displayed, cycles, and parts that are
//! not connected with the answer. Each must remove no solution on the graph. To check this, a query
//! asks for a solution of the expressed part that violates it. If there is one, the gold query is
//! refused.

use std::collections::BTreeSet;

use kg::Kg;
use kg::spargebra::algebra::{Expression, Function, GraphPattern};
use kg::term::{Literal, NodeId, Term};
use toolbox::exec::{EntSet, ExcludeWhen, Value};

use super::exact::{exists, passing, select};
use super::view::TreeView;
use crate::algebra as query;
use crate::graph::{
    Edge, GraphNode, PathStep, PatternGroup, QueryForm, QueryGraph, Var, Vocabulary, algebra,
};
use crate::refusal::Refusal;

/// Checks one query on one graph.
pub(super) struct Residue<'a> {
    pub kg: &'a dyn Kg,
    pub vocabulary: &'a Vocabulary,
    pub graph: &'a QueryGraph,
    pub exclude: ExcludeWhen,
    /// Supersets of the values of some variables: the program's intermediate sets.
    pub passed: Vec<(Var, EntSet)>,
}

impl Residue<'_> {
    /// Checks everything that the program of the query does not express.
    ///
    /// Returns more terms to exclude from the answer: if the answer must differ from a variable
    /// that has only one value, that value.
    pub(super) fn check(
        &self,
        alternatives: &[PatternGroup],
        result: &Value,
    ) -> Result<Vec<Term>, Refusal> {
        let group = &self.graph.group;
        let mut exclude = Vec::new();
        self.group(group, Some(result), &mut exclude)?;
        for alternative in alternatives {
            self.apart(alternative)?;
            self.cycles(alternative)?;
        }
        Ok(exclude)
    }

    fn is_plain(&self) -> bool {
        matches!(self.graph.form, QueryForm::Select(_)) && self.graph.extreme.is_none()
    }

    /// A group without what its program leaves unexpressed.
    fn expressed(&self, group: &PatternGroup) -> PatternGroup {
        let view = TreeView::new(group, &[]);
        let answer = self.graph.form.answer();
        let mut expressed = group.clone();
        expressed
            .differ
            .retain(|(var, _)| Some(*var) != answer && view.is_leaf(*var));
        expressed
            .edges
            .retain(|edge| !self.is_shown_label(&view, edge));
        expressed
            .unions
            .iter_mut()
            .flatten()
            .for_each(|branch| *branch = self.expressed(branch));
        expressed
    }

    /// Whether an edge only fetches a label for display.
    fn is_shown_label(&self, view: &TreeView<'_>, edge: &Edge) -> bool {
        let label = !edge.steps.is_empty()
            && edge
                .steps
                .iter()
                .all(|step| self.vocabulary.is_label(&step.relation));
        label
            && edge
                .object
                .var()
                .is_some_and(|var| view.is_leaf(var) && Some(var) != self.graph.form.answer())
    }

    /// Checks a group. `result` is the program's answer, for the outermost group.
    fn group(
        &self,
        group: &PatternGroup,
        result: Option<&Value>,
        exclude: &mut Vec<Term>,
    ) -> Result<(), Refusal> {
        let view = TreeView::new(group, &[]);
        let pattern = algebra::pattern(self.kg, &self.expressed(group));
        self.tests(group, &pattern, result)?;
        self.differences(group, &view, &pattern, result.is_some())?;
        for &(a, b) in &group.unequal {
            self.unequal(&pattern, (a, b), result.is_some(), exclude)?;
        }
        self.hidden_edges(group, &view, &pattern)?;
        for (class, relation) in &group.above {
            self.has_no_instances_below(class, relation)?;
        }
        for &(a, b) in &group.same {
            self.same_term(group, a, b)?;
        }
        for (order, steps) in &group.unseen {
            let mut other = self.expressed(group);
            for edge in &mut other.edges {
                if edge.order == *order {
                    edge.steps.clone_from(steps);
                }
            }
            if exists(self.kg, algebra::pattern(self.kg, &other))? {
                return Err(Refusal::VariablePredicate);
            }
        }
        for branch in group.unions.iter().flatten() {
            self.group(branch, None, exclude)?;
        }
        Ok(())
    }

    /// Checks language and literal tests: those of the answer variable on the result, all others on
    /// the pattern.
    fn tests(
        &self,
        group: &PatternGroup,
        pattern: &GraphPattern,
        result: Option<&Value>,
    ) -> Result<(), Refusal> {
        for test in &group.tests {
            match (self.graph.form.answer(), result) {
                (Some(answer), Some(Value::Set(set))) if algebra::variables(test) == [answer] => {
                    let resources = self.kg.resources();
                    if holds_of_resources(test)
                        && set.iter().all(|node| resources.contains(&node.0))
                    {
                        continue;
                    }
                    let test = [algebra::of_tail(test, answer)];
                    if passing(self.kg, set.iter().copied(), &test)?.len() != set.len() {
                        return Err(Refusal::Filter);
                    }
                }
                _ => self.holds(pattern, test.clone(), Refusal::Filter)?,
            }
        }
        Ok(())
    }

    /// Checks constants that a variable must not equal, except those that the program excludes.
    fn differences(
        &self,
        group: &PatternGroup,
        view: &TreeView<'_>,
        pattern: &GraphPattern,
        outer: bool,
    ) -> Result<(), Refusal> {
        let answer = self.graph.form.answer();
        for (var, term) in &group.differ {
            let is_answer = Some(*var) == answer;
            if (is_answer && self.is_plain() && outer)
                || (!is_answer && view.is_leaf(*var))
                || self.is_dropped_everywhere(group, term)
            {
                continue;
            }
            let term = algebra::constant(term).ok_or(Refusal::OddTerm)?;
            let test = algebra::differs(algebra::variable(*var).into(), term);
            self.holds(pattern, test, Refusal::Filter)?;
        }
        Ok(())
    }

    /// Checks edges along relations that planners never see: classes by one of several class
    /// relations, and labels that are only displayed.
    fn hidden_edges(
        &self,
        group: &PatternGroup,
        view: &TreeView<'_>,
        pattern: &GraphPattern,
    ) -> Result<(), Refusal> {
        if self.kg.schema().type_relations.len() > 1 {
            for (node, relation, class) in &group.typed {
                let edge = Edge {
                    subject: node.clone(),
                    object: GraphNode::Entity(class.clone()),
                    steps: vec![PathStep::forward(relation)],
                    predicate: None,
                    order: 0,
                };
                self.holds(pattern, present(&edge), Refusal::HiddenRelation)?;
            }
        }
        for edge in &group.edges {
            if self.is_shown_label(view, edge) {
                self.holds(pattern, present(edge), Refusal::HiddenRelation)?;
            }
        }
        Ok(())
    }

    /// Whether a term is dropped from every set, because every variable must differ from it.
    fn is_dropped_everywhere(&self, group: &PatternGroup, term: &Term) -> bool {
        let ruled_out = |node: &GraphNode| {
            node.var()
                .is_none_or(|var| group.differ.contains(&(var, term.clone())))
        };
        self.exclude == ExcludeWhen::EveryStep
            && self
                .graph
                .form
                .answer()
                .is_some_and(|answer| group.differ.contains(&(answer, term.clone())))
            && group
                .edges
                .iter()
                .all(|edge| ruled_out(&edge.subject) && ruled_out(&edge.object))
    }

    /// Requires every solution of a pattern to pass the test.
    fn holds(
        &self,
        pattern: &GraphPattern,
        test: Expression,
        reason: Refusal,
    ) -> Result<(), Refusal> {
        let never: Expression = algebra::rdf_literal(&Literal::xsd("false", "boolean")).into();
        let fails = query::not(Expression::Coalesce(vec![test, never]));
        if exists(self.kg, algebra::filter(pattern.clone(), fails))? {
            Err(reason)
        } else {
            Ok(())
        }
    }

    /// Checks `?a != ?b`: the two are never equal, or one is the answer and the other has a single
    /// value.
    fn unequal(
        &self,
        pattern: &GraphPattern,
        (a, b): (Var, Var),
        outer: bool,
        exclude: &mut Vec<Term>,
    ) -> Result<(), Refusal> {
        if outer && self.are_apart(a, b) {
            return Ok(());
        }
        let differ = algebra::differs(algebra::variable(a).into(), algebra::variable(b).into());
        let reason = Refusal::VariableComparison;
        if self.holds(pattern, differ, reason).is_ok() {
            return Ok(());
        }
        let answer = self.graph.form.answer();
        for (asked, other) in [(a, b), (b, a)] {
            if Some(asked) != answer || !self.is_plain() || !outer {
                continue;
            }
            let values = select(self.kg, pattern.clone(), algebra::variable(other))?;
            if values.len() == 1
                && let Some(Term::Iri(iri)) = values.into_iter().next()
            {
                exclude.push(Term::Iri(iri));
                return Ok(());
            }
        }
        Err(Refusal::VariableComparison)
    }

    /// Whether the intermediate sets show that two variables have no value in common. Only
    /// resources count: literals may be equal without being the same.
    fn are_apart(&self, a: Var, b: Var) -> bool {
        let passed = |var: Var| {
            self.passed
                .iter()
                .find(|(known, _)| *known == var)
                .map(|(_, set)| set)
        };
        let (Some(a), Some(b)) = (passed(a), passed(b)) else {
            return false;
        };
        let resources = self.kg.resources();
        let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        few.iter()
            .all(|node| resources.contains(&node.0) && many.binary_search(node).is_err())
    }

    /// Checks `type/subclass*`: the program gets instances of the class only, so no subclass may
    /// have instances.
    fn has_no_instances_below(&self, class: &str, relation: &str) -> Result<(), Refusal> {
        let (Some(class), Some(relation)) = (self.find(class), self.find(relation)) else {
            return Ok(());
        };
        let mut seen: BTreeSet<NodeId> = BTreeSet::from([class]);
        let mut open = vec![class];
        while let Some(class) = open.pop() {
            for &below in self.kg.heads(relation.relation(), class).iter() {
                if seen.insert(below) {
                    if !self.kg.instances(below).is_empty() {
                        return Err(Refusal::PropertyPath);
                    }
                    open.push(below);
                }
            }
        }
        Ok(())
    }

    /// Checks `?a = ?b`, which the query graph reads as one variable. That is wrong if both can be
    /// literals that are equal but not identical, as numbers and times can.
    fn same_term(&self, group: &PatternGroup, a: Var, b: Var) -> Result<(), Refusal> {
        // Both names are now one variable; its values are the tails of its edges.
        let is_either = |node: &GraphNode| node.var().is_some_and(|var| var == a || var == b);
        let (head, tail) = (algebra::variable(0), algebra::variable(1));
        for step in group
            .edges
            .iter()
            .filter(|edge| is_either(&edge.object))
            .flat_map(|edge| &edge.steps)
            .filter(|step| step.forward && self.find(&step.relation).is_some())
        {
            let step = std::slice::from_ref(step);
            let pattern = algebra::along(head.clone().into(), step, tail.clone().into());
            let values = select(self.kg, pattern, tail.clone())?;
            let mut literals = values.iter().filter_map(Term::as_literal);
            if literals.any(|literal| literal.datatype.is_some()) {
                return Err(Refusal::VariableComparison);
            }
        }
        Ok(())
    }

    fn find(&self, iri: &str) -> Option<NodeId> {
        self.kg.find(&Term::Iri(iri.to_owned()))
    }

    /// Checks that parts not connected with the answer have a solution of their own.
    fn apart(&self, group: &PatternGroup) -> Result<(), Refusal> {
        let Some(answer) = self.graph.form.answer() else {
            return Ok(());
        };
        let view = TreeView::new(group, &[]);
        let mut here = view.component(answer);
        for ordered in &group.ordered {
            here.extend(view.component(ordered.left));
            here.extend(view.component(ordered.right));
        }
        let there = |node: &GraphNode| node.var().is_none_or(|var| !here.contains(&var));
        let mut rest = self.expressed(group);
        rest.edges
            .retain(|edge| there(&edge.subject) && there(&edge.object));
        rest.classes.retain(|(node, _)| there(node));
        rest.intervals.retain(|interval| there(&interval.node));
        rest.comparisons
            .retain(|comparison| !here.contains(&comparison.var));
        rest.choices.retain(|(var, _)| !here.contains(var));
        rest.values.retain(|(var, _)| !here.contains(var));
        rest.labels.retain(|(var, _)| !here.contains(var));
        rest.differ.retain(|(var, _)| !here.contains(var));
        rest.unions.clear();
        rest.ordered.clear();
        let pattern = algebra::pattern(self.kg, &rest);
        if pattern == algebra::nothing() || exists(self.kg, pattern)? {
            Ok(())
        } else {
            Err(Refusal::Disconnected)
        }
    }

    /// Checks edges that close a cycle, which become intersections of sets. That is exact if the
    /// edge always holds, or if one of its ends has a single value.
    fn cycles(&self, group: &PatternGroup) -> Result<(), Refusal> {
        let view = TreeView::new(group, &[]);
        if view.closing.is_empty() {
            return Ok(());
        }
        let mut tree = self.expressed(group);
        let closing: Vec<&Edge> = view.closing.iter().map(|&edge| view.edge(edge)).collect();
        tree.edges.retain(|edge| !closing.contains(&edge));
        let pattern = algebra::pattern(self.kg, &tree);
        for edge in closing {
            let single = |node: &GraphNode| match node.var() {
                Some(var) => select(self.kg, pattern.clone(), algebra::variable(var))
                    .map(|values| values.len() <= 1),
                None => Ok(true),
            };
            if !single(&edge.subject)? && !single(&edge.object)? {
                self.holds(&pattern, present(edge), Refusal::Cycle)?;
            }
        }
        Ok(())
    }
}

/// Whether a test of one variable is true for every resource, like the usual language test
/// `!isLiteral(?x) || lang(?x) = '' || langMatches(lang(?x), 'en')`. One true side of `||` is
/// enough, even if the other is an error.
fn holds_of_resources(test: &Expression) -> bool {
    match test {
        Expression::Or(a, b) => holds_of_resources(a) || holds_of_resources(b),
        Expression::And(a, b) => holds_of_resources(a) && holds_of_resources(b),
        Expression::Not(inner) => {
            matches!(inner.as_ref(), Expression::FunctionCall(Function::IsLiteral, of) if matches!(of[..], [Expression::Variable(_)]))
        }
        _ => false,
    }
}

/// The test that an edge exists.
fn present(edge: &Edge) -> Expression {
    query::exists(algebra::edge_pattern(edge))
}
