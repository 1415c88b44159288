//! Filters on the columns of a table.

use std::collections::BTreeSet;

use kg::spargebra::algebra::{Expression, Function};
use kg::spargebra::term::Variable;
use kg::term::{Literal, NodeId, Term};
use kg::value::Op;
use toolbox::call::{Arg, TextTest};

use super::super::exact::passing;
use super::super::names::bare;
use super::TableWriter;
use super::body::variables;
use super::calls::Bound;
use crate::algebra::{and, compare, or, replace};
use crate::graph::{
    SideOf, algebra, comparison, is_language_test, mirrored, plain_variable, side_of,
};
use crate::refusal::Refusal;

/// `?a op ?b`, with both names.
pub(super) fn between(filter: &Expression) -> Option<(&str, Op, &str)> {
    let (left, op, right) = comparison(filter)?;
    Some((
        plain_variable(left)?.as_str(),
        op,
        plain_variable(right)?.as_str(),
    ))
}

/// The negation of a filter whose variables are bound.
fn negated(filter: &Expression) -> Option<Expression> {
    let not = |op: Op| match op {
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        Op::Ge => Op::Lt,
    };
    match filter {
        Expression::Not(inner) if comparison(filter).is_none() => Some(inner.as_ref().clone()),
        Expression::And(a, b) => Some(or(negated(a)?, negated(b)?)),
        Expression::Or(a, b) => Some(and(negated(a)?, negated(b)?)),
        Expression::In(a, list) if list.len() > 1 => {
            let each = list.iter();
            each.map(|value| compare(a.as_ref().clone(), Op::Ne, value.clone()))
                .reduce(and)
        }
        other => {
            let (left, op, right) = comparison(other)?;
            Some(compare(left.clone(), not(op), right.clone()))
        }
    }
}

/// Whether two filters compare one variable with two constants by `=`, so that no row passes both.
fn exclusive(a: &Expression, b: &Expression) -> bool {
    let constant = |filter: &Expression| {
        let (left, op, right) = comparison(filter)?;
        let of = plain_variable(left).or_else(|| plain_variable(right))?;
        (op == Op::Eq && variables(filter).len() == 1).then(|| of.as_str().to_owned())
    };
    a != b && constant(a).is_some() && constant(a) == constant(b)
}

impl TableWriter<'_> {
    /// The rows that pass a filter on their own columns.
    pub(super) fn keep(&mut self, made: Bound, filter: &Expression) -> Result<Bound, Refusal> {
        if is_language_test(filter) {
            return self.passes(made, filter);
        }
        if let Some((left, op, right)) = comparison(filter) {
            if let Some((name, text)) =
                cased_equality(left, right).filter(|_| matches!(op, Op::Eq | Op::Ne))
            {
                let place = made.index(name).ok_or(Refusal::Filter)?;
                let text = Arg::Literal(Literal::plain(text));
                let kept = self.calls.filter(&made, place, Arg::Op(op), text)?;
                return self.exact(&made, kept, place, filter);
            }
            return self.compared(&made, filter, (left, op, right));
        }
        match filter {
            Expression::And(a, b) => {
                let made = self.keep(made, a)?;
                self.keep(made, b)
            }
            Expression::Or(a, b) => self.either(&made, a, b),
            Expression::In(of, list) => {
                let each = list.iter();
                let whole = each
                    .map(|value| compare(of.as_ref().clone(), Op::Eq, value.clone()))
                    .reduce(or)
                    .ok_or(Refusal::Filter)?;
                self.keep(made, &whole)
            }
            Expression::Not(inner) => {
                let opposite = negated(inner).ok_or(Refusal::Filter)?;
                self.keep(made, &opposite)
            }
            Expression::FunctionCall(function, arguments) => {
                self.text(&made, filter, function, arguments)
            }
            _ => Err(Refusal::Filter),
        }
    }

    /// A test that no tool expresses: every row must pass it on the graph.
    fn passes(&mut self, made: Bound, filter: &Expression) -> Result<Bound, Refusal> {
        let names = variables(filter);
        let name = names.iter().next().filter(|_| names.len() == 1);
        let place = name
            .and_then(|name| made.index(name))
            .ok_or(Refusal::Filter)?;
        let (Some(kg), Some(nodes)) = (self.calls.kg(), self.calls.nodes(&made, place)) else {
            return Ok(made);
        };
        let passing = passing(kg, nodes.iter().copied(), &[of_tail(filter)])?;
        if passing.len() == nodes.len() {
            Ok(made)
        } else {
            Err(Refusal::Filter)
        }
    }

    /// `a || b`: the rows that pass `a`, then those that pass only `b`.
    fn either(&mut self, made: &Bound, a: &Expression, b: &Expression) -> Result<Bound, Refusal> {
        let first = self.keep(made.clone(), a)?;
        let mut second = self.keep(made.clone(), b)?;
        if !exclusive(a, b) {
            let not = negated(a).ok_or(Refusal::Filter)?;
            second = self.keep(second, &not)?;
        }
        self.calls.append(&first, &second)
    }

    fn compared(
        &mut self,
        made: &Bound,
        filter: &Expression,
        (left, op, right): (&Expression, Op, &Expression),
    ) -> Result<Bound, Refusal> {
        let (name, op, other) = match (side_of(left)?, side_of(right)?) {
            (SideOf::Var(name), other) => (name, op, other),
            (other, SideOf::Var(name)) => (name, mirrored(op), other),
            _ => return Err(Refusal::Filter),
        };
        let place = made.index(&name).ok_or(Refusal::Filter)?;
        match other {
            SideOf::Var(other) => {
                let other = made.index(&other).ok_or(Refusal::VariableComparison)?;
                let other = made.column(other);
                self.calls.filter(made, place, Arg::Op(op), other)
            }
            SideOf::Constant(Term::Literal(literal)) => {
                let short = bare(&literal);
                let here = self.calls.snapshot();
                let kept = self
                    .calls
                    .filter(made, place, Arg::Op(op), Arg::Literal(short))?;
                if self.is_exact(made, &kept, place, filter)? {
                    return Ok(kept);
                }
                self.calls.restore(here);
                let kept = self
                    .calls
                    .filter(made, place, Arg::Op(op), Arg::Literal(literal))?;
                self.exact(made, kept, place, filter)
            }
            SideOf::Constant(term) => {
                if !matches!(op, Op::Eq | Op::Ne) {
                    return Err(Refusal::Filter);
                }
                let constant = self.calls.constant(&term)?;
                self.calls.filter(made, place, Arg::Op(op), constant)
            }
        }
    }

    /// A test of a text: CONTAINS, STRSTARTS, STRENDS, or REGEX with a plain text.
    fn text(
        &mut self,
        made: &Bound,
        filter: &Expression,
        function: &Function,
        arguments: &[Expression],
    ) -> Result<Bound, Refusal> {
        let name = arguments.first().and_then(cased_variable);
        let place = name.and_then(|name| made.index(name));
        let place = place.ok_or(Refusal::Filter)?;
        let (test, text) = self.text_test(function, arguments)?;
        let kept = self.calls.filter(made, place, test, text)?;
        self.exact(made, kept, place, filter)
    }

    /// The test and the text of a function on texts, as `where` takes them.
    pub(super) fn text_test(
        &self,
        function: &Function,
        arguments: &[Expression],
    ) -> Result<(Arg, Arg), Refusal> {
        let text = arguments.get(1).and_then(plain_text);
        let text = text.ok_or(Refusal::Filter)?;
        let (test, text) = match function {
            Function::Contains => (Arg::Text(TextTest::Contains), text),
            Function::StrStarts => (Arg::Text(TextTest::Starts), text),
            Function::StrEnds => (Arg::Text(TextTest::Ends), text),
            Function::Regex => {
                let (test, plain) = plain_part(&text).ok_or(Refusal::Filter)?;
                (test.map_or(Arg::Op(Op::Eq), Arg::Text), plain)
            }
            _ => return Err(Refusal::Filter),
        };
        Ok((test, Arg::Literal(Literal::plain(text))))
    }

    fn exact(
        &self,
        before: &Bound,
        kept: Bound,
        place: usize,
        filter: &Expression,
    ) -> Result<Bound, Refusal> {
        if self.is_exact(before, &kept, place, filter)? {
            Ok(kept)
        } else {
            Err(Refusal::ComparisonDiffers)
        }
    }

    /// Whether the rows that a call kept are those that the query's own test keeps.
    fn is_exact(
        &self,
        before: &Bound,
        kept: &Bound,
        place: usize,
        filter: &Expression,
    ) -> Result<bool, Refusal> {
        let (Some(kg), Some(nodes), Some(left)) = (
            self.calls.kg(),
            self.calls.nodes(before, place),
            self.calls.nodes(kept, place),
        ) else {
            return Ok(true);
        };
        let passing = passing(kg, nodes.into_iter(), &[of_tail(filter)])?;
        let passing: BTreeSet<NodeId> = passing.into_iter().collect();
        Ok(left.into_iter().eq(passing))
    }
}

/// The filter with the tail's variable in place of its variable.
fn of_tail(filter: &Expression) -> Expression {
    replace(filter, &mut |_| algebra::tail().into())
}

/// The text of a plain literal, without LCASE or UCASE around it.
fn plain_text(expression: &Expression) -> Option<String> {
    match expression {
        Expression::Literal(literal) => Some(literal.value().to_owned()),
        Expression::FunctionCall(Function::LCase | Function::UCase | Function::Str, inner) => {
            plain_text(inner.first()?)
        }
        _ => None,
    }
}

/// The variable inside LCASE, UCASE and STR.
fn cased_variable(expression: &Expression) -> Option<&str> {
    match expression {
        Expression::FunctionCall(Function::LCase | Function::UCase, inner) => {
            cased_variable(inner.first()?)
        }
        other => plain_variable(other).map(Variable::as_str),
    }
}

/// `LCASE(?x) = "text"`, either way round, with a text in that case: `where` compares texts without
/// case.
fn cased_equality<'e>(left: &'e Expression, right: &'e Expression) -> Option<(&'e str, String)> {
    let one = |cased: &'e Expression, other: &Expression| {
        let Expression::FunctionCall(function, _) = cased else {
            return None;
        };
        let text = plain_text(other)?;
        let same = match function {
            Function::LCase => text == text.to_lowercase(),
            Function::UCase => text == text.to_uppercase(),
            _ => false,
        };
        Some((cased_variable(cased).filter(|_| same)?, text))
    };
    one(left, right).or_else(|| one(right, left))
}

/// A regular expression that only looks for a text: the text, and where it must be (`None`: it is
/// the whole value).
fn plain_part(pattern: &str) -> Option<(Option<TextTest>, String)> {
    let starts = pattern.starts_with('^');
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let ends = inner.ends_with('$') && !inner.ends_with("\\$");
    let inner = if ends {
        &inner[..inner.len() - 1]
    } else {
        inner
    };
    let (mut starts, mut ends) = (starts, ends);
    let inner = inner.strip_prefix(".*").map_or(inner, |rest| {
        starts = false;
        rest
    });
    let inner = inner.strip_suffix(".*").map_or(inner, |rest| {
        ends = false;
        rest
    });
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| !c.is_alphanumeric())?),
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                return None;
            }
            c => text.push(c),
        }
    }
    let test = match (starts, ends) {
        (false, false) => Some(TextTest::Contains),
        (true, false) => Some(TextTest::Starts),
        (false, true) => Some(TextTest::Ends),
        (true, true) => None,
    };
    (!text.is_empty()).then_some((test, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_expression_that_is_a_plain_text_is_read() {
        let contains = Some(TextTest::Contains);
        for (pattern, wanted) in [
            ("abc", Some((contains, "abc"))),
            ("^abc", Some((Some(TextTest::Starts), "abc"))),
            ("abc$", Some((Some(TextTest::Ends), "abc"))),
            ("^a\\.c$", Some((None, "a.c"))),
            ("^.*abc.*$", Some((contains, "abc"))),
            ("a|b", None),
            ("a.c", None),
            ("\\d", None),
            ("", None),
        ] {
            let found = plain_part(pattern);
            let found = found.as_ref().map(|(test, text)| (*test, text.as_str()));
            assert_eq!(found, wanted, "{pattern}");
        }
    }
}
