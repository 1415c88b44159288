//! The operators around a group of triples: grouping, order, limits, projection, and the answer.

use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, GraphPattern, OrderExpression,
};
use kg::spargebra::term::Variable;
use toolbox::call::{Aggregate, Arg, Field, Tool};

use super::body::{Wanted, is_arithmetic, variables};
use super::calls::{Bound, BoundForm};
use super::{TableWriter, visible};
use crate::graph::plain_variable;
use crate::refusal::Refusal;

impl TableWriter<'_> {
    /// Writes the whole program of a SELECT.
    pub(super) fn answer(&mut self, pattern: &GraphPattern) -> Result<(), Refusal> {
        let names = visible(pattern);
        let made = self.relation(pattern, &names.iter().cloned().collect())?;
        let result = self.result(&made, &names)?;
        self.calls.emit(Tool::End, vec![result])?;
        Ok(())
    }

    /// What `end` names: a number, a set if one column of nodes is asked for in no order, else a
    /// table with the columns of the query.
    fn result(&mut self, made: &Bound, names: &[String]) -> Result<Arg, Refusal> {
        if made.form == BoundForm::Number {
            return Ok(made.arg.clone());
        }
        let places = places(made, names)?;
        let limited = made.sorted;
        if let [only] = places[..]
            && !limited
            && (made.form == BoundForm::Set || self.holds_nodes(made, only))
        {
            return Ok(made.column(only));
        }
        if made.distinct {
            return Ok(self.distinct(made, names)?.arg);
        }
        let same = places.len() == made.columns.len() && places.iter().copied().eq(0..places.len());
        if same && made.form == BoundForm::Table {
            return Ok(made.arg.clone());
        }
        Ok(self.project(made, names)?.arg)
    }

    /// Whether a column holds nodes of the graph: every column of a table does until rows are
    /// grouped.
    fn holds_nodes(&self, made: &Bound, column: usize) -> bool {
        match self.calls.kg() {
            Some(_) => self.calls.nodes(made, column).is_some(),
            None => !made.columns[column].iter().any(|name| is_hidden(name)),
        }
    }

    fn project(&mut self, made: &Bound, names: &[String]) -> Result<Bound, Refusal> {
        let places = places(made, names)?;
        let fields: Vec<(Field, Vec<String>)> = places
            .iter()
            .zip(names)
            .map(|(&place, name)| (key(place), vec![name.clone()]))
            .collect();
        self.calls.regroup(made, Tool::Columns, &fields)
    }

    /// The different rows of some columns.
    pub(super) fn distinct(&mut self, made: &Bound, names: &[String]) -> Result<Bound, Refusal> {
        let mut fields: Vec<(Field, Vec<String>)> = Vec::new();
        for (place, name) in places(made, names)?.into_iter().zip(names) {
            fields.push((key(place), vec![name.clone()]));
        }
        self.calls.regroup(made, Tool::Group, &fields)
    }

    /// Follows one operator of the algebra.
    pub(super) fn relation(
        &mut self,
        pattern: &GraphPattern,
        wanted: &Wanted,
    ) -> Result<Bound, Refusal> {
        match pattern {
            GraphPattern::Project { inner, variables } => {
                let names: Vec<String> = variables.iter().map(name).collect();
                self.relation(inner, &names.iter().cloned().collect())
            }
            GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
                let mut made = self.relation(inner, wanted)?;
                made.distinct = true;
                Ok(made)
            }
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                let mut made = self.relation(inner, wanted)?;
                let length = match (length, *start) {
                    (Some(length), _) => length,
                    (None, 0) => return Ok(made),
                    (None, _) => return Err(Refusal::Offset),
                };
                if made.form == BoundForm::Number && *start > 0 {
                    return Err(Refusal::Offset);
                }
                if made.form == BoundForm::Number {
                    return Ok(made);
                }
                if made.distinct {
                    made = self.distinct(&made, &visible(inner))?;
                }
                if !made.sorted {
                    // LIMIT without an order does not say which rows come first; the tool would
                    // keep those with the lowest ids.
                    return Err(Refusal::Limit);
                }
                self.calls.first(&made, *length, *start)
            }
            GraphPattern::OrderBy { inner, expression } => self.ordered(inner, expression, wanted),
            GraphPattern::Extend {
                inner,
                variable,
                expression: Expression::Variable(renamed),
            } => {
                let mut wanted = wanted.clone();
                wanted.remove(variable.as_str());
                wanted.insert(name(renamed));
                let mut made = self.relation(inner, &wanted)?;
                let place = made.index(renamed.as_str()).ok_or(Refusal::Unsupported)?;
                made.columns[place].push(name(variable));
                Ok(made)
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression: Expression::If(test, then, other),
            } => self.chosen(inner, variable, test, [then, other]),
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } if is_grouped(inner) && is_arithmetic(expression) => {
                let mut wanted = wanted.clone();
                wanted.remove(variable.as_str());
                wanted.extend(variables(expression));
                let made = self.relation(inner, &wanted)?;
                self.arithmetic(made, expression, variable.as_str(), &[])
            }
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => self.grouped(inner, variables, aggregates),
            GraphPattern::Filter { expr, inner } if is_grouped(inner) => {
                let mut wanted = wanted.clone();
                let mut used = Vec::new();
                crate::algebra::replace(expr, &mut |variable| {
                    used.push(name(variable));
                    variable.clone().into()
                });
                wanted.extend(used);
                let made = self.relation(inner, &wanted)?;
                self.keep(made, expr)
            }
            GraphPattern::Union { left, right } => self.united(left, right, wanted),
            other => self.body(other, wanted, None),
        }
    }

    fn ordered(
        &mut self,
        inner: &GraphPattern,
        keys: &[OrderExpression],
        wanted: &Wanted,
    ) -> Result<Bound, Refusal> {
        let mut inside = wanted.clone();
        let mut order = Vec::new();
        for key in keys {
            let (expression, descending) = match key {
                OrderExpression::Asc(expression) => (expression, false),
                OrderExpression::Desc(expression) => (expression, true),
            };
            let variable = plain_variable(expression).ok_or(Refusal::OrderBy)?;
            inside.insert(name(variable));
            order.push((name(variable), descending));
        }
        let made = self.relation(inner, &inside)?;
        if made.form == BoundForm::Number {
            return Ok(made);
        }
        let mut fields = Vec::new();
        for (name, descending) in order {
            let place = made.index(&name).ok_or(Refusal::OrderBy)?;
            let place = u32::try_from(place).map_err(|_| Refusal::TooLong)?;
            fields.push(if descending {
                Field::Descending(place)
            } else {
                Field::Ascending(place)
            });
        }
        self.calls.sort(&made, &fields)
    }

    fn grouped(
        &mut self,
        inner: &GraphPattern,
        variables: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
    ) -> Result<Bound, Refusal> {
        let mut wanted: Wanted = variables.iter().map(name).collect();
        let mut of = Vec::new();
        for (output, aggregate) in aggregates {
            let (kind, input) = aggregated(aggregate)?;
            wanted.extend(input.clone());
            of.push((name(output), kind, input));
        }
        let mut made = self.relation(inner, &wanted)?;
        if made.distinct {
            made = self.distinct(&made, &visible(inner))?;
        }
        if made.form == BoundForm::Number {
            return Err(Refusal::Aggregate);
        }
        // Counting everything is the `count` tool.
        let may_be_empty = |made: &Bound, input: &Option<String>| {
            let place = input.as_ref().and_then(|input| made.index(input));
            place.is_some_and(|place| made.columns[place].iter().any(|name| is_optional(name)))
        };
        if let ([], [(output, kind, input)]) = (variables, &of[..])
            && !may_be_empty(&made, input)
        {
            let counted = match (kind, input) {
                (None, _) => Some(made.arg.clone()),
                (Some(Aggregate::Distinct), Some(input)) => {
                    let place = made.index(input).ok_or(Refusal::Aggregate)?;
                    Some(made.column(place)).filter(|_| self.holds_nodes(&made, place))
                }
                _ => None,
            };
            if let Some(counted) = counted {
                let arg = self.calls.emit(Tool::Count, vec![counted])?;
                return Ok(Bound {
                    form: BoundForm::Number,
                    ..Bound::set(arg, output)
                });
            }
        }
        let mut fields: Vec<(Field, Vec<String>)> = Vec::new();
        for variable in variables {
            let place = made.index(variable.as_str()).ok_or(Refusal::GroupBy)?;
            if let Some((_, names)) = fields.iter_mut().find(|(field, _)| *field == key(place)) {
                names.push(name(variable));
            } else {
                fields.push((key(place), made.columns[place].clone()));
            }
        }
        for (output, kind, input) in of {
            let field = match (kind, input) {
                (None, Some(input)) if may_be_empty(&made, &Some(input.clone())) => {
                    let place = made.index(&input).ok_or(Refusal::Aggregate)?;
                    let keys: Vec<usize> = (fields.iter())
                        .filter_map(|(field, _)| match field {
                            Field::Key(column) => usize::try_from(*column).ok(),
                            _ => None,
                        })
                        .collect();
                    // COUNT leaves out empty cells, as the number of different values does.
                    if !self.calls.differ(&made, &keys, place) {
                        return Err(Refusal::Aggregate);
                    }
                    Field::Of(
                        Aggregate::Distinct,
                        u32::try_from(place).map_err(|_| Refusal::TooLong)?,
                    )
                }
                (Some(aggregate), input)
                    if aggregate != Aggregate::Distinct && may_be_empty(&made, &input) =>
                {
                    return Err(Refusal::Aggregate);
                }
                (Some(aggregate), Some(input)) => {
                    let place = made.index(&input).ok_or(Refusal::Aggregate)?;
                    let extreme = matches!(aggregate, Aggregate::Min | Aggregate::Max);
                    if extreme && !self.calls.of_one_kind(&made, place) {
                        return Err(Refusal::ComparisonDiffers);
                    }
                    let place = u32::try_from(place).map_err(|_| Refusal::TooLong)?;
                    Field::Of(aggregate, place)
                }
                _ => Field::Count,
            };
            fields.push((field, vec![hidden(&output), output]));
        }
        if fields.is_empty() {
            return Err(Refusal::GroupBy);
        }
        made.sorted = false;
        self.calls.regroup(&made, Tool::Group, &fields)
    }

    /// The rows of two patterns, with the columns of the first.
    fn united(
        &mut self,
        left: &GraphPattern,
        right: &GraphPattern,
        wanted: &Wanted,
    ) -> Result<Bound, Refusal> {
        // Rows that are only counted keep the columns that both sides have.
        let mut wanted = wanted.clone();
        if wanted.is_empty() {
            let both = visible(right);
            wanted.extend(visible(left).into_iter().filter(|name| both.contains(name)));
        }
        if wanted.is_empty() {
            return Err(Refusal::Unsupported);
        }
        let names: Vec<String> = wanted.iter().cloned().collect();
        let mut sides = Vec::new();
        for side in [left, right] {
            let made = self.relation(side, &wanted)?;
            if made.form == BoundForm::Number {
                return Err(Refusal::Aggregate);
            }
            // The union of two sets is a set, while SPARQL repeats the members that are in both.
            let made = match made.form {
                BoundForm::Set => self.as_table(&made)?,
                _ if made.distinct => self.distinct(&made, &names)?,
                _ => self.project(&made, &names)?,
            };
            sides.push(made);
        }
        let [first, second] = &sides[..] else {
            return Err(Refusal::Unsupported);
        };
        self.calls.append(first, second)
    }

    /// A set as a table of one column.
    fn as_table(&mut self, set: &Bound) -> Result<Bound, Refusal> {
        let fields = [(key(0), set.columns[0].clone())];
        self.calls.regroup(set, Tool::Columns, &fields)
    }
}

pub(super) fn key(place: usize) -> Field {
    Field::Key(u32::try_from(place).unwrap_or(u32::MAX))
}

fn name(variable: &Variable) -> String {
    variable.as_str().to_owned()
}

/// Marks a column as computed, for conversion without a graph, which cannot look at its values.
pub(super) fn hidden(name: &str) -> String {
    format!("={name}")
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('=')
}

/// Marks a column as one with empty cells.
pub(super) fn optional(name: &str) -> String {
    format!("?{name}")
}

pub(super) fn is_optional(name: &str) -> bool {
    name.starts_with('?')
}

/// The columns of some variables.
fn places(made: &Bound, names: &[String]) -> Result<Vec<usize>, Refusal> {
    let place = |name: &String| made.index(name).ok_or(Refusal::OptionalAnswer);
    names.iter().map(place).collect()
}

/// Whether a filter around a pattern is a HAVING.
fn is_grouped(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Group { .. } => true,
        GraphPattern::Filter { inner, .. } | GraphPattern::Extend { inner, .. } => {
            is_grouped(inner)
        }
        _ => false,
    }
}

/// What an aggregate computes, and from which variable; `None` counts rows.
fn aggregated(
    aggregate: &AggregateExpression,
) -> Result<(Option<Aggregate>, Option<String>), Refusal> {
    match aggregate {
        AggregateExpression::CountSolutions { distinct: false } => Ok((None, None)),
        AggregateExpression::FunctionCall {
            name: function,
            expr,
            distinct,
        } => {
            let Expression::Variable(input) = expr else {
                return Err(Refusal::Aggregate);
            };
            let kind = match function {
                AggregateFunction::Count if *distinct => Some(Aggregate::Distinct),
                AggregateFunction::Count => None,
                AggregateFunction::Min => Some(Aggregate::Min),
                AggregateFunction::Max => Some(Aggregate::Max),
                AggregateFunction::Sum if !distinct => Some(Aggregate::Sum),
                AggregateFunction::Avg if !distinct => Some(Aggregate::Average),
                _ => return Err(Refusal::Aggregate),
            };
            Ok((kind, Some(name(input))))
        }
        AggregateExpression::CountSolutions { distinct: true } => Err(Refusal::Aggregate),
    }
}
