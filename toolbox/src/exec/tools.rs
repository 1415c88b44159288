//! The thirteen tools on sorted sets of integers (rules R1–R22).

use std::borrow::Cow;

use super::error::ToolError;
use super::resolve::NEAREST;
use super::session::Session;
use super::types::{EntSet, ExcludeWhen, Observation, Relation, Value, sorted};
use crate::call::{Arg, Call, Tool};
use crate::limits;
use crate::link;
use crate::rank::{RankError, best_first};
use kg::term::{Literal, NodeId, RelId, Term};
use kg::value::{self, Extreme, Kind, Op};

/// The result of a tool before it becomes a [`super::Step`].
pub(super) struct Done {
    pub observation: Observation,
    pub walked: Option<(Relation, bool)>,
    pub inputs: Vec<EntSet>,
}

/// The right side of a comparison in E5 and `judge`.
enum Against {
    Node(NodeId),
    Literal(Literal),
}

impl Session<'_> {
    /// Runs a call that contains only names.
    pub(super) fn apply(&self, call: &Call) -> Result<Done, ToolError> {
        let args = &call.args;
        let set = |i: usize| -> Result<EntSet, ToolError> {
            args.get(i)
                .map_or_else(|| Err(missing(call)), |arg| self.set(arg))
        };
        let value = |members: Vec<NodeId>, inputs: Vec<EntSet>| -> Result<Done, ToolError> {
            if members.len() > limits::SET_SIZE {
                return Err(ToolError::TooLarge {
                    limit: limits::SET_SIZE,
                });
            }
            Ok(Done {
                observation: Observation::Value(Value::Set(sorted(self.without_excluded(members)))),
                walked: None,
                inputs,
            })
        };
        match call.tool {
            Tool::GetRelation => {
                let from = set(0)?;
                let second = if args.len() > 1 { Some(set(1)?) } else { None };
                let shown = self.list(call, &from, second.as_deref(), self.options.shown)?;
                Ok(Done {
                    observation: Observation::Relations(shown),
                    walked: None,
                    inputs: vec![from],
                })
            }
            Tool::RetrieveRelation => {
                let from = set(0)?;
                let shown = self.list(call, &from, None, RETRIEVED)?;
                Ok(Done {
                    observation: Observation::Relations(shown),
                    walked: None,
                    inputs: vec![from],
                })
            }
            Tool::GetHeadEntity | Tool::GetTailEntity => {
                let from = set(0)?;
                let (relation, forward) =
                    self.bound_relation(call, &from, call.tool == Tool::GetTailEntity)?;
                let mut members = Vec::new();
                for &node in from.iter() {
                    members.extend_from_slice(&self.step(node, relation, forward));
                }
                let mut done = value(members, vec![from])?;
                done.walked = Some((relation, forward));
                Ok(done)
            }
            Tool::GetEntityByType => {
                let class = self.class(args.first().ok_or_else(|| missing(call))?)?;
                value(self.kg.instances(class).into_owned(), vec![[class].into()])
            }
            Tool::GetEntityByConstraint => self.constrain(call, set(0)?),
            Tool::GetCandidateEntity => {
                let Some(Arg::Literal(mention)) = args.first() else {
                    return Err(missing(call));
                };
                let found = link::candidates(self.kg, &mention.lexical)?;
                value(
                    found.into_iter().map(|candidate| candidate.node).collect(),
                    Vec::new(),
                )
            }
            Tool::DisambiguateEntity => {
                let from = set(0)?;
                value(
                    self.best_candidate(&from)?.into_iter().collect(),
                    vec![from],
                )
            }
            Tool::Count => {
                let from = set(0)?;
                Ok(Done {
                    observation: Observation::Value(Value::Int(from.len() as u64)),
                    walked: None,
                    inputs: vec![from],
                })
            }
            Tool::Intersect | Tool::Union => {
                let sets = args
                    .iter()
                    .map(|arg| self.set(arg))
                    .collect::<Result<Vec<_>, _>>()?;
                let members = if call.tool == Tool::Union {
                    sets.iter().flat_map(|s| s.iter().copied()).collect()
                } else {
                    intersection(&sets)
                };
                value(members, sets)
            }
            Tool::Judge => self.judge(call, &set(0)?),
            Tool::End => self.end(args.first().ok_or_else(|| missing(call))?),
        }
    }

    fn without_excluded(&self, mut members: Vec<NodeId>) -> Vec<NodeId> {
        let exclude = &self.options.exclude;
        if exclude.when == ExcludeWhen::EveryStep {
            members.retain(|node| !exclude.nodes.contains(node));
        }
        members
    }

    /// The neighbours of a node along a relation (`forward`) or against it.
    pub(super) fn step(
        &self,
        node: NodeId,
        relation: Relation,
        forward: bool,
    ) -> Cow<'_, [NodeId]> {
        match relation {
            Relation::Plain(id) if self.options.without.contains(&id) => Cow::default(),
            Relation::Plain(id) if forward => self.kg.tails(node, id),
            Relation::Plain(id) => self.kg.heads(id, node),
            // A derived interval has no values; following it leads to its start (rule R11).
            Relation::Interval(index) => {
                let interval = &self.kg.schema().intervals[index];
                if forward {
                    self.kg.tails(node, interval.from)
                } else {
                    self.kg.heads(interval.from, node)
                }
            }
        }
    }

    /// Binds a relation argument (rules R1, R2): an exact name that some member has in the right
    /// direction, else the only shown relation with this last segment or label. An empty set binds
    /// any relation, because the result is empty in every case.
    fn bound_relation(
        &self,
        call: &Call,
        from: &[NodeId],
        along: bool,
    ) -> Result<(Relation, bool), ToolError> {
        let (name, forward) = match call.args.get(1) {
            Some(Arg::Name(name)) => (name, along),
            Some(Arg::Inverse(inner)) => match inner.as_ref() {
                Arg::Name(name) => (name, !along),
                _ => return Err(missing(call)),
            },
            _ => return Err(missing(call)),
        };
        let bound = self
            .relation_by_name(name)
            .or_else(|| self.shown_by_segment(call, name, forward));
        let has = |relation: Relation, forward: bool| {
            from.iter()
                .any(|&node| self.has_any(node, relation, forward))
        };
        match bound {
            Some(relation) if from.is_empty() || has(relation, forward) => Ok((relation, forward)),
            Some(relation) if has(relation, !forward) => {
                let (set, relation) = (call.args[0].to_string(), self.relation_name(relation));
                let hint = match (call.tool, forward) {
                    (Tool::GetTailEntity, _) => format!("use get_head_entity({set}, {relation})"),
                    (Tool::GetHeadEntity, _) => format!("use get_tail_entity({set}, {relation})"),
                    (_, true) => format!("write ~{relation}"),
                    (_, false) => format!("write {relation} without ~"),
                };
                Err(ToolError::WrongDirection {
                    relation,
                    set,
                    incoming: forward,
                    hint,
                })
            }
            _ => Err(ToolError::UnknownRelation {
                given: name.clone(),
                set: call.args[0].to_string(),
                near: self.nearest_relations(from, name)?,
            }),
        }
    }

    fn has_any(&self, node: NodeId, relation: Relation, forward: bool) -> bool {
        match relation {
            Relation::Interval(index) if forward => {
                let interval = &self.kg.schema().intervals[index];
                !self.kg.tails(node, interval.from).is_empty()
                    || !self.kg.tails(node, interval.to).is_empty()
            }
            _ => !self.step(node, relation, forward).is_empty(),
        }
    }

    fn shown_by_segment(&self, call: &Call, name: &str, forward: bool) -> Option<Relation> {
        let shown = self.shown.get(&self.set_key(call.args.first()?).ok()?)?;
        let candidates = if forward { &shown.out } else { &shown.incoming };
        let fits = |relation: &&Relation| {
            let full = self.relation_name(**relation);
            let label = match relation {
                Relation::Plain(id) => self.kg.label(id.node()),
                Relation::Interval(_) => None,
            };
            full.rsplit(['.', '/', '#', ':']).next() == Some(name) || label.as_deref() == Some(name)
        };
        let mut fitting = candidates.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(&only), None) => Some(only),
            _ => None,
        }
    }

    fn nearest_relations(&self, from: &[NodeId], name: &str) -> Result<Vec<String>, RankError> {
        if !self.options.lists {
            return Ok(Vec::new());
        }
        let mut names: Vec<String> = self
            .adjacent(from)
            .iter()
            .map(|adjacent| self.relation_name(adjacent.relation))
            .collect();
        names.sort_unstable();
        names.dedup();
        let scores = self.options.ranker.score(name, &names)?;
        Ok(best_first(&scores, &names)
            .into_iter()
            .take(NEAREST)
            .map(|i| names[i].clone())
            .collect())
    }

    fn class(&self, arg: &Arg) -> Result<NodeId, ToolError> {
        let Arg::Name(name) = arg else {
            return Err(ToolError::Argument {
                given: arg.to_string(),
                right: "a class is needed".to_owned(),
            });
        };
        match self.kg.by_name(name) {
            Some(node) if !self.kg.instances(node).is_empty() => Ok(node),
            _ => {
                let near = self
                    .classes
                    .iter()
                    .take(NEAREST)
                    .map(|&class| self.kg.name(class))
                    .collect();
                Err(ToolError::UnknownClass {
                    given: name.clone(),
                    near,
                })
            }
        }
    }

    fn against(&self, arg: Option<&Arg>) -> Result<Against, ToolError> {
        match arg {
            Some(Arg::Literal(literal)) => Ok(Against::Literal(literal.clone())),
            Some(Arg::Name(name)) if name == "NOW" => {
                let now = self.options.now.clone();
                Ok(Against::Literal(
                    now.unwrap_or_else(|| self.kg.schema().settings.now()),
                ))
            }
            Some(Arg::Var(index)) => match self.set(&Arg::Var(*index))?.as_ref() {
                [only] => Ok(self.as_value(*only)),
                many => Err(ToolError::Comparison(format!(
                    "v{index} has {} members; a value to compare with is one",
                    many.len()
                ))),
            },
            Some(other) => Ok(Against::Node(self.node(other)?)),
            None => Err(ToolError::Comparison(
                "a value to compare with is missing".to_owned(),
            )),
        }
    }

    fn as_value(&self, node: NodeId) -> Against {
        match self.kg.term(node) {
            Term::Literal(literal) => Against::Literal(literal),
            Term::Iri(_) | Term::Blank(_) => Against::Node(node),
        }
    }

    /// E5: filters a set (rules R8–R14).
    fn constrain(&self, call: &Call, from: EntSet) -> Result<Done, ToolError> {
        let bound = self.bound_relation(call, &from, true);
        let (relation, forward) = match bound {
            Ok(bound) => bound,
            Err(ToolError::UnknownRelation { .. }) if self.options.lenient_filters => {
                return Ok(Done {
                    observation: Observation::Value(Value::Set(from.clone())),
                    walked: None,
                    inputs: vec![from],
                });
            }
            Err(error) => return Err(error),
        };
        let mut kept = match call.args.get(2) {
            Some(Arg::Extreme(extreme)) => self.extreme(&from, relation, forward, *extreme),
            Some(Arg::Op(op)) => self.satisfying(
                &from,
                relation,
                forward,
                *op,
                &self.against(call.args.get(3))?,
            )?,
            _ => return Err(missing(call)),
        };
        if kept.is_empty() && self.options.lenient_filters {
            kept = from.to_vec();
        }
        let members = sorted(self.without_excluded(kept));
        Ok(Done {
            observation: Observation::Value(Value::Set(members)),
            walked: Some((relation, forward)),
            inputs: vec![from],
        })
    }

    fn satisfying(
        &self,
        from: &[NodeId],
        relation: Relation,
        forward: bool,
        op: Op,
        against: &Against,
    ) -> Result<Vec<NodeId>, ToolError> {
        match against {
            // Superclasses count wherever they count for `get_entity_by_type`.
            Against::Node(class) if forward && op == Op::Eq && self.counts_wider(relation) => {
                Ok(from
                    .iter()
                    .filter(|&&node| self.kg.types(node).contains(class))
                    .copied()
                    .collect())
            }
            Against::Node(value) => {
                let wanted = |tail: NodeId| match op {
                    Op::Eq => Ok(tail == *value),
                    Op::Ne => Ok(tail != *value),
                    _ => Err(ToolError::Comparison(format!(
                        "entities can be compared with = and != only, not with {op}"
                    ))),
                };
                let mut kept = Vec::new();
                for &node in from {
                    for &tail in self.step(node, relation, forward).iter() {
                        if wanted(tail)? {
                            kept.push(node);
                            break;
                        }
                    }
                }
                Ok(kept)
            }
            Against::Literal(literal) => {
                if let Relation::Interval(index) = relation
                    && op == Op::Eq
                {
                    let interval = &self.kg.schema().intervals[index];
                    let bound = |node: NodeId, id: RelId| self.literals(&self.kg.tails(node, id));
                    let overlaps = |node: &&NodeId| {
                        value::interval_contains(
                            &bound(**node, interval.from),
                            &bound(**node, interval.to),
                            literal,
                        )
                    };
                    return Ok(from.iter().filter(overlaps).copied().collect());
                }
                let tails: Vec<Vec<Literal>> = from
                    .iter()
                    .map(|&node| self.literals(&self.step(node, relation, forward)))
                    .collect();
                let kind = Kind::majority(tails.iter().flatten());
                let holds = |tails: &Vec<Literal>| {
                    tails
                        .iter()
                        .any(|tail| value::compare(tail, op, literal, kind))
                };
                Ok(from
                    .iter()
                    .zip(&tails)
                    .filter(|(_, tails)| holds(tails))
                    .map(|(&node, _)| node)
                    .collect())
            }
        }
    }

    fn counts_wider(&self, relation: Relation) -> bool {
        let schema = self.kg.schema();
        schema.settings.subclasses
            && matches!(relation, Relation::Plain(id) if schema.type_relations.contains(&id))
    }

    pub(crate) fn literals(&self, nodes: &[NodeId]) -> Vec<Literal> {
        nodes
            .iter()
            .filter_map(|&node| match self.kg.term(node) {
                Term::Literal(literal) => Some(literal),
                // Graphs made from plain text store years and numbers as nodes; their names are
                // read as literals.
                Term::Iri(iri) if iri.starts_with("urn:kgagent:") => {
                    self.kg.label(node).map(Literal::plain)
                }
                Term::Iri(_) | Term::Blank(_) => None,
            })
            .collect()
    }

    fn extreme(
        &self,
        from: &[NodeId],
        relation: Relation,
        forward: bool,
        extreme: Extreme,
    ) -> Vec<NodeId> {
        let mut owners = Vec::new();
        let mut tails = Vec::new();
        for &node in from {
            for literal in self.literals(&self.step(node, relation, forward)) {
                owners.push(node);
                tails.push(literal);
            }
        }
        let tails: Vec<&Literal> = tails.iter().collect();
        value::extreme(&tails, extreme)
            .unwrap_or_default()
            .into_iter()
            .map(|i| owners[i])
            .collect()
    }

    /// L4 (rule R17): whether some member has a value that satisfies the comparison. No values
    /// means false, not an error. If the right side is a variable with several values, one of them
    /// is enough.
    fn judge(&self, call: &Call, from: &EntSet) -> Result<Done, ToolError> {
        let truth = |truth: bool, walked| {
            Ok(Done {
                observation: Observation::Value(Value::Bool(truth)),
                walked,
                inputs: vec![from.clone()],
            })
        };
        let (relation, forward) = match self.bound_relation(call, from, true) {
            Ok(bound) => bound,
            // The relation exists, but no member has it in this direction: no values, which means
            // false (rule R17).
            Err(ToolError::UnknownRelation { given, .. })
                if self.relation_by_name(&given).is_some() =>
            {
                return truth(false, None);
            }
            Err(ToolError::WrongDirection { .. }) => return truth(false, None),
            Err(error) => return Err(error),
        };
        let Some(Arg::Op(op)) = call.args.get(2) else {
            return Err(missing(call));
        };
        let values = match call.args.get(3) {
            Some(Arg::Var(index)) => self
                .set(&Arg::Var(*index))?
                .iter()
                .map(|&node| self.as_value(node))
                .collect(),
            other => vec![self.against(other)?],
        };
        if values.len() > 1 && values.len().saturating_mul(from.len()) > limits::SET_SIZE {
            return Err(ToolError::TooLarge {
                limit: limits::SET_SIZE,
            });
        }
        for value in &values {
            if !self
                .satisfying(from, relation, forward, *op, value)?
                .is_empty()
            {
                return truth(true, Some((relation, forward)));
            }
        }
        truth(false, Some((relation, forward)))
    }

    /// S2: the candidate whose relations, classes and label match the question best; ties go to the
    /// higher degree, then to the lower id.
    fn best_candidate(&self, from: &[NodeId]) -> Result<Option<NodeId>, RankError> {
        let scores = link::choose(
            self.kg,
            &self.bare_question,
            from,
            &vec![0.0; from.len()],
            self.options.ranker.as_ref(),
        )?;
        let degree = |i: usize| self.kg.degree(from[i]);
        let best = (0..from.len()).max_by(|&a, &b| {
            scores[a]
                .total_cmp(&scores[b])
                .then(degree(a).cmp(&degree(b)))
                .then(b.cmp(&a))
        });
        Ok(best.map(|i| from[i]))
    }

    fn end(&self, arg: &Arg) -> Result<Done, ToolError> {
        let value = match arg {
            Arg::Var(index) => match self.variables.get(*index as usize) {
                Some(value) => value.clone(),
                None => {
                    return Err(ToolError::UnknownVariable {
                        given: *index,
                        live: self.variables.len(),
                    });
                }
            },
            other => Value::Set(self.set(other)?),
        };
        if let Value::Set(set) = &value
            && self.only_statements(set)
        {
            let near = self.nearest_relations(set, &self.bare_question)?;
            return Err(ToolError::Statements {
                set: arg.to_string(),
                near,
            });
        }
        let inputs = match &value {
            Value::Set(set) => vec![set.clone()],
            Value::Int(_) | Value::Bool(_) => Vec::new(),
        };
        let exclude = &self.options.exclude;
        let answer = match value {
            Value::Set(set) if exclude.when != ExcludeWhen::Never => {
                let left: EntSet = set
                    .iter()
                    .filter(|node| !exclude.nodes.contains(node))
                    .copied()
                    .collect();
                if left.is_empty() && exclude.when == ExcludeWhen::Others {
                    Value::Set(set)
                } else {
                    Value::Set(left)
                }
            }
            other => other,
        };
        Ok(Done {
            observation: Observation::Answer(answer),
            walked: None,
            inputs,
        })
    }
}

/// Number of relations that `retrieve_relation` shows.
const RETRIEVED: usize = 10;

fn missing(call: &Call) -> ToolError {
    ToolError::Argument {
        given: call.to_string(),
        right: format!(
            "{} takes other arguments; see the tool list",
            call.tool.name()
        ),
    }
}

/// The members of all sets (rule R19: an empty argument gives the empty set).
fn intersection(sets: &[EntSet]) -> Vec<NodeId> {
    let Some((first, rest)) = sets.split_first() else {
        return Vec::new();
    };
    first
        .iter()
        .filter(|node| rest.iter().all(|set| set.binary_search(node).is_ok()))
        .copied()
        .collect()
}
