//! Arguments of the tools that read tables.

use super::super::ast::{Aggregate, Arg, Field, Repeat, TextTest};
use super::super::grammar::Param;
use super::super::words::{key, number};
use super::{ParseError, Parser};
use kg::term::Literal;
use kg::value::{DatePart, Sign};

impl Parser<'_> {
    /// The mark of a path: `+`, `*` or `maybe` before a relation. A relation may have the mark
    /// as its name, so another word must follow.
    pub(super) fn repeat(&mut self) -> Option<Repeat> {
        let at = self.at;
        let word = self.word();
        let repeat = Repeat::ALL.into_iter().find(|one| one.mark() == word);
        self.space();
        let more = !self.rest().is_empty() && !self.rest().starts_with([',', ')']);
        let repeat = repeat.filter(|_| more);
        if repeat.is_none() {
            self.at = at;
        }
        repeat
    }

    /// A variable that is a table or a truth value.
    pub(super) fn table(&mut self) -> Result<Arg, ParseError> {
        let index = self.peek_variable();
        let index = index.ok_or_else(|| {
            self.error(format!(
                "expected a variable, v0, …, found {}",
                self.found()
            ))
        })?;
        self.word();
        Ok(Arg::Var(index))
    }

    /// `k0`, `count`, `sum k0` or `desc k0`, as the parameter allows.
    pub(super) fn field(&mut self, param: Param) -> Result<Arg, ParseError> {
        let at = self.at;
        let word = self.word().to_owned();
        let plain = if param == Param::Order {
            None
        } else {
            key(&word).map(Field::Key)
        };
        let aggregate = || {
            Aggregate::ALL
                .into_iter()
                .find(|known| known.word() == word)
        };
        let field = match (plain, param, word.as_str()) {
            (Some(field), ..) => Some(field),
            (None, Param::Field, "count") => Some(Field::Count),
            (None, Param::Order, "asc") => key(self.word()).map(Field::Ascending),
            (None, Param::Order, "desc") => key(self.word()).map(Field::Descending),
            (None, Param::Key, _) => {
                let part = DatePart::ALL.into_iter().find(|part| part.word() == word);
                part.and_then(|part| key(self.word()).map(|column| Field::Part(part, column)))
            }
            (None, Param::Field, _) => {
                aggregate().and_then(|of| key(self.word()).map(|column| Field::Of(of, column)))
            }
            _ => None,
        };
        field.map(Arg::Field).ok_or_else(|| {
            self.at = at;
            let right = match param {
                Param::Order => "asc k0 or desc k0",
                Param::Key => "a column, k0, k1, …, or year k0, month k0 or day k0",
                _ => "k0, count, distinct k0, sum k0, average k0, min k0 or max k0",
            };
            self.error(format!("expected {right}, found {}", self.found()))
        })
    }

    /// A comparison operator or a test of texts.
    pub(super) fn test(&mut self) -> Result<Arg, ParseError> {
        let at = self.at;
        let word = self.word();
        let test = TextTest::ALL.into_iter().find(|test| test.word() == word);
        test.map_or_else(
            || {
                self.at = at;
                self.operator()
            },
            |test| Ok(Arg::Text(test)),
        )
    }

    /// An operator of arithmetic.
    pub(super) fn sign(&mut self) -> Result<Arg, ParseError> {
        let at = self.at;
        let word = self.word();
        let sign = Sign::ALL.into_iter().find(|sign| sign.symbol() == word);
        sign.map(Arg::Sign).ok_or_else(|| {
            self.at = at;
            self.error(format!("expected +, -, * or /, found {}", self.found()))
        })
    }

    /// A number of rows.
    pub(super) fn size(&mut self) -> Result<Arg, ParseError> {
        let word = self.word().to_owned();
        let size = number(&word).filter(|size| *size > 0);
        size.map(|_| Arg::Literal(Literal::plain(word)))
            .ok_or_else(|| self.error("expected a number of rows, 1 or more"))
    }
}
