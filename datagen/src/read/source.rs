//! A source as written on the command line.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kg::Kg;

use super::reader::{Each, QuestionReader, ReadOptions, ReadRequest};
use super::registry::{known, readers};
use super::sample::{Likeness, Sample};
use super::{file, qald};
use crate::Error;
use crate::question::GoldQuestion;
use crate::split::Split;

/// A source as written on the command line: `FORMAT=PATH`, `FORMAT:OPTION=PATH`,
/// `FORMAT=PATH#train`, `FORMAT=PATH#heldout:5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionSource {
    /// The format.
    pub format: String,
    /// One of the format's options.
    pub option: Option<String>,
    /// The file or folder.
    pub path: PathBuf,
    /// The part to read.
    pub split: Split,
}

impl FromStr for QuestionSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let all = readers(&ReadOptions::default());
        let wrong = || Error::Source {
            given: text.to_owned(),
            known: known(&all),
        };
        let (name, path) = text.split_once('=').ok_or_else(wrong)?;
        let (name, option) = name
            .split_once(':')
            .map_or((name, None), |(name, option)| (name, Some(option)));
        let reader = all
            .iter()
            .find(|reader| reader.format().name == name)
            .ok_or_else(wrong)?;
        if path.is_empty() {
            return Err(wrong());
        }
        if let Some(option) = option.filter(|option| !reader.format().takes(option)) {
            return Err(Error::SourceOption {
                format: name.to_owned(),
                option: option.to_owned(),
                known: reader.format().option_list(),
            });
        }
        // Only a known suffix names a part; any other `#` belongs to the path.
        let (path, split) = match path
            .rsplit_once('#')
            .and_then(|(path, suffix)| Some((path, Split::parse(suffix)?)))
        {
            Some((path, split)) => (path, split),
            None => (path, Split::default()),
        };
        Ok(Self {
            format: name.to_owned(),
            option: option.map(str::to_owned),
            path: PathBuf::from(path),
            split,
        })
    }
}

impl QuestionSource {
    /// Passes the questions of the source's part to `each`, in order. Questions are not held in
    /// memory, except for a split by relations, which needs them all.
    ///
    /// # Errors
    /// See [`QuestionReader::read`]; any error from `each`.
    pub fn visit(
        &self,
        kg: Option<&dyn Kg>,
        options: &ReadOptions,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let all = readers(options);
        let reader = all
            .iter()
            .find(|reader| reader.format().name == self.format)
            .ok_or_else(|| Error::Source {
                given: self.format.clone(),
                known: known(&all),
            })?;
        let files = reader.files(&self.path)?;
        let several = files.len() > 1;
        let mut ids: HashSet<String> = HashSet::new();
        let mut all_questions = Vec::new();
        for path in &files {
            expect(reader.as_ref(), &all, path)?;
            let request = ReadRequest {
                path,
                kg,
                option: self.option.as_deref(),
            };
            reader.read(&request, &mut |mut question| {
                // Each split of a set may number its questions from 1.
                if several && !ids.insert(question.id.clone()) {
                    question.id = format!("{}@{}", question.id, file::stem(path));
                    ids.insert(question.id.clone());
                }
                match self.split.holds(&question.id) {
                    Some(true) => each(question)?,
                    Some(false) => {}
                    None => all_questions.push(question),
                }
                Ok(())
            })?;
        }
        self.split.of(all_questions).into_iter().try_for_each(each)
    }

    /// The published sets that the source's files belong to: the name of the format, or for
    /// QALD-JSON, which many sets share, the name that each file gives its set.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn set_names(&self) -> Result<Vec<String>, Error> {
        let all = readers(&ReadOptions::default());
        let qald = all
            .iter()
            .find(|reader| self.format == qald::FORMAT.name && reader.format().name == self.format);
        let Some(reader) = qald else {
            return Ok(vec![self.format.clone()]);
        };
        let files = reader.files(&self.path)?;
        let name = |path: &PathBuf| Ok(qald::set_name(path)?.unwrap_or_default());
        files.iter().map(name).collect()
    }

    /// Reads the source's part.
    ///
    /// # Errors
    /// See [`QuestionReader::read`].
    pub fn read(
        &self,
        kg: Option<&dyn Kg>,
        options: &ReadOptions,
    ) -> Result<Vec<GoldQuestion>, Error> {
        let mut questions = Vec::new();
        self.visit(kg, options, &mut |question| {
            questions.push(question);
            Ok(())
        })?;
        Ok(questions)
    }
}

/// Rejects a file that is not in a reader's format, and says what it looks like instead.
fn expect(
    reader: &dyn QuestionReader,
    all: &[Box<dyn QuestionReader>],
    path: &Path,
) -> Result<(), Error> {
    let sample = Sample::read(path)?;
    let asked = reader.likeness(&sample);
    let format = reader.format();
    let best = all
        .iter()
        .map(|other| (other.likeness(&sample), other.format()))
        .filter(|(_, other)| other.name != format.name);
    let best = best
        .rev()
        .max_by_key(|(likeness, _)| *likeness)
        .filter(|(likeness, _)| *likeness > asked);
    if asked > Likeness::No && best.is_none() {
        return Ok(());
    }
    let advice = match (best, sample.graph()) {
        (_, Some(graph)) => format!("; this looks like {graph}: load it with `kg load`"),
        (Some((Likeness::Sure, other)), _) => format!(
            "; this looks like {}: try {}={}",
            other.name,
            other.name,
            path.display()
        ),
        (Some((_, other)), _) => format!("; it can be read as {}={}", other.name, path.display()),
        (None, None) => String::new(),
    };
    let message = format!(
        "not a {} file, which is {}; {}{advice}",
        format.name,
        format.needs,
        sample.describe()
    );
    Err(sample.broken.map_or_else(
        || Error::file(path, message.clone()),
        |(line, _)| Error::line(path, line, message.clone()),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::split::SourcePart;

    #[test]
    fn a_source_has_format_path_and_part() {
        let source: QuestionSource = "metaqa=a/b#heldout:5".parse().unwrap();
        assert_eq!(
            (source.path, source.split.part, source.split.percent),
            (PathBuf::from("a/b"), SourcePart::HeldOut, 5)
        );
        let source: QuestionSource = "jsonl=a#1.jsonl".parse().unwrap();
        assert_eq!(
            (source.path, source.split.part),
            (PathBuf::from("a#1.jsonl"), SourcePart::All)
        );
        let source: QuestionSource = "qald:de=a:b=c.json#train".parse().unwrap();
        assert_eq!(
            (source.option.as_deref(), source.path),
            (Some("de"), PathBuf::from("a:b=c.json"))
        );
        let error = "webqps=x"
            .parse::<QuestionSource>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("webqps=x") && error.contains("metaqa"),
            "{error}"
        );
        assert!(
            "metaqa".parse::<QuestionSource>().is_err()
                && "qald=".parse::<QuestionSource>().is_err()
        );
        let error = "lcquad2:german=x"
            .parse::<QuestionSource>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("german") && error.contains("dbpedia"),
            "{error}"
        );
        let error = "cwq:de=x"
            .parse::<QuestionSource>()
            .unwrap_err()
            .to_string();
        assert!(error.contains("takes no option"), "{error}");
    }
}
