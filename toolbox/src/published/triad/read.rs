//! Reading the replies of Triad's sub-tasks (rules C.1, C.2 and C.5).

use std::fmt;

use super::super::names::{named, normal};
use crate::limits::MAX_TRIPLES;
use crate::triad::AnswerType;

/// An end of a triple as the generalist writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum NamedEnd {
    /// A thing that the question names.
    Name(String),
    /// A variable, without its question mark.
    Var(String),
}

/// A triple in the words of the generalist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedTriple {
    pub(super) subject: NamedEnd,
    pub(super) phrase: String,
    pub(super) object: NamedEnd,
}

impl NamedEnd {
    /// A name, or a variable that begins with a question mark.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim();
        match text.strip_prefix('?') {
            Some(name) => Self::Var(name.split_whitespace().collect::<Vec<_>>().join("_")),
            None => Self::Name(text.to_owned()),
        }
    }
}

impl fmt::Display for NamedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Var(name) => write!(f, "?{name}"),
        }
    }
}

impl fmt::Display for NamedTriple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}, {}>", self.subject, self.phrase, self.object)
    }
}

impl NamedTriple {
    /// The names of its variables.
    pub(super) fn vars(&self) -> impl Iterator<Item = &str> {
        [&self.subject, &self.object]
            .into_iter()
            .filter_map(|end| match end {
                NamedEnd::Var(name) => Some(name.as_str()),
                NamedEnd::Name(_) => None,
            })
    }
}

/// Every `<a, b, c>` of a reply, up to [`MAX_TRIPLES`]. The first and the last comma separate.
pub(super) fn triples(reply: &str) -> Vec<NamedTriple> {
    let mut found: Vec<NamedTriple> = Vec::new();
    for piece in reply.split('<').skip(1) {
        let Some((inside, _)) = piece.split_once('>') else {
            continue;
        };
        let Some((subject, rest)) = inside.split_once(',') else {
            continue;
        };
        let Some((phrase, object)) = rest.rsplit_once(',') else {
            continue;
        };
        let triple = NamedTriple {
            subject: NamedEnd::read(subject),
            phrase: phrase.trim().to_owned(),
            object: NamedEnd::read(object),
        };
        let whole = [subject, phrase, object]
            .iter()
            .all(|part| !part.trim().is_empty());
        if whole && found.len() < MAX_TRIPLES && !found.contains(&triple) {
            found.push(triple);
        }
    }
    found
}

/// The first kind of answer that a reply names.
pub(super) fn answer_type(reply: &str) -> Option<AnswerType> {
    let reply = normal(reply);
    let place = |kind: &AnswerType| {
        let text = kind.text();
        reply
            .find(text)
            .or_else(|| reply.find(text.trim_matches(['<', '>'])))
    };
    let found = AnswerType::ALL
        .into_iter()
        .filter_map(|kind| Some((place(&kind)?, kind)));
    found.min_by_key(|(at, _)| *at).map(|(_, kind)| kind)
}

/// The places of the chosen items, best first, at most `most`; `None` if the reply names none of
/// them and does not say `none` either.
pub(super) fn selection(reply: &str, items: &[Vec<String>], most: usize) -> Option<Vec<usize>> {
    let text = normal(&reply.replace('\n', " ; "));
    let mut chosen = named(&text, items);
    chosen.truncate(most.max(1));
    (!chosen.is_empty() || text.contains("none")).then_some(chosen)
}

/// The query in a reply: from its first SELECT or ASK to the end of the query.
pub(super) fn query(reply: &str) -> Option<&str> {
    let lower = reply.to_ascii_lowercase();
    let words = ["select", "ask"];
    let starts = words.iter().filter_map(|word| {
        let mut places = lower.match_indices(word).map(|(at, _)| at);
        places.find(|&at| {
            let rest = lower[at + word.len()..].trim_start();
            let before = lower[..at].chars().next_back();
            // `I select the query` is no query.
            let begins = ["?", "$", "*", "(", "{", "distinct", "reduced", "where"];
            before.is_none_or(|c| !c.is_alphanumeric())
                && begins.iter().any(|start| rest.starts_with(start))
                && rest.contains('{')
        })
    });
    let text = &reply[starts.min()?..];
    let end = text.find("```").unwrap_or(text.len());
    let text = &text[..end];
    // Prose after the query begins a paragraph of its own.
    let last = text.rfind('}')?;
    let end = text[last..].find("\n\n").map_or(text.len(), |at| last + at);
    Some(text[..end].trim())
}

/// What the advisor says to a yes/no question.
pub(super) fn truth(reply: &str) -> Option<bool> {
    let text = normal(reply);
    let place = |words: [&str; 2]| words.iter().filter_map(|word| text.find(word)).min();
    match (place(["true", "yes"]), place(["false", "no"])) {
        (Some(yes), Some(no)) => Some(yes < no),
        (Some(_), None) => Some(true),
        (None, Some(_)) => Some(false),
        (None, None) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn triples_are_read_wherever_they_stand() {
        let read =
            triples("Triples: <Lowell, founder, ?the person>\n2. <?x, born in, Paris, Texas>");
        let texts: Vec<String> = read.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "<Lowell, founder, ?the_person>",
                "<?x, born in, Paris, Texas>"
            ][..1]
                .iter()
                .chain(&["<?x, born in, Paris, Texas>"])
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        );
        assert_eq!(read[0].object, NamedEnd::Var("the_person".to_owned()));
        assert!(triples("none <a, b> <, b, c>").is_empty());
    }

    #[test]
    fn kinds_of_answer_are_read() {
        assert_eq!(answer_type("<count>"), Some(AnswerType::Count));
        assert_eq!(answer_type("Type: <Yes or No>."), Some(AnswerType::Ask));
        assert_eq!(answer_type("I think select"), Some(AnswerType::Select));
        assert_eq!(answer_type("perhaps"), None);
    }

    #[test]
    fn a_query_is_cut_out_of_its_reply() {
        let want = "SELECT ?x WHERE { ?x <a b> <c> } LIMIT 1";
        for reply in [
            want.to_owned(),
            format!("Query:\n```sparql\n{want}\n```\nIt selects x."),
            format!("I select the query: {want}\n\nThis works."),
        ] {
            assert_eq!(query(&reply), Some(want), "{reply}");
        }
        assert_eq!(query("ask nobody"), None);
    }

    #[test]
    fn truths_and_selections_are_read() {
        assert_eq!(truth("True"), Some(true));
        assert_eq!(truth("**no**, that is not true"), Some(false));
        assert_eq!(truth("who knows"), Some(false));
        let items = [vec!["q1".to_owned()], vec!["q12".to_owned()]];
        assert_eq!(selection("Q12\nQ1", &items, 2), Some(vec![1, 0]));
        assert_eq!(selection("Q12\nQ1", &items, 1), Some(vec![1]));
        assert_eq!(selection("none", &items, 1), Some(Vec::new()));
        assert_eq!(selection("Q7", &items, 1), None);
    }
}
