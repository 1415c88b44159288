//! Instantiation of query templates: links replace phrases, and combinations of candidates are
//! enumerated best first (rules C.5).

use std::collections::{BinaryHeap, HashSet};

use super::error::TriadError;
use super::template::{AnswerType, Operand, QueryTemplate};
use super::triple::{End, TriplePattern};
use crate::exec::{Relation, Session};
use kg::term::{Literal, NodeId, Term};
use kg::value::{Extreme, Op};

/// The relation selected for a triple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhraseLink {
    /// The relation.
    pub relation: Relation,
    /// Whether the triple's subject is the head in the graph, as opposed to the tail.
    pub out: bool,
}

/// A node or a variable in a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A constant.
    Node(NodeId),
    /// A variable.
    Var(String),
}

/// A pattern of an instantiated query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// `head relation tail`. The tail of a derived interval is its start (rule R11).
    Walk {
        /// The head in the graph.
        head: Place,
        /// The relation.
        relation: Relation,
        /// The tail in the graph.
        tail: Place,
    },
    /// The member is an instance of the class.
    Class {
        /// The member.
        member: Place,
        /// The class.
        class: NodeId,
    },
    /// The variable is this node.
    Same {
        /// The variable.
        var: String,
        /// The node.
        node: NodeId,
    },
}

impl Pattern {
    /// The names of its variables, in order.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        let places = match self {
            Self::Walk { head, tail, .. } => [Some(head), Some(tail)],
            Self::Class { member, .. } => [Some(member), None],
            Self::Same { .. } => [None, None],
        };
        let own = match self {
            Self::Same { var, .. } => Some(var.as_str()),
            Self::Walk { .. } | Self::Class { .. } => None,
        };
        let named = places
            .into_iter()
            .flatten()
            .filter_map(|place| match place {
                Place::Var(name) => Some(name.as_str()),
                Place::Node(_) => None,
            });
        named.chain(own)
    }
}

/// The right side of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// A value of the question.
    Literal(Literal),
    /// A node.
    Node(NodeId),
    /// Another variable.
    Var(String),
}

/// An instantiated query, ready to run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilledQuery {
    /// The type of answer.
    pub kind: AnswerType,
    /// The answer variable.
    pub answer: Option<String>,
    /// Alternatives, each a conjunction of patterns.
    pub branches: Vec<Vec<Pattern>>,
    /// Conditions.
    pub filters: Vec<(String, Op, Bound)>,
    /// The variable, if any, whose extreme value selects the solutions.
    pub extreme: Option<(String, Extreme)>,
}

/// Replaces phrases by links and handles by entities.
///
/// # Errors
/// Returns [`TriadError`] if the template refers to something undefined, or a triple that it uses
/// has no link.
pub fn fill(
    template: &QueryTemplate,
    triples: &[TriplePattern],
    links: &[Option<PhraseLink>],
    entities: &[NodeId],
    session: &Session<'_>,
) -> Result<FilledQuery, TriadError> {
    let values = &session.linked().values;
    template.check(triples, entities.len(), values.len())?;
    let odd = |what: &str| TriadError::Template(format!("`{template}`: {what}"));
    let place = |end: &End| match end {
        End::Entity(index) => entities
            .get(*index)
            .copied()
            .map(Place::Node)
            .ok_or_else(|| TriadError::End(end.to_string())),
        End::Class(_) => Err(TriadError::End(end.to_string())),
        End::Var(name) => Ok(Place::Var(name.clone())),
    };
    let pattern = |&index: &usize| {
        let triple = triples
            .get(index)
            .ok_or_else(|| odd("it names a triple that is not there"))?;
        if let End::Class(class) = triple.object {
            let class = session
                .classes()
                .get(class)
                .copied()
                .ok_or_else(|| TriadError::End(triple.object.to_string()))?;
            return Ok(Pattern::Class {
                member: place(&triple.subject)?,
                class,
            });
        }
        if let (true, End::Var(var), Place::Node(node)) =
            (triple.is_same(), &triple.subject, place(&triple.object)?)
        {
            return Ok(Pattern::Same {
                var: var.clone(),
                node,
            });
        }
        let link = links
            .get(index)
            .copied()
            .flatten()
            .ok_or_else(|| TriadError::Unlinked(triple.to_string()))?;
        let (subject, object) = (place(&triple.subject)?, place(&triple.object)?);
        let (head, tail) = if link.out {
            (subject, object)
        } else {
            (object, subject)
        };
        Ok(Pattern::Walk {
            head,
            relation: link.relation,
            tail,
        })
    };
    let bound = |operand: &Operand| match operand {
        Operand::Value(index) => values
            .get(*index)
            .cloned()
            .map(Bound::Literal)
            .ok_or_else(|| odd("it names a value that is not there")),
        Operand::Entity(index) => entities
            .get(*index)
            .copied()
            .map(Bound::Node)
            .ok_or_else(|| odd("it names an entity that is not there")),
        Operand::Var(name) => Ok(Bound::Var(name.clone())),
    };
    let branches = template
        .branches
        .iter()
        .map(|branch| branch.iter().map(pattern).collect())
        .collect::<Result<_, _>>()?;
    let filters = template
        .filters
        .iter()
        .map(|filter| Ok((filter.var.clone(), filter.op, bound(&filter.value)?)))
        .collect::<Result<_, TriadError>>()?;
    Ok(FilledQuery {
        kind: template.kind,
        answer: template.answer.clone(),
        branches,
        filters,
        extreme: template.extreme.clone(),
    })
}

/// Combinations with one choice from each of several lists ranked best first, ordered by the sum of
/// ranks and then by the choices, at most `cap`. Not all combinations are generated.
#[must_use]
pub fn products(sizes: &[usize], cap: usize) -> Vec<Vec<usize>> {
    let mut heap = BinaryHeap::new();
    let mut seen = HashSet::new();
    let mut made = Vec::new();
    if sizes.iter().all(|&size| size > 0) {
        let first = vec![0; sizes.len()];
        seen.insert(first.clone());
        heap.push(std::cmp::Reverse((0usize, first)));
    }
    while let Some(std::cmp::Reverse((sum, picks))) = heap.pop() {
        if made.len() == cap {
            break;
        }
        for place in 0..sizes.len() {
            if picks[place] + 1 < sizes[place] {
                let mut next = picks.clone();
                next[place] += 1;
                if seen.insert(next.clone()) {
                    heap.push(std::cmp::Reverse((sum + 1, next)));
                }
            }
        }
        made.push(picks);
    }
    made
}

impl FilledQuery {
    /// The query with full names, in the form of a template: `select ?x where dbr:A director ?a .
    /// ?a birthPlace ?x`.
    #[must_use]
    pub fn text(&self, session: &Session<'_>) -> String {
        let place = |place: &Place| match place {
            Place::Node(node) => crate::call::print_name(&session.kg().name(*node)),
            Place::Var(name) => format!("?{name}"),
        };
        self.written(session, &place)
    }

    /// The same with `place` rendering nodes and variables: prompts use entity handles.
    pub(super) fn written(
        &self,
        session: &Session<'_>,
        place: &dyn Fn(&Place) -> String,
    ) -> String {
        let name = |node: NodeId| crate::call::print_name(&session.kg().name(node));
        let pattern = |pattern: &Pattern| match pattern {
            Pattern::Walk {
                head,
                relation,
                tail,
            } => {
                format!(
                    "{} {} {}",
                    place(head),
                    crate::call::print_name(&session.relation_name(*relation)),
                    place(tail)
                )
            }
            Pattern::Class { member, class } => format!("{} a {}", place(member), name(*class)),
            Pattern::Same { var, node } => format!("?{var} is {}", place(&Place::Node(*node))),
        };
        let branch =
            |patterns: &Vec<Pattern>| patterns.iter().map(pattern).collect::<Vec<_>>().join(" . ");
        let mut text = self.kind.word().to_owned();
        if let Some(answer) = &self.answer {
            text.push_str(&format!(" ?{answer}"));
        }
        text.push_str(&format!(
            " where {}",
            self.branches
                .iter()
                .map(branch)
                .collect::<Vec<_>>()
                .join(" or ")
        ));
        for (var, op, bound) in &self.filters {
            let right = match bound {
                Bound::Literal(literal) => Term::Literal(literal.clone()).to_string(),
                Bound::Node(node) => place(&Place::Node(*node)),
                Bound::Var(name) => format!("?{name}"),
            };
            text.push_str(&format!(" filter ?{var} {} {right}", op.symbol()));
        }
        if let Some((var, extreme)) = &self.extreme {
            text.push_str(&format!(
                " {} ?{var}",
                super::template::extreme_word(*extreme)
            ));
        }
        text
    }
}
