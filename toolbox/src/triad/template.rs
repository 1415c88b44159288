//! Query templates: the algebra that the generalist writes over the triples. A template is parsed
//! once and then instantiated and run as a structure; no query is assembled from text.
//!
//! ```text
//! select ?x where t0 t1 filter ?n > x0 max ?m    solutions with ?n > x0 and the greatest ?m
//! count ?x where t0 or t1                        number of distinct ?x in either alternative
//! ask where t0                                   whether there is a solution
//! ```

use std::fmt;
use std::str::FromStr;

use super::error::TriadError;
use super::triple::{TriplePattern, variable};
use crate::text::handle_index;
use kg::value::{Extreme, Op};

/// The type of answer that a question asks for (rules C.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnswerType {
    /// Entities or values.
    Select,
    /// A number.
    Count,
    /// Yes or no.
    Ask,
}

impl AnswerType {
    /// All three, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Count, Self::Select, Self::Ask];

    /// The form that a model writes.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Count => "<count>",
            Self::Select => "<select>",
            Self::Ask => "<yes or no>",
        }
    }

    /// The first word of templates of this type.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Select => "select",
            Self::Ask => "ask",
        }
    }
}

impl FromStr for AnswerType {
    type Err = TriadError;

    fn from_str(text: &str) -> Result<Self, TriadError> {
        let bare = |text: &str| text.trim().trim_matches(['<', '>']).to_lowercase();
        Self::ALL
            .into_iter()
            .find(|kind| bare(kind.text()) == bare(text))
            .ok_or_else(|| TriadError::Type(text.to_owned()))
    }
}

/// The right side of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A value of the question, by handle.
    Value(usize),
    /// An entity of the question, by handle.
    Entity(usize),
    /// Another variable.
    Var(String),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(index) => write!(f, "x{index}"),
            Self::Entity(index) => write!(f, "e{index}"),
            Self::Var(name) => write!(f, "?{name}"),
        }
    }
}

impl FromStr for Operand {
    type Err = TriadError;

    fn from_str(text: &str) -> Result<Self, TriadError> {
        let odd = || {
            TriadError::Template(format!(
                "`{text}` is no value (x0), entity (e0) or variable (?a)"
            ))
        };
        if let Some(name) = text.strip_prefix('?') {
            return variable(name).map(Self::Var).ok_or_else(odd);
        }
        handle_index(text, 'x')
            .map(Self::Value)
            .or_else(|| handle_index(text, 'e').map(Self::Entity))
            .ok_or_else(odd)
    }
}

/// A condition on a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The variable.
    pub var: String,
    /// The comparison (rules R8–R11).
    pub op: Op,
    /// The right side.
    pub value: Operand,
}

/// A query over numbered triples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryTemplate {
    /// The type of answer.
    pub kind: AnswerType,
    /// The answer variable; `None` for [`AnswerType::Ask`].
    pub answer: Option<String>,
    /// Alternatives, each a conjunction of triples in order.
    pub branches: Vec<Vec<usize>>,
    /// Conditions; each applies to the alternatives that bind its variable.
    pub filters: Vec<Filter>,
    /// The variable, if any, whose extreme value selects the solutions.
    pub extreme: Option<(String, Extreme)>,
}

/// The keyword of an extreme.
pub(super) const fn extreme_word(extreme: Extreme) -> &'static str {
    match extreme {
        Extreme::Max => "max",
        Extreme::Min => "min",
    }
}

impl fmt::Display for QueryTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        if let Some(answer) = &self.answer {
            write!(f, " ?{answer}")?;
        }
        f.write_str(" where")?;
        for (i, branch) in self.branches.iter().enumerate() {
            if i > 0 {
                f.write_str(" or")?;
            }
            branch
                .iter()
                .try_for_each(|triple| write!(f, " t{triple}"))?;
        }
        for filter in &self.filters {
            write!(
                f,
                " filter ?{} {} {}",
                filter.var,
                filter.op.symbol(),
                filter.value
            )?;
        }
        if let Some((var, extreme)) = &self.extreme {
            write!(f, " {} ?{var}", extreme_word(*extreme))?;
        }
        Ok(())
    }
}

impl FromStr for QueryTemplate {
    type Err = TriadError;

    fn from_str(text: &str) -> Result<Self, TriadError> {
        let odd = |why: &str| TriadError::Template(format!("`{}`: {why}", text.trim()));
        let mut words = text.split_whitespace().peekable();
        let kind = match words.next() {
            Some("select") => AnswerType::Select,
            Some("count") => AnswerType::Count,
            Some("ask") => AnswerType::Ask,
            _ => return Err(odd("it begins with none of select, count, ask")),
        };
        let var = |word: Option<&str>| {
            let name = word
                .and_then(|word| word.strip_prefix('?'))
                .and_then(variable);
            name.ok_or_else(|| odd("a variable (?x) is missing"))
        };
        let answer = if kind == AnswerType::Ask {
            None
        } else {
            Some(var(words.next())?)
        };
        if words.next() != Some("where") {
            return Err(odd("`where` is missing"));
        }
        let mut branches = vec![Vec::new()];
        while let Some(word) = words.next_if(|word| *word == "or" || word.starts_with('t')) {
            if word == "or" {
                branches.push(Vec::new());
            } else if let (Ok(index), Some(branch)) = (word[1..].parse(), branches.last_mut()) {
                branch.push(index);
            } else {
                return Err(odd("a triple is named t0, t1, …"));
            }
        }
        let (mut filters, mut extreme) = (Vec::new(), None);
        while let Some(word) = words.next() {
            match word {
                "filter" => {
                    let var = var(words.next())?;
                    let op = words
                        .next()
                        .and_then(|op| op.parse().ok())
                        .ok_or_else(|| odd("a comparison (=, !=, <, <=, >, >=) is missing"))?;
                    let value = words
                        .next()
                        .ok_or_else(|| odd("the comparison has no right side"))?
                        .parse()?;
                    filters.push(Filter { var, op, value });
                }
                "max" | "min" if extreme.is_none() => {
                    extreme = Some((
                        var(words.next())?,
                        if word == "max" {
                            Extreme::Max
                        } else {
                            Extreme::Min
                        },
                    ));
                }
                _ => return Err(odd(&format!("`{word}` cannot stand there"))),
            }
        }
        Ok(Self {
            kind,
            answer,
            branches,
            filters,
            extreme,
        })
    }
}

impl QueryTemplate {
    /// Checks the template against its triples and the number of entities and values.
    ///
    /// # Errors
    /// Returns [`TriadError::Template`] with the first undefined reference.
    pub fn check(
        &self,
        triples: &[TriplePattern],
        entities: usize,
        values: usize,
    ) -> Result<(), TriadError> {
        let odd = |why: String| Err(TriadError::Template(format!("`{self}`: {why}")));
        let names = |branch: &[usize], var: &str| {
            branch
                .iter()
                .filter_map(|&i| triples.get(i))
                .any(|triple| triple.vars().any(|v| v == var))
        };
        let anywhere = |var: &str| {
            triples
                .iter()
                .any(|triple| triple.vars().any(|name| name == var))
        };
        for branch in &self.branches {
            if branch.is_empty() {
                return odd("an alternative has no triple".to_owned());
            }
            if let Some(unknown) = branch.iter().find(|&&i| i >= triples.len()) {
                return odd(format!("there is no triple t{unknown}"));
            }
            if let Some(answer) = self
                .answer
                .as_deref()
                .filter(|answer| !names(branch, answer))
            {
                return odd(format!("an alternative says nothing about ?{answer}"));
            }
        }
        for filter in &self.filters {
            let there = match &filter.value {
                Operand::Value(index) => *index < values,
                Operand::Entity(index) => *index < entities,
                Operand::Var(name) => anywhere(name),
            };
            if !anywhere(&filter.var) || !there {
                return odd(format!(
                    "`?{} {} {}` names what is not there",
                    filter.var,
                    filter.op.symbol(),
                    filter.value
                ));
            }
        }
        match &self.extreme {
            Some((var, _)) if !anywhere(var) => {
                odd(format!("no triple says anything about ?{var}"))
            }
            _ => Ok(()),
        }
    }
}
