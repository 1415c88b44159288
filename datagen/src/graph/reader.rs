//! From SPARQL's algebra to pattern groups: joins are flattened and sub-SELECTs that only rename
//! are inlined.

use std::collections::HashMap;

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::{GroundTerm, TermPattern, Variable};
use kg::term::Term;
use kg::term_literal;

use super::head::aggregate;
use super::operand::{Operand, operand};
use super::query_graph::{ExtremeBlock, GraphNode, PatternGroup, Var};
use super::vocabulary::Vocabulary;
use crate::refusal::Refusal;

pub(super) struct PatternReader<'v> {
    pub vocabulary: &'v Vocabulary,
    pub names: HashMap<String, Var>,
    next: Var,
    pub order: usize,
    /// Variables equated by `BIND(?s AS ?x)`.
    pub aliases: Vec<(Var, Var)>,
    /// Expressions computed by `BIND(expression AS ?x)`.
    pub derived: HashMap<Var, Expression>,
}

impl<'v> PatternReader<'v> {
    pub(super) fn new(vocabulary: &'v Vocabulary) -> Self {
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

    /// The variable that `COUNT(*)` counts: the only one. If there is a graph, which can show that
    /// attributes have one value each, it is the only one that no edge points to.
    pub(super) fn counted(&self, group: &PatternGroup) -> Result<Var, Refusal> {
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
                // OPTIONAL never removes a solution, so only its new variables matter. Its pattern
                // may be unsupported.
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
                        branches.extend(branch.unions.remove(0));
                    } else {
                        branches.push(branch);
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
            // GRAPH, SERVICE, and constructs that optional parser features add.
            _ => Err(Refusal::Unsupported),
        }
    }

    /// A nested SELECT. Its own variables get new numbers; an extreme becomes a block.
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
                // The inner pattern shares only the aggregate's value with the outer one.
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

    pub(super) fn node(&mut self, term: &TermPattern) -> Result<GraphNode, Refusal> {
        Ok(match term {
            TermPattern::NamedNode(iri) => GraphNode::Entity(iri.as_str().to_owned()),
            // A blank node in a pattern is a variable without a name.
            TermPattern::BlankNode(blank) => {
                GraphNode::Var(self.var(&format!("_:{}", blank.as_str())))
            }
            TermPattern::Literal(literal) => GraphNode::Literal(term_literal(literal)),
            TermPattern::Variable(variable) => GraphNode::Var(self.var(variable.as_str())),
        })
    }
}
