//! Templates: `{"id", "shape", "wordings": ["… {f} …"], "sparql", "bind"}`, one per line. `bind`
//! runs on the graph. Each of its rows gives constants for the slots, which go into the algebra of
//! `sparql` and, by label, into one of the wordings.

use common::hash;
use kg::spargebra::Query;
use kg::term::Term;
use kg::{Kg, QueryAnswer, QueryLimits, parse_query};
use serde::Deserialize;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::file;
use super::json::blank;
use super::reader::{Each, QuestionReader, ReadOptions, ReadRequest};
use super::sample::{Likeness, Sample, SampleForm};
use super::substitute::substitute;
use crate::Error;
use crate::question::{GoldQuery, GoldQuestion, Topic};

pub(super) struct Templates {
    pub options: ReadOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    id: String,
    #[serde(default)]
    shape: Option<String>,
    wordings: Vec<String>,
    sparql: String,
    bind: String,
    /// Hops from topic to answer.
    #[serde(default)]
    hops: Option<u32>,
}

/// The source of questions made from templates.
pub(crate) const SOURCE: &str = "templates";

const FORMAT: SourceFormat = SourceFormat {
    name: SOURCE,
    about: "questions made from templates that the graph fills",
    needs: "JSON Lines of `id`, `wordings`, `sparql` and `bind`, with `shape` and `hops`",
    folder: "every .jsonl",
    files: "*.jsonl",
    is_one: |name| name.ends_with(".jsonl"),
    example: r#"{"id": "year", "wordings": ["when was {f} made"], "sparql": "SELECT ?x { ?f :year ?x }", "bind": "SELECT DISTINCT ?f { ?f :year ?y }"}"#,
    options: &[],
    fronts: &[],
    queries: true,
};

impl QuestionReader for Templates {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let is_one =
            sample.form == SampleForm::Lines && sample.has_each(&[&["wordings"], &["bind"]]);
        Likeness::certain(is_one)
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        let kg = from.kg.ok_or(Error::NeedsGraph(SOURCE))?;
        file::each_line(from.path, &mut |number, line| {
            let wrong = |message: String| Error::line(from.path, number, message);
            let template: Template = serde_json::from_str(line)
                .map_err(|error| wrong(format!("not a template: {error}")))?;
            let mut questions = Vec::new();
            self.fill(&template, kg, &mut questions).map_err(wrong)?;
            questions.into_iter().try_for_each(&mut *each)
        })
    }
}

/// Constants by slot.
type SlotValues = Vec<(String, Term)>;

impl Templates {
    fn fill(
        &self,
        template: &Template,
        kg: &dyn Kg,
        questions: &mut Vec<GoldQuestion>,
    ) -> Result<(), String> {
        let parse = |field: &str, text: &str| {
            parse_query(text).map_err(|error| format!("`{field}` of {}: {error}", template.id))
        };
        let (sparql, bind) = (
            parse("sparql", &template.sparql)?,
            parse("bind", &template.bind)?,
        );
        if template.wordings.is_empty() {
            return Err(format!("{} has no wordings", template.id));
        }
        let (slots, mut rows) =
            rows(kg, &bind).map_err(|message| format!("`bind` of {}: {message}", template.id))?;
        let wordings: Vec<Vec<WordingPart<'_>>> = template
            .wordings
            .iter()
            .map(|wording| pieces(wording, &slots))
            .collect::<Result<_, _>>()
            .map_err(|slot| {
                format!(
                    "a wording of {} has {{{slot}}}, which `bind` does not select",
                    template.id
                )
            })?;
        let seed = self.options.seed;
        // A seeded order that does not depend on the number of rows: a larger limit keeps the
        // questions of a smaller one.
        rows.sort_by_cached_key(|row| {
            let key = format!("{row:?}");
            (hash::number(seed, &template.id, &key), key)
        });
        rows.dedup();
        let first = hash::number(seed, "wording", &template.id) as usize % wordings.len();
        // Rows are repeated with the next wording until the limit is reached, so that relations
        // with few instances are asked about as often as those with many.
        let turns = (0..wordings.len()).flat_map(|round| {
            rows.iter()
                .enumerate()
                .map(move |(i, row)| (i + round, row))
        });
        let made = turns.filter_map(|(turn, row)| {
            let wording = &wordings[(first + turn) % wordings.len()];
            instance(template, kg, &sparql, row, wording)
        });
        questions.extend(made.take(self.options.per_template).enumerate().map(
            |(index, question)| GoldQuestion {
                id: format!("{}-{index}", template.id),
                ..question
            },
        ));
        Ok(())
    }
}

/// Runs `bind`: the slots and their rows, without rows that leave a slot unbound.
fn rows(kg: &dyn Kg, bind: &Query) -> Result<(Vec<String>, Vec<SlotValues>), String> {
    match kg
        .query(bind, QueryLimits::default())
        .map_err(|error| error.to_string())?
    {
        QueryAnswer::Bool(_) => Err("an ASK selects no slots".to_owned()),
        QueryAnswer::Rows { variables, rows } => {
            let named = |row: Vec<Option<Term>>| {
                variables
                    .iter()
                    .cloned()
                    .zip(row)
                    .map(|(name, term)| Some((name, term?)))
                    .collect()
            };
            let rows = rows.into_iter().filter_map(named).collect();
            Ok((variables, rows))
        }
    }
}

enum WordingPart<'a> {
    Text(&'a str),
    Slot(&'a str),
}

/// Splits a wording at its slots; the error is a slot that `bind` does not select.
fn pieces<'a>(wording: &'a str, slots: &[String]) -> Result<Vec<WordingPart<'a>>, &'a str> {
    let mut pieces = Vec::new();
    let mut rest = wording;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((slot, after)) = after.split_once('}') else {
            break;
        };
        if !slots.iter().any(|known| known == slot) {
            return Err(slot);
        }
        pieces.push(WordingPart::Text(before));
        pieces.push(WordingPart::Slot(slot));
        rest = after;
    }
    pieces.push(WordingPart::Text(rest));
    Ok(pieces)
}

/// One question; `None` if a constant has no label or is not allowed in the query.
fn instance(
    template: &Template,
    kg: &dyn Kg,
    sparql: &Query,
    row: &SlotValues,
    wording: &[WordingPart<'_>],
) -> Option<GoldQuestion> {
    let query = substitute(sparql, row)?;
    let mut question = String::new();
    for piece in wording {
        match piece {
            WordingPart::Text(text) => question.push_str(text),
            WordingPart::Slot(slot) => {
                question.push_str(&label(kg, &row.iter().find(|(name, _)| name == slot)?.1)?);
            }
        }
    }
    let entity = |term: &Term| match term {
        Term::Iri(iri) => Some(Topic {
            name: iri.clone(),
            label: label(kg, term).unwrap_or_default(),
        }),
        Term::Blank(_) | Term::Literal(_) => None,
    };
    Some(GoldQuestion {
        question,
        query: GoldQuery::Algebra(Box::new(query)),
        topics: row.iter().filter_map(|(_, term)| entity(term)).collect(),
        hops: template.hops,
        kind: template.shape.clone(),
        exclude: ExcludeWhen::Others,
        ..blank(FORMAT.name, template.id.clone())
    })
}

fn label(kg: &dyn Kg, term: &Term) -> Option<String> {
    match term {
        Term::Literal(literal) => Some(literal.lexical.clone()),
        _ => kg.label(kg.find(term)?),
    }
}
