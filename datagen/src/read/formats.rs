//! What each format is, in one table: the list of `datagen formats`, docs/formats.md and the messages about files of the wrong kind.

use std::fmt::Write;

use super::{ReadOptions, readers};

/// What a reader reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFormat {
    /// The name before `=` in a source.
    pub name: &'static str,
    /// The set.
    pub about: &'static str,
    /// What a file must be, for a message: "a JSON array of records with `question`".
    pub needs: &'static str,
    /// The files of the set's folder that are read.
    pub folder: &'static str,
    /// A record, shortened to a line.
    pub example: &'static str,
    /// Names and meanings of what may stand behind `:` in a source.
    pub options: &'static [(&'static str, &'static str)],
    /// Options that give the same questions by another front end, to be compared with the one without option.
    pub fronts: &'static [&'static str],
    /// Whether the set has gold queries; without them it is for evaluation only.
    pub queries: bool,
}

/// The name of an option that stands for any language.
pub(super) const LANGUAGE: &str = "LANG";

impl SourceFormat {
    /// Whether the format has an option of this name.
    #[must_use]
    pub fn takes(&self, option: &str) -> bool {
        let language = || {
            (2..=8).contains(&option.len())
                && option
                    .chars()
                    .all(|c| c.is_ascii_alphabetic() || c == '-' || c == '_')
        };
        self.options
            .iter()
            .any(|(name, _)| *name == option || *name == LANGUAGE && language())
    }

    /// The options in words.
    #[must_use]
    pub fn option_list(&self) -> String {
        match self.options {
            [] => format!("{} takes no option", self.name),
            options => {
                format!(
                    "write one of {}",
                    options
                        .iter()
                        .map(|(name, about)| format!("`{name}` ({about})"))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
        }
    }
}

/// The page docs/formats.md.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "# Formats of questions\n\nMade from the table of the readers (`kgagent datagen formats`); a test keeps it fresh.\n\n\
         A source is `FORMAT=PATH` or `FORMAT:OPTION=PATH`. PATH is a file or the set's folder as published; every file may be gzipped. `#train` or\n\
         `#heldout` behind the path takes that part of a fixed 90 / 10 split. A folder stands for all the splits it holds; name a file for one of\n\
         them. A file of the wrong kind is an error that says which kind it looks like; a single odd record is a question that is refused with its\n\
         reason.\n\n| format | set | option | gold query |\n|---|---|---|---|\n",
    );
    let all = readers(&ReadOptions::default());
    // Writing to a string cannot fail.
    for format in all.iter().map(|reader| reader.format()) {
        let options = format
            .options
            .iter()
            .map(|(name, about)| format!("`:{name}` {about}"))
            .collect::<Vec<_>>()
            .join("; ");
        let queries = if format.queries {
            "yes"
        } else {
            "no: for `eval` only"
        };
        let _ = writeln!(
            page,
            "| [`{}`](#{}) | {} | {options} | {queries} |",
            format.name, format.name, format.about
        );
    }
    for format in all.iter().map(|reader| reader.format()) {
        let _ = write!(
            page,
            "\n## {}\n\n{}: {}. In a folder: {}.\n\n```\n{}\n```\n",
            format.name, format.about, format.needs, format.folder, format.example
        );
    }
    page
}
