//! Reading the replies of ODA's steps (rules B.2 and B.3).

use super::super::names::{named, named_triples, normal};

/// An action, with its entities as places in the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadAction {
    Neighbor(usize),
    Path(usize, usize),
    Answer,
}

/// The names of the actions, in the form of [`normal`].
const ACTIONS: [&str; 3] = ["getneighbor", "getpath", "answer"];

/// A reply without its thoughts, in the form of [`normal`], line by line.
fn said(reply: &str) -> Vec<String> {
    let lines = reply.lines().map(normal);
    let mark = |c: char| !c.is_alphanumeric();
    lines
        .filter(|line| !line.trim_start_matches(mark).starts_with("thought"))
        .collect()
}

/// The first action of a reply. `candidates` are the forms of the entities that it may name.
///
/// # Errors
/// Says what is missing.
pub(super) fn action(reply: &str, candidates: &[Vec<String>]) -> Result<ReadAction, String> {
    let lines = said(reply).join("\n");
    // `Action:` counts before a name inside a sentence.
    let text = lines
        .find("action:")
        .map_or(lines.as_str(), |at| &lines[at + "action:".len()..]);
    let first = ACTIONS
        .iter()
        .enumerate()
        .filter_map(|(kind, name)| Some((text.find(name)?, kind, name.len())))
        .min();
    let Some((at, kind, length)) = first else {
        return Err("it names no action: GetNeighbor, GetPath or Answer".to_owned());
    };
    let rest = &text[at + length..];
    let next = ["action:", "getneighbor", "getpath"];
    let end = next.iter().filter_map(|name| rest.find(name)).min();
    let entities = named(&rest[..end.unwrap_or(rest.len())], candidates);
    match (kind, entities.as_slice()) {
        (0, [first, ..]) => Ok(ReadAction::Neighbor(*first)),
        (1, [first, second, ..]) => Ok(ReadAction::Path(*first, *second)),
        (2, _) => Ok(ReadAction::Answer),
        (0, _) => Err("GetNeighbor needs the id of one candidate".to_owned()),
        _ => Err("GetPath needs the ids of two different candidates".to_owned()),
    }
}

/// The places of the chosen triples, in the order of the reply; `None` if it chooses nothing that
/// was offered and does not say `none` either.
pub(super) fn triples(reply: &str, offered: &[[Vec<String>; 3]]) -> Option<Vec<usize>> {
    let lines = said(reply).join("\n");
    let text = lines
        .find("triples:")
        .map_or(lines.as_str(), |at| &lines[at + "triples:".len()..]);
    let chosen = named_triples(text, offered);
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    (!chosen.is_empty() || bare.is_empty() || bare == "none").then_some(chosen)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn forms(all: &[&[&str]]) -> Vec<Vec<String>> {
        let item = |forms: &&[&str]| forms.iter().map(|form| normal(form)).collect();
        all.iter().map(item).collect()
    }

    #[test]
    fn actions_are_read_in_many_forms() {
        let known = forms(&[&["Q1490", "Tokyo"], &["Q30", "United States"]]);
        let read = |text: &str| action(text, &known);
        for text in [
            "Thought: near Tokyo.\nAction: GetNeighbor\nEntity_id: Q1490",
            "GetNeighbor(\"Q1490\")",
            "**Action:** getneighbor\n**Entity_id:** `Tokyo`",
            "Thought: I could Answer, or GetPath.\nAction: GetNeighbor(Q1490)\nAction: GetPath",
            "I will use GetNeighbor for Tokyo (Q1490).",
        ] {
            assert_eq!(read(text), Ok(ReadAction::Neighbor(0)), "{text}");
        }
        let path = "Action: GetPath\nEntity_id: Q30, Q1490";
        assert_eq!(read(path), Ok(ReadAction::Path(1, 0)));
        assert_eq!(read("Action: Answer"), Ok(ReadAction::Answer));
        assert!(read("Q1490").unwrap_err().contains("no action"));
        assert!(
            read("GetNeighbor(Q5)")
                .unwrap_err()
                .contains("one candidate")
        );
        assert!(read("GetPath(Q30)").unwrap_err().contains("two different"));
    }

    #[test]
    fn chosen_triples_are_read_and_inventions_dropped() {
        let part = |forms: &[&str]| forms.iter().map(|form| normal(form)).collect::<Vec<_>>();
        let offered = [
            [
                part(&["Q1490 [Tokyo]", "Tokyo", "Q1490"]),
                part(&["P36"]),
                part(&["Q179645 [Shinjuku]", "Q179645"]),
            ],
            [part(&["Q1490"]), part(&["P17"]), part(&["Q17"])],
        ];
        let read = |text: &str| triples(text, &offered);
        assert_eq!(
            read("Thought: both (Q1490, P17, Q17).\nTriples: (Q1490, P36, Q179645)"),
            Some(vec![0])
        );
        assert_eq!(
            read(
                "Triples:\n1. (Q1490, P17, Q17)\n2. (Q1490, P99, Q1)\n3. (Q1490 [Tokyo], P36, Q179645 [Shinjuku])"
            ),
            Some(vec![1, 0])
        );
        assert_eq!(read("Triples: none"), Some(Vec::new()));
        assert_eq!(read("Triples: []"), Some(Vec::new()));
        assert_eq!(read("Triples: (Q1, P2, Q3)"), None);
    }
}
