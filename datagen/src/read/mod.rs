//! Readers: one file a format, all behind [`Reader`]. Every file may be gzipped. Queries are kept as text or built as algebra; text is never
//! spliced into SPARQL.

mod creak;
mod csv;
mod cwq;
mod file;
mod formats;
mod grailqa;
mod json;
mod jsonl;
mod kqapro;
mod lcquad1;
mod lcquad2;
mod metaqa;
mod path;
mod pathquestion;
mod qald;
mod qald10;
mod sample;
mod substitute;
mod templates;
mod trex;
mod webqsp;
mod zeroshot;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kg::Kg;

pub use formats::{Format, page};
pub use sample::{Form, Likeness, Sample};
pub use substitute::substitute;

use crate::question::GoldQuestion;
use crate::split::Split;
use crate::{Error, limits};

/// Takes questions one by one.
pub type Each<'e> = dyn FnMut(GoldQuestion) -> Result<(), Error> + 'e;

/// What a reader is asked to read.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// One file.
    pub path: &'a Path,
    /// The graph that names of plain-text sets and templates are filled from.
    pub kg: Option<&'a dyn Kg>,
    /// One of the format's options (`FORMAT:OPTION=PATH`).
    pub option: Option<&'a str>,
}

/// Reads one format.
pub trait Reader: Send + Sync {
    /// What it reads.
    fn format(&self) -> &'static Format;
    /// Whether a file of which this is the beginning is of its kind.
    fn likeness(&self, sample: &Sample) -> Likeness;
    /// The files meant by a path: a file itself, or those of the set's folder in its published layout.
    ///
    /// # Errors
    /// When the folder cannot be read or holds none.
    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error>;
    /// Hands over the questions of a file in order. With a graph, names of plain-text sets become the graph's own terms.
    ///
    /// # Errors
    /// When the file cannot be read or is of another kind, or what `each` returns. A single odd record is no error: it comes as a question
    /// that will be refused.
    fn read(&self, from: &Request<'_>, each: &mut Each<'_>) -> Result<(), Error>;
}

/// What readers that make questions need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Questions made from one template, at most: every row that binds it comes in one wording, then in another.
    pub per_template: usize,
    /// Seed of the choice.
    pub seed: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            per_template: limits::PER_TEMPLATE,
            seed: 0,
        }
    }
}

/// Every reader.
#[must_use]
pub fn readers(options: &ReadOptions) -> Vec<Box<dyn Reader>> {
    vec![
        Box::new(jsonl::Jsonl),
        Box::new(csv::Csv),
        Box::new(templates::Templates { options: *options }),
        Box::new(webqsp::WebQsp),
        Box::new(cwq::Cwq),
        Box::new(grailqa::GrailQa),
        Box::new(kqapro::KqaPro),
        Box::new(lcquad1::LcQuad1),
        Box::new(lcquad2::LcQuad2),
        Box::new(qald::Qald),
        Box::new(qald10::Qald10),
        Box::new(metaqa::MetaQa),
        Box::new(pathquestion::PathQuestion),
        Box::new(trex::TRex),
        Box::new(zeroshot::ZeroShotRe),
        Box::new(creak::Creak),
    ]
}

/// The names of all formats.
fn known(readers: &[Box<dyn Reader>]) -> String {
    readers
        .iter()
        .map(|reader| reader.format().name)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Fails where a file is not of a reader's kind, saying what it looks like instead.
fn expect(reader: &dyn Reader, all: &[Box<dyn Reader>], path: &Path) -> Result<(), Error> {
    let sample = Sample::read(path)?;
    let own = reader.likeness(&sample);
    let format = reader.format();
    let best = all
        .iter()
        .map(|other| (other.likeness(&sample), other.format()))
        .filter(|(_, other)| other.name != format.name);
    let best = best
        .rev()
        .max_by_key(|(likeness, _)| *likeness)
        .filter(|(likeness, _)| *likeness > own);
    if own > Likeness::No && best.is_none() {
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
        "no {} file, which is {}; {}{advice}",
        format.name,
        format.needs,
        sample.describe()
    );
    Err(sample.broken.map_or_else(
        || Error::file(path, message.clone()),
        |(line, _)| Error::line(path, line, message.clone()),
    ))
}

/// A source as written on the command line: `FORMAT=PATH`, `FORMAT:OPTION=PATH`, `FORMAT=PATH#train`, `FORMAT=PATH#heldout:5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The format.
    pub format: String,
    /// One of the format's options.
    pub option: Option<String>,
    /// The file or folder.
    pub path: PathBuf,
    /// The part wanted.
    pub split: Split,
}

impl FromStr for Source {
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
        // Only a known suffix is a split; any other `#` belongs to the path.
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

impl Source {
    /// Hands over the questions of the source's part, in order, without holding them (but for a part by relations, which takes them all).
    ///
    /// # Errors
    /// See [`Reader::read`]; also whatever `each` returns.
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
            let request = Request {
                path,
                kg,
                option: self.option.as_deref(),
            };
            reader.read(&request, &mut |mut question| {
                // Splits of one set may count from 1 again.
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

    /// Reads the source's part.
    ///
    /// # Errors
    /// See [`Reader::read`].
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::split::SourcePart;

    #[test]
    fn sources_are_format_path_and_part() {
        let source: Source = "metaqa=a/b#heldout:5".parse().unwrap();
        assert_eq!(
            (source.path, source.split.part, source.split.percent),
            (PathBuf::from("a/b"), SourcePart::HeldOut, 5)
        );
        let source: Source = "jsonl=a#1.jsonl".parse().unwrap();
        assert_eq!(
            (source.path, source.split.part),
            (PathBuf::from("a#1.jsonl"), SourcePart::All)
        );
        let source: Source = "qald:de=a:b=c.json#train".parse().unwrap();
        assert_eq!(
            (source.option.as_deref(), source.path),
            (Some("de"), PathBuf::from("a:b=c.json"))
        );
        let error = "webqps=x".parse::<Source>().unwrap_err().to_string();
        assert!(
            error.contains("webqps=x") && error.contains("metaqa"),
            "{error}"
        );
        assert!("metaqa".parse::<Source>().is_err() && "qald=".parse::<Source>().is_err());
        let error = "lcquad2:german=x"
            .parse::<Source>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("german") && error.contains("dbpedia"),
            "{error}"
        );
        let error = "cwq:de=x".parse::<Source>().unwrap_err().to_string();
        assert!(error.contains("takes no option"), "{error}");
    }
}
