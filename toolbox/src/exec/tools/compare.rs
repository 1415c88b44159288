//! Comparisons: filters (E5) and `judge` (L4).

use super::{Done, missing};
use crate::call::{Arg, Call};
use crate::exec::error::ToolError;
use crate::exec::session::Session;
use crate::exec::types::{EntSet, Observation, Relation, Value, sorted};
use crate::limits;
use kg::term::{Literal, NodeId, RelId, Term};
use kg::value::{self, Extreme, Kind, Op};

/// The right side of a comparison in E5 and `judge`.
enum Against {
    Node(NodeId),
    Literal(Literal),
}

impl Session<'_> {
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
    pub(super) fn constrain(&self, call: &Call, from: EntSet) -> Result<Done, ToolError> {
        let bound = self.bound_relation(call, &from, true);
        let (relation, forward) = match bound {
            Ok(bound) => bound,
            Err(ToolError::UnknownRelation { .. }) if self.options.lenient_filters => {
                let unchanged = Observation::Value(Value::Set(from.clone()));
                return Ok(Done::new(unchanged, vec![from]));
            }
            Err(error) => return Err(error),
        };
        let mut kept = match call.args.get(2) {
            Some(Arg::Extreme(extreme)) => self.extreme(&from, relation, forward, *extreme)?,
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
            origins: Vec::new(),
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
        let mut clock = self.clock.clone();
        let number = match against {
            Against::Node(value) if !matches!(op, Op::Eq | Op::Ne) => self.number(*value),
            _ => None,
        };
        match number.as_ref().unwrap_or(against) {
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
                    clock.tick()?;
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
                    .map(|&node| {
                        clock.tick()?;
                        Ok(self.literals(&self.step(node, relation, forward)))
                    })
                    .collect::<Result<_, ToolError>>()?;
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

    /// The members of `from` with a value of the relation that satisfies a comparison; empty if the
    /// comparison has no meaning.
    pub(crate) fn satisfying_value(
        &self,
        from: &[NodeId],
        relation: Relation,
        op: Op,
        value: &Literal,
    ) -> EntSet {
        let against = Against::Literal(value.clone());
        let kept = self.satisfying(from, relation, true, op, &against);
        sorted(kept.unwrap_or_default())
    }

    /// The members of `from` that the relation links to a node.
    pub(crate) fn satisfying_node(
        &self,
        from: &[NodeId],
        relation: Relation,
        node: NodeId,
    ) -> EntSet {
        let kept = self.satisfying(from, relation, true, Op::Eq, &Against::Node(node));
        sorted(kept.unwrap_or_default())
    }

    /// The members of `from` with the extreme value of a relation.
    pub(crate) fn extreme_of(
        &self,
        from: &[NodeId],
        relation: Relation,
        extreme: Extreme,
    ) -> EntSet {
        let kept = self.extreme(from, relation, true, extreme);
        sorted(kept.unwrap_or_default())
    }

    fn counts_wider(&self, relation: Relation) -> bool {
        let schema = self.kg.schema();
        schema.settings.subclasses
            && matches!(relation, Relation::Plain(id) if schema.type_relations.contains(&id))
    }

    /// The number or date that a node has for a name: the year `1935` of a plain text graph.
    fn number(&self, node: NodeId) -> Option<Against> {
        let literal = self.literals(&[node]).pop()?;
        let ordered = Kind::majority([&literal]) != Kind::Text;
        ordered.then_some(Against::Literal(literal))
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
    ) -> Result<Vec<NodeId>, ToolError> {
        let mut owners = Vec::new();
        let mut tails = Vec::new();
        let mut clock = self.clock.clone();
        for &node in from {
            clock.tick()?;
            for literal in self.literals(&self.step(node, relation, forward)) {
                owners.push(node);
                tails.push(literal);
            }
        }
        let tails: Vec<&Literal> = tails.iter().collect();
        Ok(value::extreme(&tails, extreme)
            .unwrap_or_default()
            .into_iter()
            .map(|i| owners[i])
            .collect())
    }

    /// L4 (rule R17): whether some member has a value that satisfies the comparison. No values
    /// means false, not an error. If the right side is a variable with several values, one of them
    /// is enough.
    pub(super) fn judge(&self, call: &Call, from: &EntSet) -> Result<Done, ToolError> {
        let truth = |truth: bool, walked| {
            Ok(Done {
                observation: Observation::Value(Value::Bool(truth)),
                walked,
                inputs: vec![from.clone()],
                origins: Vec::new(),
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
        let mut clock = self.clock.clone();
        for value in &values {
            clock.tick()?;
            if !self
                .satisfying(from, relation, forward, *op, value)?
                .is_empty()
            {
                return truth(true, Some((relation, forward)));
            }
        }
        truth(false, Some((relation, forward)))
    }
}
