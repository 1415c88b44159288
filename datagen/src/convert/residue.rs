//! What a program leaves unsaid: inequalities between variables, tests of languages, labels that are only shown, cycles, parts of the query
//! that nothing joins with the answer. On a graph each of them has to be shown to take nothing away there, by asking the graph for a solution
//! of what the program does say that breaks it. Where there is one, the query is refused.

use std::collections::BTreeSet;

use kg::Kg;
use kg::spargebra::algebra::{Expression, Function, GraphPattern};
use kg::term::{Literal, NodeId, Term};
use toolbox::exec::{EntSet, ExcludeWhen, Value};

use super::exact::{Run, exists, select};
use super::view::TreeView;
use crate::graph::{
    Edge, GraphNode, PathStep, PatternGroup, QueryForm, QueryGraph, Var, Vocabulary, algebra,
};
use crate::refusal::Refusal;

/// Asks one graph about one query.
pub(super) struct Residue<'a> {
    pub kg: &'a dyn Kg,
    pub vocabulary: &'a Vocabulary,
    pub graph: &'a QueryGraph,
    pub exclude: ExcludeWhen,
    /// What variables can be at most, where the program says: sets that it passed.
    pub passed: Vec<(Var, EntSet)>,
}

impl Residue<'_> {
    /// Checks all that the program of the query does not say.
    ///
    /// Gives the terms that have to be kept out of the answer beyond the query's own constants: what a variable has to differ from where it is
    /// one term only.
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

    fn plain(&self) -> bool {
        matches!(self.graph.form, QueryForm::Select(_)) && self.graph.extreme.is_none()
    }

    /// A group without what its program leaves unsaid.
    fn said(&self, group: &PatternGroup) -> PatternGroup {
        let view = TreeView::new(group, &[], None);
        let answer = self.graph.form.answer();
        let mut said = group.clone();
        said.differ
            .retain(|(var, _)| Some(*var) != answer && view.is_leaf(*var));
        said.edges.retain(|edge| !self.is_shown_label(&view, edge));
        said.unions
            .iter_mut()
            .flatten()
            .for_each(|branch| *branch = self.said(branch));
        said
    }

    /// Whether an edge only fetches a label to show.
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

    fn group(
        &self,
        group: &PatternGroup,
        result: Option<&Value>,
        exclude: &mut Vec<Term>,
    ) -> Result<(), Refusal> {
        let view = TreeView::new(group, &[], None);
        let answer = self.graph.form.answer();
        let pattern = algebra::pattern(self.kg, &self.said(group));
        let only_answer =
            |test: &Expression| answer.is_some_and(|answer| algebra::variables(test) == [answer]);
        for test in &group.tests {
            if let (Some(answer), Some(Value::Set(set)), true) = (answer, result, only_answer(test))
            {
                let resources = self.kg.resources();
                if holds_of_resources(test) && set.iter().all(|node| resources.contains(&node.0)) {
                    continue;
                }
                let run = Run {
                    kg: self.kg,
                    variables: &[],
                };
                let passing =
                    run.passing(set.iter().copied(), &[algebra::of_tail(test, answer)])?;
                if passing.len() == set.len() {
                    continue;
                }
                return Err(Refusal::Filter);
            }
            self.holds(&pattern, test.clone(), Refusal::Filter)?;
        }
        for (var, term) in &group.differ {
            let kept_out = Some(*var) == answer && self.plain() && result.is_some();
            if kept_out
                || (Some(*var) != answer && view.is_leaf(*var))
                || self.everywhere(group, term)
            {
                continue;
            }
            let term = algebra::constant(term).ok_or(Refusal::OddTerm)?;
            self.holds(
                &pattern,
                algebra::differs(algebra::variable(*var).into(), term),
                Refusal::Filter,
            )?;
        }
        for &(a, b) in &group.unequal {
            self.unequal(&pattern, (a, b), result.is_some(), exclude)?;
        }
        if self.kg.schema().type_relations.len() > 1 {
            for (node, relation, class) in &group.typed {
                let step = PathStep {
                    relation: relation.clone(),
                    forward: true,
                };
                let edge = Edge {
                    subject: node.clone(),
                    object: GraphNode::Entity(class.clone()),
                    steps: vec![step],
                    predicate: None,
                    order: 0,
                };
                self.holds(&pattern, present(&edge), Refusal::HiddenRelation)?;
            }
        }
        for edge in group
            .edges
            .iter()
            .filter(|edge| self.is_shown_label(&view, edge))
        {
            self.holds(&pattern, present(edge), Refusal::HiddenRelation)?;
        }
        for (class, relation) in &group.above {
            self.has_no_instances_below(class, relation)?;
        }
        for &(a, b) in &group.same {
            self.same_term(group, a, b)?;
        }
        for (order, steps) in &group.unseen {
            let mut other = self.said(group);
            other
                .edges
                .iter_mut()
                .filter(|edge| edge.order == *order)
                .for_each(|edge| edge.steps.clone_from(steps));
            if exists(self.kg, algebra::pattern(self.kg, &other))? {
                return Err(Refusal::VariablePredicate);
            }
        }
        for branch in group.unions.iter().flatten() {
            self.group(branch, None, exclude)?;
        }
        Ok(())
    }

    /// Whether a term that no variable may be is dropped from every set.
    fn everywhere(&self, group: &PatternGroup, term: &Term) -> bool {
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

    /// Every solution of a pattern has to pass the test.
    fn holds(
        &self,
        pattern: &GraphPattern,
        test: Expression,
        reason: Refusal,
    ) -> Result<(), Refusal> {
        let never: Expression = algebra::rdf_literal(&Literal::xsd("false", "boolean")).into();
        let fails = Expression::Not(Box::new(Expression::Coalesce(vec![test, never])));
        if exists(self.kg, algebra::filter(pattern.clone(), fails))? {
            Err(reason)
        } else {
            Ok(())
        }
    }

    /// `?a != ?b`: never equal, or the answer on one side and one term on the other.
    fn unequal(
        &self,
        pattern: &GraphPattern,
        (a, b): (Var, Var),
        outer: bool,
        exclude: &mut Vec<Term>,
    ) -> Result<(), Refusal> {
        let differ = algebra::differs(algebra::variable(a).into(), algebra::variable(b).into());
        if outer && self.are_apart(a, b) {
            return Ok(());
        }
        if self
            .holds(pattern, differ, Refusal::VariableComparison)
            .is_ok()
        {
            return Ok(());
        }
        let answer = self.graph.form.answer();
        for (asked, other) in [(a, b), (b, a)] {
            if Some(asked) != answer || !self.plain() || !outer {
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

    /// Whether two variables have no value in common, as far as the sets show that the program passed. Of resources that is all there is to
    /// being unequal; literals may be equal without being the same.
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

    /// `type/subclass*`: instances are listed by their own class, so no class below may have any.
    fn has_no_instances_below(&self, class: &str, relation: &str) -> Result<(), Refusal> {
        let find = |iri: &str| self.kg.find(&Term::Iri(iri.to_owned()));
        let (Some(class), Some(relation)) = (find(class), find(relation)) else {
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

    /// `?a = ?b`, read as one variable: wrong where both can be literals that are equal without being the same.
    fn same_term(&self, group: &PatternGroup, a: Var, b: Var) -> Result<(), Refusal> {
        // Both names stand for one variable now; what it can be is what its edges lead to.
        let one = [a, b];
        let at = |node: &GraphNode| node.var().is_some_and(|var| one.contains(&var));
        let mut datatypes: BTreeSet<Option<String>> = BTreeSet::new();
        for step in group
            .edges
            .iter()
            .filter(|edge| at(&edge.object))
            .flat_map(|edge| &edge.steps)
            .filter(|step| step.forward)
        {
            let Some(relation) = self.kg.find(&Term::Iri(step.relation.clone())) else {
                continue;
            };
            let step = algebra::along(
                algebra::variable(0).into(),
                &[PathStep {
                    relation: step.relation.clone(),
                    forward: true,
                }],
                algebra::variable(1).into(),
            );
            let _ = relation;
            for term in select(self.kg, step, algebra::variable(1))? {
                if let Term::Literal(literal) = term {
                    datatypes.insert(literal.datatype);
                }
            }
        }
        // Texts are equal where they are the same; numbers and times need not be.
        if datatypes.iter().all(Option::is_none) {
            Ok(())
        } else {
            Err(Refusal::VariableComparison)
        }
    }

    /// Parts that nothing joins with the answer have to hold by themselves.
    fn apart(&self, group: &PatternGroup) -> Result<(), Refusal> {
        let Some(answer) = self.graph.form.answer() else {
            return Ok(());
        };
        let view = TreeView::new(group, &[], None);
        let mut here = view.component(answer);
        for ordered in &group.ordered {
            here.extend(view.component(ordered.left));
            here.extend(view.component(ordered.right));
        }
        let there = |node: &GraphNode| node.var().is_none_or(|var| !here.contains(&var));
        let mut rest = self.said(group);
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

    /// An edge that closes a cycle is an intersection of sets: enough where it holds anyway, or where one of its ends is one node.
    fn cycles(&self, group: &PatternGroup) -> Result<(), Refusal> {
        let view = TreeView::new(group, &[], None);
        if view.closing.is_empty() {
            return Ok(());
        }
        let mut tree = self.said(group);
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

/// Whether a test of one variable holds of whatever is no literal, as the usual one for languages does:
/// `!isLiteral(?x) || lang(?x) = '' || langMatches(lang(?x), 'en')`. One side of `||` that is true is enough, even where the other is an error.
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

/// That an edge is there.
fn present(edge: &Edge) -> Expression {
    Expression::Exists(Box::new(algebra::edge_pattern(edge)))
}
