//! What the search asks of the graph: the kinds of values, the comparisons that fit them, the classes
//! that a question names, and sets.

use kg::term::{Literal, NodeId};
use kg::value::{Kind, Op};

use super::plan::{Hop, Way};
use super::state::bit;
use super::words::Explainer;
use crate::exec::{Adjacent, EntSet, Relation, Session, sorted};
use crate::link::{LAST_DAY, year_of};

/// Likeness from which a class's word counts as said by the question.
const SAID: f32 = 0.1;

/// Whether an entity has a class in common with what a relation leads to, so that "no" is an answer.
pub(super) fn same_class(session: &Session<'_>, one: &Adjacent, entity: NodeId) -> bool {
    let kg = session.kg();
    let Some(&far) = session.step(one.member, one.relation, true).first() else {
        return false;
    };
    let classes = kg.types(entity);
    kg.types(far).iter().any(|class| classes.contains(class))
}

/// The kind of a relation's values; `None` if it leads to things.
pub(super) fn kind_of(explainer: &Explainer<'_, '_>, one: &Adjacent) -> Option<Kind> {
    if matches!(one.relation, Relation::Interval(_)) {
        return Some(Kind::Time);
    }
    let session = explainer.session;
    let far = *session.step(one.member, one.relation, one.out).first()?;
    let read = session.literals(&[far]);
    let kind = Kind::majority([read.first()?]);
    // A number of four digits may be a year. `years played` has fewer digits, so it is not a year.
    let digits = read.first()?.lexical.trim_start_matches('-').len();
    let year = kind == Kind::Int && digits == 4 && explainer.dated(one.relation);
    Some(if year { Kind::Time } else { kind })
}

/// The comparisons of a relation's values with a value of the question.
pub(super) fn ops(
    explainer: &Explainer<'_, '_>,
    session: &Session<'_>,
    one: &Adjacent,
    index: usize,
) -> Vec<Op> {
    let asked = explainer.asked;
    let text = &session.linked().values[index].lexical;
    let number = text
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_digit() || c == '-');
    let last_day = text.ends_with(LAST_DAY);
    let range = || match bound(explainer, text) {
        Some(op) => vec![op],
        None => vec![Op::Ge, Op::Le],
    };
    match kind_of(explainer, one) {
        Some(Kind::Int | Kind::Float | Kind::Quantity) if number && !last_day => {
            if asked.between {
                range()
            } else {
                vec![asked.compare.map_or(Op::Eq, |ops| ops[0])]
            }
        }
        // `2` is no year.
        Some(Kind::Time) if number && text.len() >= 4 => {
            if matches!(one.relation, Relation::Interval(_)) {
                return if last_day { Vec::new() } else { vec![Op::Eq] };
            }
            let wanted = if asked.between {
                range()
            } else {
                vec![asked.compare.map_or(Op::Eq, |ops| ops[1])]
            };
            // After a year means after its last day; before it, before its first.
            let late = |op: &Op| matches!(op, Op::Gt | Op::Le);
            wanted
                .into_iter()
                .filter(|op| late(op) == last_day || text.len() != 4 && !last_day)
                .collect()
        }
        Some(Kind::Text) if !number => vec![Op::Eq],
        _ => Vec::new(),
    }
}

/// Of a question with two numbers, the comparison in a range: the smaller one is its lower bound.
fn bound(explainer: &Explainer<'_, '_>, text: &str) -> Option<Op> {
    let number = |text: &str| text.trim_end_matches(LAST_DAY).parse::<f64>().ok();
    let values = &explainer.session.linked().values;
    let mut all: Vec<f64> = (values.iter())
        .filter_map(|value| number(&value.lexical))
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    let [low, _] = all.as_slice() else {
        return None;
    };
    Some(if number(text)? == *low {
        Op::Ge
    } else {
        Op::Le
    })
}

/// Whether a plan has used the same year as a value of the question: a year is also its last day, two
/// values, one of which is used.
pub(super) fn year_used(values: &[Literal], index: usize, used: u64) -> bool {
    (values.iter().enumerate())
        .any(|(at, value)| used & bit(at) != 0 && year_of(value) == year_of(&values[index]))
}

/// The classes that the question names, best first.
pub(super) fn said_classes(explainer: &mut Explainer<'_, '_>) -> Vec<NodeId> {
    let session = explainer.session;
    let mut said: Vec<(f32, NodeId)> = session
        .classes()
        .iter()
        .map(|&class| {
            let words = explainer.class(class);
            (words.iter().copied().fold(0.0, f32::max), class)
        })
        .filter(|(likeness, _)| *likeness >= SAID)
        .collect();
    said.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    said.into_iter().map(|(_, class)| class).collect()
}

/// How a graph says that something is so, and that it is not.
const TRUTHS: [(&str, &str); 4] = [("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n")];

/// The value that says that something is so, where this one says that it is not.
pub(super) fn opposite(value: &Literal) -> Literal {
    let lower = value.lexical.to_lowercase();
    let word = TRUTHS
        .iter()
        .find(|(_, no)| *no == lower)
        .map_or(lower.as_str(), |(yes, _)| yes);
    let capital = value.lexical.chars().next().is_some_and(char::is_uppercase);
    let lexical = if capital && lower != value.lexical {
        let whole = value.lexical.chars().all(char::is_uppercase);
        let length = if whole { word.len() } else { 1 };
        format!("{}{}", word[..length].to_uppercase(), &word[length..])
    } else {
        word.to_owned()
    };
    Literal {
        lexical,
        ..value.clone()
    }
}

/// The value by which members of a set have, or with `said` false lack, what a relation says, if its
/// values are truths (`true`, `yes`) and the question speaks of it.
pub(super) fn truth(
    explainer: &mut Explainer<'_, '_>,
    one: &Adjacent,
    nodes: &[NodeId],
    said: bool,
) -> Option<Literal> {
    // The logarithm of the share of its words that the question has: `stops` are not `request stops`.
    const SPOKEN_OF: f32 = -0.51;
    /// Members that are looked at.
    const SOME: usize = 64;
    let session = explainer.session;
    let is = |value: &Literal, said: bool| {
        let lower = value.lexical.to_lowercase();
        let of = |(yes, no): &(&str, &str)| lower == if said { *yes } else { *no };
        TRUTHS.iter().any(of)
    };
    let first = session.literals(&session.step(one.member, one.relation, true));
    if !first
        .iter()
        .any(|value| is(value, true) || is(value, false))
    {
        return None;
    }
    let (relation, way) = (one.relation, Way::Out);
    if explainer.hop(Hop { relation, way }).asked < SPOKEN_OF {
        return None;
    }
    let values = nodes
        .iter()
        .take(SOME)
        .flat_map(|&node| session.literals(&session.step(node, one.relation, true)));
    values.into_iter().find(|value| is(value, said))
}

/// The set that a hop leads to.
pub(super) fn reached(session: &Session<'_>, nodes: &[NodeId], hop: Hop) -> EntSet {
    let mut members = Vec::new();
    for &node in nodes {
        if hop.way != Way::In {
            members.extend_from_slice(&session.step(node, hop.relation, true));
        }
        if hop.way != Way::Out {
            members.extend_from_slice(&session.step(node, hop.relation, false));
        }
    }
    sorted(session.without_excluded(members))
}
