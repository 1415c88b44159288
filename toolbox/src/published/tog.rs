//! Think-on-Graph (Sun et al., 2024), a baseline: a beam of paths that start at the topic entities. In
//! every round the model rates the relations at the ends of the paths and the entities that they lead
//! to, and says whether the triples on the best paths suffice for an answer.

use common::transcript::{Part, Turn};
use kg::Kg;
use kg::term::{NodeId, RelId};
use serde::{Deserialize, Serialize};

use super::answer::{Separators, read_answer};
use super::names::shown;
use crate::answer::{Answer, AnswerValue, EvidenceTriple, Provenance};
use crate::exec::Session;
use crate::prompts::{TOG_ANSWER, TOG_ENTITIES, TOG_REASONING, TOG_RELATIONS};

/// Relations of an entity that are shown: those out of it first, in the order of the graph.
const RELATIONS: usize = 100;
/// Entities behind a relation that are shown, the best connected ones.
const ENTITIES: usize = 20;

/// Options of Think-on-Graph; the defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TogOptions {
    /// Paths kept after every round, and relations chosen at the end of each (N).
    pub width: usize,
    /// Maximum length of a path (D).
    pub depth: usize,
}

impl Default for TogOptions {
    fn default() -> Self {
        Self { width: 3, depth: 3 }
    }
}

/// An answered question.
#[derive(Clone, Debug, Default)]
pub struct TogResult {
    /// The answer.
    pub answer: Answer,
    /// The rounds of exploration.
    pub rounds: usize,
    /// Replies without a rating or an answer.
    pub unusable: usize,
}

type Triple = (NodeId, RelId, NodeId);

/// A path, the entity at its end, and the product of the last ratings.
#[derive(Clone)]
struct Path {
    triples: Vec<Triple>,
    end: NodeId,
    score: f64,
}

/// A relation at the end of a path, out of it or into it.
struct Branch {
    path: usize,
    relation: RelId,
    out: bool,
    score: f64,
}

/// Asks the model for the reply to a prompt.
pub type AskTog<'a, E> = dyn FnMut(&[Turn]) -> Result<String, E> + 'a;

/// Answers one question.
///
/// # Errors
/// Returns the error of `ask`.
pub fn answer<E>(
    session: &Session<'_>,
    options: TogOptions,
    ask: &mut AskTog<'_, E>,
) -> Result<TogResult, E> {
    let mut search = Search {
        session,
        options,
        ask,
        unusable: 0,
    };
    let topics = session.linked().entities.iter();
    let mut paths: Vec<Path> = topics
        .map(|&end| Path {
            triples: Vec::new(),
            end,
            score: 1.0,
        })
        .collect();
    let (mut rounds, mut said) = (0, None);
    while rounds < options.depth && said.is_none() {
        let longer = search.round(&paths)?;
        if longer.is_empty() {
            break;
        }
        paths = longer;
        rounds += 1;
        said = search.enough(&paths)?;
    }
    let said = match said {
        Some(said) => said,
        None => search.last_answer(&paths)?,
    };
    Ok(TogResult {
        answer: read(session.kg(), &said, &paths),
        rounds,
        unusable: search.unusable,
    })
}

struct Search<'a, 'g, 'f, E> {
    session: &'a Session<'g>,
    options: TogOptions,
    ask: &'a mut AskTog<'f, E>,
    unusable: usize,
}

impl<E> Search<'_, '_, '_, E> {
    /// The best paths that are one triple longer.
    fn round(&mut self, paths: &[Path]) -> Result<Vec<Path>, E> {
        let mut branches = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            branches.extend(self.branches(at, path)?);
        }
        let mut longer = Vec::new();
        for branch in &branches {
            longer.extend(self.followed(&paths[branch.path], branch)?);
        }
        // A stable sort, so that equal ratings keep the order of the graph.
        longer.sort_by(|a, b| b.score.total_cmp(&a.score));
        longer.truncate(self.options.width);
        Ok(longer)
    }

    /// The relations that the model chooses at the end of a path.
    fn branches(&mut self, path: usize, from: &Path) -> Result<Vec<Branch>, E> {
        let kg = self.session.kg();
        let without = self.session.without();
        let out = kg.out_relations(from.end).into_iter().map(|r| (r, true));
        let into = kg.in_relations(from.end).into_iter().map(|r| (r, false));
        let all: Vec<(RelId, bool)> = out
            .chain(into)
            .filter(|(relation, _)| !without.contains(relation))
            .take(RELATIONS)
            .collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let lines = all.iter().map(|&(relation, out)| {
            let arrow = if out { "" } else { "<- " };
            format!("{arrow}{}", shown(kg, relation.node()))
        });
        let turn = TOG_RELATIONS.turn(&[
            ("width", Part::ours(self.options.width.to_string())),
            ("question", Part::user(self.session.question())),
            ("entity", Part::kg(shown(kg, from.end))),
            ("relations", Part::kg(numbered(lines))),
        ]);
        let rated = self.ratings(turn, all.len(), self.options.width)?;
        let branch = |(at, score): (usize, f64)| Branch {
            path,
            relation: all[at].0,
            out: all[at].1,
            score,
        };
        Ok(rated.into_iter().map(branch).collect())
    }

    /// The paths that a relation makes of a path, without those that come back to an entity on it.
    fn followed(&mut self, path: &Path, branch: &Branch) -> Result<Vec<Path>, E> {
        let kg = self.session.kg();
        let ends = if branch.out {
            kg.tails(path.end, branch.relation)
        } else {
            kg.heads(branch.relation, path.end)
        };
        let passed = |node: NodeId| {
            let mut on = path.triples.iter();
            node == path.end || on.any(|triple| triple.0 == node || triple.2 == node)
        };
        let mut ends: Vec<NodeId> = ends.iter().copied().filter(|&end| !passed(end)).collect();
        ends.sort_by_key(|&end| (std::cmp::Reverse(kg.degree(end)), end));
        ends.truncate(ENTITIES);
        let rated = if ends.len() > 1 {
            let relation = if branch.out { "" } else { "<- " };
            let turn = TOG_ENTITIES.turn(&[
                ("question", Part::user(self.session.question())),
                (
                    "relation",
                    Part::kg(format!("{relation}{}", shown(kg, branch.relation.node()))),
                ),
                (
                    "entities",
                    Part::kg(numbered(ends.iter().map(|&end| shown(kg, end)))),
                ),
            ]);
            self.ratings(turn, ends.len(), ends.len())?
        } else {
            (0..ends.len()).map(|at| (at, 1.0)).collect()
        };
        let longer = |(at, score): (usize, f64)| {
            let end = ends[at];
            let triple = if branch.out {
                (path.end, branch.relation, end)
            } else {
                (end, branch.relation, path.end)
            };
            Path {
                triples: [&path.triples[..], &[triple]].concat(),
                end,
                score: branch.score * score,
            }
        };
        Ok(rated.into_iter().map(longer).collect())
    }

    /// What the model rates above 0 of `count` things, at most `most`. If it rates nothing, all count
    /// equally, as in the published code.
    fn ratings(&mut self, turn: Turn, count: usize, most: usize) -> Result<Vec<(usize, f64)>, E> {
        let mut rated = ratings(&(self.ask)(&[turn])?, count);
        if rated.is_empty() {
            self.unusable += 1;
            rated = (0..count).map(|at| (at, 1.0 / count as f64)).collect();
        }
        rated.truncate(most);
        Ok(rated)
    }

    /// The answer, if the model says that the triples suffice.
    fn enough(&mut self, paths: &[Path]) -> Result<Option<String>, E> {
        let turn = TOG_REASONING.turn(&[
            ("question", Part::user(self.session.question())),
            ("triples", Part::kg(self.triples(paths))),
        ]);
        let reply = (self.ask)(&[turn])?;
        let begins = |line: &&str| !line.trim().is_empty();
        let first = reply.lines().find(begins).unwrap_or_default();
        let word: String = first.chars().filter(|c| c.is_alphabetic()).collect();
        let word = word.to_lowercase();
        if !word.starts_with("yes") {
            self.unusable += usize::from(!word.starts_with("no"));
            return Ok(None);
        }
        let said = marked(&reply).filter(|said| !said.is_empty());
        Ok(said.map(str::to_owned))
    }

    /// The answer after the last round, or without any triple.
    fn last_answer(&mut self, paths: &[Path]) -> Result<String, E> {
        let turn = TOG_ANSWER.turn(&[
            ("question", Part::user(self.session.question())),
            ("triples", Part::kg(self.triples(paths))),
        ]);
        let reply = (self.ask)(&[turn])?;
        let said = marked(&reply).unwrap_or(reply.trim());
        self.unusable += usize::from(said.is_empty());
        Ok(said.to_owned())
    }

    fn triples(&self, paths: &[Path]) -> String {
        let kg = self.session.kg();
        let mut lines: Vec<String> = Vec::new();
        for &(s, r, o) in paths.iter().flat_map(|path| &path.triples) {
            let [s, r, o] = [s, r.node(), o].map(|node| shown(kg, node));
            let line = format!("({s}, {r}, {o})");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            return "none".to_owned();
        }
        lines.join("\n")
    }
}

/// Lines with numbers from 1 on.
fn numbered(lines: impl Iterator<Item = String>) -> String {
    let line = |(at, line): (usize, String)| format!("{}. {line}", at + 1);
    lines.enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// What a reply rates, best first: in each line the first number is that of a thing and the last one
/// its rating. A thing that is rated twice counts once.
fn ratings(reply: &str, count: usize) -> Vec<(usize, f64)> {
    let mut rated: Vec<(usize, f64)> = Vec::new();
    for line in reply.lines() {
        let number = |text: &&str| text.bytes().any(|byte| byte.is_ascii_digit());
        let numbers: Vec<&str> = line
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .map(|text| text.trim_end_matches('.'))
            .filter(number)
            .collect();
        let [first, .., last] = numbers[..] else {
            continue;
        };
        let (Ok(at), Ok(rating)) = (first.parse::<usize>(), last.parse::<f64>()) else {
            continue;
        };
        let known = rated.iter().any(|(known, _)| known + 1 == at);
        if (1..=count).contains(&at) && rating > 0.0 && !known {
            rated.push((at - 1, rating.min(1.0)));
        }
    }
    rated.sort_by(|a, b| b.1.total_cmp(&a.1));
    rated
}

/// The text behind the last `Answer:` of a reply, if there is any.
fn marked(reply: &str) -> Option<&str> {
    let lower = reply.to_ascii_lowercase();
    let at = lower.rfind("answer:")? + "answer:".len();
    Some(reply[at..].trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '`')))
}

/// Reads the answer. It comes from the graph if every member is on a path; the triples of the paths
/// up to it are its evidence then.
fn read(kg: &dyn Kg, said: &str, paths: &[Path]) -> Answer {
    let triples = paths.iter().flat_map(|path| &path.triples);
    let known: Vec<NodeId> = triples.flat_map(|triple| [triple.0, triple.2]).collect();
    let value = read_answer(kg, said, &known, Separators::Bars);
    let mut proof: Option<Vec<Triple>> = None;
    if let AnswerValue::Set(members) = &value
        && !members.is_empty()
    {
        let to = |node: NodeId| {
            paths.iter().find_map(|path| {
                let on = |triple: &Triple| triple.0 == node || triple.2 == node;
                let end = path.triples.iter().position(on)?;
                Some(path.triples[..=end].to_vec())
            })
        };
        let each = members
            .iter()
            .map(|member| kg.find(&member.term).and_then(to));
        proof = each
            .collect::<Option<Vec<_>>>()
            .map(|triples| triples.concat());
    }
    let provenance = match (&value, &proof) {
        (AnswerValue::Set(members), _) if members.is_empty() => Provenance::None,
        (_, Some(_)) => Provenance::Kg,
        (_, None) => Provenance::Model,
    };
    let mut triples = proof.unwrap_or_default();
    triples.sort_unstable();
    triples.dedup();
    Answer {
        value,
        evidence: triples
            .into_iter()
            .map(|triple| EvidenceTriple::of(kg, triple))
            .collect(),
        provenance,
        ..Answer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_read_in_many_forms() {
        assert_eq!(ratings("2: 0.7\n5: 0.3", 5), [(1, 0.7), (4, 0.3)]);
        assert_eq!(
            ratings("1. film.director (Score: 0.2).\n- 3) x: .8", 3),
            [(2, 0.8), (0, 0.2)]
        );
        // Unknown numbers, ratings of 0, repetitions and lines with one number say nothing.
        assert_eq!(ratings("9: 0.5\n1: 0\n2: 4\n2: 0.1\n3", 3), [(1, 1.0)]);
        assert_eq!(ratings("I like all of them.", 3), []);
    }

    #[test]
    fn the_last_mark_counts() {
        assert_eq!(marked("Yes\n**Answer:** Rome"), Some("Rome"));
        assert_eq!(marked("Answer: a? No.\nANSWER: `b | c`"), Some("b | c"));
        assert_eq!(marked("Answer: "), Some(""));
        assert_eq!(marked("Rome"), None);
    }
}
