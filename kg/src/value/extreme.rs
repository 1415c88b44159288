//! The greatest and smallest of several values (rule R13), and sort keys for ORDER BY.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::number::Decimal;
use super::quantity::{normalise, quantity};
use super::time::{EPOCH_SHIFT, TimeSpan};
use crate::term::{Literal, Term};

/// The wanted end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extreme {
    /// The greatest (`argmax`).
    Max,
    /// The smallest (`argmin`).
    Min,
}

/// Rule R13: the indices of the tails with the extreme value, including ties, under the tails'
/// [`Kind::majority`]. Times compare by their first moment. Tails that do not parse are ignored;
/// `None` if none parses.
#[must_use]
pub fn extreme(tails: &[&Literal], wanted: Extreme) -> Option<Vec<usize>> {
    match Kind::majority(tails.iter().copied()) {
        Kind::Int | Kind::Float => extreme_by(tails, wanted, |tail| Decimal::parse(&tail.lexical)),
        Kind::Time => extreme_by(tails, wanted, |tail| {
            TimeSpan::parse(&tail.lexical).map(|span| span.lo)
        }),
        Kind::Quantity => {
            // Only the most frequent unit counts; of several, the first in alphabetical order.
            let parsed: Vec<Option<(Decimal, String)>> =
                tails.iter().map(|tail| quantity(&tail.lexical)).collect();
            let mut units: BTreeMap<&str, usize> = BTreeMap::new();
            parsed
                .iter()
                .flatten()
                .for_each(|(_, unit)| *units.entry(unit).or_default() += 1);
            let unit = units
                .into_iter()
                .max_by_key(|(unit, count)| (*count, Reverse(*unit)))?
                .0
                .to_owned();
            extreme_by(tails, wanted, |tail| {
                quantity(&tail.lexical)
                    .filter(|(_, own)| *own == unit)
                    .map(|(number, _)| number)
            })
        }
        Kind::Text => extreme_by(tails, wanted, |tail| Some(normalise(&tail.lexical))),
    }
}

fn extreme_by<T: Ord>(
    tails: &[&Literal],
    wanted: Extreme,
    key: impl Fn(&Literal) -> Option<T>,
) -> Option<Vec<usize>> {
    let keys: Vec<(usize, T)> = tails
        .iter()
        .enumerate()
        .filter_map(|(i, tail)| Some((i, key(tail)?)))
        .collect();
    let all = keys.iter().map(|(_, key)| key);
    let best = match wanted {
        Extreme::Max => all.max(),
        Extreme::Min => all.min(),
    }?;
    Some(
        keys.iter()
            .filter(|(_, key)| key == best)
            .map(|(i, _)| *i)
            .collect(),
    )
}

/// A text whose order is that of the terms, for ORDER BY: blank nodes, then IRIs, then literals by
/// [`sort_key`].
#[must_use]
pub fn order_key(term: &Term) -> String {
    match term {
        Term::Blank(label) => format!("a{label}"),
        Term::Iri(iri) => format!("b{iri}"),
        Term::Literal(literal) => format!("c{}", sort_key(literal)),
    }
}

/// A text whose order is that of the literals, for ORDER BY: kinds are separate, so mixed datatypes
/// have a consistent order. Untyped numbers sort as texts.
#[must_use]
pub fn sort_key(literal: &Literal) -> String {
    match Kind::of(literal) {
        Kind::Int | Kind::Float => {
            Decimal::parse(&literal.lexical).map(|number| format!("1{}", number.sort_key()))
        }
        Kind::Time => {
            TimeSpan::parse(&literal.lexical).map(|span| format!("2{:030}", span.lo + EPOCH_SHIFT))
        }
        Kind::Quantity => quantity(&literal.lexical)
            .map(|(number, unit)| format!("1{}\0{unit}", number.sort_key())),
        Kind::Text => None,
    }
    .unwrap_or_else(|| {
        format!(
            "3{}\0{}\0{}",
            literal.lexical,
            literal.datatype.as_deref().unwrap_or(""),
            literal.lang.as_deref().unwrap_or("")
        )
    })
}
