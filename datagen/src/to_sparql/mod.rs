//! Back from programs to SPARQL: the algebra of a query that gives, on the same graph, what the program gives (spec A.2, the direction that the
//! paper's authors publish).
//!
//! ```text
//! v0 = get_head_entity(lx, city)                     ?x city lx
//! v1 = get_entity_by_constraint(v0, capacity, argmax) ?x capacity ?n . { SELECT (MAX(?o) AS ?n) { ?y city lx . ?y capacity ?o } }
//! ```
//! Walks, classes, intersections and unions are patterns whatever the graph. Comparisons of the tools go by kind and by span (rules R8 to R13),
//! SPARQL's by datatype, so the filter of a comparison is chosen among several spellings by what it keeps of the very set that the program
//! compares; where none keeps the same, the program is refused. Laws, tested on random programs and on all gold sets: the answers of
//! `back(p)` are those of `p`, and where `back(p)` converts, so are those of `convert(back(p))`.

mod compare;

use kg::Kg;
use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};
use kg::spargebra::term::{GroundTerm, TermPattern, Variable};
use kg::term::{NodeId, RelId, Term};
use kg::value::{Extreme, Op};
use toolbox::call::{Arg, Call, Target, Tool};
use toolbox::exec::{EntSet, ExecOptions, Observation, Session, ToolError, Value, run_program};
use toolbox::link::Linked;

use crate::graph::{Step, algebra};

/// Why no query says what a program does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsayable {
    /// The program cannot be run.
    #[error("step {step} of the program fails: {error}", step = step + 1)]
    Fails {
        /// The step, from 0.
        step: usize,
        /// Why.
        error: ToolError,
    },
    /// What a tool gives is no matter of triples.
    #[error("`{0}`: no query says what this tool gives; it depends on the question's words")]
    Words(String),
    /// No filter keeps what the tool keeps.
    #[error("`{0}`: the tool compares the values of this graph as no filter does")]
    Comparison(String),
    /// A query cannot name a blank node.
    #[error("`{0}` is a blank node, which no query can name")]
    Blank(String),
    /// An argument that the call cannot have.
    #[error("`{0}` cannot be read")]
    Argument(String),
}

/// The query of a program. `exclude` are the terms kept out of its answer (rule R7).
///
/// # Errors
/// [`Unsayable`] says which call no query expresses on this graph, or why the program does not run.
///
/// ```
/// use toolbox::call::parse_program;
/// use kg::FrozenKg;
/// use kg::term::Term;
///
/// let iri = |name: &str| Term::Iri(format!("http://ex.org/{name}"));
/// let kg = FrozenKg::from_triples([[iri("lions"), iri("city"), iri("lx")]]);
/// let calls = parse_program("v0 = get_tail_entity(lions, city); ans = end(v0)")?;
/// let query = datagen::to_sparql::back(&kg, &calls, &[])?;
/// assert_eq!(query.to_string(), "SELECT DISTINCT ?x WHERE { <http://ex.org/lions> <http://ex.org/city> ?x . }");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn back(kg: &dyn Kg, calls: &[Call], exclude: &[Term]) -> Result<Query, Unsayable> {
    let mut session = Session::new(
        kg,
        "",
        Linked::default(),
        &[],
        ExecOptions {
            max_steps: calls.len(),
            ..ExecOptions::default()
        },
    )
    .map_err(|error| Unsayable::Fails {
        step: 0,
        error: error.into(),
    })?;
    run_program(&mut session, calls).map_err(|(step, error)| Unsayable::Fails { step, error })?;
    let mut said = Vec::new();
    for step in session.steps() {
        if let (Target::Var(_), Observation::Value(value)) = (step.call.target, &step.observation) {
            said.push((step.call.clone(), value.clone()));
        }
    }
    let last = session.steps().last().map(|step| step.call.clone());
    let mut back = Back { kg, said, fresh: 0 };
    let Some(Call {
        tool: Tool::End,
        args,
        ..
    }) = last
    else {
        return Err(Unsayable::Argument("the last call".to_owned()));
    };
    let answer = args
        .first()
        .ok_or_else(|| Unsayable::Argument("end()".to_owned()))?;
    back.query(answer, exclude)
}

struct Back<'a> {
    kg: &'a dyn Kg,
    /// The call behind every variable, and what it gave.
    said: Vec<(Call, Value)>,
    fresh: usize,
}

/// A relation as calls walk it.
struct Walk {
    iri: String,
    id: RelId,
    /// The ends of a derived interval.
    interval: Option<(RelId, RelId)>,
    forward: bool,
}

impl Back<'_> {
    fn fresh(&mut self) -> Variable {
        self.fresh += 1;
        Variable::new_unchecked(format!("n{}", self.fresh))
    }

    fn call(&self, index: u32) -> Result<(Call, Value), Unsayable> {
        self.said
            .get(index as usize)
            .cloned()
            .ok_or_else(|| Unsayable::Argument(format!("v{index}")))
    }

    fn query(&mut self, answer: &Arg, exclude: &[Term]) -> Result<Query, Unsayable> {
        let select = |pattern| Query::Select {
            dataset: None,
            pattern,
            base_iri: None,
        };
        let x = Variable::new_unchecked("x");
        if let Arg::Var(index) = answer {
            let (call, value) = self.call(*index)?;
            match (call.tool, value) {
                (Tool::Count, _) => {
                    let inner = Box::new(self.argument(&call, 0, &x)?);
                    let count = Variable::new_unchecked("n");
                    let name = AggregateFunction::Count;
                    let counted = AggregateExpression::FunctionCall {
                        name,
                        expr: x.into(),
                        distinct: true,
                    };
                    let group = GraphPattern::Group {
                        inner,
                        variables: Vec::new(),
                        aggregates: vec![(count.clone(), counted)],
                    };
                    return Ok(select(GraphPattern::Project {
                        inner: Box::new(group),
                        variables: vec![count],
                    }));
                }
                (Tool::Judge, Value::Bool(truth)) => {
                    let pattern = self.judged(&call, truth, &x)?;
                    let pattern = GraphPattern::Project {
                        inner: Box::new(pattern),
                        variables: Vec::new(),
                    };
                    return Ok(Query::Ask {
                        dataset: None,
                        pattern,
                        base_iri: None,
                    });
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
            let term = algebra::constant(term).ok_or_else(|| Unsayable::Blank(term.to_string()))?;
            pattern = algebra::filter(pattern, algebra::differs(x.clone().into(), term));
        }
        let project = GraphPattern::Project {
            inner: Box::new(pattern),
            variables: vec![x],
        };
        Ok(select(GraphPattern::Distinct {
            inner: Box::new(project),
        }))
    }

    /// The set that an argument denotes, as the values of a variable.
    fn set(&mut self, arg: &Arg, out: &Variable) -> Result<GraphPattern, Unsayable> {
        match arg {
            Arg::Var(index) => self.assigned(*index, out),
            Arg::Name(name) => Ok(values(out, vec![self.constant(name)?])),
            Arg::List(items) if items.is_empty() => Ok(values(out, Vec::new())),
            Arg::List(items) => {
                let sets = items
                    .iter()
                    .map(|item| self.set(item, out))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(union(sets))
            }
            other => Err(Unsayable::Argument(other.to_string())),
        }
    }

    fn argument(
        &mut self,
        call: &Call,
        index: usize,
        out: &Variable,
    ) -> Result<GraphPattern, Unsayable> {
        let arg = call
            .args
            .get(index)
            .ok_or_else(|| Unsayable::Argument(call.to_string()))?;
        self.set(arg, out)
    }

    fn constant(&self, name: &str) -> Result<GroundTerm, Unsayable> {
        let term = self
            .kg
            .by_name(name)
            .map(|node| self.kg.term(node))
            .ok_or_else(|| Unsayable::Argument(name.to_owned()))?;
        algebra::ground(&term).ok_or_else(|| Unsayable::Blank(name.to_owned()))
    }

    fn assigned(&mut self, index: u32, out: &Variable) -> Result<GraphPattern, Unsayable> {
        let (call, value) = self.call(index)?;
        match call.tool {
            Tool::GetTailEntity | Tool::GetHeadEntity => {
                let walk = self.walk(&call)?;
                let forward = walk.forward == (call.tool == Tool::GetTailEntity);
                self.walked(&call, &walk.iri, forward, out.clone().into())
            }
            Tool::GetEntityByType => {
                let Some(Arg::Name(class)) = call.args.first() else {
                    return Err(Unsayable::Argument(call.to_string()));
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
                    .collect::<Result<_, _>>()?,
            )),
            Tool::GetEntityByConstraint => {
                let Value::Set(kept) = value else {
                    return Err(Unsayable::Argument(call.to_string()));
                };
                self.constrained(&call, &kept, out)
            }
            _ => Err(Unsayable::Words(call.to_string())),
        }
    }

    /// One step from the first argument's set.
    fn walked(
        &mut self,
        call: &Call,
        iri: &str,
        forward: bool,
        out: TermPattern,
    ) -> Result<GraphPattern, Unsayable> {
        let step = [Step {
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

    /// The relation of a call and whether it is walked as it is written.
    fn walk(&self, call: &Call) -> Result<Walk, Unsayable> {
        let odd = || Unsayable::Argument(call.to_string());
        let (name, forward) = match call.args.get(1).ok_or_else(odd)? {
            Arg::Name(name) => (name, true),
            Arg::Inverse(inner) => match inner.as_ref() {
                Arg::Name(name) => (name, false),
                _ => return Err(odd()),
            },
            _ => return Err(odd()),
        };
        let schema = self.kg.schema();
        let interval = schema
            .intervals
            .iter()
            .find(|interval| interval.name == *name)
            .map(|interval| (interval.from, interval.to));
        // As a walk, and under anything but `=`, an interval means its start (rule R11).
        let id = match interval {
            Some((from, _)) => from,
            None => self
                .kg
                .by_name(name)
                .map(NodeId::relation)
                .ok_or_else(odd)?,
        };
        match self.kg.term(id.node()) {
            Term::Iri(iri) => Ok(Walk {
                iri,
                id,
                interval,
                forward,
            }),
            Term::Blank(_) | Term::Literal(_) => Err(odd()),
        }
    }

    /// The members of a set argument as the program had them.
    fn members(&self, arg: &Arg) -> Result<EntSet, Unsayable> {
        match arg {
            Arg::Var(index) => match self.call(*index)?.1 {
                Value::Set(set) => Ok(set),
                Value::Int(_) | Value::Bool(_) => Err(Unsayable::Argument(arg.to_string())),
            },
            Arg::Name(name) => Ok(self.kg.by_name(name).into_iter().collect()),
            Arg::List(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend_from_slice(&self.members(item)?);
                }
                all.sort_unstable();
                all.dedup();
                Ok(all.into())
            }
            other => Err(Unsayable::Argument(other.to_string())),
        }
    }

    fn constrained(
        &mut self,
        call: &Call,
        kept: &EntSet,
        out: &Variable,
    ) -> Result<GraphPattern, Unsayable> {
        let walk = self.walk(call)?;
        let base = self.argument(call, 0, out)?;
        if let Some(Arg::Extreme(extreme)) = call.args.get(2) {
            return self.extreme(call, &walk, *extreme, kept, base, out);
        }
        let (pattern, filter) = self.compared(call, &walk, out, |owners| {
            owners.iter().copied().eq(kept.iter().copied())
        })?;
        let whole = algebra::join(base, pattern);
        Ok(match filter {
            Some(filter) => algebra::filter(whole, filter),
            None => whole,
        })
    }

    fn judged(
        &mut self,
        call: &Call,
        truth: bool,
        out: &Variable,
    ) -> Result<GraphPattern, Unsayable> {
        let walk = self.walk(call)?;
        let (pattern, filter) =
            self.compared(call, &walk, out, |owners| owners.is_empty() != truth)?;
        let base = self.argument(call, 0, out)?;
        let whole = algebra::join(base, pattern);
        Ok(match filter {
            Some(filter) => algebra::filter(whole, filter),
            None => whole,
        })
    }

    /// The pattern and filter of a comparison on `out`; `same` says whether the owners that a filter keeps are the right ones.
    fn compared(
        &mut self,
        call: &Call,
        walk: &Walk,
        out: &Variable,
        same: impl Fn(&[NodeId]) -> bool,
    ) -> Result<(GraphPattern, Option<Expression>), Unsayable> {
        let odd = || Unsayable::Argument(call.to_string());
        let Some(Arg::Op(op)) = call.args.get(2) else {
            return Err(odd());
        };
        let step = [Step {
            relation: walk.iri.clone(),
            forward: walk.forward,
        }];
        let tail = self.fresh();
        let edge = algebra::along(out.clone().into(), &step, tail.clone().into());
        match call.args.get(3).ok_or_else(odd)? {
            Arg::Literal(literal) => {
                let input = self.members(call.args.first().ok_or_else(odd)?)?;
                if let (Some((from, to)), Op::Eq) = (walk.interval, op) {
                    let filter = self.overlaps(&input, (from, to), literal, out, &same);
                    return filter
                        .map(|filter| (algebra::nothing(), Some(filter)))
                        .ok_or_else(|| Unsayable::Comparison(call.to_string()));
                }
                let pairs = self.pairs(&input, walk);
                let spelled = self.spelled(&pairs, *op, literal, &same);
                let test = spelled.ok_or_else(|| Unsayable::Comparison(call.to_string()))?;
                let filter = algebra::replace(&test, &mut |_| tail.clone().into());
                Ok((edge, Some(filter)))
            }
            Arg::Name(name) if name != "NOW" => {
                let value = self.constant(name)?;
                if *op == Op::Eq {
                    return Ok((
                        algebra::along(out.clone().into(), &step, pattern_of(value)),
                        None,
                    ));
                }
                let value: Expression = match value {
                    GroundTerm::NamedNode(node) => node.into(),
                    GroundTerm::Literal(literal) => literal.into(),
                    #[allow(unreachable_patterns)]
                    _ => return Err(odd()),
                };
                Ok((
                    edge,
                    Some(Expression::Not(Box::new(Expression::SameTerm(
                        Box::new(tail.into()),
                        Box::new(value),
                    )))),
                ))
            }
            Arg::Var(index) => {
                let input = self.members(call.args.first().ok_or_else(odd)?)?;
                let set = self.members(&Arg::Var(*index))?;
                let value = self.fresh();
                let other = self.assigned(*index, &value)?;
                if let Some(&only) = set
                    .iter()
                    .find(|node| matches!(self.kg.term(**node), Term::Literal(_)))
                {
                    // No one spelling is known to say the comparison with each of several.
                    if set.len() != 1 {
                        return Err(Unsayable::Comparison(call.to_string()));
                    }
                    let pairs = self.pairs(&input, walk);
                    let test = self.against(&pairs, *op, only, &value, &same);
                    let test = test.ok_or_else(|| Unsayable::Comparison(call.to_string()))?;
                    let filter = algebra::replace(&test, &mut |old| {
                        if *old == algebra::tail() {
                            tail.clone().into()
                        } else {
                            old.clone().into()
                        }
                    });
                    return Ok((algebra::join(edge, other), Some(filter)));
                }
                let equal = Expression::SameTerm(Box::new(tail.into()), Box::new(value.into()));
                Ok((
                    algebra::join(edge, other),
                    Some(if *op == Op::Eq {
                        equal
                    } else {
                        Expression::Not(Box::new(equal))
                    }),
                ))
            }
            other => Err(Unsayable::Argument(other.to_string())),
        }
    }
}

/// Values of a variable.
fn values(variable: &Variable, terms: Vec<GroundTerm>) -> GraphPattern {
    GraphPattern::Values {
        variables: vec![variable.clone()],
        bindings: terms.into_iter().map(|term| vec![Some(term)]).collect(),
    }
}

/// Alternatives.
fn union(patterns: Vec<GraphPattern>) -> GraphPattern {
    let union = patterns
        .into_iter()
        .reduce(|left, right| GraphPattern::Union {
            left: Box::new(left),
            right: Box::new(right),
        });
    union.unwrap_or_else(algebra::nothing)
}

/// A constant as an end of a triple pattern.
fn pattern_of(term: GroundTerm) -> TermPattern {
    match term {
        GroundTerm::NamedNode(node) => node.into(),
        GroundTerm::Literal(literal) => literal.into(),
        #[allow(unreachable_patterns)]
        _ => TermPattern::Variable(Variable::new_unchecked("odd")),
    }
}

/// The name of the aggregate that gives an extreme.
fn aggregate_of(extreme: Extreme) -> AggregateFunction {
    match extreme {
        Extreme::Max => AggregateFunction::Max,
        Extreme::Min => AggregateFunction::Min,
    }
}
