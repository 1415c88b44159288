//! Reading numbers of things: `how many`, `at least two`, `with 1 race`. English.

use kg::value::{Extreme, Op};

use super::super::adjective::adjective;
use super::super::cues::negated;
use super::super::totals::counted_per;
use super::reading::Reader;
use super::request::{Role, is_of_quantity, is_one_of, number};

/// Words behind `how many` that say nothing more of what is counted.
const ARE_THERE: &str = "are were is was there they that those these of them in all total here do did does have has we you i";
/// The largest number of things that is read as a number of rows.
pub(super) const LARGEST_COUNT: u64 = 1_000;

impl Reader<'_> {
    /// Reads `most` in `the three museums with the most staff`.
    pub(super) fn number_before(&mut self, at: usize) -> Option<usize> {
        let extreme = match self.word(at) {
            "most" | "highest" | "largest" | "greatest" | "maximum" => Extreme::Max,
            "least" | "fewest" | "lowest" | "smallest" | "minimum" => Extreme::Min,
            _ => return None,
        };
        let with = at.checked_sub(2).filter(|&with| {
            self.word(at - 1) == "the" && matches!(self.word(with), "with" | "have" | "having")
        })?;
        let that = usize::from(matches!(self.word(with.checked_sub(1)?), "that" | "which"));
        let things = with.checked_sub(1 + that)?;
        self.tokens[things].content?;
        let first = number(self.word(things.checked_sub(1)?)).filter(|&first| first > 1)?;
        self.request.first = Some(first);
        self.request.order = Some(extreme == Extreme::Max);
        self.begin(Role::Order);
        Some(1)
    }

    /// Reads `how many`, `the number of`, and numbers of things: `at least two`, `3 or more`.
    pub(super) fn number_of(&mut self, at: usize) -> Option<usize> {
        let words = [0, 1, 2, 3].map(|next| self.word(at + next).to_owned());
        let [word, second, third, fourth] = words.each_ref().map(String::as_str);
        // `list the name and the count`: the number stands where it is named last.
        let ends = |at: usize| self.tokens.get(at).is_none_or(|next| next.apart);
        let named = matches!(word, "count" | "number" | "numbers" | "counts");
        if named && ends(at + 1) && at > 0 && self.request.count.is_some() {
            self.close();
            self.request.count = Some(self.tokens[at].at);
            return Some(1);
        }
        // `together with that number`
        let beside = |back: usize| at.checked_sub(back).map_or("", |at| self.word(at));
        if named
            && ends(at + 1)
            && beside(1) == "that"
            && beside(2) == "with"
            && self.request.most.is_some()
        {
            self.close();
            self.request.count = Some(self.tokens[at].at);
            self.request.count_beside = true;
            return Some(1);
        }
        if word == "number" && second == "of" && self.tokens[at].in_name {
            return Some(2);
        }
        self.request.total |= word == "total" && matches!(second, "number" | "count");
        let counted = match (word, second) {
            ("how", "many") => Some(2),
            ("total", "number" | "count") => Some(2),
            ("number" | "numbers" | "count", "of") => Some(1),
            _ => None,
        };
        // `the maximum and minimum number of cows`
        let computed = self.is_computed() && self.is_empty();
        if counted == Some(1)
            && !computed
            && let Some(most) = self.superlative_before(at)
        {
            // `the greatest number of products`.
            self.request.most = Some(most);
            self.begin(Role::Counted);
            return Some(2);
        }
        if let Some(read) = counted {
            let read = read + usize::from(self.word(at + read) == "of");
            if computed || matches!(self.role, Role::Order | Role::Key) && self.open.is_none() {
                // Rows are ordered, or grouped, by a number that the graph has.
                return Some(read);
            }
            self.request.count = Some(self.tokens[at].at);
            // `horror films, how many are there` asks for one number.
            let mut rest = self.tokens.get(at + read..).unwrap_or_default().iter();
            let alone = rest.len() > 0 && rest.all(|token| is_one_of(&token.word, ARE_THERE));
            self.request.count_beside |= self.beside && !alone;
            self.begin(Role::Counted);
            return Some(read);
        }
        let (op, number, read) = match (word, second) {
            ("at", "least") => (Op::Ge, number(third)?, 3),
            ("at", "most") => (Op::Le, number(third)?, 3),
            ("more" | "greater" | "fewer" | "less", "than") => {
                let op = match word {
                    "more" | "greater" => Op::Gt,
                    _ => Op::Lt,
                };
                let no = matches!(self.word(at.wrapping_sub(1)), "no" | "not");
                let op = if no { negated(op) } else { op };
                (op, number(third)?, 3)
            }
            ("over", _) => (Op::Gt, number(second)?, 2),
            ("only" | "exactly", _) => (Op::Eq, number(second)?, 2),
            ("with" | "have" | "has" | "had" | "having", _)
                if self.counts_next(at + 1) || second == "1" || second == "one" =>
            {
                self.having_number(at + 1)?
            }
            (_, "or") if matches!(third, "more" | "fewer" | "less") && fourth != "than" => {
                let op = if third == "more" { Op::Ge } else { Op::Le };
                (op, number(word)?, 3)
            }
            _ => return None,
        };
        // Nothing has 25,000 of something in a graph that one asks by words.
        // And where nothing follows, as in `that cost more than 10`, nothing is counted.
        let follows = self.tokens.get(at + read).is_some_and(|next| !next.apart);
        let unit = self.word(at + read);
        if is_of_quantity(unit) || unit == "per" || number > LARGEST_COUNT || !follows {
            return None;
        }
        self.request.having = Some((op, number));
        if self.word(at + read) == "times" && self.count_last() {
            // `booked more than four times`.
            return Some(read + 1);
        }
        self.begin(Role::Counted);
        self.request.had = self.request.phrases.len();
        Some(read)
    }

    /// Reads the number of things that something has: `tracks with 1 race`.
    pub(super) fn having_number(&self, at: usize) -> Option<(Op, u64, usize)> {
        let found = number(self.word(at))?;
        let next = self.tokens.get(at + 1).filter(|next| !next.apart)?;
        let adjectives = adjective(&next.word).is_some();
        (next.content.is_some() && !next.value && !adjectives).then_some((Op::Eq, found, 2))
    }

    /// Makes what was said last what is counted: `booked` of `booked most often`.
    pub(super) fn count_last(&mut self) -> bool {
        self.close();
        let Some(last) = self.request.phrases.last_mut() else {
            return false;
        };
        let said = last.role == Role::Condition;
        if said {
            last.role = Role::Counted;
            self.request.had = self.request.phrases.len() - 1;
        }
        said
    }

    /// Counts what stands before `per`: `customers per country`.
    pub(super) fn count_before(&mut self) {
        if counted_per(self.tokens)
            && let [one] = self.request.phrases.as_mut_slice()
        {
            one.role = Role::Counted;
            self.request.count = Some(one.at);
        }
    }
}
