//! MetaQA: `question with [topic]<TAB>answer|answer`, and one question type per line in a second
//! file. The type is a path from the topic that never returns to the topic. This is the set's own
//! convention; without it 62 % of 2-hop questions have the published answers.

use std::path::{Path, PathBuf};

use common::input;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::file;
use super::json::blank;
use super::path::{Hop, query};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample, SampleForm};
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::{Error, Refusal};

pub(super) struct MetaQa;

const FORMAT: SourceFormat = SourceFormat {
    name: "metaqa",
    about: "MetaQA (films), 1 to 3 hops",
    needs: "lines of `question with [topic]<TAB>answer|answer`, with a file of question types next to it",
    folder: "N-hop/vanilla/qa_SPLIT.txt with N-hop/qa_SPLIT_qtype.txt; a single N-hop folder also works",
    files: "N-hop/vanilla/qa_SPLIT.txt",
    is_one: |name| name.starts_with("qa_") && !name.trim_end_matches(".txt").ends_with("_qtype"),
    example: "who directed [Kismet Road]\tMira Sol|Ivo Sol",
    options: &[],
    fronts: &[],
    queries: true,
};

impl QuestionReader for MetaQa {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let is_one = sample.form == SampleForm::Text
            && sample
                .line
                .split_once('\t')
                .is_some_and(|(question, _)| topic_of(question).is_some());
        Likeness::certain(is_one)
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        if !path.is_dir() {
            return Ok(vec![path.to_owned()]);
        }
        let is_hop = |folder: &Path| {
            folder.is_dir()
                && folder
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().ends_with("-hop"))
        };
        let mut hops: Vec<PathBuf> = file::entries(path)?
            .into_iter()
            .filter(|entry| is_hop(entry))
            .collect();
        if hops.is_empty() {
            hops.push(path.to_owned());
        }
        let mut found = Vec::new();
        for hop in &hops {
            let vanilla = hop.join("vanilla");
            let entries = file::entries(if vanilla.is_dir() { &vanilla } else { hop })?;
            let is_one = |entry: &PathBuf| {
                entry.is_file() && (FORMAT.is_one)(&file::stem(entry).to_lowercase())
            };
            found.extend(entries.into_iter().filter(is_one));
        }
        if found.is_empty() {
            let message = format!(
                "no {} (or the same with {}) in this folder",
                FORMAT.files,
                input::COMPRESSED.join(", ")
            );
            return Err(Error::file(path, message));
        }
        Ok(found)
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        read_part(&questions_file(from.path)?, from, each)
    }
}

/// A file of questions with its file of types.
struct QuestionFiles {
    qa: PathBuf,
    types: PathBuf,
    /// `2-hop-dev`
    name: String,
}

fn questions_file(qa: &Path) -> Result<QuestionFiles, Error> {
    let stem = file::stem(qa);
    let near = qa.parent().unwrap_or(Path::new("."));
    let above = near.parent().unwrap_or(Path::new("."));
    let name = format!("{stem}_qtype.txt");
    let types = file::plain_or_packed(above, &name).or_else(|| file::plain_or_packed(near, &name));
    let types = types.ok_or_else(|| {
        Error::file(
            qa,
            format!(
                "its question types are missing: there is no {} (or {})",
                above.join(&name).display(),
                input::COMPRESSED.join(", ")
            ),
        )
    })?;
    let folder = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let hop = [near, above]
        .into_iter()
        .filter_map(folder)
        .find(|name| name.ends_with("-hop"));
    let split = stem.strip_prefix("qa_").unwrap_or(&stem);
    let name = hop.map_or_else(|| split.to_owned(), |hop| format!("{hop}-{split}"));
    Ok(QuestionFiles {
        qa: qa.to_owned(),
        types,
        name,
    })
}

fn read_part(
    part: &QuestionFiles,
    from: &ReadRequest<'_>,
    each: &mut Each<'_>,
) -> Result<(), Error> {
    let text = file::text(&part.qa)?;
    let types = file::text(&part.types)?;
    let types: Vec<&str> = file::lines(&types).map(|(_, line)| line.trim()).collect();
    let lines: Vec<(usize, &str)> = file::lines(&text).collect();
    if lines.len() != types.len() {
        let message = format!(
            "{} questions, but {} has {} types",
            lines.len(),
            part.types.display(),
            types.len()
        );
        return Err(Error::file(&part.qa, message));
    }
    for (i, (&(number, line), &kind)) in lines.iter().zip(&types).enumerate() {
        let parsed = line
            .split_once('\t')
            .and_then(|(question, answers)| Some((question.trim(), topic_of(question)?, answers)));
        let Some((question, topic, answers)) = parsed else {
            let message = "not `question with [topic]<TAB>answer|answer`";
            if i == 0 {
                return Err(Error::line(&part.qa, number, message));
            }
            each(record(
                part,
                number,
                line,
                Vec::new(),
                GoldQuery::Missing(Refusal::BadRecord, message.to_owned()),
            ))?;
            continue;
        };
        let topics = vec![Topic {
            name: topic.to_owned(),
            label: topic.to_owned(),
        }];
        let mut made = match hops(kind) {
            Some(hops) => {
                let length = u32::try_from(hops.len()).ok();
                let gold = GoldQuery::Algebra(Box::new(query(from.kg, &[(topic, hops)], true)));
                GoldQuestion {
                    hops: length,
                    ..record(part, number, question, topics, gold)
                }
            }
            None => {
                let message = format!("`{kind}` is not a path of MetaQA's entity types");
                record(
                    part,
                    number,
                    question,
                    topics,
                    GoldQuery::Missing(Refusal::BadRecord, message),
                )
            }
        };
        made.kind = Some(kind.to_owned());
        made.answers = Some(
            answers
                .split('|')
                .map(str::trim)
                .filter(|answer| !answer.is_empty())
                .map(str::to_owned)
                .collect(),
        );
        each(made)?;
    }
    Ok(())
}

fn record(
    part: &QuestionFiles,
    number: usize,
    question: &str,
    topics: Vec<Topic>,
    query: GoldQuery,
) -> GoldQuestion {
    GoldQuestion {
        question: question.to_owned(),
        query,
        topics,
        answers_bind: true,
        exclude: ExcludeWhen::EveryStep,
        ..blank(FORMAT.name, format!("{}-{number}", part.name))
    }
}

fn topic_of(question: &str) -> Option<&str> {
    let start = question.find('[')? + 1;
    let end = question.rfind(']')?;
    question
        .get(start..end)
        .map(str::trim)
        .filter(|topic| !topic.is_empty())
}

/// The path of a question type such as `movie_to_director_to_movie`. Every relation leads from a
/// film to one of its attributes.
fn hops(kind: &str) -> Option<Vec<Hop<'static>>> {
    let stations: Vec<&str> = kind.split("_to_").collect();
    let hop = |pair: &[&str]| match pair {
        ["movie", to] => Some(Hop {
            relation: attribute(to)?,
            forward: true,
        }),
        [from, "movie"] => Some(Hop {
            relation: attribute(from)?,
            forward: false,
        }),
        _ => None,
    };
    let hops: Vec<Hop<'static>> = stations.windows(2).map(hop).collect::<Option<_>>()?;
    (!hops.is_empty()).then_some(hops)
}

fn attribute(station: &str) -> Option<&'static str> {
    Some(match station {
        "director" => "directed_by",
        "writer" => "written_by",
        "actor" => "starred_actors",
        "year" => "release_year",
        "language" => "in_language",
        "tag" | "tags" => "has_tags",
        "genre" => "has_genre",
        "imdbrating" => "has_imdb_rating",
        "imdbvotes" => "has_imdb_votes",
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn types_are_paths() {
        let path: Vec<(&str, bool)> = hops("actor_to_movie_to_year")
            .unwrap()
            .iter()
            .map(|hop| (hop.relation, hop.forward))
            .collect();
        assert_eq!(path, [("starred_actors", false), ("release_year", true)]);
        assert!(hops("actor_to_director").is_none() && hops("movie").is_none());
    }
}
