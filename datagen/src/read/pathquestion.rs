//! PathQuestion (PQ, PQL) and WorldCup2014:
//! `question<TAB>answer(answer/answer/)<TAB>head#relation#mid#relation#tail#<end>#tail`. The gold
//! path is the query; two paths joined by `*` end in the same answer.

use kg::Kg;

use super::description::SourceFormat;
use super::file;
use super::json::blank;
use super::path::{Hop, query};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample, SampleForm};
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::{Error, Refusal};

pub(super) struct PathQuestion;

const SHAPE: &str = "not `question<TAB>answer(answer/…)<TAB>head#relation#tail`";

/// Ends a path; the answer follows again.
const END: &str = "<end>";

const FORMAT: SourceFormat = SourceFormat {
    name: "pathquestion",
    about: "PathQuestion, PathQuestion-Large, WorldCup2014",
    needs: "lines of `question<TAB>answer(answer/…)<TAB>head#relation#tail`",
    folder: "PQ-*.txt, PQL-*.txt, WC-*.txt",
    files: "PQ-*.txt, PQL-*.txt, WC-*.txt",
    is_one: |name| {
        let starts = ["pq-", "pql-", "wc-"];
        starts.iter().any(|start| name.starts_with(start)) && name.ends_with(".txt")
    },
    example: "what is the job of ann_x 's child ?\tcook(cook/baker/)\tann_x#child#bo_y#profession#cook#<end>#cook",
    options: &[],
    fronts: &[],
    queries: true,
};

impl QuestionReader for PathQuestion {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let path = sample
            .line
            .split('\t')
            .nth(2)
            .is_some_and(|path| path.matches('#').count() >= 2);
        Likeness::certain(sample.form == SampleForm::Text && path)
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        let stem = file::stem(from.path);
        let mut any = false;
        file::each_line(from.path, &mut |number, line| {
            let id = format!("{stem}-{number}");
            let first = !std::mem::replace(&mut any, true);
            match parse(line, from.kg) {
                Some(question) => each(GoldQuestion { id, ..question }),
                None if first => Err(Error::line(from.path, number, SHAPE)),
                None => each(record(
                    line,
                    GoldQuery::Missing(Refusal::BadRecord, SHAPE.to_owned()),
                    id,
                )),
            }
        })
    }
}

fn record(question: &str, query: GoldQuery, id: String) -> GoldQuestion {
    GoldQuestion {
        question: question.trim().to_owned(),
        query,
        answers_bind: true,
        ..blank(FORMAT.name, id)
    }
}

fn parse(line: &str, kg: Option<&dyn Kg>) -> Option<GoldQuestion> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [question, answer, path, ..] = fields[..] else {
        return None;
    };
    let mut paths: Vec<(&str, Vec<Hop<'_>>)> = Vec::new();
    let mut tail = "";
    for one in path.split('*') {
        let stations: Vec<&str> = one
            .split('#')
            .take_while(|station| *station != END)
            .collect();
        let (head, rest) = stations.split_first()?;
        if rest.is_empty()
            || rest.len() % 2 != 0
            || stations.iter().any(|station| station.is_empty())
        {
            return None;
        }
        tail = rest.last()?;
        paths.push((
            head,
            rest.iter()
                .step_by(2)
                .map(|relation| Hop {
                    relation,
                    forward: true,
                })
                .collect(),
        ));
    }
    let answers = match fields.get(3) {
        // WorldCup2014 lists all answers in a separate column.
        Some(all) => all.trim_end_matches('/'),
        None => answer
            .strip_prefix(tail)?
            .strip_prefix('(')?
            .strip_suffix(')')?
            .trim_end_matches('/'),
    };
    let hops = paths.iter().map(|(_, hops)| hops.len()).max()?;
    let mut made = record(
        question,
        GoldQuery::Algebra(Box::new(query(kg, &paths, false))),
        String::new(),
    );
    made.topics = paths
        .iter()
        .map(|(head, _)| Topic {
            name: (*head).to_owned(),
            label: head.replace('_', " "),
        })
        .collect();
    made.answers = Some(
        answers
            .split('/')
            .map(|answer| answer.trim().to_owned())
            .collect(),
    );
    made.hops = u32::try_from(hops).ok();
    Some(made)
}
