//! From filter expressions to annotations: comparisons, inequalities, value lists, the halves of
//! the from/to pattern. Language tests do not affect the structure of the query graph and are
//! stored separately.

use kg::spargebra::algebra::{Expression, Function, GraphPattern};
use kg::spargebra::term::{NamedNodePattern, TermPattern};
use kg::term::{Literal, Term};
use kg::term_literal;
use kg::value::Op;

use super::algebra::{self, replace, variable};
use super::operand::{Operand, operand};
use super::query_graph::{
    Comparison, GraphNode, IntervalBound, PatternGroup, Var, VariableComparison,
};
use super::reader::PatternReader;
use crate::refusal::Refusal;

impl PatternReader<'_> {
    /// Adds a filter to a group.
    pub(super) fn filter(
        &mut self,
        expression: &Expression,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        if is_language_test(expression) {
            let test = self.numbered(expression);
            group.tests.push(test);
            return Ok(());
        }
        if let Some((left, op, right)) = comparison(expression) {
            return self.compare(left, op, right, group);
        }
        match expression {
            Expression::And(left, right) => {
                self.filter(left, group)?;
                self.filter(right, group)
            }
            Expression::Or(left, right) => self.or(expression, left, right, group),
            Expression::Not(inner) => self.not(inner, group),
            Expression::In(left, values) => {
                let terms = values.iter().map(constant).collect::<Result<Vec<_>, _>>()?;
                if terms.iter().all(|term| matches!(term, Term::Iri(_))) {
                    let var = self.plain_variable(left)?;
                    group.values.push((var, terms));
                    return Ok(());
                }
                let equal = values
                    .iter()
                    .map(|value| Expression::Equal(left.clone(), Box::new(value.clone())));
                self.choice(&equal.collect::<Vec<_>>(), group)
            }
            Expression::Bound(variable) => {
                let var = self.var(variable.as_str());
                if group.optional.contains(&var) {
                    Err(Refusal::OptionalAnswer)
                } else if !group.mentions(var) {
                    // Nothing binds it, so no row passes.
                    Err(Refusal::Filter)
                } else {
                    Ok(())
                }
            }
            Expression::FunctionCall(Function::Regex, arguments) => {
                self.begins_with_year(expression, arguments, group)
            }
            // A positive EXISTS keeps the solutions that join with the pattern. For sets this is
            // the join itself.
            Expression::Exists(pattern) => self.pattern(pattern, group),
            _ => Err(Refusal::Filter),
        }
    }

    /// `regex(?date, "^1950")`: the dates of a year, like a comparison with the year (rule R10).
    /// The graph shows whether the attribute's values are dates.
    fn begins_with_year(
        &mut self,
        whole: &Expression,
        arguments: &[Expression],
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        let [of, Expression::Literal(pattern)] = arguments else {
            return Err(Refusal::Filter);
        };
        let year = pattern
            .value()
            .strip_prefix('^')
            .map(|rest| rest.strip_suffix('-').unwrap_or(rest));
        let year = year
            .filter(|year| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()))
            .ok_or(Refusal::Filter)?;
        let Operand::Var(variable) = operand(of)? else {
            return Err(Refusal::Filter);
        };
        let var = self.var(variable.as_str());
        let test = self.numbered(whole);
        group.comparisons.push(Comparison {
            var,
            op: Op::Eq,
            value: Literal::xsd(year, "gYear"),
            test,
        });
        Ok(())
    }

    fn plain_variable(&mut self, expression: &Expression) -> Result<Var, Refusal> {
        match operand(expression)? {
            Operand::Var(variable) => Ok(self.var(variable.as_str())),
            _ => Err(Refusal::Filter),
        }
    }

    fn not(&mut self, inner: &Expression, group: &mut PatternGroup) -> Result<(), Refusal> {
        match inner {
            Expression::Equal(left, right) | Expression::SameTerm(left, right) => {
                self.compare(left, Op::Ne, right, group)
            }
            Expression::Or(left, right) => {
                self.not(left, group)?;
                self.not(right, group)
            }
            Expression::Not(inner) => self.filter(inner, group),
            Expression::In(left, values) => values
                .iter()
                .try_for_each(|value| self.compare(left, Op::Ne, value, group)),
            Expression::Exists(_) | Expression::Bound(_) => Err(Refusal::Minus),
            _ => Err(Refusal::Filter),
        }
    }

    /// A disjunction: half of the from/to pattern, or several values of one variable.
    fn or(
        &mut self,
        whole: &Expression,
        left: &Expression,
        right: &Expression,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        let bound = match (left, right) {
            (Expression::Not(absent), Expression::Exists(present))
            | (Expression::Exists(present), Expression::Not(absent)) => match absent.as_ref() {
                Expression::Exists(absent) => self.interval_bound(absent, present),
                _ => None,
            },
            _ => None,
        };
        if let Some(bound) = bound {
            group.bounds.push(bound);
            return Ok(());
        }
        match self.entities(whole) {
            Some(values) => {
                group.values.push(values);
                Ok(())
            }
            None => {
                let mut either = Vec::new();
                disjuncts(whole, &mut either);
                self.choice(&either, group)
            }
        }
    }

    /// `?x = <a> || ?x = <b>`: a variable with the entities that it may equal.
    fn entities(&mut self, whole: &Expression) -> Option<(Var, Vec<Term>)> {
        let mut equal = Vec::new();
        if !equalities(whole, &mut equal) {
            return None;
        }
        let mut values: Option<(Var, Vec<Term>)> = None;
        for (left, right) in equal {
            let (variable, value) = if constant(right).is_ok() {
                (left, right)
            } else {
                (right, left)
            };
            let (var, term) = (self.plain_variable(variable).ok()?, constant(value).ok()?);
            match &mut values {
                _ if !matches!(term, Term::Iri(_)) => return None,
                Some((known, terms)) if *known == var => terms.push(term),
                Some(_) => return None,
                None => values = Some((var, vec![term])),
            }
        }
        values
    }

    /// A disjunction of comparisons: the union of the solutions of each filter.
    fn choice(&mut self, either: &[Expression], group: &mut PatternGroup) -> Result<(), Refusal> {
        let mut branches = Vec::new();
        for expression in either {
            let mut branch = PatternGroup::default();
            self.filter(expression, &mut branch)?;
            let plain = PatternGroup {
                comparisons: branch.comparisons.clone(),
                values: branch.values.clone(),
                ..PatternGroup::default()
            };
            // A branch with anything but comparisons and values cannot be evaluated separately.
            if branch != plain {
                return Err(Refusal::Filter);
            }
            branches.push(branch);
        }
        group.unions.push(branches);
        Ok(())
    }

    /// The expression over numbered variables.
    pub(super) fn numbered(&mut self, expression: &Expression) -> Expression {
        replace(expression, &mut |old| {
            variable(self.var(old.as_str())).into()
        })
    }

    /// `NOT EXISTS {?y r ?a} || EXISTS {?y r ?b . FILTER(?b op date)}`.
    fn interval_bound(
        &mut self,
        absent: &GraphPattern,
        present: &GraphPattern,
    ) -> Option<IntervalBound> {
        let (node, relation, _) = single(absent)?;
        let GraphPattern::Filter { expr, inner } = present else {
            return None;
        };
        let (other_node, other_relation, tail) = single(inner)?;
        if node != other_node || relation != other_relation {
            return None;
        }
        let (left, op, right) =
            comparison(expr).filter(|(_, op, _)| !matches!(op, Op::Eq | Op::Ne))?;
        let (op, value) = match (operand(left).ok()?, operand(right).ok()?) {
            (Operand::Var(variable), Operand::Literal(value)) if variable.as_str() == tail => {
                (op, value)
            }
            (Operand::Literal(value), Operand::Var(variable)) if variable.as_str() == tail => {
                (mirrored(op), value)
            }
            _ => return None,
        };
        let node = match node {
            TermPattern::Variable(variable) => GraphNode::Var(self.var(variable.as_str())),
            TermPattern::NamedNode(iri) => GraphNode::Entity(iri.as_str().to_owned()),
            _ => return None,
        };
        let test = replace(expr, &mut |_| algebra::tail().into());
        Some(IntervalBound {
            node,
            relation: relation.to_owned(),
            op,
            value,
            test,
        })
    }

    fn compare(
        &mut self,
        left: &Expression,
        op: Op,
        right: &Expression,
        group: &mut PatternGroup,
    ) -> Result<(), Refusal> {
        let (left, right) = (self.expanded(left), self.expanded(right));
        let test = crate::algebra::compare(left.clone(), op, right.clone());
        let (left, op, right) = match (operand(&left)?, operand(&right)?) {
            (
                a @ (Operand::Iri(_) | Operand::Literal(_)),
                b @ (Operand::Var(_) | Operand::Year(_)),
            ) => (b, mirrored(op), a),
            (a, b) => (a, op, b),
        };
        match (left, right) {
            (Operand::Var(variable), Operand::Iri(iri)) => {
                let var = self.var(variable.as_str());
                match op {
                    Op::Eq => group.values.push((var, vec![Term::Iri(iri)])),
                    Op::Ne => group.differ.push((var, Term::Iri(iri))),
                    _ => return Err(Refusal::Filter),
                }
            }
            // A year contains its dates (rule R10), so YEAR(?d) compares like ?d with the year.
            (Operand::Var(variable) | Operand::Year(variable), Operand::Literal(value)) => {
                let var = self.var(variable.as_str());
                let test = self.numbered(&test);
                group.comparisons.push(Comparison {
                    var,
                    op,
                    value,
                    test,
                });
            }
            (Operand::Var(a), Operand::Var(b)) => {
                let (left, right) = (self.var(a.as_str()), self.var(b.as_str()));
                match op {
                    Op::Eq => {
                        self.aliases.push((left, right));
                        group.same.push((left, right));
                    }
                    Op::Ne => group.unequal.push((left, right)),
                    _ => {
                        let test = self.numbered(&test);
                        group.ordered.push(VariableComparison {
                            left,
                            op,
                            right,
                            test,
                        });
                    }
                }
            }
            _ => return Err(Refusal::Filter),
        }
        Ok(())
    }

    /// Replaces a variable by the expression of its `BIND(expression AS ?x)`.
    fn expanded(&mut self, expression: &Expression) -> Expression {
        match expression {
            Expression::Variable(variable) => {
                let var = self.var(variable.as_str());
                self.derived
                    .get(&var)
                    .cloned()
                    .unwrap_or_else(|| expression.clone())
            }
            other => other.clone(),
        }
    }
}

/// `a op b` with the sides swapped.
pub(crate) fn mirrored(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        Op::Eq | Op::Ne => op,
    }
}

/// A comparison of two expressions; `?x IN (?y)` is one.
pub(crate) fn comparison(filter: &Expression) -> Option<(&Expression, Op, &Expression)> {
    match filter {
        Expression::Equal(a, b) | Expression::SameTerm(a, b) => Some((a, Op::Eq, b)),
        Expression::Less(a, b) => Some((a, Op::Lt, b)),
        Expression::LessOrEqual(a, b) => Some((a, Op::Le, b)),
        Expression::Greater(a, b) => Some((a, Op::Gt, b)),
        Expression::GreaterOrEqual(a, b) => Some((a, Op::Ge, b)),
        Expression::In(a, list) => match &list[..] {
            [only] => Some((a, Op::Eq, only)),
            _ => None,
        },
        Expression::Not(inner) => match inner.as_ref() {
            Expression::Equal(a, b) | Expression::SameTerm(a, b) => Some((a, Op::Ne, b)),
            _ => None,
        },
        _ => None,
    }
}

/// The sides of `a || b || …`.
fn disjuncts(expression: &Expression, into: &mut Vec<Expression>) {
    match expression {
        Expression::Or(left, right) => {
            disjuncts(left, into);
            disjuncts(right, into);
        }
        other => into.push(other.clone()),
    }
}

/// The one triple of a pattern: subject, relation, name of the object's variable.
fn single(pattern: &GraphPattern) -> Option<(&TermPattern, &str, &str)> {
    let GraphPattern::Bgp { patterns } = pattern else {
        return None;
    };
    match patterns.as_slice() {
        [triple] => match (&triple.predicate, &triple.object) {
            (NamedNodePattern::NamedNode(relation), TermPattern::Variable(object)) => {
                Some((&triple.subject, relation.as_str(), object.as_str()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn constant(expression: &Expression) -> Result<Term, Refusal> {
    match operand(expression)? {
        Operand::Iri(iri) => Ok(Term::Iri(iri)),
        Operand::Literal(literal) => Ok(Term::Literal(literal)),
        Operand::Var(_) | Operand::Year(_) => Err(Refusal::Filter),
    }
}

/// The sides of `a = b || c = d || …`.
fn equalities<'e>(
    expression: &'e Expression,
    into: &mut Vec<(&'e Expression, &'e Expression)>,
) -> bool {
    match expression {
        Expression::Or(left, right) => equalities(left, into) && equalities(right, into),
        Expression::Equal(left, right) | Expression::SameTerm(left, right) => {
            into.push((left, right));
            true
        }
        _ => false,
    }
}

/// Whether an expression only tests languages, or whether values are literals or IRIs.
pub(crate) fn is_language_test(expression: &Expression) -> bool {
    let of_variable = |arguments: &[Expression]| {
        arguments
            .first()
            .is_some_and(|first| matches!(operand(first), Ok(Operand::Var(_))))
    };
    match expression {
        Expression::And(left, right) | Expression::Or(left, right) => {
            is_language_test(left) && is_language_test(right)
        }
        Expression::Not(inner) => is_language_test(inner),
        Expression::Equal(left, right) => {
            is_lang(left) && is_text(right) || is_text(left) && is_lang(right)
        }
        Expression::In(left, values) => is_lang(left) && values.iter().all(is_text),
        Expression::FunctionCall(Function::LangMatches, arguments) => {
            arguments.first().is_some_and(is_lang)
        }
        Expression::FunctionCall(Function::IsLiteral | Function::IsIri, arguments) => {
            of_variable(arguments)
        }
        _ => false,
    }
}

fn is_lang(expression: &Expression) -> bool {
    matches!(expression, Expression::FunctionCall(Function::Lang, _))
}

fn is_text(expression: &Expression) -> bool {
    matches!(expression, Expression::Literal(literal) if term_literal(literal) == Literal::plain(literal.value()))
}
