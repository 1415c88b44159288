//! The cues by which a question asks for what is computed of a column: averages, sums, both ends. English.

use kg::value::{Extreme, Op};

use super::super::adjective::{Degree, adjective};
use super::super::order::superlative;
use super::reading::{ASKED_OF, Reader, Token};
use super::request::{Role, is_one_of};
use crate::call::Aggregate;

/// Words before a value that is asked for.
const ASKING: &str = "is are was were s return give show find list compute calculate";

impl Reader<'_> {
    /// Reads `how old` or `how many` where `on average` says that a mean is asked for, and these words themselves.
    pub(super) fn on_average(&mut self, at: usize) -> Option<usize> {
        let mut pairs = self.tokens.windows(2);
        let on = |pair: &[Token]| pair[0].word == "on" && pair[1].word == "average";
        let asks = pairs.any(on) && !self.stands_before_a_word(self.place("average")?);
        if !asks {
            return None;
        }
        let next = self.tokens.get(at + 1)?;
        match (self.word(at), next.word.as_str()) {
            ("on", "average") => {
                self.close();
                if !self.computes()
                    && let Some(last) = self
                        .request
                        .phrases
                        .iter_mut()
                        .rev()
                        .find(|one| one.role == Role::Column)
                {
                    last.role = Role::Computed(Aggregate::Average);
                }
                Some(2)
            }
            ("how", "many" | "much") => {
                self.begin(Role::Computed(Aggregate::Average));
                self.open_phrase(self.tokens[at].at);
                let asked = |at: &usize| is_one_of(self.word(*at), ASKED_OF);
                Some(2 + (at + 2..).take_while(asked).count())
            }
            ("how", word) if adjective(word).is_some() => {
                self.begin(Role::Computed(Aggregate::Average));
                self.open_phrase(self.tokens[at].at);
                // `how long` may be one word.
                self.add(&self.tokens[at], None);
                self.add(&self.tokens[at + 1], None);
                self.begin(Role::Condition);
                Some(2)
            }
            _ => None,
        }
    }

    /// Reads `the lowest and the highest` of a salary, or `the lowest, the highest and the average`: the least and the
    /// greatest of its values.
    pub(super) fn both_ends(&mut self, at: usize) -> Option<usize> {
        let comma = self.tokens.get(at + 1).is_some_and(|next| next.apart);
        let mut second = at + 1 + usize::from(self.word(at + 1) == "and");
        let joined = comma || second > at + 1;
        second += usize::from(self.word(second) == "the");
        let [one, other] =
            [at, second].map(|at| superlative(self.word(at)).map(|[extreme, _]| extreme));
        let (one, other) = (one?, other?);
        let average = ["and", "the"].iter().fold(second + 1, |at, word| {
            at + usize::from(self.word(at) == *word)
        });
        let average = matches!(self.word(average), "average" | "mean");
        // The minimum is no adjective and is read as what is computed.
        let measured = (average || self.stands_before_a_word(second))
            && self.role == Role::Column
            && !matches!(self.word(at), "minimum" | "maximum");
        if !joined || one == other || !measured {
            return None;
        }
        for (place, extreme) in [(at, one), (second, other)] {
            self.begin(Role::Computed(match extreme {
                Extreme::Min => Aggregate::Min,
                Extreme::Max => Aggregate::Max,
            }));
            self.open_phrase(self.tokens[place].at);
        }
        let number = self.word(second + 1) == "number" && self.word(second + 2) == "of";
        Some(second + 1 - at + if number { 2 } else { 0 })
    }

    /// Reads what is computed of a column; behind a comparison it is what the column is compared
    /// with.
    pub(super) fn computed(&mut self, at: usize, aggregate: Aggregate) -> usize {
        // `the highest average salary`.
        let best = self.superlative_before(at);
        self.request.best = self.request.best.or(best);
        let before = (at.saturating_sub(4)..at).map(|at| self.word(at).to_owned());
        // What is compared: `dearer than`, `more nights than`.
        let degree = |at: &usize| {
            let more = at
                .checked_sub(1)
                .is_some_and(|more| is_one_of(self.word(more), "more fewer less"));
            let noun = more && self.tokens[*at].content.is_some();
            noun || adjective(self.word(*at))
                .is_some_and(|(_, degree)| degree == Degree::Comparative)
        };
        let compared = (at.saturating_sub(3)..at).rev().find(degree);
        // `paid more than the average teacher`
        let verb = || {
            let more = (at.saturating_sub(3)..at)
                .rev()
                .find(|&more| is_one_of(self.word(more), "more less"))?;
            more.checked_sub(1)
                .filter(|&verb| self.tokens[verb].content.is_some())
        };
        let compared = compared.or_else(verb);
        let mut op = before.filter_map(|word| match word.as_str() {
            "above" | "over" | "exceeding" | "exceeds" | "exceed" => Some(Op::Gt),
            "below" | "under" => Some(Op::Lt),
            other => match adjective(other) {
                Some((found, Degree::Comparative)) => Some(found.comparisons()[0]),
                _ => matches!(other, "more" | "greater")
                    .then_some(Op::Gt)
                    .or_else(|| matches!(other, "less" | "fewer").then_some(Op::Lt)),
            },
        });
        let role = match op.next_back().filter(|_| aggregate == Aggregate::Average) {
            Some(op) => Role::Mean(op),
            None => Role::Computed(aggregate),
        };
        self.begin(role);
        self.open_phrase(self.tokens[at].at);
        let compared = compared.filter(|_| self.stands_before_a_word(at));
        if let (Role::Mean(_), Some(compared)) = (role, compared) {
            // `dearer than the average book` is of prices.
            self.add(&self.tokens[compared], None);
        }
        if self.tokens[at].in_name {
            // `the total amount of the bills` is a sum of what is called so.
            self.add(&self.tokens[at], None);
            return 1;
        }
        // `the average number of injuries` is the mean of a number that the graph has.
        match (self.word(at + 1), self.word(at + 2)) {
            ("number" | "amount", "of") => 3,
            // `the sum of the yearly fees`
            ("of", "the" | "all" | "their" | "its") => 3,
            ("of", _) => 2,
            _ => 1,
        }
    }

    /// Whether an extreme at `at` says which things are meant: `the car with the maximum weight`, `which car has the
    /// maximum number of seats`.
    pub(super) fn is_of_things(&self, at: usize) -> bool {
        let before = self.before_article(at);
        // `the maximum and minimum number of cows`
        let end = |at: usize| is_one_of(self.word(at), "maximum minimum max min average mean");
        let listed = before == "and" && at.checked_sub(2).is_some_and(end);
        let number = self.word(at + 1) == "number" && !self.is_value_asked(at) && !listed;
        number || matches!(before, "with" | "has" | "have" | "had" | "having")
    }

    /// Whether a superlative at `at` asks for a value and not for a thing: `what is the highest salary`, `the average
    /// and highest salary`.
    pub(super) fn is_value_asked(&self, at: usize) -> bool {
        let before = self.before_article(at);
        let next = self.word(at + 1);
        let thing = next.ends_with("ed") || next.ends_with("ing") || next == "paid";
        let listed = is_one_of(before, "average mean minimum maximum total")
            || before == "and" && self.is_computed();
        let asked = self.word(at.wrapping_sub(1)) == "the" && is_one_of(before, ASKING);
        !thing && (listed || asked)
    }

    /// Whether the token at `at` begins a column that is called so, and nothing is computed: the `total amount` of `the date
    /// and total amount of each booking`, where no other word groups rows.
    pub(super) fn is_named_column(&self, at: usize) -> bool {
        if !self.tokens[at].in_name {
            return false;
        }
        let behind = at
            + (self.tokens[at..].iter())
                .take_while(|one| one.in_name)
                .count();
        let joins = |at: usize| {
            self.tokens
                .get(at)
                .is_some_and(|one| one.apart || one.word == "and")
        };
        let before =
            self.has_column() && (self.tokens[at].apart || self.word(at.wrapping_sub(1)) == "and");
        let groups = self.tokens.windows(2).any(|pair| {
            let each = is_one_of(&pair[1].word, "each every");
            pair[0].word == "per" || each && is_one_of(&pair[0].word, "for in from by")
        });
        (before || joins(behind)) && !groups
    }

    /// The word before `at` and before an article.
    pub(super) fn before_article(&self, at: usize) -> &str {
        let the = usize::from(self.word(at.wrapping_sub(1)) == "the");
        at.checked_sub(1 + the)
            .map_or("", |before| self.word(before))
    }

    /// The extreme that the word before `at` asks for, which is then said.
    pub(super) fn superlative_before(&mut self, at: usize) -> Option<Extreme> {
        let token = self.tokens.get(at.checked_sub(1)?)?;
        // `the minimum, maximum and average` are three things.
        let apart = self.tokens.get(at).is_some_and(|token| token.apart);
        let most = match token.word.as_str() {
            "most" => Some([Extreme::Max; 2]),
            "least" | "fewest" => Some([Extreme::Min; 2]),
            word => superlative(word),
        };
        let [found, _] = most.filter(|_| !apart)?;
        self.request.said.extend(token.content);
        Some(found)
    }

    /// The last token with this word.
    fn place(&self, word: &str) -> Option<usize> {
        self.tokens.iter().rposition(|token| token.word == word)
    }
}
