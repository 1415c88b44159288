//! The turns of Triad's conversations.

use super::fill::{FilledQuery, PhraseLink, Place};
use super::solve::Solved;
use super::task::{SubTask, TriadFailure};
use crate::agent::Agent;
use crate::call::print_name;
use crate::exec::{Naming, RankedRelation, Session, Value};
use crate::prompt::{dialogue_question, size_word};
use common::transcript::{Part, Role, Turn};

/// The advisor's response that accepts the graph's answer.
pub const FROM_GRAPH: &str = "graph";

/// The system turn and the question with the failures of earlier attempts.
pub(super) fn opening(session: &Session<'_>, before: &[TriadFailure]) -> Vec<Turn> {
    let mut user = dialogue_question(session, Naming::Mixed);
    for failure in before {
        user.push(Part::ours(format!("\ntried: {}", failure.cause())));
        if let TriadFailure::NoRelation(triple) = failure {
            user.push(Part::ours(format!(" {triple}")));
        }
    }
    vec![system(), Turn::shown(Role::User, user)]
}

/// The system turn of every conversation of Triad.
pub(super) fn system() -> Turn {
    Turn::shown(Role::System, vec![Part::ours(Agent::Triad.name())])
}

/// The request turn of a sub-task, with its role.
pub(super) fn task(task: SubTask) -> Turn {
    let text = match task {
        SubTask::Triples => "G triples".to_owned(),
        SubTask::Type => "G type".to_owned(),
        SubTask::Entity => "D entity".to_owned(),
        SubTask::Relations(triple) => format!("D relations t{triple}"),
        SubTask::Template => "G template".to_owned(),
        SubTask::Query => "D query".to_owned(),
        SubTask::Answer => "A".to_owned(),
    };
    Turn::shown(Role::Tool, vec![Part::ours(text)])
}

/// The first relations of a ranking as selectable texts: `out film.directed_by`, `in …`, seen from
/// the known end. A required relation (training data) beyond the limit replaces the last relation
/// that is not required.
pub(super) fn cut(
    session: &Session<'_>,
    ranked: &[(PhraseLink, RankedRelation)],
    limit: usize,
) -> Vec<(PhraseLink, String)> {
    let must = |link: &PhraseLink| session.options().must_show.contains(&link.relation);
    let text = |link: &PhraseLink, one: &RankedRelation| {
        (
            *link,
            format!(
                "{} {}",
                if one.candidate.out { "out" } else { "in" },
                print_name(&session.relation_name(link.relation))
            ),
        )
    };
    let mut shown: Vec<(PhraseLink, String)> = ranked
        .iter()
        .take(limit)
        .map(|(link, one)| text(link, one))
        .collect();
    for (link, one) in ranked.iter().skip(limit).filter(|(link, _)| must(link)) {
        if let Some(place) = shown.iter().rposition(|(other, _)| !must(other)) {
            shown.remove(place);
            shown.push(text(link, one));
        }
    }
    shown
}

/// The candidates of a triple.
pub(super) fn relations(shown: &[(PhraseLink, String)], triple: usize, most: usize) -> Turn {
    let mut turn = task(SubTask::Relations(triple));
    if most != 1 {
        turn.parts.push(Part::ours(format!(" top {most}")));
    }
    for direction in ["out", "in"] {
        let names: Vec<&str> = shown
            .iter()
            .filter_map(|(_, text)| {
                text.strip_prefix(direction)
                    .and_then(|rest| rest.strip_prefix(' '))
            })
            .collect();
        if !names.is_empty() {
            turn.parts.push(Part::ours(format!("\n{direction}")));
            turn.parts
                .extend(names.into_iter().map(|name| Part::kg(format!(" {name}"))));
        }
    }
    turn
}

/// The conversation that selects one of several queries.
pub(super) fn queries(session: &Session<'_>, matched: &[(FilledQuery, Solved)]) -> Vec<Turn> {
    let linked = session.linked();
    let place = |place: &Place| match place {
        Place::Node(node) => match linked.entities.iter().position(|entity| entity == node) {
            Some(index) => format!("e{index}"),
            None => print_name(&session.kg().name(*node)),
        },
        Place::Var(name) => format!("?{name}"),
    };
    let mut turn = task(SubTask::Query);
    for (i, (query, _)) in matched.iter().enumerate() {
        turn.parts.push(Part::ours(format!("\nq{i} ")));
        turn.parts.push(Part::kg(query.written(session, &place)));
    }
    vec![
        system(),
        Turn::shown(Role::User, dialogue_question(session, Naming::Mixed)),
        turn,
    ]
}

/// The result of the chosen query, as shown to the advisor.
pub(super) fn result(value: &Value) -> Turn {
    let mut turn = task(SubTask::Answer);
    let size = match value {
        Value::Set(set) => size_word(set.len()),
        Value::Int(_) => "number",
        Value::Bool(_) => "truth",
        Value::Table(_) => "table",
    };
    turn.parts.push(Part::ours(format!(" {size}")));
    turn
}
