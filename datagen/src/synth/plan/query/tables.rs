//! The SPARQL algebra of questions for tables.

use kg::spargebra::algebra::{AggregateExpression, AggregateFunction, GraphPattern};
use kg::spargebra::term::{TermPattern, Variable};
use kg::term::Literal;
use kg::value::{Extreme, Op};
use toolbox::call::Aggregate;

use super::super::Set;
use super::super::tables::{RowGroups, RowValue, TableRows};
use super::AlgebraBuilder;
use crate::algebra::{
    aggregate_call, compare, exists, filter, group_all, join, literal, not, order_by, project,
    variable,
};

/// The variables of a member and of what its row shows.
struct RowVariables {
    member: Variable,
    values: Vec<(RowValue, Variable)>,
    joined: Vec<(Vec<usize>, Variable)>,
}

impl AlgebraBuilder<'_, '_> {
    /// The rows that a question asks for.
    pub(super) fn table(&mut self, of: &Set, rows: &TableRows) -> Option<GraphPattern> {
        let mut row = RowVariables {
            member: variable("x"),
            values: Vec::new(),
            joined: Vec::new(),
        };
        self.set_as(of, &row.member)?;
        Some(match rows {
            TableRows::Listed { values, order } => {
                let columns = self.columns(&mut row, values);
                let key = order
                    .as_ref()
                    .map(|by| self.value(&mut row, &RowValue::own(by.relation)));
                let inner = self.group();
                match (key, order) {
                    (Some(key), Some(by)) => {
                        let inner = order_by(inner, key.into(), extreme(by.max));
                        limited(project(inner, columns), by.first)
                    }
                    _ => project(inner, columns),
                }
            }
            TableRows::Grouped(groups) => self.grouped(&mut row, groups),
            TableRows::Summed(summaries) => {
                let mut calls = Vec::new();
                for (i, (aggregate, relation)) in summaries.iter().enumerate() {
                    let input = self.value(&mut row, &RowValue::own(*relation));
                    calls.push((variable(&format!("n{i}")), call(*aggregate, input)));
                }
                let columns = calls.iter().map(|(name, _)| name.clone()).collect();
                project(group_all(self.group(), calls), columns)
            }
            TableRows::Beyond {
                values,
                relation,
                max,
            } => {
                let columns = self.columns(&mut row, values);
                let value = self.value(&mut row, &RowValue::own(*relation));
                let members = self.group();
                let (other, mean) = (variable("y"), variable("n"));
                self.set_as(of, &other)?;
                let input = self.fresh();
                self.triple(other, *relation, input.clone());
                let calls = vec![(mean.clone(), call(Aggregate::Average, input))];
                let average = project(group_all(self.group(), calls), vec![mean.clone()]);
                let op = if *max { Op::Gt } else { Op::Lt };
                let test = compare(value.into(), op, mean.into());
                project(filter(join(members, average), test), columns)
            }
            TableRows::Lacking {
                values,
                relation,
                class,
            } => {
                let columns = self.columns(&mut row, values);
                let members = self.group();
                let other = variable("y");
                self.instance(other.clone().into(), *class)?;
                self.triple(other, *relation, row.member);
                let without = filter(members, not(exists(self.group())));
                if columns.is_empty() {
                    let count = variable("n");
                    let calls = vec![(count.clone(), all())];
                    project(group_all(without, calls), vec![count])
                } else {
                    project(without, columns)
                }
            }
        })
    }

    fn grouped(&mut self, row: &mut RowVariables, groups: &RowGroups) -> GraphPattern {
        let mut columns = self.columns(row, &groups.keys);
        let call = match groups.measure {
            Some((aggregate, relation)) => {
                call(aggregate, self.value(row, &RowValue::own(relation)))
            }
            None => all(),
        };
        let measure = variable("n");
        let mut pattern = GraphPattern::Group {
            inner: Box::new(self.group()),
            variables: columns.clone(),
            aggregates: vec![(measure.clone(), call)],
        };
        if let Some((op, size)) = groups.size {
            let size = Literal::xsd(size.to_string(), "integer");
            let test = compare(measure.clone().into(), op, literal(&size).into());
            pattern = filter(pattern, test);
        }
        if let Some((max, _)) = groups.order {
            pattern = order_by(pattern, measure.clone().into(), extreme(max));
        }
        if groups.shown {
            columns.push(measure);
        }
        limited(
            project(pattern, columns),
            groups.order.and_then(|order| order.1),
        )
    }

    fn columns(&mut self, row: &mut RowVariables, values: &[RowValue]) -> Vec<Variable> {
        let values = values.iter();
        values.map(|value| self.value(row, value)).collect()
    }

    /// The variable of a value, the same for the same value.
    fn value(&mut self, row: &mut RowVariables, value: &RowValue) -> Variable {
        if let Some((_, known)) = row.values.iter().find(|(known, _)| known == value) {
            return known.clone();
        }
        let mut bearer = row.member.clone();
        for end in 1..=value.via.len() {
            bearer = self.joined(row, &bearer, &value.via[..end]);
        }
        let found = match value.relation {
            None => bearer,
            Some(relation) => self.attribute(&TermPattern::Variable(bearer), relation),
        };
        row.values.push((value.clone(), found.clone()));
        found
    }

    /// The variable of the thing at the end of a path, one step after `before`.
    fn joined(&mut self, row: &mut RowVariables, before: &Variable, path: &[usize]) -> Variable {
        if let Some((_, known)) = row.joined.iter().find(|(known, _)| known == path) {
            return known.clone();
        }
        let other = self.fresh();
        if let Some(&last) = path.last() {
            self.triple(before.clone(), last, other.clone());
        }
        row.joined.push((path.to_vec(), other.clone()));
        other
    }
}

fn extreme(max: bool) -> Extreme {
    if max { Extreme::Max } else { Extreme::Min }
}

/// `COUNT(*)`.
fn all() -> AggregateExpression {
    AggregateExpression::CountSolutions { distinct: false }
}

fn call(aggregate: Aggregate, input: Variable) -> AggregateExpression {
    let function = match aggregate {
        Aggregate::Distinct => AggregateFunction::Count,
        Aggregate::Sum => AggregateFunction::Sum,
        Aggregate::Average => AggregateFunction::Avg,
        Aggregate::Min => AggregateFunction::Min,
        Aggregate::Max => AggregateFunction::Max,
    };
    aggregate_call(function, input.into(), aggregate == Aggregate::Distinct)
}

fn limited(inner: GraphPattern, rows: Option<usize>) -> GraphPattern {
    match rows {
        None => inner,
        length => GraphPattern::Slice {
            inner: Box::new(inner),
            start: 0,
            length,
        },
    }
}
