//! What the search asks of the graph: the kinds of values, the comparisons that fit them, the classes
//! that a question names, and sets.

use kg::term::{Literal, NodeId, Term};
use kg::value::Kind;
use kg::words;

use super::compared::whole;
use super::links::has_reference;
use super::naming::{class_texts, class_words};
use super::nodes::{is_key_of, measurable};
use super::plan::{Hop, PlanStep, Start, Way, bit};
use super::state::State;
use super::words::{Explainer, is_part_of_name};
use crate::exec::{Adjacent, EntSet, Relation, Session, sorted};
use crate::link::{is_vocabulary, year_of};

/// Likeness from which a class's word counts as said by the question.
const SAID: f32 = 0.1;

/// Whether an entity has a class in common with what a relation leads to, or without a class is led to elsewhere: "no" is an answer.
pub(super) fn same_class(session: &Session<'_>, one: &Adjacent, entity: NodeId) -> bool {
    let kg = session.kg();
    let Some(&far) = session.step(one.member, one.relation, true).first() else {
        return false;
    };
    let classes = kg.types(entity);
    let elsewhere = || !session.step(entity, one.relation, false).is_empty();
    kg.types(far).iter().any(|class| classes.contains(class)) || classes.is_empty() && elsewhere()
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
    let digits = whole(read.first()?).map_or(0, str::len);
    let number = matches!(kind, Kind::Int | Kind::Float);
    let year = number && digits == 4 && explainer.dated(one.relation);
    Some(if year { Kind::Time } else { kind })
}

/// The values of the question that may describe every row of a table, as bits: `member`, if the graph has the word
/// `membership`.
pub(super) fn of_rows(session: &Session<'_>) -> u64 {
    let values = session.linked().values.iter().enumerate();
    let word = |value: &Literal| value.lexical.chars().all(char::is_alphabetic);
    let found =
        values.filter(|(_, value)| word(value) && is_vocabulary(session.kg(), &row_of(value)));
    found.fold(0, |all, (at, _)| all | bit(at))
}

/// The word for a row about what a value says: `membership` for `member`.
fn row_of(value: &Literal) -> String {
    format!("{}ship", value.lexical.to_lowercase())
}

/// Whether a value describes every row of a class. Each row in a table of memberships stands for a member,
/// so `members of the choir` does not ask for rows with the role `member`.
pub(super) fn is_of_every_row(session: &Session<'_>, class: NodeId, value: &Literal) -> bool {
    let row = row_of(value);
    class_texts(session.kg(), class)
        .iter()
        .flat_map(|text| words(text))
        .any(|word| word == row || word.strip_suffix('s') == Some(&row))
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
    let all: Vec<NodeId> = said.into_iter().map(|(_, class)| class).collect();
    /// Members of a class that are looked at.
    const SOME: usize = 16;
    let parts = |class: NodeId| class_words(session.kg(), class);
    // `wind farms` are not only the offshore wind farms.
    let kg = session.kg();
    let within = |class: NodeId, other: NodeId| {
        let (inner, outer) = (kg.instances(class), kg.instances(other));
        let mut some = inner.iter().take(SOME);
        outer.len() > inner.len() && some.all(|node| outer.binary_search(node).is_ok())
    };
    let mut special = |class: NodeId| {
        let (own, words) = (parts(class), explainer.class(class));
        all.iter().any(|&other| {
            let wider = parts(other);
            let part = wider.len() < own.len() && wider.iter().all(|word| own.contains(word));
            other != class
                && (part || within(class, other))
                && (explainer.class(other).iter().zip(words.iter())).all(|(a, b)| a >= b)
        })
    };
    all.iter()
        .copied()
        .filter(|&class| !special(class))
        .collect()
}

/// The classes whose first instances have a number or a time that the question speaks of, best
/// first: what holds 75,000 people has a capacity.
pub(super) fn measured_classes(explainer: &mut Explainer<'_, '_>) -> Vec<NodeId> {
    best_classes(explainer, |explainer, one| {
        let kind = kind_of(explainer, one);
        if kind.is_none_or(|kind| kind == Kind::Text) {
            return 0.0;
        }
        let (relation, way) = (one.relation, Way::Out);
        let words = explainer.hop(Hop { relation, way }).words;
        words.iter().copied().fold(0.0, f32::max)
    })
}

/// The classes whose first instances have a text that the question asks for by name: `how many publishers`, where
/// books have them as texts.
pub(super) fn classes_with_column(explainer: &mut Explainer<'_, '_>) -> Vec<NodeId> {
    let focus = explainer.focus;
    best_classes(explainer, |explainer, one| {
        let (relation, way) = (one.relation, Way::Out);
        let text = kind_of(explainer, one) == Some(Kind::Text);
        let words = explainer.hop(Hop { relation, way }).words;
        f32::from(text && is_part_of_name(&words, focus))
    })
}

/// The classes whose first instances have a relation of the highest worth, best first.
fn best_classes(
    explainer: &mut Explainer<'_, '_>,
    worth: impl Fn(&mut Explainer<'_, '_>, &Adjacent) -> f32,
) -> Vec<NodeId> {
    const CLASSES: usize = 200;
    const SOME: usize = 8;
    const BEST: usize = 3;
    let session = explainer.session;
    let kg = session.kg();
    let mut found: Vec<(f32, NodeId)> = Vec::new();
    for &class in kg.classes().iter().take(CLASSES) {
        let instances = kg.instances(class);
        let some = &instances[..instances.len().min(SOME)];
        let mut best = 0.0_f32;
        for one in session.adjacent(some).iter().filter(|one| one.out) {
            best = best.max(worth(explainer, one));
        }
        if best >= SAID {
            found.push((best, class));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found
        .into_iter()
        .take(BEST)
        .map(|(_, class)| class)
        .collect()
}

/// How a graph says that something is so, and that it is not.
const TRUTHS: [(&str, &str); 5] = [
    ("true", "false"),
    ("yes", "no"),
    ("t", "f"),
    ("y", "n"),
    ("1", "0"),
];

/// Whether a literal says that something is so (`said`), or that it is not.
pub(super) fn is_truth(value: &Literal, said: bool) -> bool {
    let lower = value.lexical.to_lowercase();
    let of = |(yes, no): &(&str, &str)| lower == if said { *yes } else { *no };
    TRUTHS.iter().any(of)
}

/// Whether a set has numbers, times or truths, which connect nothing.
pub(super) fn is_value(session: &Session<'_>, nodes: &[NodeId]) -> bool {
    let first = nodes.get(..1).unwrap_or_default();
    let truth = |value: &Literal| is_truth(value, true) || is_truth(value, false);
    measurable(session, nodes) || session.literals(first).iter().any(truth)
}

/// Whether a plan leads to nothing that anybody asks for: to truths (`true`), or to what the question
/// itself says of its topic.
pub(super) fn says_nothing(session: &Session<'_>, state: &State) -> bool {
    let truth = |value: &Literal| is_truth(value, true) || is_truth(value, false);
    let values = session.literals(&state.nodes);
    if values.is_empty() || values.len() < state.nodes.len() {
        return false;
    }
    let letters = |value: &Literal| value.lexical.chars().any(char::is_alphabetic);
    if values.iter().all(|value| letters(value) && truth(value)) {
        return true;
    }
    let question = session.plain_question().to_lowercase();
    let said = |value: &Literal| letters(value) && question.contains(&value.lexical.to_lowercase());
    let topic = matches!(state.plan.start, Start::Entity(_)) && state.plan.steps.len() == 1;
    topic && values.iter().all(said)
}

/// Whether a plan leads from an entity to what everything has only one of, so that nobody counts it.
pub(super) fn has_one(state: &State, explainer: &Explainer<'_, '_>) -> bool {
    const SOME: usize = 64;
    let (Start::Entity(_), [PlanStep::Walk(hop)]) =
        (&state.plan.start, state.plan.steps.as_slice())
    else {
        return false;
    };
    let Relation::Plain(relation) = hop.relation else {
        return false;
    };
    if hop.way != Way::Out || state.nodes.len() > 1 {
        return false;
    }
    let kg = explainer.session.kg();
    let mut heads = Vec::new();
    kg.each_pair(relation, &mut |head, _| {
        heads.push(head);
        heads.len() < SOME
    });
    heads.len() > 1
        && heads
            .iter()
            .all(|&head| kg.tails(head, relation).len() == 1)
}

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
    /// Members that are looked at.
    const SOME: usize = 64;
    let session = explainer.session;
    let first = session.literals(&session.step(one.member, one.relation, true));
    let truth = |value: &Literal| is_truth(value, true) || is_truth(value, false);
    let asked = asks_for_status(session.plain_question());
    // `phones without wifi` have the value `No` where others have a standard.
    let none = !said && denies_in_words(session, one.relation);
    if asked
        || !first.iter().any(truth) && !none
        || !explainer.speaks_of(one.relation, one.member, true)
    {
        return None;
    }
    let values = nodes
        .iter()
        .take(SOME)
        .flat_map(|&node| session.literals(&session.step(node, one.relation, true)));
    let values: Vec<Literal> = values.collect();
    let digits = |value: &Literal| value.lexical.bytes().all(|byte| byte.is_ascii_digit());
    // One letter may be a code: the description `y`.
    let letter = |value: &Literal| value.lexical.len() == 1;
    let other = values.iter().any(letter) && !values.iter().all(truth);
    if other || values.iter().any(digits) && !is_flag(session, one) {
        return None;
    }
    let said = said && !explainer.denies(one.relation);
    values.into_iter().find(|value| is_truth(value, said))
}

/// Whether some things have a word for no along a relation.
pub(super) fn denies_in_words(session: &Session<'_>, relation: Relation) -> bool {
    let kg = session.kg();
    ["No", "no", "NO", "None", "none"].into_iter().any(|word| {
        let word = kg.find(&Term::Literal(Literal::plain(word)));
        word.is_some_and(|word| !session.step(word, relation, false).is_empty())
    })
}

/// Whether a question asks for what a column says: `what is its approval status`, but not `with the approval status "No"`.
fn asks_for_status(question: &str) -> bool {
    let lower = question.to_lowercase();
    let behind = lower.split_once("status").map(|(_, behind)| behind);
    behind.is_some_and(|behind| !behind.trim_start().starts_with(['\'', '"']))
}

/// Whether the things of a class have 1 or 0 along a relation, and both occur.
fn is_flag(session: &Session<'_>, one: &Adjacent) -> bool {
    const SOME: usize = 64;
    let kg = session.kg();
    let Some(&class) = kg.types(one.member).first() else {
        return false;
    };
    let values: Vec<Literal> = (kg.instances(class).iter().take(SOME))
        .flat_map(|&node| session.literals(&session.step(node, one.relation, true)))
        .collect();
    let has = |digit: &str| values.iter().any(|value| value.lexical == digit);
    let flag = |value: &Literal| value.lexical == "0" || value.lexical == "1";
    values.iter().all(flag) && has("0") && has("1")
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

impl Explainer<'_, '_> {
    /// The values of the question that are texts of a linked entity: in graphs made from tables, an
    /// entity is mentioned by them.
    pub(super) fn named_by(&self, entity: usize) -> Vec<usize> {
        let (session, linked) = (self.session, self.session.linked());
        let Some(&node) = linked.entities.get(entity) else {
            return Vec::new();
        };
        if linked.span(entity).is_some() || linked.values.is_empty() {
            return Vec::new();
        }
        let texts = session.adjacent(&[node]).into_iter().filter(|one| one.out);
        let texts: Vec<Literal> = texts
            .flat_map(|one| session.literals(&session.step(node, one.relation, true)))
            .collect();
        // The number in `room 307` is the key of its row.
        let key = match session.kg().term(node) {
            Term::Iri(iri) => iri.rsplit_once('=').map(|(_, key)| key.to_owned()),
            Term::Blank(_) | Term::Literal(_) => None,
        };
        let text = |at: &usize| {
            let value = &linked.values[*at].lexical;
            let same = |text: &Literal| text.lexical.eq_ignore_ascii_case(value);
            let names = value.chars().any(char::is_alphabetic) || key.as_ref() == Some(value);
            names && texts.iter().any(same)
        };
        (0..linked.values.len()).filter(text).collect()
    }
}

/// Whether a relation leads to keys, by which rows are told apart and not measured, and the question
/// does not speak of it.
pub(super) fn is_unasked_key(explainer: &Explainer<'_, '_>, one: &Adjacent) -> bool {
    let session = explainer.session;
    let value = session
        .step(one.member, one.relation, true)
        .first()
        .copied();
    let key = value.is_some_and(|value| is_key_of(session.kg(), one.member, value))
        || has_reference(session.kg(), one.relation);
    key && !(explainer.asked.keys && explainer.speaks_of(one.relation, one.member, false))
}
