//! Yes or no: ASK, and IF between two entities.

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::Variable;
use kg::term::{Literal, Term};
use kg::value::Op;
use toolbox::call::{Arg, Tool};

use super::super::exact::exists;
use super::body::Wanted;
use super::calls::{Bound, BoundForm};
use super::{TableWriter, visible};
use crate::algebra::not;
use crate::graph::algebra::filter;
use crate::refusal::Refusal;

impl TableWriter<'_> {
    /// Writes the whole program of an ASK.
    pub(super) fn ask(&mut self, pattern: &GraphPattern) -> Result<(), Refusal> {
        let truth = self.truth(pattern)?;
        self.calls.emit(Tool::End, vec![truth])?;
        Ok(())
    }

    /// Whether a pattern has a solution.
    fn truth(&mut self, pattern: &GraphPattern) -> Result<Arg, Refusal> {
        let pattern = solutions(pattern);
        let made = match absent(pattern) {
            Some(absent) => self.none_of(absent)?,
            None => self.relation(pattern, &Wanted::new())?,
        };
        if made.form == BoundForm::Number {
            // An aggregate always has a row.
            return Err(Refusal::Aggregate);
        }
        self.calls.emit(Tool::Exists, vec![made.arg])
    }

    /// A row if a pattern has no solution.
    fn none_of(&mut self, pattern: &GraphPattern) -> Result<Bound, Refusal> {
        let made = self.relation(pattern, &Wanted::new())?;
        if made.form == BoundForm::Number {
            return Err(Refusal::Aggregate);
        }
        let count = self.calls.emit(Tool::Count, vec![made.arg])?;
        let count = Bound {
            form: BoundForm::Number,
            ..Bound::set(count, "")
        };
        let zero = Arg::Literal(Literal::plain("0"));
        self.calls.filter(&count, 0, Arg::Op(Op::Eq), zero)
    }

    /// `BIND(IF(test, <a>, <b>) AS ?x)`: one entity or the other, by whether the test holds of the
    /// pattern. On a graph the test must give the same result for every solution.
    pub(super) fn chosen(
        &mut self,
        pattern: &GraphPattern,
        variable: &Variable,
        test: &Expression,
        sides: [&Expression; 2],
    ) -> Result<Bound, Refusal> {
        let mut sets = Vec::new();
        for side in sides {
            let Expression::NamedNode(iri) = side else {
                return Err(Refusal::Filter);
            };
            sets.push(self.calls.constant(&Term::Iri(iri.as_str().to_owned()))?);
        }
        let passing = filter(pattern.clone(), test.clone());
        if let Some(kg) = self.calls.kg() {
            let failing = filter(pattern.clone(), not(test.clone()));
            if exists(kg, passing.clone())? == exists(kg, failing)? {
                return Err(Refusal::Filter);
            }
        }
        let truth = match test {
            Expression::Exists(inner) if visible(pattern).is_empty() => self.truth(inner)?,
            _ => self.truth(&passing)?,
        };
        let mut args = vec![truth];
        args.append(&mut sets);
        let arg = self.calls.emit(Tool::Choose, args)?;
        Ok(Bound::set(arg, variable.as_str()))
    }
}

/// The pattern inside modifiers that neither make nor remove all solutions.
fn solutions(pattern: &GraphPattern) -> &GraphPattern {
    match pattern {
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => solutions(inner),
        other => other,
    }
}

/// The pattern that must have no solution, if a group asks for nothing else.
fn absent(pattern: &GraphPattern) -> Option<&GraphPattern> {
    let GraphPattern::Filter { expr, inner } = pattern else {
        return None;
    };
    match expr {
        Expression::Not(inside) if visible(inner).is_empty() => match inside.as_ref() {
            Expression::Exists(absent) => Some(absent),
            _ => None,
        },
        _ => None,
    }
}
