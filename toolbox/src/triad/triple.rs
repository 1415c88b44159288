//! Triples as the generalist extracts them from a question: `<e0, directed by, ?a> <?a, place of
//! birth, ?x>`.

use std::fmt;
use std::str::FromStr;

use super::error::TriadError;
use crate::limits::MAX_TRIPLES;
use crate::text::handle_index;

/// An end of a triple.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// An entity of the question, by handle.
    Entity(usize),
    /// An offered class, by handle.
    Class(usize),
    /// A variable, by its name without the question mark.
    Var(String),
}

impl End {
    /// The variable's name, if it is one.
    #[must_use]
    pub fn var(&self) -> Option<&str> {
        match self {
            Self::Var(name) => Some(name),
            Self::Entity(_) | Self::Class(_) => None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entity(index) => write!(f, "e{index}"),
            Self::Class(index) => write!(f, "c{index}"),
            Self::Var(name) => write!(f, "?{name}"),
        }
    }
}

impl FromStr for End {
    type Err = TriadError;

    fn from_str(text: &str) -> Result<Self, TriadError> {
        let text = text.trim();
        let odd = || TriadError::End(text.to_owned());
        if let Some(name) = text.strip_prefix('?') {
            return variable(name).map(Self::Var).ok_or_else(odd);
        }
        handle_index(text, 'e')
            .map(Self::Entity)
            .or_else(|| handle_index(text, 'c').map(Self::Class))
            .ok_or_else(odd)
    }
}

/// Maximum characters of a variable name.
const NAME_CHARS: usize = 24;

/// A variable name without its question mark; words are joined by `_`, as in the published parser.
pub(super) fn variable(name: &str) -> Option<String> {
    let name = name.split_whitespace().collect::<Vec<_>>().join("_");
    let fits = !name.is_empty()
        && name.chars().count() <= NAME_CHARS
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    fits.then_some(name)
}

/// The phrase of class membership: `<?x, a, c0>`.
pub const IS_A: &str = "a";

/// The phrase between a variable and the entity that it equals: `<?x, is, e0>`.
pub const IS: &str = "is";

/// A triple with a phrase in place of the relation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TriplePattern {
    /// The end from which the question describes the relation.
    pub subject: End,
    /// The relation in a few words of the question; [`IS_A`] for class membership. It does not
    /// determine the direction in the graph, which comes with the selected relation.
    pub phrase: String,
    /// The other end.
    pub object: End,
}

impl TriplePattern {
    /// Whether it states the class of its subject.
    #[must_use]
    pub fn is_class(&self) -> bool {
        matches!(self.object, End::Class(_))
    }

    /// Whether it states which entity its subject is.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.phrase == IS && self.subject.var().is_some() && matches!(self.object, End::Entity(_))
    }

    /// Whether it needs no relation of the graph.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.is_class() || self.is_same()
    }

    /// Names of its variables.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        [&self.subject, &self.object]
            .into_iter()
            .filter_map(End::var)
    }
}

impl fmt::Display for TriplePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}, {}>", self.subject, self.phrase, self.object)
    }
}

impl FromStr for TriplePattern {
    type Err = TriadError;

    fn from_str(text: &str) -> Result<Self, TriadError> {
        let odd = || TriadError::Triple(text.to_owned());
        let inside = text
            .trim()
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
            .ok_or_else(odd)?;
        let (subject, rest) = inside.split_once(',').ok_or_else(odd)?;
        let (phrase, object) = rest.rsplit_once(',').ok_or_else(odd)?;
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        let triple = Self {
            subject: subject.parse()?,
            phrase,
            object: object.parse()?,
        };
        let class = triple.is_class();
        if triple.phrase.is_empty()
            || matches!(triple.subject, End::Class(_))
            || class != (triple.phrase == IS_A)
        {
            return Err(odd());
        }
        Ok(triple)
    }
}

/// Parses every `<a, b, c>` in a text.
///
/// # Errors
/// Returns [`TriadError`] if a triple does not parse, if there are no triples, or if there are more
/// than [`MAX_TRIPLES`].
pub fn parse_triples(text: &str) -> Result<Vec<TriplePattern>, TriadError> {
    let mut triples = Vec::new();
    for piece in text.split('<').skip(1) {
        let inside = piece
            .split_once('>')
            .ok_or_else(|| TriadError::Triple(format!("<{piece}")))?
            .0;
        // Duplicate triples are allowed: they may denote two relations, or one in both directions.
        triples.push(format!("<{inside}>").parse()?);
    }
    if triples.is_empty() || triples.len() > MAX_TRIPLES {
        return Err(TriadError::Count(triples.len()));
    }
    Ok(triples)
}

/// Triples in the form that a model writes.
#[must_use]
pub fn print_triples(triples: &[TriplePattern]) -> String {
    triples
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}
