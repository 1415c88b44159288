//! Sets of a program as graph patterns.

use kg::Kg;
use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateFunction, GraphPattern};
use kg::spargebra::term::{GroundTerm, TermPattern, Variable};
use kg::term::{NodeId, RelId, Term};
use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::{EntSet, Value};

use super::error::Inexpressible;
use crate::algebra::{aggregate_call, ask, distinct_values, group_all, project, select, union};
use crate::graph::{PathStep, algebra};

/// Writes the query of one program.
pub(super) struct QueryWriter<'a> {
    pub kg: &'a dyn Kg,
    /// The call behind every variable, with its result.
    pub calls: Vec<(Call, Value)>,
    pub next: usize,
}

/// The relation of a call.
pub(super) struct WalkedRelation {
    pub iri: String,
    pub id: RelId,
    /// The two ends of a derived interval.
    pub interval: Option<(RelId, RelId)>,
    pub forward: bool,
}

impl WalkedRelation {
    /// The relation as one step of a path.
    pub(super) fn step(&self) -> [PathStep; 1] {
        [PathStep {
            relation: self.iri.clone(),
            forward: self.forward,
        }]
    }
}

impl QueryWriter<'_> {
    pub(super) fn fresh(&mut self) -> Variable {
        self.next += 1;
        Variable::new_unchecked(format!("n{}", self.next))
    }

    /// Whether `count` counts the rows of a table.
    fn counts_rows(&self, call: &Call) -> bool {
        let of = call.args.first();
        let table = |index: u32| matches!(self.call(index), Ok((_, Value::Table(_))));
        matches!(of, Some(Arg::Var(index)) if table(*index))
    }

    pub(super) fn call(&self, index: u32) -> Result<(Call, Value), Inexpressible> {
        self.calls
            .get(index as usize)
            .cloned()
            .ok_or_else(|| Inexpressible::Argument(format!("v{index}")))
    }

    /// The query whose answer is that of the program.
    pub(super) fn query(&mut self, answer: &Arg, exclude: &[Term]) -> Result<Query, Inexpressible> {
        let x = Variable::new_unchecked("x");
        if let Arg::Var(index) = answer {
            let (call, value) = self.call(*index)?;
            match (call.tool, value) {
                (_, Value::Table(_)) => return self.table_query(*index),
                (Tool::Count, _) if self.counts_rows(&call) => {
                    let (pattern, count) = self.count_of(&call)?;
                    return Ok(select(project(pattern, vec![count])));
                }
                (Tool::Count, _) => {
                    let inner = self.argument(&call, 0, &x)?;
                    let count = Variable::new_unchecked("n");
                    let counted = aggregate_call(AggregateFunction::Count, x.into(), true);
                    let group = group_all(inner, vec![(count.clone(), counted)]);
                    return Ok(select(project(group, vec![count])));
                }
                (Tool::Exists, _) => {
                    let pattern = self.existing(&call)?;
                    return Ok(ask(project(pattern, Vec::new())));
                }
                (Tool::Judge, Value::Bool(truth)) => {
                    let pattern = self.judged(&call, truth, &x)?;
                    return Ok(ask(project(pattern, Vec::new())));
                }
                (Tool::GetEntityByConstraint, Value::Set(kept)) if exclude.is_empty() => {
                    if let Some(pattern) = self.first_in_order(&call, &kept, &x)? {
                        return Ok(select(pattern));
                    }
                }
                _ => {}
            }
        }
        let mut pattern = self.set(answer, &x)?;
        for term in exclude {
            let blank = || Inexpressible::Blank(term.to_string());
            let term = algebra::constant(term).ok_or_else(blank)?;
            pattern = algebra::filter(pattern, algebra::differs(x.clone().into(), term));
        }
        Ok(select(distinct_values(pattern, x)))
    }

    /// The set that an argument denotes, as the values of a variable.
    pub(super) fn set(&mut self, arg: &Arg, out: &Variable) -> Result<GraphPattern, Inexpressible> {
        match arg {
            Arg::Var(index) => self.assigned(*index, out),
            Arg::Name(name) => Ok(algebra::values_of(out.clone(), [self.constant(name)?])),
            Arg::Column(table, column) => self.column(*table, *column, out),
            Arg::List(items) if items.is_empty() => Ok(algebra::values_of(out.clone(), [])),
            Arg::List(items) => {
                let sets = items
                    .iter()
                    .map(|item| self.set(item, out))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(union(sets))
            }
            other => Err(Inexpressible::Argument(other.to_string())),
        }
    }

    pub(super) fn argument(
        &mut self,
        call: &Call,
        index: usize,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let arg = call
            .args
            .get(index)
            .ok_or_else(|| Inexpressible::Argument(call.to_string()))?;
        self.set(arg, out)
    }

    pub(super) fn constant(&self, name: &str) -> Result<GroundTerm, Inexpressible> {
        let term = self
            .kg
            .by_name(name)
            .map(|node| self.kg.term(node))
            .ok_or_else(|| Inexpressible::Argument(name.to_owned()))?;
        algebra::ground(&term).ok_or_else(|| Inexpressible::Blank(name.to_owned()))
    }

    pub(super) fn assigned(
        &mut self,
        index: u32,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let (call, value) = self.call(index)?;
        match call.tool {
            Tool::GetTailEntity | Tool::GetHeadEntity => {
                let walk = self.walk(&call)?;
                let forward = walk.forward == (call.tool == Tool::GetTailEntity);
                self.walked(&call, &walk.iri, forward, out.clone().into())
            }
            Tool::GetEntityByType => {
                let Some(Arg::Name(class)) = call.args.first() else {
                    return Err(Inexpressible::Argument(call.to_string()));
                };
                let class = pattern_of(self.constant(class)?);
                Ok(algebra::along(
                    out.clone().into(),
                    &algebra::any_of(self.kg, &self.kg.schema().type_relations),
                    class,
                ))
            }
            Tool::Intersect => {
                let mut whole = algebra::nothing();
                for i in 0..call.args.len() {
                    whole = algebra::join(whole, self.argument(&call, i, out)?);
                }
                Ok(whole)
            }
            Tool::Union => Ok(union(
                (0..call.args.len())
                    .map(|i| self.argument(&call, i, out))
                    .collect::<Result<Vec<_>, _>>()?,
            )),
            Tool::Difference => {
                let left = self.argument(&call, 0, out)?;
                let right = self.argument(&call, 1, out)?;
                Ok(GraphPattern::Minus {
                    left: Box::new(left),
                    right: Box::new(right),
                })
            }
            Tool::GetEntityByConstraint => {
                let Value::Set(kept) = value else {
                    return Err(Inexpressible::Argument(call.to_string()));
                };
                self.constrained(&call, &kept, out)
            }
            Tool::Choose => self.chosen(&call, out),
            _ => Err(Inexpressible::Words(call.to_string())),
        }
    }

    /// One step from the set of the first argument.
    fn walked(
        &mut self,
        call: &Call,
        iri: &str,
        forward: bool,
        out: TermPattern,
    ) -> Result<GraphPattern, Inexpressible> {
        let step = [PathStep {
            relation: iri.to_owned(),
            forward,
        }];
        if let Some(Arg::Name(name)) = call.args.first() {
            let from = pattern_of(self.constant(name)?);
            if !(forward && matches!(from, TermPattern::Literal(_))) {
                return Ok(algebra::along(from, &step, out));
            }
        }
        let from = self.fresh();
        let set = self.argument(call, 0, &from)?;
        Ok(algebra::join(set, algebra::along(from.into(), &step, out)))
    }

    /// The relation of a call, and whether it is inverted.
    pub(super) fn walk(&self, call: &Call) -> Result<WalkedRelation, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let path = call.args.get(1).ok_or_else(invalid)?;
        let Arg::Name(name) = path.relation() else {
            return Err(invalid());
        };
        let forward = !path.is_inverse();
        let schema = self.kg.schema();
        let interval = schema
            .intervals
            .iter()
            .find(|interval| interval.name == *name)
            .map(|interval| (interval.from, interval.to));
        // In a walk, and with any operator but `=`, an interval means its start (rule R11).
        let id = match interval {
            Some((from, _)) => from,
            None => self
                .kg
                .by_name(name)
                .map(NodeId::relation)
                .ok_or_else(invalid)?,
        };
        match self.kg.term(id.node()) {
            Term::Iri(iri) => Ok(WalkedRelation {
                iri,
                id,
                interval,
                forward,
            }),
            Term::Blank(_) | Term::Literal(_) => Err(invalid()),
        }
    }

    /// The members that a set argument had when the program ran.
    pub(super) fn members(&self, arg: &Arg) -> Result<EntSet, Inexpressible> {
        match arg {
            Arg::Var(index) => match self.call(*index)?.1 {
                Value::Set(set) => Ok(set),
                Value::Int(_) | Value::Bool(_) | Value::Table(_) => {
                    Err(Inexpressible::Argument(arg.to_string()))
                }
            },
            Arg::Name(name) => Ok(self.kg.by_name(name).into_iter().collect()),
            Arg::Column(table, column) => match self.call(*table)?.1 {
                Value::Table(table) => table
                    .set(*column as usize)
                    .map(Into::into)
                    .ok_or_else(|| Inexpressible::Argument(arg.to_string())),
                _ => Err(Inexpressible::Argument(arg.to_string())),
            },
            Arg::List(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend_from_slice(&self.members(item)?);
                }
                all.sort_unstable();
                all.dedup();
                Ok(all.into())
            }
            other => Err(Inexpressible::Argument(other.to_string())),
        }
    }
}

/// A constant as an end of a triple pattern.
pub(super) fn pattern_of(term: GroundTerm) -> TermPattern {
    match term {
        GroundTerm::NamedNode(node) => node.into(),
        GroundTerm::Literal(literal) => literal.into(),
    }
}
