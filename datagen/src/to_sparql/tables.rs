//! Tables of a program as graph patterns: one solution per row, one variable per column (rules D).

use kg::spargebra::Query;
use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, Function, GraphPattern,
    PropertyPathExpression,
};
use kg::spargebra::term::{NamedNode, Variable};
use kg::term::{Literal, NodeId, Term};
use kg::value::normalise;
use kg::{QueryAnswer, QueryLimits};
use toolbox::call::{Aggregate, Arg, Call, Field, Repeat, TextTest, Tool};
use toolbox::exec::{Cell, Table, Value};

use super::columns::{Rows, cut, sorted};
use super::error::Inexpressible;
use super::spelling::folded;
use super::writer::{QueryWriter, WalkedRelation};
use crate::algebra::{aggregate_call, compare, distinct_values, exists, project, select, union};
use crate::graph::algebra;

impl QueryWriter<'_> {
    /// The query whose rows are those of a table, checked on the graph.
    pub(super) fn table_query(&mut self, index: u32) -> Result<Query, Inexpressible> {
        let (call, value) = self.call(index)?;
        let Value::Table(table) = value else {
            return Err(Inexpressible::Argument(call.to_string()));
        };
        let rows = self.rows(&Arg::Var(index))?;
        let query = select(project(rows.pattern, rows.columns));
        if self.gives(&query, &table) {
            Ok(query)
        } else {
            Err(Inexpressible::Comparison(call.to_string()))
        }
    }

    /// Whether a query gives the rows of a table.
    fn gives(&self, query: &Query, table: &Table) -> bool {
        let rows: Vec<Vec<Cell>> = table.rows().map(<[Cell]>::to_vec).collect();
        self.has_rows(query, &rows)
    }

    /// Whether a query gives these rows, in any order.
    fn has_rows(&self, query: &Query, expected: &[Vec<Cell>]) -> bool {
        let Ok(QueryAnswer::Rows { rows, .. }) = self.kg.query(query, QueryLimits::default())
        else {
            return false;
        };
        let mut rows: Vec<Vec<Option<Term>>> = rows;
        let mut expected: Vec<Vec<Option<Term>>> = expected
            .iter()
            .map(|row| row.iter().map(|cell| cell.value(self.kg)).collect())
            .collect();
        rows.sort_unstable();
        expected.sort_unstable();
        rows == expected
    }

    /// The values of one column of a table, as those of a variable.
    pub(super) fn column(
        &mut self,
        index: u32,
        column: u32,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let rows = self.rows(&Arg::Var(index))?;
        let name = || Inexpressible::Argument(format!("v{index}.k{column}"));
        let from = rows.columns.get(column as usize).ok_or_else(name)?;
        Ok(distinct_values(
            renamed(rows.pattern, from, out),
            out.clone(),
        ))
    }

    /// The number of rows of a table, as the only solution.
    pub(super) fn counted_rows(
        &mut self,
        arg: &Arg,
    ) -> Result<(GraphPattern, Variable), Inexpressible> {
        let rows = self.rows(arg)?;
        let count = self.fresh();
        let pattern = GraphPattern::Group {
            inner: Box::new(rows.pattern),
            variables: Vec::new(),
            aggregates: vec![(
                count.clone(),
                AggregateExpression::CountSolutions { distinct: false },
            )],
        };
        Ok((pattern, count))
    }

    /// The rows of a table or set argument.
    pub(super) fn rows(&mut self, arg: &Arg) -> Result<Rows, Inexpressible> {
        if let Arg::Var(index) = arg {
            let (call, value) = self.call(*index)?;
            match value {
                Value::Table(table) => return self.made(&call, &table),
                Value::Int(_) => {
                    let (pattern, count) = self.count_of(&call)?;
                    let columns = vec![count];
                    return Ok(Rows {
                        pattern: project(pattern, columns.clone()),
                        columns,
                    });
                }
                Value::Set(_) | Value::Bool(_) => {}
            }
        }
        let out = self.fresh();
        let pattern = distinct_values(self.set(arg, &out)?, out.clone());
        Ok(Rows {
            pattern,
            columns: vec![out],
        })
    }

    /// The rows and the column of an argument such as `v1.k0`.
    fn rows_at(&mut self, arg: &Arg) -> Result<(Rows, usize), Inexpressible> {
        match arg {
            Arg::Column(index, column) => Ok((self.rows(&Arg::Var(*index))?, *column as usize)),
            other => Ok((self.rows(other)?, 0)),
        }
    }

    fn made(&mut self, call: &Call, table: &Table) -> Result<Rows, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let first = call.args.first().ok_or_else(invalid)?;
        match call.tool {
            Tool::Extend => {
                let walk = self.walk(call)?;
                let (mut rows, column) = self.rows_at(first)?;
                let from = rows.columns.get(column).ok_or_else(invalid)?.clone();
                let value = self.fresh();
                let repeat = call.args.get(1).and_then(Arg::repeat);
                let edge = match repeat {
                    None | Some(Repeat::Maybe) => {
                        algebra::along(from.into(), &walk.step(), value.clone().into())
                    }
                    Some(repeat) => repeated(repeat, walk, from, value.clone()),
                };
                rows.pattern = match repeat {
                    Some(Repeat::Maybe) => GraphPattern::LeftJoin {
                        left: Box::new(rows.pattern),
                        right: Box::new(edge),
                        expression: None,
                    },
                    _ => algebra::join(rows.pattern, edge),
                };
                rows.columns.push(value);
                Ok(rows)
            }
            Tool::Where => {
                let (rows, column) = self.rows_at(first)?;
                self.kept_rows(call, rows, column, table)
            }
            Tool::Compute => {
                let (rows, column) = self.rows_at(first)?;
                self.computed(call, rows, column)
            }
            Tool::Group => {
                let rows = self.rows(first)?;
                self.grouped(call, &rows)
            }
            Tool::Columns => {
                let rows = self.rows(first)?;
                self.chosen_columns(call, rows)
            }
            Tool::Sort => sorted(call, self.rows(first)?),
            Tool::First => cut(call, self.rows(first)?),
            Tool::Union => self.appended(call, table.columns().len()),
            _ => Err(Inexpressible::Words(call.to_string())),
        }
    }

    /// The rows of several tables under the same variables.
    fn appended(&mut self, call: &Call, width: usize) -> Result<Rows, Inexpressible> {
        let columns: Vec<Variable> = (0..width).map(|_| self.fresh()).collect();
        let mut sides = Vec::new();
        for arg in &call.args {
            let rows = self.rows(arg)?;
            let pairs = rows.columns.iter().zip(&columns);
            let pattern = pairs.fold(rows.pattern, |pattern, (from, to)| {
                renamed(pattern, from, to)
            });
            sides.push(project(pattern, columns.clone()));
        }
        Ok(Rows {
            pattern: union(sides),
            columns,
        })
    }

    fn grouped(&mut self, call: &Call, rows: &Rows) -> Result<Rows, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let of = |column: u32| {
            rows.columns
                .get(column as usize)
                .cloned()
                .ok_or_else(invalid)
        };
        let (mut variables, mut aggregates, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for arg in call.args.iter().skip(1) {
            let Arg::Field(field) = arg else {
                return Err(invalid());
            };
            let aggregate = match field {
                Field::Key(column) => {
                    let variable = of(*column)?;
                    columns.push(variable.clone());
                    if !variables.contains(&variable) {
                        variables.push(variable);
                    }
                    continue;
                }
                Field::Count => AggregateExpression::CountSolutions { distinct: false },
                Field::Of(aggregate, column) => {
                    let (function, distinct) = match aggregate {
                        Aggregate::Distinct => (AggregateFunction::Count, true),
                        Aggregate::Sum => (AggregateFunction::Sum, false),
                        Aggregate::Average => (AggregateFunction::Avg, false),
                        Aggregate::Min => (AggregateFunction::Min, false),
                        Aggregate::Max => (AggregateFunction::Max, false),
                    };
                    aggregate_call(function, of(*column)?.into(), distinct)
                }
                _ => return Err(invalid()),
            };
            let output = self.fresh();
            aggregates.push((output.clone(), aggregate));
            columns.push(output);
        }
        let group = GraphPattern::Group {
            inner: Box::new(project(rows.pattern.clone(), rows.columns.clone())),
            variables,
            aggregates,
        };
        Ok(Rows {
            pattern: project(group, columns.clone()),
            columns,
        })
    }

    /// The rows of `where`; `table` is its result.
    fn kept_rows(
        &mut self,
        call: &Call,
        rows: Rows,
        column: usize,
        table: &Table,
    ) -> Result<Rows, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let [first, test, value] = call.args.as_slice() else {
            return Err(invalid());
        };
        let variable = rows.columns.get(column).ok_or_else(invalid)?.clone();
        let kept = |pattern| {
            Ok(Rows {
                pattern,
                columns: rows.columns.clone(),
            })
        };
        match (test, value) {
            (Arg::Text(test), Arg::Literal(text)) => {
                let function = match test {
                    TextTest::Contains => Function::Contains,
                    TextTest::Starts => Function::StrStarts,
                    TextTest::Ends => Function::StrEnds,
                };
                let text = Literal::plain(normalise(&text.lexical));
                let text = algebra::rdf_literal(&text).into();
                let of = |read: &Variable| {
                    let read = folded(&read.clone().into());
                    Expression::FunctionCall(function, vec![read, text])
                };
                if !self.reads_labels(first)? {
                    return kept(algebra::filter(rows.pattern, of(&variable)));
                }
                // An entity's text is its label.
                let label = self.fresh();
                let labels = algebra::any_of(self.kg, &self.kg.schema().label_relations);
                let named = algebra::along(variable.clone().into(), &labels, label.clone().into());
                let test = exists(algebra::filter(named, of(&label)));
                let pattern = algebra::filter(rows.pattern, test);
                let names = select(distinct_values(pattern.clone(), variable));
                let left = table.set(column).unwrap_or_default();
                let left = left.iter().map(|node| vec![Cell::Node(*node)]);
                if self.has_rows(&names, &left.collect::<Vec<_>>()) {
                    kept(pattern)
                } else {
                    Err(Inexpressible::Comparison(call.to_string()))
                }
            }
            (Arg::Op(op), Arg::Literal(literal)) => {
                let test = match self.column_pairs(first)? {
                    Some(pairs) => {
                        let left = table.set(column).unwrap_or_default();
                        self.spelled(&pairs, *op, literal, &|owners| owners == &left[..])
                            .ok_or_else(|| Inexpressible::Comparison(call.to_string()))?
                    }
                    None => compare(algebra::tail().into(), *op, number(literal)),
                };
                let test = algebra::replace(&test, &mut |_| variable.clone().into());
                kept(algebra::filter(rows.pattern, test))
            }
            (Arg::Op(op), Arg::Column(other, place)) if matches!(first, Arg::Column(table, _) if table == other) =>
            {
                let other = rows.columns.get(*place as usize).ok_or_else(invalid)?;
                let test = compare(variable.into(), *op, other.clone().into());
                kept(algebra::filter(rows.pattern, test))
            }
            (Arg::Op(op), Arg::Var(index)) if !matches!(self.call(*index)?.1, Value::Set(_)) => {
                let (pattern, scalar) = match self.call(*index)? {
                    (count, Value::Int(_)) => self.count_of(&count)?,
                    _ => {
                        let mut only = self.rows(&Arg::Var(*index))?;
                        let scalar = only.columns.pop().ok_or_else(invalid)?;
                        (only.pattern, scalar)
                    }
                };
                let one = project(pattern, vec![scalar.clone()]);
                let test = compare(variable.into(), *op, scalar.into());
                kept(algebra::filter(algebra::join(rows.pattern, one), test))
            }
            (Arg::Op(kg::value::Op::Ne), set) => {
                let right = distinct_values(self.set(set, &variable)?, variable);
                kept(GraphPattern::Minus {
                    left: Box::new(rows.pattern),
                    right: Box::new(right),
                })
            }
            (Arg::Op(kg::value::Op::Eq), set) => {
                let right = distinct_values(self.set(set, &variable)?, variable);
                kept(algebra::join(rows.pattern, right))
            }
            _ => Err(invalid()),
        }
    }

    /// The pattern of `count`, and its variable.
    pub(super) fn count_of(
        &mut self,
        call: &Call,
    ) -> Result<(GraphPattern, Variable), Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let counted = call.args.first().ok_or_else(invalid)?;
        self.counted_rows(counted)
    }

    /// Whether a test of texts reads labels: the column has no literals.
    fn reads_labels(&self, arg: &Arg) -> Result<bool, Inexpressible> {
        let nodes = match arg {
            Arg::Column(..) => match self.column_pairs(arg)? {
                Some(pairs) => pairs.into_iter().map(|(node, _)| node).collect(),
                None => return Ok(false),
            },
            other => self.members(other)?.to_vec(),
        };
        let resources = self.kg.resources();
        Ok(nodes.iter().all(|node| resources.contains(&node.0)))
    }

    /// The nodes of a column, each as its own owner; `None` if its values are computed.
    fn column_pairs(&self, arg: &Arg) -> Result<Option<Vec<(NodeId, NodeId)>>, Inexpressible> {
        let nodes = match arg {
            Arg::Column(index, column) => match self.call(*index)?.1 {
                Value::Table(table) => {
                    if table
                        .column(*column as usize)
                        .any(|cell| matches!(cell, Cell::Computed(_)))
                    {
                        return Ok(None);
                    }
                    table.set(*column as usize).unwrap_or_default()
                }
                _ => return Err(Inexpressible::Argument(arg.to_string())),
            },
            Arg::Var(index) if matches!(self.call(*index)?.1, Value::Int(_)) => return Ok(None),
            other => self.members(other)?.to_vec(),
        };
        Ok(Some(nodes.into_iter().map(|node| (node, node)).collect()))
    }
}

/// One end to the other along a repeated relation.
fn repeated(repeat: Repeat, walk: WalkedRelation, from: Variable, to: Variable) -> GraphPattern {
    let relation = PropertyPathExpression::NamedNode(NamedNode::new_unchecked(walk.iri));
    let step = Box::new(if walk.forward {
        relation
    } else {
        PropertyPathExpression::Reverse(Box::new(relation))
    });
    GraphPattern::Path {
        subject: from.into(),
        path: match repeat {
            Repeat::OneOrMore => PropertyPathExpression::OneOrMore(step),
            Repeat::ZeroOrMore => PropertyPathExpression::ZeroOrMore(step),
            // OPTIONAL, which is no path.
            Repeat::Maybe => *step,
        },
        object: to.into(),
    }
}

/// A literal as the number that it spells, to compare computed values with.
fn number(literal: &Literal) -> Expression {
    super::spelling::number(&algebra::rdf_literal(literal).into())
}

/// The pattern with one more variable that has the values of another one.
fn renamed(pattern: GraphPattern, from: &Variable, to: &Variable) -> GraphPattern {
    if from == to {
        return pattern;
    }
    GraphPattern::Extend {
        inner: Box::new(pattern),
        variable: to.clone(),
        expression: from.clone().into(),
    }
}
