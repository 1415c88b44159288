//! The SPARQL algebra of a question plan.

mod tables;

use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateFunction, Expression, GraphPattern};
use kg::spargebra::term::{NamedNode, TermPattern, TriplePattern, Variable};
use kg::term::{Literal, NodeId};
use kg::value::{Extreme, Op};

use super::{QuestionPlan, Set, Test};
use crate::algebra::{
    aggregate_call, ask, distinct_values, exists, filter, filter_all, first, group_all, iri,
    literal, not, or, order_by, project, select, triple, union, variable,
};
use crate::synth::profile::GraphProfile;

impl QuestionPlan {
    /// The query of this plan; `None` if an entity has no IRI.
    pub(in crate::synth) fn query(&self, profile: &GraphProfile<'_>) -> Option<Query> {
        let mut algebra = AlgebraBuilder {
            profile,
            patterns: Vec::new(),
            filters: Vec::new(),
            order: None,
            next: 0,
        };
        let answer = variable("x");
        Some(match self {
            Self::List { set, by } => {
                let order = algebra.listed(set, *by, &answer)?;
                select(ranked(algebra.group(), order, answer))
            }
            Self::Count { set } => {
                algebra.set_as(set, &answer)?;
                let count = variable("n");
                let call = aggregate_call(AggregateFunction::Count, answer.into(), true);
                let group = group_all(algebra.group(), vec![(count.clone(), call)]);
                select(project(group, vec![count]))
            }
            Self::Yes { of, test } => {
                let term = algebra.set(of)?;
                algebra.test(&term, test)?;
                ask(algebra.group())
            }
            Self::Either { left, right, by } => {
                algebra.listed(left, *by, &answer)?;
                let first = algebra.group();
                (algebra.patterns, algebra.filters) = (Vec::new(), Vec::new());
                algebra.listed(right, *by, &answer)?;
                select(distinct_values(union([first, algebra.group()]), answer))
            }
            Self::Compare {
                left,
                right,
                relation,
                max,
            } => {
                let (left, right) = (algebra.named(*left)?, algebra.named(*right)?);
                let value = algebra.fresh();
                algebra.triple(answer.clone(), *relation, value.clone());
                let of = Box::new(answer.clone().into());
                let of = Expression::In(of, vec![left.into(), right.into()]);
                algebra.filters.push(of);
                select(ranked(algebra.group(), Some((value, *max)), answer))
            }
            Self::Table { of, rows } => select(algebra.table(of, rows)?),
        })
    }
}

/// DISTINCT, or ORDER BY with LIMIT 1 for an extreme.
fn ranked(inner: GraphPattern, order: Option<(Variable, bool)>, answer: Variable) -> GraphPattern {
    let Some((key, max)) = order else {
        return distinct_values(inner, answer);
    };
    let extreme = if max { Extreme::Max } else { Extreme::Min };
    first(project(order_by(inner, key.into(), extreme), vec![answer]))
}

/// Collects the patterns and filters of a query.
struct AlgebraBuilder<'p, 'g> {
    profile: &'p GraphProfile<'g>,
    patterns: Vec<TriplePattern>,
    filters: Vec<Expression>,
    order: Option<(Variable, bool)>,
    next: usize,
}

impl AlgebraBuilder<'_, '_> {
    fn fresh(&mut self) -> Variable {
        self.next += 1;
        variable(&format!("v{}", self.next))
    }

    fn named(&self, node: NodeId) -> Option<NamedNode> {
        self.profile.kg.iri(node).map(|name| iri(&name))
    }

    fn triple(
        &mut self,
        subject: impl Into<TermPattern>,
        relation: usize,
        object: impl Into<TermPattern>,
    ) {
        let relation = &self.profile.relations[relation].iri;
        self.patterns.push(triple(subject, relation, object));
    }

    /// Takes the patterns and filters collected so far.
    fn group(&mut self) -> GraphPattern {
        let patterns = std::mem::take(&mut self.patterns);
        let filters = std::mem::take(&mut self.filters);
        filter_all(GraphPattern::Bgp { patterns }, filters)
    }

    /// Binds `answer` to the members of a set or to their names. Returns the sort key of an
    /// extreme.
    fn listed(
        &mut self,
        set: &Set,
        by: Option<usize>,
        answer: &Variable,
    ) -> Option<Option<(Variable, bool)>> {
        match by {
            Some(by) => {
                let term = self.set(set)?;
                self.triple(term, by, answer.clone());
            }
            None => self.set_as(set, answer)?,
        }
        Some(self.order.take())
    }

    fn set(&mut self, set: &Set) -> Option<TermPattern> {
        if let Set::Entity(node) = set {
            return self.named(*node).map(TermPattern::NamedNode);
        }
        let variable = self.fresh();
        self.set_as(set, &variable)?;
        Some(TermPattern::Variable(variable))
    }

    fn set_as(&mut self, set: &Set, variable: &Variable) -> Option<()> {
        let this = TermPattern::Variable(variable.clone());
        match set {
            // A single entity cannot be an answer.
            Set::Entity(_) => return None,
            Set::Class(class) => {
                self.instance(this, *class)?;
            }
            Set::Follow {
                from,
                relation,
                forward,
                ..
            } => {
                let from = self.set(from)?;
                if *forward {
                    self.triple(from, *relation, this);
                } else {
                    self.triple(this, *relation, from);
                }
            }
            Set::Keep { of, test } => {
                self.set_as(of, variable)?;
                self.test(&this, test)?;
            }
            Set::Most {
                of,
                via,
                relation,
                max,
            } => {
                self.set_as(of, variable)?;
                // A query has one sort key.
                if self.order.is_some() {
                    return None;
                }
                let mut bearer = this;
                if let Some((joins, forward)) = via {
                    let joined = TermPattern::Variable(self.fresh());
                    if *forward {
                        self.triple(bearer, *joins, joined.clone());
                    } else {
                        self.triple(joined.clone(), *joins, bearer);
                    }
                    bearer = joined;
                }
                let value = self.fresh();
                self.triple(bearer, *relation, value.clone());
                self.order = Some((value, *max));
            }
        }
        Some(())
    }

    fn instance(&mut self, this: TermPattern, class: usize) -> Option<()> {
        let class = &self.profile.classes[class];
        let is = triple(this, &class.type_relation, self.named(class.node)?);
        self.patterns.push(is);
        Some(())
    }

    /// A new variable bound to an attribute of a node.
    fn attribute(&mut self, this: &TermPattern, relation: usize) -> Variable {
        let attribute = self.fresh();
        self.triple(this.clone(), relation, attribute.clone());
        attribute
    }

    fn test(&mut self, this: &TermPattern, test: &Test) -> Option<()> {
        match test {
            Test::Value {
                relation,
                op,
                value,
            } => {
                let attribute = self.attribute(this, *relation);
                self.filters.push(compare(&attribute, *op, value));
            }
            Test::Between {
                relation,
                low,
                high,
            } => {
                let attribute = self.attribute(this, *relation);
                self.filters.push(compare(&attribute, Op::Ge, low));
                self.filters.push(compare(&attribute, Op::Le, high));
            }
            Test::OneOf {
                relation,
                values: [one, other],
            } => {
                let attribute = self.attribute(this, *relation);
                let is = |value| compare(&attribute, Op::Eq, value);
                self.filters.push(or(is(one), is(other)));
            }
            Test::Is {
                relation,
                forward,
                set,
            } => {
                let other = self.set(set)?;
                if *forward {
                    self.triple(this.clone(), *relation, other);
                } else {
                    self.triple(other, *relation, this.clone());
                }
            }
            Test::Of(class) => {
                self.instance(this.clone(), *class)?;
            }
            Test::During { interval, year } => {
                let (from, to) = self.profile.intervals[*interval].clone();
                let day = |day: &str| Literal::xsd(format!("{year:04}-{day}"), "date");
                let from = self.half(this, &from, Op::Le, &day("12-31"));
                let to = self.half(this, &to, Op::Ge, &day("01-01"));
                self.filters.push(from);
                self.filters.push(to);
            }
        }
        Some(())
    }

    /// `NOT EXISTS { this relation ?a } || EXISTS { this relation ?b . FILTER(?b op value) }`: a
    /// missing end is open.
    fn half(&mut self, this: &TermPattern, iri: &str, op: Op, value: &Literal) -> Expression {
        let pattern = |variable: &Variable| GraphPattern::Bgp {
            patterns: vec![triple(this.clone(), iri, variable.clone())],
        };
        let any = variable(&format!("a{}", self.next));
        let end = variable(&format!("b{}", self.next));
        self.next += 1;
        let holds = filter(pattern(&end), compare(&end, op, value));
        or(not(exists(pattern(&any))), exists(holds))
    }
}

/// `?variable op value`.
fn compare(variable: &Variable, op: Op, value: &Literal) -> Expression {
    crate::algebra::compare(variable.clone().into(), op, literal(value).into())
}
