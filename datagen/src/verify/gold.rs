//! The gold query's answer, and how a program's answer compares with it.

use std::collections::BTreeSet;

use kg::term::{NodeId, Term};
use kg::{Kg, QueryAnswer};
use toolbox::exec::{Table, Value};

/// The gold query's answer as node ids.
pub(super) enum GoldAnswer {
    /// Nodes of the graph. `only` is the term of a single node: a computed number may also be a
    /// literal of the graph.
    Set {
        nodes: Vec<NodeId>,
        only: Option<Term>,
    },
    /// A single computed value that the graph does not contain, such as a count.
    Computed(Term),
    Bool(bool),
    /// Rows, with repetitions, for a program whose answer is a table.
    Rows(Vec<Vec<Option<Term>>>),
}

/// How a program's answer compares with the gold answer; with `Part`, it is a superset of it.
pub(super) enum AnswerFit {
    Equal,
    Part,
    Differs,
}

impl GoldAnswer {
    /// `table`: keep the rows as they are.
    pub(super) fn of(kg: &dyn Kg, answer: &QueryAnswer, table: bool) -> Result<Self, String> {
        let rows = match answer {
            QueryAnswer::Bool(truth) => return Ok(Self::Bool(*truth)),
            QueryAnswer::Rows { rows, .. } => rows,
        };
        if table {
            return Ok(Self::Rows(rows.clone()));
        }
        let mut nodes = Vec::new();
        let mut made: BTreeSet<&Term> = BTreeSet::new();
        for term in rows
            .iter()
            .filter_map(|row| row.first().and_then(Option::as_ref))
        {
            match kg.find(term) {
                Some(node) => nodes.push(node),
                None => {
                    made.insert(term);
                }
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        match (made.pop_first(), nodes.is_empty() && made.is_empty()) {
            (None, _) => {
                let only = if let [node] = nodes[..] {
                    Some(kg.term(node))
                } else {
                    None
                };
                Ok(Self::Set { nodes, only })
            }
            (Some(term), true) => Ok(Self::Computed(term.clone())),
            (Some(term), false) => Err(format!(
                "the gold query computes terms that the graph does not contain, such as {term}"
            )),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Set { nodes, .. } => nodes.is_empty(),
            Self::Rows(rows) => rows.is_empty(),
            Self::Computed(_) | Self::Bool(_) => false,
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Set { nodes, .. } => nodes.len(),
            Self::Computed(_) | Self::Bool(_) => 1,
            Self::Rows(rows) => rows.len(),
        }
    }

    pub(super) fn compare(&self, kg: &dyn Kg, value: &Value) -> AnswerFit {
        let equal = |holds: bool| {
            if holds {
                AnswerFit::Equal
            } else {
                AnswerFit::Differs
            }
        };
        match (self, value) {
            (Self::Set { nodes: gold, .. }, Value::Set(ours)) if gold[..] == ours[..] => {
                AnswerFit::Equal
            }
            (Self::Set { nodes: gold, .. }, Value::Set(ours))
                if gold.iter().all(|node| ours.binary_search(node).is_ok()) =>
            {
                AnswerFit::Part
            }
            (
                Self::Computed(term)
                | Self::Set {
                    only: Some(term), ..
                },
                Value::Int(number),
            ) => equal(number_of(term) == Some(*number)),
            (Self::Bool(gold), Value::Bool(ours)) => equal(gold == ours),
            (Self::Rows(gold), Value::Table(ours)) => equal(same_rows(kg, gold, ours)),
            _ => AnswerFit::Differs,
        }
    }

    pub(super) fn describe(&self, kg: &dyn Kg) -> String {
        match self {
            Self::Set { nodes, .. } => describe_set(kg, nodes),
            Self::Computed(term) => term.to_string(),
            Self::Bool(truth) => truth.to_string(),
            Self::Rows(rows) => format!("{} rows", rows.len()),
        }
    }
}

/// Whether a table has the gold rows, as often as they occur there. The order is not compared,
/// because rows with equal keys may be in any order.
fn same_rows(kg: &dyn Kg, gold: &[Vec<Option<Term>>], ours: &Table) -> bool {
    let mut ours: Vec<Vec<Option<Term>>> = ours
        .rows()
        .map(|row| row.iter().map(|cell| cell.value(kg)).collect())
        .collect();
    let mut gold = gold.to_vec();
    ours.sort_unstable();
    gold.sort_unstable();
    ours == gold
}

fn number_of(term: &Term) -> Option<u64> {
    term.as_literal()?
        .lexical
        .trim_start_matches('+')
        .parse()
        .ok()
}

pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Set(set) => set.len(),
        Value::Int(_) | Value::Bool(_) => 1,
        Value::Table(table) => table.len(),
    }
}

pub(super) fn describe(kg: &dyn Kg, value: &Value) -> String {
    match value {
        Value::Set(set) => describe_set(kg, set),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Table(table) => format!("{} rows", table.len()),
    }
}

/// The size and the first names of a set.
fn describe_set(kg: &dyn Kg, nodes: &[NodeId]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = nodes
        .iter()
        .take(SHOWN)
        .map(|&node| kg.name(node))
        .collect();
    let more = if nodes.len() > SHOWN { ", …" } else { "" };
    format!("{} ({}{more})", nodes.len(), names.join(", "))
}
