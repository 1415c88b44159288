//! From SPARQL's algebra to groups: joins are flattened, sub-SELECTs that only rename are opened, the outer modifiers become the form.

use std::collections::HashMap;

use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, Function, GraphPattern, PropertyPathExpression};
use kg::spargebra::term::{
    GroundTerm, Literal as RdfLiteral, NamedNodePattern, TermPattern, TriplePattern, Variable,
};
use kg::term::{Literal, Term, XSD};

use super::head::{Head, aggregate, unwrapped};
use super::{
    Edge, ExtremeBlock, GraphNode, PathStep, PatternGroup, QueryForm, QueryGraph, Var, Vocabulary,
    normal,
};
use crate::refusal::Refusal;

/// Reads the query graph of a parsed query.
///
/// # Errors
/// The reason for which no query graph holds the query.
pub fn read_query(query: &Query, vocabulary: &Vocabulary) -> Result<QueryGraph, Refusal> {
    let mut reader = PatternReader::new(vocabulary);
    let mut group = PatternGroup::default();
    match query {
        Query::Select { pattern, .. } => {
            let head = Head::of(pattern)?;
            reader.pattern(head.body, &mut group)?;
            let answer = match head.answer {
                Some(name) => reader.var(&name),
                // `COUNT(*)` counts what there is to count, where that is one thing.
                None => reader.counted(&group)?,
            };
            let form = if head.count {
                QueryForm::Count(answer)
            } else {
                QueryForm::Select(answer)
            };
            let extreme = head
                .extreme
                .map(|(name, extreme)| (reader.var(&name), extreme));
            let key = head.key.map(|key| reader.numbered(key));
            let aggregated = head.aggregated;
            let name = reader
                .names
                .iter()
                .find(|(_, var)| **var == answer)
                .map(|(name, _)| name.clone());
            let rows = name.filter(|_| head.rows);
            normal::normalise(
                &mut reader,
                QueryGraph {
                    form,
                    group,
                    extreme,
                    key,
                    aggregated,
                    rows,
                },
            )
        }
        Query::Ask { pattern, .. } => {
            reader.pattern(unwrapped(pattern), &mut group)?;
            normal::normalise(
                &mut reader,
                QueryGraph {
                    form: QueryForm::Ask,
                    group,
                    extreme: None,
                    key: None,
                    aggregated: false,
                    rows: None,
                },
            )
        }
        Query::Construct { .. } | Query::Describe { .. } => Err(Refusal::NotSelectOrAsk),
    }
}

pub(super) struct PatternReader<'v> {
    pub vocabulary: &'v Vocabulary,
    names: HashMap<String, Var>,
    next: Var,
    order: usize,
    /// What `BIND(?s AS ?x)` says is one variable.
    pub aliases: Vec<(Var, Var)>,
    /// What `BIND(expression AS ?x)` computes.
    pub derived: HashMap<Var, Expression>,
}

impl<'v> PatternReader<'v> {
    fn new(vocabulary: &'v Vocabulary) -> Self {
        Self {
            vocabulary,
            names: HashMap::new(),
            next: 0,
            order: 0,
            aliases: Vec::new(),
            derived: HashMap::new(),
        }
    }

    pub(super) fn var(&mut self, name: &str) -> Var {
        if let Some(&var) = self.names.get(name) {
            return var;
        }
        let var = self.fresh();
        self.names.insert(name.to_owned(), var);
        var
    }

    pub(super) fn fresh(&mut self) -> Var {
        self.next += 1;
        self.next - 1
    }

    /// What `COUNT(*)` counts: the only variable, or, where a graph can judge whether its attributes have one value each, the only one
    /// that nothing points to.
    fn counted(&self, group: &PatternGroup) -> Result<Var, Refusal> {
        let mut vars: Vec<Var> = self.names.values().copied().collect();
        if vars.len() > 1 && self.vocabulary.has_graph() {
            vars.retain(|var| {
                group
                    .edges
                    .iter()
                    .all(|edge| edge.object.var() != Some(*var))
            });
        }
        match vars[..] {
            [only] => Ok(only),
            _ => Err(Refusal::SeveralAnswers),
        }
    }

    /// Adds a pattern to a group.
    pub(super) fn pattern(
        &mut self,
        pattern: &GraphPattern,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        match pattern {
            GraphPattern::Bgp { patterns } => patterns
                .iter()
                .try_for_each(|triple| self.triple(triple, group)),
            GraphPattern::Path {
                subject,
                path,
                object,
            } => {
                let (subject, object) = (self.node(subject)?, self.node(object)?);
                self.path(subject, path, object, group)
            }
            GraphPattern::Join { left, right } => {
                self.pattern(left, group)?;
                self.pattern(right, group)
            }
            GraphPattern::LeftJoin { left, right, .. } => {
                self.pattern(left, group)?;
                let before = self.next;
                let mut optional = PatternGroup::default();
                // What OPTIONAL holds never takes a solution away, so only its new variables matter; it may be beyond us otherwise.
                let _ = self.pattern(right, &mut optional);
                group.optional.extend(before..self.next);
                Ok(())
            }
            GraphPattern::Filter { expr, inner } => {
                if matches!(**inner, GraphPattern::Group { .. }) {
                    return Err(Refusal::GroupBy);
                }
                self.pattern(inner, group)?;
                self.filter(expr, group)
            }
            GraphPattern::Union { left, right } => {
                let mut branches = Vec::new();
                for side in [left, right] {
                    let mut branch = PatternGroup::default();
                    self.pattern(side, &mut branch)?;
                    if branch.is_only_a_union() {
                        branches.extend(branch.unions.remove(0))
                    } else {
                        branches.push(branch)
                    }
                }
                group.unions.push(branches);
                Ok(())
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                self.pattern(inner, group)?;
                let var = self.var(variable.as_str());
                match operand(expression) {
                    Ok(Operand::Var(other)) => {
                        let other = self.var(other.as_str());
                        self.aliases.push((var, other));
                    }
                    Ok(Operand::Iri(iri)) => group.values.push((var, vec![Term::Iri(iri)])),
                    _ => {
                        self.derived.insert(var, expression.clone());
                    }
                }
                Ok(())
            }
            GraphPattern::Minus { .. } => Err(Refusal::Minus),
            GraphPattern::Values {
                variables,
                bindings,
            } => self.values(variables, bindings, group),
            GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner } => self.pattern(inner, group),
            GraphPattern::Project { inner, variables } => self.sub_select(inner, variables, group),
            GraphPattern::Slice { start, .. } => Err(if *start > 0 {
                Refusal::Offset
            } else {
                Refusal::Limit
            }),
            GraphPattern::Group { variables, .. } => Err(if variables.is_empty() {
                Refusal::Aggregate
            } else {
                Refusal::GroupBy
            }),
            // GRAPH and SERVICE, and what features of the parser may add.
            _ => Err(Refusal::Unsupported),
        }
    }

    /// A nested SELECT: its own variables get numbers of their own; an extreme over it becomes a block.
    fn sub_select(
        &mut self,
        inner: &GraphPattern,
        variables: &[Variable],
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        let shared: Vec<(String, Var)> = variables
            .iter()
            .map(|variable| (variable.as_str().to_owned(), self.var(variable.as_str())))
            .collect();
        let outside = std::mem::take(&mut self.names);
        let result = match aggregate(inner) {
            Some((output, input, extreme, body)) => {
                // The inner pattern shares nothing with the outer one but the aggregate's value.
                let mut block = PatternGroup::default();
                self.pattern(body, &mut block).map(|()| {
                    let inner = self.var(&input);
                    let var = shared
                        .iter()
                        .find(|(name, _)| *name == output)
                        .map(|(_, var)| *var);
                    if let Some(var) = var {
                        group.blocks.push(ExtremeBlock {
                            var,
                            inner,
                            extreme,
                            group: block,
                        });
                    }
                    var
                })
            }
            None => {
                self.names = shared.into_iter().collect();
                self.pattern(inner, group).map(|()| Some(0))
            }
        };
        self.names = outside;
        match result {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Refusal::Aggregate),
            Err(reason) => Err(reason),
        }
    }

    fn values(
        &mut self,
        variables: &[Variable],
        bindings: &[Vec<Option<GroundTerm>>],
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        if variables.len() > 1 && bindings.len() > 1 {
            return Err(Refusal::Unsupported);
        }
        for (column, variable) in variables.iter().enumerate() {
            let var = self.var(variable.as_str());
            let mut terms = Vec::new();
            for row in bindings {
                terms.push(match row.get(column) {
                    Some(Some(GroundTerm::NamedNode(iri))) => Term::Iri(iri.as_str().to_owned()),
                    Some(Some(GroundTerm::Literal(literal))) => {
                        Term::Literal(term_literal(literal))
                    }
                    _ => return Err(Refusal::Unsupported),
                });
            }
            group.values.push((var, terms));
        }
        Ok(())
    }

    fn node(&mut self, term: &TermPattern) -> Result<GraphNode, Refusal> {
        Ok(match term {
            TermPattern::NamedNode(iri) => GraphNode::Entity(iri.as_str().to_owned()),
            // A blank node of a pattern is a variable that nothing can name.
            TermPattern::BlankNode(blank) => {
                GraphNode::Var(self.var(&format!("_:{}", blank.as_str())))
            }
            TermPattern::Literal(literal) => GraphNode::Literal(term_literal(literal)),
            TermPattern::Variable(variable) => GraphNode::Var(self.var(variable.as_str())),
            #[allow(unreachable_patterns)]
            _ => return Err(Refusal::OddTerm),
        })
    }

    fn triple(&mut self, triple: &TriplePattern, group: &mut PatternGroup) -> Result<(), Refusal> {
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
    fn path(
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
                // `P31/P279*`: a class and those above it. Instances are listed by their own class only, so a graph has to judge.
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

impl PatternGroup {
    fn is_only_a_union(&self) -> bool {
        self.unions.len() == 1
            && *self
                == Self {
                    unions: self.unions.clone(),
                    ..Self::default()
                }
    }
}

/// The steps of `a|^b|c`, where every alternative is one step.
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

/// One side of a comparison, casts and `str` taken off.
pub(super) enum Operand<'e> {
    Var(&'e Variable),
    Year(&'e Variable),
    Iri(String),
    Literal(Literal),
}

/// Reads one side of a comparison.
pub(super) fn operand(expression: &Expression) -> Result<Operand<'_>, Refusal> {
    match expression {
        Expression::Variable(variable) => Ok(Operand::Var(variable)),
        Expression::NamedNode(iri) => Ok(Operand::Iri(iri.as_str().to_owned())),
        Expression::Literal(literal) => Ok(Operand::Literal(term_literal(literal))),
        Expression::UnaryPlus(inner) => operand(inner),
        Expression::UnaryMinus(inner) => match operand(inner)? {
            Operand::Literal(literal) => Ok(Operand::Literal(Literal {
                lexical: format!("-{}", literal.lexical),
                ..literal
            })),
            _ => Err(Refusal::Filter),
        },
        Expression::FunctionCall(function, arguments) => match (function, arguments.as_slice()) {
            (Function::Str, [inner]) => operand(inner),
            (Function::Custom(iri), [inner]) if iri.as_str().starts_with(XSD) => operand(inner),
            (Function::Year, [inner]) => match operand(inner)? {
                Operand::Var(variable) => Ok(Operand::Year(variable)),
                _ => Err(Refusal::Filter),
            },
            _ => Err(Refusal::Filter),
        },
        _ => Err(Refusal::Filter),
    }
}

/// A literal of the algebra as ours.
pub(crate) fn term_literal(literal: &RdfLiteral) -> Literal {
    let lexical = literal.value().to_owned();
    match literal.language() {
        Some(lang) => Literal {
            lexical,
            datatype: None,
            lang: Some(lang.to_ascii_lowercase()),
        },
        None => match literal.datatype().as_str() {
            iri if iri.strip_prefix(XSD) == Some("string") => Literal::plain(lexical),
            iri => Literal {
                lexical,
                datatype: Some(iri.to_owned()),
                lang: None,
            },
        },
    }
}
