//! Parsers of turns, strict and lenient (rules B.2 and B.3). Other models write
//! `GetNeighbor("e0")`, markdown, several actions or labels.

use super::error::OdaError;

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// GetNeighbor: the relations of a set `e0`, `c0`, `v0`, `intersect(v0, v1)` or
    /// `union(v0, v1)`.
    Neighbor(String),
    /// GetPath: the paths between two entities.
    Path(String, String),
    /// Answer.
    Answer(AnswerTurn),
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerTurn {
    /// The graph has no answer.
    None,
    /// A set.
    Set(String),
    /// The size of a set.
    Count(String),
    /// Whether the comparison that produced a set holds.
    Judge(String),
}

/// A group chosen by a reflection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The relation as shown, or the handle of a path (`p0`).
    pub relation: String,
    /// Whether the relation is followed from tails to heads.
    pub incoming: bool,
    /// The condition on the near ends, if any: `= x0`, `argmax`.
    pub narrowed: Option<String>,
}

fn unreadable(text: &str, awaited: &'static str, right: &'static str) -> OdaError {
    OdaError::Unreadable {
        given: text.chars().take(200).collect(),
        awaited,
        right,
    }
}

const ACTIONS: &str = "write `neighbor SET`, `path ENTITY ENTITY` or `answer [count|judge] SET`";
const REFLECTIONS: &str = "write relations that were shown, separated by `; `, or `none`";

/// Parses an action in the form of the grammar.
///
/// # Errors
/// Returns [`OdaError::Unreadable`] for any other text.
pub fn parse_action(text: &str) -> Result<Action, OdaError> {
    let wrong = || unreadable(text, "action", ACTIONS);
    let (word, rest) = text.split_once(' ').ok_or_else(wrong)?;
    match word {
        "neighbor" if is_set(rest) => Ok(Action::Neighbor(rest.to_owned())),
        "path" => match rest.split_once(' ') {
            Some((a, b)) if is_handle(a) && is_handle(b) => {
                Ok(Action::Path(a.to_owned(), b.to_owned()))
            }
            _ => Err(wrong()),
        },
        "answer" if rest == "none" => Ok(Action::Answer(AnswerTurn::None)),
        "answer" => {
            let (say, set): (fn(String) -> AnswerTurn, &str) = match rest.split_once(' ') {
                Some(("count", set)) => (AnswerTurn::Count, set),
                Some(("judge", set)) => (AnswerTurn::Judge, set),
                _ => (AnswerTurn::Set, rest),
            };
            if is_set(set) {
                Ok(Action::Answer(say(set.to_owned())))
            } else {
                Err(wrong())
            }
        }
        _ => Err(wrong()),
    }
}

/// Parses the first action in a text of any form: the paper's form (`Action: GetNeighbor`,
/// `Entity_id: e0`), calls (`GetNeighbor("e0")`), any case, markdown, surrounding text. `handle_of`
/// maps labels to handles.
///
/// # Errors
/// Returns [`OdaError::Unreadable`] if the text contains no action.
pub fn parse_action_lenient(
    text: &str,
    handle_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Action, OdaError> {
    let wrong = || unreadable(text, "action", ACTIONS);
    let line = text.trim().trim_matches('`');
    if let Ok(act) = parse_action(line) {
        return Ok(act);
    }
    // Lines of reasoning may contain action names.
    let spoken = text
        .lines()
        .filter(|line| !bare(line).to_lowercase().starts_with("thought"))
        .collect::<Vec<_>>()
        .join("\n");
    let lower = spoken.to_lowercase();
    let names = [
        ("getneighbor", 0),
        ("neighbor", 0),
        ("getpath", 1),
        ("path", 1),
        ("answer", 2),
    ];
    let found = names.iter().filter_map(|&(name, kind)| {
        lower
            .find(name)
            .map(|at| (at, std::cmp::Reverse(name.len()), kind, name))
    });
    let (at, _, kind, name) = found.min().ok_or_else(wrong)?;
    let rest = spoken.get(at + name.len()..).ok_or_else(wrong)?;
    // Only the first of several actions counts.
    let lower = rest.to_lowercase();
    let end = ["action", "getneighbor", "getpath"]
        .iter()
        .filter_map(|next| lower.find(next))
        .min()
        .unwrap_or(rest.len());
    let rest = rest.get(..end).ok_or_else(wrong)?;
    let handles = arguments(rest, handle_of);
    match (kind, handles.as_slice()) {
        (0, [first, ..]) => Ok(Action::Neighbor(first.clone())),
        (1, [first, second, ..]) => Ok(Action::Path(first.clone(), second.clone())),
        (2, []) => Ok(Action::Answer(AnswerTurn::None)),
        (2, [first, ..]) => {
            let lower = rest.to_lowercase();
            let say = if lower.contains("count") {
                AnswerTurn::Count
            } else if lower.contains("judge") {
                AnswerTurn::Judge
            } else {
                AnswerTurn::Set
            };
            Ok(Action::Answer(say(first.clone())))
        }
        _ => Err(wrong()),
    }
}

/// The handles in a text, written directly or as labels.
fn arguments(text: &str, handle_of: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let pieces = text.split(['\n', ',', '(', ')', '"', '`', '*', '[', ']', ';']);
    let clean = pieces.map(|piece| {
        let piece = bare(piece);
        let after = piece.rsplit_once(':').map_or(piece, |(_, after)| after);
        bare(after)
    });
    let mut found = Vec::new();
    for piece in clean.filter(|piece| !piece.is_empty()) {
        if let Some(handle) = handle_of(piece) {
            found.push(handle);
        } else {
            found.extend(
                piece
                    .split_whitespace()
                    .filter(|word| is_handle(word))
                    .map(str::to_owned),
            );
        }
    }
    found
}

fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | '#' | '`' | '"' | '\'' | '-' | '.')
    })
}

fn is_handle(text: &str) -> bool {
    let mut chars = text.chars();
    matches!(chars.next(), Some('e' | 'c' | 'v'))
        && !chars.as_str().is_empty()
        && chars.all(|c| c.is_ascii_digit())
}

fn is_set(text: &str) -> bool {
    let inner = |name: &str| {
        text.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('('))
            .and_then(|rest| rest.strip_suffix(')'))
    };
    match inner("intersect").or_else(|| inner("union")) {
        Some(list) => list.split(", ").count() > 1 && list.split(", ").all(is_handle),
        None => is_handle(text),
    }
}

/// Parses a reflection in the form of the grammar; `none` gives an empty list.
///
/// # Errors
/// Returns [`OdaError::Unreadable`] for any other text.
pub fn parse_reflection(text: &str) -> Result<Vec<Pick>, OdaError> {
    if text == "none" {
        return Ok(Vec::new());
    }
    text.split("; ")
        .map(|item| parse_pick(item).ok_or_else(|| unreadable(text, "reflection", REFLECTIONS)))
        .collect()
}

fn parse_pick(item: &str) -> Option<Pick> {
    let (incoming, rest) = item
        .strip_prefix('~')
        .map_or((false, item), |rest| (true, rest));
    // A name in angle brackets may contain spaces.
    let end = if rest.starts_with('<') {
        rest.rfind('>')? + 1
    } else {
        rest.find(' ').unwrap_or(rest.len())
    };
    let (relation, narrowed) = rest.split_at(end);
    let narrowed = narrowed.strip_prefix(' ').filter(|text| !text.is_empty());
    let whole = !relation.is_empty()
        && !relation.ends_with(';')
        && (narrowed.is_some() || end == rest.len());
    whole.then(|| Pick {
        relation: relation.to_owned(),
        incoming,
        narrowed: narrowed.map(str::to_owned),
    })
}

/// Parses a reflection leniently: one group per line or between `;`, ignoring list marks and
/// reasoning. Items that do not parse or were not shown are dropped and counted (rules B.3).
#[must_use]
pub fn parse_reflection_lenient(text: &str, shown: &dyn Fn(&Pick) -> bool) -> (Vec<Pick>, usize) {
    let lines = text
        .lines()
        .filter(|line| !bare(line).to_lowercase().starts_with("thought"));
    let items = lines.flat_map(|line| line.split(';')).map(|item| {
        let item = item
            .trim()
            .trim_start_matches(['-', '*', ' '])
            .trim_matches(['`', '"', ' ']);
        item.strip_prefix("Triples:").unwrap_or(item).trim()
    });
    let (mut picks, mut dropped): (Vec<Pick>, usize) = (Vec::new(), 0);
    for item in items.filter(|item| !item.is_empty() && !item.eq_ignore_ascii_case("none")) {
        match parse_pick(item).filter(|pick| shown(pick)) {
            Some(pick) if !picks.contains(&pick) => picks.push(pick),
            Some(_) => {}
            None => dropped += 1,
        }
    }
    (picks, dropped)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn lenient(text: &str) -> Option<Action> {
        parse_action_lenient(text, &|label| {
            (label.eq_ignore_ascii_case("united states")).then(|| "e0".to_owned())
        })
        .ok()
    }

    #[test]
    fn actions_read_as_written() {
        let set = |text: &str| text.to_owned();
        assert_eq!(
            parse_action("neighbor e0").unwrap(),
            Action::Neighbor(set("e0"))
        );
        assert_eq!(
            parse_action("neighbor intersect(e0, v1)").unwrap(),
            Action::Neighbor(set("intersect(e0, v1)"))
        );
        assert_eq!(
            parse_action("path e0 v1").unwrap(),
            Action::Path(set("e0"), set("v1"))
        );
        assert_eq!(
            parse_action("answer none").unwrap(),
            Action::Answer(AnswerTurn::None)
        );
        assert_eq!(
            parse_action("answer v3").unwrap(),
            Action::Answer(AnswerTurn::Set(set("v3")))
        );
        assert_eq!(
            parse_action("answer count union(v0, c1)").unwrap(),
            Action::Answer(AnswerTurn::Count(set("union(v0, c1)")))
        );
        assert_eq!(
            parse_action("answer judge v0").unwrap(),
            Action::Answer(AnswerTurn::Judge(set("v0")))
        );
        for wrong in [
            "",
            "neighbor",
            "neighbor x0",
            "neighbor e",
            "path e0",
            "answer",
            "answer sum v0",
            "neighbor intersect(e0)",
            "go e0",
        ] {
            assert!(parse_action(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn actions_read_in_the_forms_that_other_models_write() {
        let neighbor = Some(Action::Neighbor("e0".to_owned()));
        for text in [
            "GetNeighbor(\"e0\")",
            "getneighbor e0",
            "**Action:** GetNeighbor\n**Entity_id:** e0",
            "Thought: the answer may be near.\nAction: GetNeighbor\nEntity_id: United States",
            "```\nneighbor e0\n```",
            "Action: GetNeighbor\nEntity_id: e0\nAction: GetPath\nEntity_id: e0, e1",
        ] {
            assert_eq!(lenient(text), neighbor, "{text}");
        }
        assert_eq!(
            lenient("Action: GetPath\nEntity_id: e0, e1"),
            Some(Action::Path("e0".to_owned(), "e1".to_owned()))
        );
        assert_eq!(
            lenient("Action: Answer"),
            Some(Action::Answer(AnswerTurn::None))
        );
        assert_eq!(
            lenient("Answer: count v2"),
            Some(Action::Answer(AnswerTurn::Count("v2".to_owned())))
        );
        assert_eq!(lenient("I do not know"), None);
        assert_eq!(lenient("GetPath(e0)"), None);
    }

    #[test]
    fn reflections_read_as_written_and_drop_what_was_not_found() {
        let pick = |relation: &str, incoming: bool, narrowed: Option<&str>| Pick {
            relation: relation.to_owned(),
            incoming,
            narrowed: narrowed.map(str::to_owned),
        };
        let read = parse_reflection("a.b > x0; ~c.d; <e f> argmax").unwrap();
        assert_eq!(
            read,
            [
                pick("a.b", false, Some("> x0")),
                pick("c.d", true, None),
                pick("<e f>", false, Some("argmax"))
            ]
        );
        assert_eq!(parse_reflection("none").unwrap(), []);
        for wrong in ["", "a.b;", "~", "a.b "] {
            assert!(parse_reflection(wrong).is_err(), "{wrong}");
        }
        let shown = |pick: &Pick| pick.relation != "made.up";
        let (picks, dropped) = parse_reflection_lenient(
            "Thought: both.\nTriples:\n- a.b\n* made.up\n~c.d; a.b",
            &shown,
        );
        assert_eq!(
            (picks, dropped),
            (vec![pick("a.b", false, None), pick("c.d", true, None)], 1)
        );
    }
}
