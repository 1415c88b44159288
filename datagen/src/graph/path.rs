//! Triples and property paths as edges.

use kg::spargebra::algebra::PropertyPathExpression;
use kg::spargebra::term::{NamedNodePattern, TriplePattern};

use super::query_graph::{Edge, GraphNode, PathStep, PatternGroup, Var};
use super::reader::PatternReader;
use crate::refusal::Refusal;

impl PatternReader<'_> {
    pub(super) fn triple(
        &mut self,
        triple: &TriplePattern,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        let (subject, object) = (self.node(&triple.subject)?, self.node(&triple.object)?);
        match &triple.predicate {
            NamedNodePattern::NamedNode(predicate) => {
                self.fact(subject, predicate.as_str(), object, group)
            }
            NamedNodePattern::Variable(variable) => {
                let predicate = Some(self.var(variable.as_str()));
                self.edge(subject, Vec::new(), predicate, object, group)
            }
        }
    }

    fn fact(
        &mut self,
        subject: GraphNode,
        predicate: &str,
        object: GraphNode,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        if self.vocabulary.is_type(predicate)
            && let GraphNode::Entity(class) = &object
        {
            group
                .typed
                .push((subject.clone(), predicate.to_owned(), class.clone()));
            group.classes.push((subject, class.clone()));
            return Ok(());
        }
        if self.vocabulary.is_label(predicate)
            && let (GraphNode::Var(var), GraphNode::Literal(label)) = (&subject, &object)
        {
            group.labels.push((*var, label.clone()));
            return Ok(());
        }
        self.edge(
            subject,
            vec![PathStep {
                relation: predicate.to_owned(),
                forward: true,
            }],
            None,
            object,
            group,
        )
    }

    fn edge(
        &mut self,
        subject: GraphNode,
        steps: Vec<PathStep>,
        predicate: Option<Var>,
        object: GraphNode,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        if matches!(subject, GraphNode::Literal(_)) {
            return Err(Refusal::OddTerm);
        }
        group.edges.push(Edge {
            subject,
            object,
            steps,
            predicate,
            order: self.order,
        });
        self.order += 1;
        Ok(())
    }

    /// Property paths of fixed length: sequence, inverse, alternative.
    pub(super) fn path(
        &mut self,
        subject: GraphNode,
        path: &PropertyPathExpression,
        object: GraphNode,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        match path {
            PropertyPathExpression::NamedNode(iri) => {
                self.fact(subject, iri.as_str(), object, group)
            }
            PropertyPathExpression::Reverse(inner) => match inner.as_ref() {
                PropertyPathExpression::NamedNode(iri) => {
                    self.fact(object, iri.as_str(), subject, group)
                }
                inner => self.path(object, inner, subject, group),
            },
            PropertyPathExpression::Sequence(first, second) => {
                // `P31/P279*`: a class or its superclasses. The tools know only direct classes, so
                // the graph must show that superclasses make no difference.
                if let (
                    PropertyPathExpression::NamedNode(first),
                    PropertyPathExpression::ZeroOrMore(above),
                    GraphNode::Entity(class),
                ) = (first.as_ref(), second.as_ref(), &object)
                    && let PropertyPathExpression::NamedNode(above) = above.as_ref()
                    && self.vocabulary.is_type(first.as_str())
                    && self.vocabulary.has_graph()
                {
                    group.above.push((class.clone(), above.as_str().to_owned()));
                    group
                        .typed
                        .push((subject.clone(), first.as_str().to_owned(), class.clone()));
                    group.classes.push((subject, class.clone()));
                    return Ok(());
                }
                let middle = GraphNode::Var(self.fresh());
                self.path(subject, first, middle.clone(), group)?;
                self.path(middle, second, object, group)
            }
            PropertyPathExpression::Alternative(first, second) => {
                let mut steps = Vec::new();
                if alternatives(path, true, &mut steps) {
                    return self.edge(subject, steps, None, object, group);
                }
                let mut branches = Vec::new();
                for side in [first, second] {
                    let mut branch = PatternGroup::default();
                    self.path(subject.clone(), side, object.clone(), &mut branch)?;
                    branches.push(branch);
                }
                group.unions.push(branches);
                Ok(())
            }
            PropertyPathExpression::ZeroOrMore(_)
            | PropertyPathExpression::OneOrMore(_)
            | PropertyPathExpression::ZeroOrOne(_)
            | PropertyPathExpression::NegatedPropertySet(_) => Err(Refusal::PropertyPath),
        }
    }
}

/// The steps of `a|^b|c`, if every alternative is a single step.
fn alternatives(path: &PropertyPathExpression, forward: bool, steps: &mut Vec<PathStep>) -> bool {
    match path {
        PropertyPathExpression::NamedNode(iri) => {
            steps.push(PathStep {
                relation: iri.as_str().to_owned(),
                forward,
            });
            true
        }
        PropertyPathExpression::Reverse(inner) => alternatives(inner, !forward, steps),
        PropertyPathExpression::Alternative(a, b) => {
            alternatives(a, forward, steps) && alternatives(b, forward, steps)
        }
        _ => false,
    }
}
