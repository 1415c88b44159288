//! The description of a format, for `datagen formats`, docs/formats.md and error messages.

/// A format of question files.
#[derive(Clone, Copy, Debug)]
pub struct SourceFormat {
    /// The name before `=` in a source.
    pub name: &'static str,
    /// The data set.
    pub about: &'static str,
    /// What a file must contain, for messages: "a JSON array of records with `question`".
    pub needs: &'static str,
    /// The files that are read from the set's folder.
    pub folder: &'static str,
    /// The names of these files, for messages.
    pub files: &'static str,
    /// Whether a file of the folder belongs to the set, given its name in lower case without `.gz` or the like.
    pub is_one: fn(&str) -> bool,
    /// A record, shortened to one line.
    pub example: &'static str,
    /// Names and meanings of the options after `:` in a source.
    pub options: &'static [(&'static str, &'static str)],
    /// Options that read the same questions with another front end, to compare with the default
    /// one.
    pub fronts: &'static [&'static str],
    /// Whether the set has gold queries; without them it is for evaluation only.
    pub queries: bool,
}

/// The option name that accepts any language.
pub(super) const LANGUAGE: &str = "LANG";

impl SourceFormat {
    /// Whether the format has this option.
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

    /// The options as text.
    #[must_use]
    pub fn option_list(&self) -> String {
        match self.options {
            [] => format!("{} takes no option", self.name),
            options => {
                let one = |(name, about): &(&str, &str)| format!("`{name}` ({about})");
                let known: Vec<String> = options.iter().map(one).collect();
                format!("write one of {}", known.join(", "))
            }
        }
    }
}
