//! The SPARQL algebra of a question plan.

use kg::spargebra::Query;
use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, GraphPattern, OrderExpression,
};
use kg::spargebra::term::{
    Literal as AlgebraLiteral, NamedNode, NamedNodePattern, TermPattern, TriplePattern, Variable,
};
use kg::term::{Literal, NodeId, Term};
use kg::value::Op;

use super::{QuestionPlan, Set, Test};
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
        let select = |pattern: GraphPattern| Query::Select {
            dataset: None,
            pattern,
            base_iri: None,
        };
        let answer = Variable::new_unchecked("x");
        Some(match self {
            Self::List { set, by } => {
                let order = algebra.listed(set, *by, &answer)?;
                select(ranked(project(algebra.group(), &answer), order, &answer))
            }
            Self::Count { set } => {
                algebra.set_as(set, &answer)?;
                let count = Variable::new_unchecked("n");
                let aggregate = AggregateExpression::FunctionCall {
                    name: AggregateFunction::Count,
                    expr: Expression::Variable(answer),
                    distinct: true,
                };
                let group = GraphPattern::Group {
                    inner: Box::new(algebra.group()),
                    variables: Vec::new(),
                    aggregates: vec![(count.clone(), aggregate)],
                };
                select(GraphPattern::Project {
                    inner: Box::new(group),
                    variables: vec![count],
                })
            }
            Self::Yes { of, test } => {
                let term = algebra.set(of)?;
                algebra.test(&term, test)?;
                Query::Ask {
                    dataset: None,
                    pattern: algebra.group(),
                    base_iri: None,
                }
            }
            Self::Either { left, right, by } => {
                algebra.listed(left, *by, &answer)?;
                let first = algebra.group();
                (algebra.patterns, algebra.filters) = (Vec::new(), Vec::new());
                algebra.listed(right, *by, &answer)?;
                let union = GraphPattern::Union {
                    left: Box::new(first),
                    right: Box::new(algebra.group()),
                };
                select(GraphPattern::Distinct {
                    inner: Box::new(project(union, &answer)),
                })
            }
            Self::Compare {
                left,
                right,
                relation,
                max,
            } => {
                let (left, right) = (algebra.named(*left)?, algebra.named(*right)?);
                let value = algebra.fresh();
                algebra.triple(
                    TermPattern::Variable(answer.clone()),
                    *relation,
                    TermPattern::Variable(value.clone()),
                );
                let of = Expression::In(
                    Box::new(Expression::Variable(answer.clone())),
                    vec![Expression::NamedNode(left), Expression::NamedNode(right)],
                );
                algebra.filters.push(of);
                select(ranked(
                    project(algebra.group(), &answer),
                    Some((value, *max)),
                    &answer,
                ))
            }
        })
    }
}

fn project(inner: GraphPattern, answer: &Variable) -> GraphPattern {
    GraphPattern::Project {
        inner: Box::new(inner),
        variables: vec![answer.clone()],
    }
}

/// DISTINCT, or ORDER BY with LIMIT 1 for an extreme.
fn ranked(
    projected: GraphPattern,
    order: Option<(Variable, bool)>,
    answer: &Variable,
) -> GraphPattern {
    let Some((variable, max)) = order else {
        return GraphPattern::Distinct {
            inner: Box::new(projected),
        };
    };
    let GraphPattern::Project { inner, .. } = projected else {
        return projected;
    };
    let key = Expression::Variable(variable);
    let key = if max {
        OrderExpression::Desc(key)
    } else {
        OrderExpression::Asc(key)
    };
    let ordered = GraphPattern::OrderBy {
        inner,
        expression: vec![key],
    };
    GraphPattern::Slice {
        inner: Box::new(project(ordered, answer)),
        start: 0,
        length: Some(1),
    }
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
        Variable::new_unchecked(format!("v{}", self.next))
    }

    fn named(&self, node: NodeId) -> Option<NamedNode> {
        match self.profile.kg.term(node) {
            Term::Iri(iri) => Some(NamedNode::new_unchecked(iri)),
            Term::Blank(_) | Term::Literal(_) => None,
        }
    }

    fn triple(&mut self, subject: TermPattern, relation: usize, object: TermPattern) {
        let iri = self.profile.relations[relation].iri.clone();
        self.iri_triple(subject, &iri, object);
    }

    fn iri_triple(&mut self, subject: TermPattern, iri: &str, object: TermPattern) {
        self.patterns.push(TriplePattern {
            subject,
            predicate: NamedNodePattern::NamedNode(NamedNode::new_unchecked(iri)),
            object,
        });
    }

    /// Takes the patterns and filters collected so far.
    fn group(&mut self) -> GraphPattern {
        let bgp = GraphPattern::Bgp {
            patterns: std::mem::take(&mut self.patterns),
        };
        let filters = std::mem::take(&mut self.filters);
        let all = filters
            .into_iter()
            .reduce(|left, right| Expression::And(Box::new(left), Box::new(right)));
        match all {
            Some(expr) => GraphPattern::Filter {
                expr,
                inner: Box::new(bgp),
            },
            None => bgp,
        }
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
                self.triple(term, by, TermPattern::Variable(answer.clone()));
            }
            None => self.set_as(set, answer)?,
        }
        Some(self.order.take())
    }

    /// The term of a set.
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
                self.triple(bearer, *relation, TermPattern::Variable(value.clone()));
                self.order = Some((value, *max));
            }
        }
        Some(())
    }

    fn instance(&mut self, this: TermPattern, class: usize) -> Option<()> {
        let class = &self.profile.classes[class];
        let (relation, node) = (class.type_relation.clone(), self.named(class.node)?);
        self.iri_triple(this, &relation, TermPattern::NamedNode(node));
        Some(())
    }

    /// A new variable bound to an attribute of a node.
    fn attribute(&mut self, this: &TermPattern, relation: usize) -> Variable {
        let attribute = self.fresh();
        let value = TermPattern::Variable(attribute.clone());
        self.triple(this.clone(), relation, value);
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
                let is = |value| Box::new(compare(&attribute, Op::Eq, value));
                self.filters.push(Expression::Or(is(one), is(other)));
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
                let day = |day: &str| Literal::xsd(format!("{year}-{day}"), "date");
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
            patterns: vec![TriplePattern {
                subject: this.clone(),
                predicate: NamedNodePattern::NamedNode(NamedNode::new_unchecked(iri)),
                object: TermPattern::Variable(variable.clone()),
            }],
        };
        let (any, end) = (
            Variable::new_unchecked(format!("a{}", self.next)),
            Variable::new_unchecked(format!("b{}", self.next)),
        );
        self.next += 1;
        let missing = Expression::Not(Box::new(Expression::Exists(Box::new(pattern(&any)))));
        let holds = GraphPattern::Filter {
            expr: compare(&end, op, value),
            inner: Box::new(pattern(&end)),
        };
        Expression::Or(
            Box::new(missing),
            Box::new(Expression::Exists(Box::new(holds))),
        )
    }
}

/// `?variable op value`.
fn compare(variable: &Variable, op: Op, value: &Literal) -> Expression {
    let (left, right) = (
        Box::new(Expression::Variable(variable.clone())),
        Box::new(Expression::Literal(literal(value))),
    );
    match op {
        Op::Eq => Expression::Equal(left, right),
        Op::Ne => Expression::Not(Box::new(Expression::Equal(left, right))),
        Op::Lt => Expression::Less(left, right),
        Op::Le => Expression::LessOrEqual(left, right),
        Op::Gt => Expression::Greater(left, right),
        Op::Ge => Expression::GreaterOrEqual(left, right),
    }
}

fn literal(value: &Literal) -> AlgebraLiteral {
    match (&value.datatype, &value.lang) {
        (_, Some(lang)) => {
            AlgebraLiteral::new_language_tagged_literal_unchecked(&value.lexical, lang)
        }
        (Some(datatype), None) => {
            AlgebraLiteral::new_typed_literal(&value.lexical, NamedNode::new_unchecked(datatype))
        }
        (None, None) => AlgebraLiteral::new_simple_literal(&value.lexical),
    }
}
