//! The variables of a query, and rows without a bound variable.
//!
//! The evaluator calls our code for terms only, so rows without terms would escape the limits on
//! time and memory. Patterns that could give many such rows therefore bind a hidden variable.

use std::collections::BTreeSet;

use oxigraph::model::Literal as OxLiteral;
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern, Variable};

/// What is counted while a query is rewritten.
#[derive(Default)]
pub(super) struct QueryScope {
    /// Number of triple patterns.
    pub triples: usize,
    /// Whether there is a GRAPH.
    pub has_graph: bool,
    /// The first moment of NOW, as an `xsd:dateTime`.
    pub now: String,
    variables: BTreeSet<String>,
    aggregates: usize,
    hidden: usize,
}

impl QueryScope {
    /// Nothing counted yet; `now` is the first moment of NOW.
    pub(super) fn at(now: String) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    /// The width of the widest row: variables, blank nodes, and the state of aggregates.
    pub(super) fn width(&self) -> usize {
        self.variables.len() + self.hidden + self.aggregates
    }

    pub(super) fn variable(&mut self, variable: &Variable) {
        self.variables.insert(variable.as_str().to_owned());
    }

    /// An aggregate; its state takes as much as a few terms.
    pub(super) fn aggregate(&mut self, variable: &Variable) {
        self.variable(variable);
        self.aggregates += 8;
    }

    pub(super) fn term(&mut self, term: &TermPattern) {
        match term {
            TermPattern::Variable(variable) => self.variable(variable),
            TermPattern::BlankNode(node) => {
                self.variables.insert(format!("_:{}", node.as_str()));
            }
            _ => {}
        }
    }

    pub(super) fn triple(&mut self, triple: &TriplePattern) {
        self.term(&triple.subject);
        self.term(&triple.object);
        if let NamedNodePattern::Variable(variable) = &triple.predicate {
            self.variable(variable);
        }
    }

    fn fresh(&mut self) -> Variable {
        self.hidden += 1;
        // No variable of a query has a space in its name.
        Variable::new_unchecked(format!("hidden {}", self.hidden))
    }

    /// Binds a hidden variable in every row of a pattern.
    pub(super) fn mark(&mut self, pattern: &mut GraphPattern) {
        let inner = std::mem::take(pattern);
        *pattern = GraphPattern::Extend {
            inner: Box::new(inner),
            variable: self.fresh(),
            expression: Expression::Literal(OxLiteral::new_simple_literal("")),
        };
    }

    /// Binds a hidden variable in every row of VALUES if some rows bind nothing.
    pub(super) fn mark_values(
        &mut self,
        variables: &mut Vec<Variable>,
        rows: &mut [Vec<Option<GroundTerm>>],
    ) {
        for variable in variables.iter() {
            self.variable(variable);
        }
        if rows.iter().any(|row| row.iter().all(Option::is_none)) {
            variables.push(self.fresh());
            for row in rows {
                row.push(Some(GroundTerm::Literal(OxLiteral::new_simple_literal(""))));
            }
        }
    }
}

/// Whether a rewritten pattern may give a row that binds nothing. No pattern gives two.
pub(super) fn may_be_free(pattern: &GraphPattern) -> bool {
    let variable =
        |term: &TermPattern| matches!(term, TermPattern::Variable(_) | TermPattern::BlankNode(_));
    match pattern {
        GraphPattern::Bgp { patterns } => !patterns.iter().any(|triple| {
            variable(&triple.subject)
                || variable(&triple.object)
                || matches!(triple.predicate, NamedNodePattern::Variable(_))
        }),
        GraphPattern::Path {
            subject, object, ..
        } => !variable(subject) && !variable(object),
        GraphPattern::Values { .. }
        | GraphPattern::Project { .. }
        | GraphPattern::Extend {
            expression: Expression::Literal(_) | Expression::NamedNode(_),
            ..
        } => false,
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            may_be_free(left) && may_be_free(right)
        }
        GraphPattern::Union { left, right } => may_be_free(left) || may_be_free(right),
        GraphPattern::LeftJoin { left, .. } | GraphPattern::Minus { left, .. } => may_be_free(left),
        GraphPattern::Extend { inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Graph { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Service { inner, .. } => may_be_free(inner),
        GraphPattern::Group { .. } => true,
    }
}
