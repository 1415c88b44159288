//! What is asked, as a tree: sets of things described from the inside out, and the SPARQL algebra of each. Wording and query are made from
//! the same tree, so that they cannot drift apart.

use kg::spargebra::Query;
use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, GraphPattern, OrderExpression,
};
use kg::spargebra::term::{
    Literal as AlgebraLiteral, NamedNode, NamedNodePattern, TermPattern, TriplePattern, Variable,
};
use kg::term::{Literal, NodeId, Term};
use kg::value::Op;

use super::profile::Profile;

/// A set of nodes and how it is described.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Set {
    /// One named thing.
    Entity(NodeId),
    /// All instances of a class of the profile.
    Class(usize),
    /// What a relation of the profile leads to (`forward`) or comes from. A silent set is made of statement nodes, which have no name.
    Walk {
        from: Box<Set>,
        relation: usize,
        forward: bool,
        silent: bool,
    },
    /// Those members that pass a test.
    Keep { of: Box<Set>, test: Test },
    /// The members with the extreme value of an attribute: their own, or that of what `via` joins them to.
    Most {
        of: Box<Set>,
        via: Option<(usize, bool)>,
        relation: usize,
        max: bool,
    },
}

/// What a member may have to pass.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    /// An attribute compares with a value.
    Value {
        relation: usize,
        op: Op,
        value: Literal,
    },
    /// An attribute lies between two values, both included.
    Between {
        relation: usize,
        low: Literal,
        high: Literal,
    },
    /// An attribute is one of two values.
    OneOf {
        relation: usize,
        values: [Literal; 2],
    },
    /// A relation leads to (`forward`) or comes from a member of a set.
    Is {
        relation: usize,
        forward: bool,
        set: Box<Set>,
    },
    /// The member is of a class.
    Of(usize),
    /// The member's interval (index into the profile's) holds in a year.
    During { interval: usize, year: u32 },
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    /// Which things; with a relation, by what names them.
    List { set: Set, by: Option<usize> },
    /// How many things, or how many values of an attribute.
    Count { set: Set },
    /// Whether a thing passes a test.
    Yes { of: Set, test: Test },
    /// Things of either set.
    Either {
        left: Set,
        right: Set,
        by: Option<usize>,
    },
    /// Which of two things has more of an attribute.
    Compare {
        left: NodeId,
        right: NodeId,
        relation: usize,
        max: bool,
    },
}

impl Set {
    pub(super) fn walk(self, relation: usize, forward: bool) -> Self {
        Self::Walk {
            from: Box::new(self),
            relation,
            forward,
            silent: false,
        }
    }

    pub(super) fn silent(self, relation: usize, forward: bool) -> Self {
        Self::Walk {
            from: Box::new(self),
            relation,
            forward,
            silent: true,
        }
    }

    pub(super) fn keep(self, test: Test) -> Self {
        Self::Keep {
            of: Box::new(self),
            test,
        }
    }

    pub(super) fn most(self, relation: usize, max: bool) -> Self {
        Self::Most {
            of: Box::new(self),
            via: None,
            relation,
            max,
        }
    }

    /// The extremes by an attribute of what a relation joins the members to.
    pub(super) fn most_via(self, via: (usize, bool), relation: usize, max: bool) -> Self {
        Self::Most {
            of: Box::new(self),
            via: Some(via),
            relation,
            max,
        }
    }

    /// Calls back with every relation, class and named thing.
    fn visit(
        &self,
        relation: &mut dyn FnMut(usize),
        class: &mut dyn FnMut(usize),
        entity: &mut dyn FnMut(NodeId),
    ) {
        match self {
            Self::Entity(node) => entity(*node),
            Self::Class(index) => class(*index),
            Self::Walk {
                from,
                relation: used,
                ..
            } => {
                relation(*used);
                from.visit(relation, class, entity);
            }
            Self::Keep { of, test } => {
                of.visit(relation, class, entity);
                test.visit(relation, class, entity);
            }
            Self::Most {
                of,
                via,
                relation: used,
                ..
            } => {
                relation(*used);
                via.iter().for_each(|via| relation(via.0));
                of.visit(relation, class, entity);
            }
        }
    }

    /// Relations between the described things and what they are described by, statement nodes passed through.
    pub(super) fn hops(&self) -> u32 {
        match self {
            Self::Entity(_) | Self::Class(_) => 0,
            Self::Walk { from, silent, .. } => from.hops() + u32::from(!silent),
            Self::Keep { of, test } => {
                let inner = match test {
                    Test::Is { set, .. } => set.hops() + 1,
                    Test::Value { .. } | Test::Between { .. } | Test::OneOf { .. } => 1,
                    Test::Of(_) | Test::During { .. } => 0,
                };
                of.hops().max(inner)
            }
            Self::Most { of, .. } => of.hops().max(1),
        }
    }
}

impl Test {
    fn visit(
        &self,
        relation: &mut dyn FnMut(usize),
        class: &mut dyn FnMut(usize),
        entity: &mut dyn FnMut(NodeId),
    ) {
        match self {
            Self::Value { relation: used, .. }
            | Self::Between { relation: used, .. }
            | Self::OneOf { relation: used, .. } => {
                relation(*used);
            }
            Self::Is {
                relation: used,
                set,
                ..
            } => {
                relation(*used);
                set.visit(relation, class, entity);
            }
            Self::Of(index) => class(*index),
            Self::During { .. } => {}
        }
    }
}

/// What a question speaks of: places in the profile, and named things in order of mention.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub relations: Vec<usize>,
    pub classes: Vec<usize>,
    pub entities: Vec<NodeId>,
}

impl Ask {
    pub(super) fn hops(&self) -> u32 {
        let named = |set: &Set, by: &Option<usize>| set.hops() + u32::from(by.is_some());
        let hops = match self {
            Self::List { set, by } => named(set, by),
            Self::Count { set } => set.hops(),
            Self::Yes { of, .. } => of.hops() + 1,
            Self::Either { left, right, by } => named(left, by).max(named(right, by)),
            Self::Compare { .. } => 1,
        };
        hops.max(1)
    }

    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::default();
        let (mut relations, mut classes, mut entities) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut relation = |used: usize| relations.push(used);
            let mut class = |used: usize| classes.push(used);
            let mut entity = |node: NodeId| entities.push(node);
            match self {
                Self::List { set, by } => {
                    set.visit(&mut relation, &mut class, &mut entity);
                    by.iter().for_each(|&by| relation(by));
                }
                Self::Count { set } => set.visit(&mut relation, &mut class, &mut entity),
                Self::Yes { of, test } => {
                    of.visit(&mut relation, &mut class, &mut entity);
                    test.visit(&mut relation, &mut class, &mut entity);
                }
                Self::Either { left, right, by } => {
                    left.visit(&mut relation, &mut class, &mut entity);
                    right.visit(&mut relation, &mut class, &mut entity);
                    by.iter().for_each(|&by| relation(by));
                }
                Self::Compare {
                    left,
                    right,
                    relation: used,
                    ..
                } => {
                    relation(*used);
                    entity(*left);
                    entity(*right);
                }
            }
        }
        relations.sort_unstable();
        relations.dedup();
        classes.sort_unstable();
        classes.dedup();
        for node in entities {
            if !uses.entities.contains(&node) {
                uses.entities.push(node);
            }
        }
        uses.relations = relations;
        uses.classes = classes;
        uses
    }

    /// The query that says exactly this. `None` where a thing has no IRI.
    pub(super) fn query(&self, profile: &Profile<'_>) -> Option<Query> {
        let mut algebra = Algebra {
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

/// DISTINCT, or ORDER BY with LIMIT 1 where an extreme is wanted.
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

struct Algebra<'p, 'g> {
    profile: &'p Profile<'g>,
    patterns: Vec<TriplePattern>,
    filters: Vec<Expression>,
    order: Option<(Variable, bool)>,
    next: usize,
}

impl Algebra<'_, '_> {
    fn fresh(&mut self) -> Variable {
        self.next += 1;
        Variable::new_unchecked(format!("v{}", self.next))
    }

    fn named(&self, node: NodeId) -> Option<NamedNode> {
        match self.profile.term(node)? {
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

    /// The patterns so far.
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

    /// A set, or what names its members, as the answer; the variable by which it is ordered, if it is an extreme.
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

    /// The term that stands for a set.
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
            // A lone entity is never an answer.
            Set::Entity(_) => return None,
            Set::Class(class) => {
                let class = &self.profile.classes[*class];
                let (relation, node) = (class.type_relation.clone(), self.named(class.node)?);
                self.iri_triple(this, &relation, TermPattern::NamedNode(node));
            }
            Set::Walk {
                from,
                relation,
                forward,
                ..
            } => {
                let from = self.set(from)?;
                if *forward {
                    self.triple(from, *relation, this)
                } else {
                    self.triple(this, *relation, from)
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
                // One query orders by one key.
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

    fn test(&mut self, this: &TermPattern, test: &Test) -> Option<()> {
        match test {
            Test::Value {
                relation,
                op,
                value,
            } => {
                let attribute = self.fresh();
                self.triple(
                    this.clone(),
                    *relation,
                    TermPattern::Variable(attribute.clone()),
                );
                self.filters.push(compare(&attribute, *op, value));
            }
            Test::Between {
                relation,
                low,
                high,
            } => {
                let attribute = self.fresh();
                self.triple(
                    this.clone(),
                    *relation,
                    TermPattern::Variable(attribute.clone()),
                );
                self.filters.push(compare(&attribute, Op::Ge, low));
                self.filters.push(compare(&attribute, Op::Le, high));
            }
            Test::OneOf {
                relation,
                values: [one, other],
            } => {
                let attribute = self.fresh();
                self.triple(
                    this.clone(),
                    *relation,
                    TermPattern::Variable(attribute.clone()),
                );
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
                    self.triple(this.clone(), *relation, other)
                } else {
                    self.triple(other, *relation, this.clone())
                }
            }
            Test::Of(class) => {
                let class = &self.profile.classes[*class];
                let (relation, node) = (class.type_relation.clone(), self.named(class.node)?);
                self.iri_triple(this.clone(), &relation, TermPattern::NamedNode(node));
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

    /// `NOT EXISTS { this relation ?a } || EXISTS { this relation ?b . FILTER(?b op value) }`: a missing end counts as open.
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
