//! Readers: one file a format, all behind [`Reader`]. Every file may be gzipped. Queries are kept as text or built as algebra; text is never
//! spliced into SPARQL.

mod cwq;
mod file;
mod grailqa;
mod json;
mod jsonl;
mod lcquad1;
mod metaqa;
mod path;
mod pathquestion;
mod qald;
mod qald10;
mod substitute;
mod templates;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use toolbox::kg::Kg;

pub use substitute::substitute;

use crate::question::GoldQuestion;
use crate::split::Split;
use crate::{Error, limits};

/// Reads one format.
pub trait Reader: Send + Sync {
    /// The name before `=` in a source.
    fn format(&self) -> &'static str;
    /// What it reads, in a line of help.
    fn about(&self) -> &'static str;
    /// Reads a file, or the set's folder in its published layout. With a graph, names of plain-text sets become the graph's own terms.
    ///
    /// # Errors
    /// When the file cannot be read or is of another kind. A single odd record is no error: it comes as a question that will be refused.
    fn read(&self, path: &Path, kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error>;
}

/// What readers that make questions need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Questions made from one template.
    pub per_template: usize,
    /// Seed of the choice.
    pub seed: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { per_template: limits::PER_TEMPLATE, seed: 0 }
    }
}

/// Every reader.
#[must_use]
pub fn readers(options: &ReadOptions) -> Vec<Box<dyn Reader>> {
    vec![
        Box::new(jsonl::Jsonl),
        Box::new(templates::Templates { options: *options }),
        Box::new(metaqa::MetaQa),
        Box::new(pathquestion::PathQuestion),
        Box::new(cwq::Cwq),
        Box::new(grailqa::GrailQa),
        Box::new(lcquad1::LcQuad1),
        Box::new(qald::Qald),
        Box::new(qald10::Qald10),
    ]
}

/// A source as written on the command line: `FORMAT=PATH`, `FORMAT=PATH#train`, `FORMAT=PATH#heldout:5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The format.
    pub format: String,
    /// The file or folder.
    pub path: PathBuf,
    /// The part wanted.
    pub split: Split,
}

impl FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = || readers(&ReadOptions::default()).iter().map(|reader| reader.format()).collect::<Vec<_>>();
        let wrong = || Error::Source { given: text.to_owned(), known: known().join(" ") };
        let (format, path) = text.split_once('=').ok_or_else(wrong)?;
        if !known().contains(&format) || path.is_empty() {
            return Err(wrong());
        }
        // Only a known suffix is a split; any other `#` belongs to the path.
        let (path, split) = match path.rsplit_once('#').and_then(|(path, suffix)| Some((path, Split::parse(suffix)?))) {
            Some((path, split)) => (path, split),
            None => (path, Split::default()),
        };
        Ok(Self { format: format.to_owned(), path: PathBuf::from(path), split })
    }
}

impl Source {
    /// Reads the source and keeps its part.
    ///
    /// # Errors
    /// See [`Reader::read`].
    pub fn read(&self, kg: Option<&dyn Kg>, options: &ReadOptions) -> Result<Vec<GoldQuestion>, Error> {
        let all = readers(options);
        let reader = all.iter().find(|reader| reader.format() == self.format).ok_or_else(|| Error::Source {
            given: self.format.clone(),
            known: all.iter().map(|reader| reader.format()).collect::<Vec<_>>().join(" "),
        })?;
        Ok(self.split.of(reader.read(&self.path, kg)?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::split::Part;

    #[test]
    fn sources_are_format_path_and_part() {
        let source: Source = "metaqa=a/b#heldout:5".parse().unwrap();
        assert_eq!((source.path, source.split.part, source.split.percent), (PathBuf::from("a/b"), Part::HeldOut, 5));
        let source: Source = "jsonl=a#1.jsonl".parse().unwrap();
        assert_eq!((source.path, source.split.part), (PathBuf::from("a#1.jsonl"), Part::All));
        let error = "webqsp=x".parse::<Source>().unwrap_err().to_string();
        assert!(error.contains("webqsp=x") && error.contains("metaqa"), "{error}");
        assert!("metaqa".parse::<Source>().is_err());
    }
}
