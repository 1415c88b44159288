//! PathQuestion (PQ, PQL) and WorldCup2014: `question<TAB>answer(answer/answer/)<TAB>head#relation#mid#relation#tail#<end>#tail`. The gold path
//! is the query; two paths joined by `*` end in the same answer.

use std::path::Path;

use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::path::{Hop, query};
use super::{Reader, file};
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::{Error, Refusal};

pub(super) struct PathQuestion;

const SHAPE: &str = "not `question<TAB>answer(answer/…)<TAB>head#relation#tail`";

/// Ends a path; what follows repeats the answer.
const END: &str = "<end>";

impl Reader for PathQuestion {
    fn format(&self) -> &'static str {
        "pathquestion"
    }

    fn about(&self) -> &'static str {
        "PathQuestion and PathQuestion-Large (PQ-*.txt, PQL-*.txt), WorldCup2014 (WC-*.txt)"
    }

    fn read(&self, path: &Path, kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        let text = file::text(path)?;
        let stem = file::stem(path);
        let mut questions = Vec::new();
        for (number, line) in file::lines(&text) {
            let id = format!("{stem}-{number}");
            match parse(line, kg) {
                Some(mut question) => {
                    question.id = id;
                    questions.push(question);
                }
                None if questions.is_empty() => return Err(Error::line(path, number, format!("{SHAPE}; {}", file::looks_like(&text)))),
                None => questions.push(record(line, GoldQuery::Missing(Refusal::BadRecord, SHAPE.to_owned()), id)),
            }
        }
        if questions.is_empty() {
            return Err(Error::file(path, "the file is empty"));
        }
        Ok(questions)
    }
}

fn record(question: &str, query: GoldQuery, id: String) -> GoldQuestion {
    GoldQuestion {
        id,
        source: "pathquestion".to_owned(),
        question: question.trim().to_owned(),
        query,
        topics: Vec::new(),
        answers: None,
        answers_bind: true,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Never,
    }
}

fn parse(line: &str, kg: Option<&dyn Kg>) -> Option<GoldQuestion> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [question, answer, path, ..] = fields[..] else { return None };
    let mut paths: Vec<(&str, Vec<Hop<'_>>)> = Vec::new();
    let mut tail = "";
    for one in path.split('*') {
        let stations: Vec<&str> = one.split('#').take_while(|station| *station != END).collect();
        let (head, rest) = stations.split_first()?;
        if rest.is_empty() || rest.len() % 2 != 0 || stations.iter().any(|station| station.is_empty()) {
            return None;
        }
        tail = rest.last()?;
        paths.push((head, rest.iter().step_by(2).map(|relation| Hop { relation, forward: true }).collect()));
    }
    let answers = match fields.get(3) {
        // WorldCup2014 lists all answers in a column of their own.
        Some(all) => all.trim_end_matches('/'),
        None => answer.strip_prefix(tail)?.strip_prefix('(')?.strip_suffix(')')?.trim_end_matches('/'),
    };
    let hops = paths.iter().map(|(_, hops)| hops.len()).max()?;
    let mut made = record(question, GoldQuery::Algebra(Box::new(query(kg, &paths, false))), String::new());
    made.topics = paths.iter().map(|(head, _)| Topic { name: (*head).to_owned(), label: head.replace('_', " ") }).collect();
    made.answers = Some(answers.split('/').map(|answer| answer.trim().to_owned()).collect());
    made.hops = u32::try_from(hops).ok();
    Some(made)
}
