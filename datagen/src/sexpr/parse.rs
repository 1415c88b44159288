//! S-expressions as trees of words and lists.

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at character {at}")]
pub struct SexprError {
    /// What is wrong.
    pub message: String,
    /// Number of characters before it.
    pub at: usize,
}

/// Maximum nesting of lists; GrailQA's deepest has seven.
const DEPTH: usize = 64;

/// A word or a list, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Word(String, usize),
    List(Vec<Tree>, usize),
}

impl Tree {
    pub(super) fn at(&self) -> usize {
        match self {
            Self::Word(_, at) | Self::List(_, at) => *at,
        }
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> SexprError {
        SexprError {
            message: message.into(),
            at: self.at(),
        }
    }
}

/// Parses one whole expression.
pub(super) fn parse(text: &str) -> Result<Tree, SexprError> {
    let mut open: Vec<(Vec<Tree>, usize)> = Vec::new();
    let mut done: Option<Tree> = None;
    let mut chars = text.char_indices().enumerate().peekable();
    while let Some((at, (start, c))) = chars.next() {
        let wrong = |message: &str| SexprError {
            message: message.to_owned(),
            at,
        };
        let tree =
            match c {
                c if c.is_whitespace() => continue,
                _ if done.is_some() => return Err(wrong("text after the expression")),
                '(' => {
                    if open.len() == DEPTH {
                        return Err(wrong("too many nested lists"));
                    }
                    open.push((Vec::new(), at));
                    continue;
                }
                ')' => {
                    let (list, at) = open.pop().ok_or_else(|| wrong("`)` without `(`"))?;
                    Tree::List(list, at)
                }
                _ => {
                    let mut end = start + c.len_utf8();
                    // A quoted text may contain blanks and parentheses.
                    let mut quoted = c == '"';
                    while let Some((_, (next, c))) = chars.peek().copied().filter(|(_, (_, c))| {
                        quoted || !c.is_whitespace() && !matches!(c, '(' | ')')
                    }) {
                        quoted ^= c == '"';
                        end = next + c.len_utf8();
                        chars.next();
                    }
                    if quoted {
                        return Err(wrong("a quoted text does not end"));
                    }
                    Tree::Word(text[start..end].to_owned(), at)
                }
            };
        match open.last_mut() {
            Some((list, _)) => list.push(tree),
            None => done = Some(tree),
        }
    }
    match (open.pop(), done) {
        (Some((_, at)), _) => Err(SexprError {
            message: "`(` is not closed".to_owned(),
            at,
        }),
        (None, Some(tree)) => Ok(tree),
        (None, None) => Err(SexprError {
            message: "there is no expression".to_owned(),
            at: 0,
        }),
    }
}
