//! Reading what a question asks of a table from its words. English.

use kg::value::{Extreme, Op};

use super::super::adjective::{Degree, adjective};
use super::super::cues::{is_negation, whole_words};
use super::super::focus::is_content;
use super::super::question::Asked;
use super::request::{Label, Phrase, Request, Role, is_of_quantity, is_one_of, number};
use crate::call::Aggregate;

/// Words that begin what an answer has to satisfy.
const CONDITIONS: [&str; 9] = [
    "who", "whose", "that", "which", "where", "with", "having", "when", "among",
];
/// Words behind which no other column is named.
const BEHIND: [&str; 13] = [
    "for", "in", "from", "by", "at", "on", "across", "they", "he", "she", "to", "are", "is",
];
/// Words that begin what is asked for.
const ASKING: [&str; 11] = [
    "list", "show", "give", "return", "what", "how", "find", "tell", "along", "display", "well",
];
/// Those of them that ask a question.
const QUESTION: [&str; 3] = ["what", "how", "tell"];
/// Words that say how rows are ordered.
const ORDERS: &str = "decreasing order ordered sort sorted ascending descending alphabetical alphabetically alphabetic ranked increasing";
/// Words that say that equal rows are one.
const DIFFERENT: &str = "different distinct unique corresponding respective";

/// The largest number of things that is read as a number of rows.
const LARGEST_COUNT: u64 = 1_000;

/// A word of the question.
struct Token {
    at: usize,
    word: String,
    /// Its index among the content words.
    content: Option<usize>,
    /// Whether a comma or another mark stands before it.
    apart: bool,
    /// Whether that is a colon.
    colon: bool,
    /// Whether an entity stands before it.
    behind_entity: bool,
}

/// Reads a question with spaces for its entities.
pub(super) fn read(bare: &str, asked: &Asked) -> Request {
    let mut end = 0;
    let tokens: Vec<Token> = whole_words(bare)
        .into_iter()
        .map(|(at, word)| {
            let between = bare.get(end..at).unwrap_or_default();
            let mentions = asked.mentions.iter().flatten();
            let entity = mentions
                .into_iter()
                .any(|&(from, to)| end <= from && to <= at);
            end = at + word.len();
            Token {
                content: asked.placed(at),
                behind_entity: entity && between.trim().is_empty(),
                apart: between.contains([',', ';', ':', '.', '?', '!']),
                colon: between.contains(':'),
                at,
                word,
            }
        })
        .collect();
    let mut reader = Reader {
        tokens: &tokens,
        request: Request::default(),
        role: Role::Column,
        open: None,
        of: false,
        beside: false,
    };
    let mut next = 0;
    while next < tokens.len() {
        next += reader.token(next);
    }
    let mut request = reader.request;
    request.settle(asked);
    request
}

struct Reader<'t> {
    tokens: &'t [Token],
    request: Request,
    /// The role of the next phrase.
    role: Role,
    /// The phrase that is being read.
    open: Option<usize>,
    /// Whether the next word stands behind the `of` of the open phrase.
    of: bool,
    /// Whether the next phrase is one more column: after `height and`, `along with`.
    beside: bool,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.word.as_str())
    }

    /// Reads the token at `at` and returns how many were read.
    fn token(&mut self, at: usize) -> usize {
        let token = &self.tokens[at];
        if token.apart {
            if !token.colon {
                self.join(token);
            }
            self.close();
            if !matches!(self.role, Role::Order | Role::Column) {
                self.role = Role::Column;
            }
        }
        if let Some(read) = self.cue(at) {
            for read in &self.tokens[at..(at + read).min(self.tokens.len())] {
                self.request.said.extend(read.content);
            }
            return read;
        }
        let word = token.word.as_str();
        match word {
            "of" if self.open.is_some() => self.of = true,
            "the" | "all" | "each" | "every" | "their" | "its" | "s" | "different" if self.of => {}
            "and" | "or" => {
                self.join(token);
                self.close();
                if matches!(self.role, Role::Computed(_) | Role::Key) {
                    self.role = Role::Column;
                }
            }
            "name" if self.is_order(at) => {}
            "name" | "names" => self.add(token, Some(Label::Name)),
            "id" | "ids" | "identifier" | "identifiers" => self.add(token, Some(Label::Key)),
            _ if CONDITIONS.contains(&word) && at > 0 => {
                self.close();
                let their = matches!(self.word(at + 1), "their" | "its");
                self.beside |= their;
                // `the teams in which`, but not `which of the teams`.
                self.role = if their {
                    Role::Column
                } else if self.request.phrases.is_empty() && word != "with" {
                    self.role
                } else {
                    Role::Condition
                };
            }
            _ if BEHIND.contains(&word) && !self.request.phrases.is_empty() => {
                self.close();
                if matches!(self.role, Role::Column | Role::Counted | Role::Computed(_)) {
                    self.role = Role::Condition;
                }
            }
            _ if ASKING.contains(&word) && self.role != Role::Order => {
                self.close();
                self.role = Role::Column;
                // `besides English, what does he speak`: a comma before a question joins nothing.
                self.beside &= !(token.apart && QUESTION.contains(&word));
                self.beside |= at > 0 && !QUESTION.contains(&word);
            }
            _ if token.content.is_some() => self.add(token, None),
            _ if word == "are" || word == "is" || !is_content(word) => self.close(),
            _ => {}
        }
        1
    }

    /// Adds a word to the open phrase, or opens one.
    fn add(&mut self, token: &'_ Token, label: Option<Label>) {
        if self.open.is_none() {
            self.open_phrase(token.at);
        }
        let Some(phrase) = (self.open).and_then(|open| self.request.phrases.get_mut(open)) else {
            return;
        };
        if !self.of {
            phrase.label = phrase.label.or(label);
        }
        let Some(content) = token.content else {
            return;
        };
        if self.of {
            phrase.of.push(content);
        } else {
            phrase.words.push(content);
        }
    }

    fn open_phrase(&mut self, at: usize) {
        let column = |one: &Phrase| one.role == Role::Column;
        if self.role == Role::Column && !self.beside && self.request.phrases.iter().any(column) {
            // What is not joined to a column says something about it.
            self.role = Role::Condition;
        }
        self.beside = false;
        self.open = Some(self.request.phrases.len());
        self.of = false;
        self.request.phrases.push(Phrase {
            role: self.role,
            at,
            words: Vec::new(),
            of: Vec::new(),
            label: None,
        });
    }

    /// Whether `name` is what the asker tells us to do: `name all rivers`.
    fn is_order(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let begins = matches!(before, "" | "you" | "to" | "please" | "me");
        begins
            && self.word(at + 1) != "of"
            && !self.tokens.get(at + 1).is_some_and(|next| next.apart)
    }

    /// Reads `and` or a comma at a token.
    fn join(&mut self, token: &Token) {
        let open = self.open.and_then(|open| self.request.phrases.get(open));
        let column = open.is_some_and(|open| open.role == Role::Column);
        self.beside |= column && !token.behind_entity;
    }

    fn close(&mut self) {
        let once = matches!(self.role, Role::Computed(_) | Role::Mean(_) | Role::Key);
        if self.open.take().is_some() && once {
            self.role = Role::Condition;
        }
        self.of = false;
    }

    /// Whether the last word was `of`, or words such as `of the`.
    fn begins_of(&self) -> bool {
        let phrase = self.open.and_then(|open| self.request.phrases.get(open));
        self.of && phrase.is_some_and(|phrase| phrase.of.is_empty())
    }

    /// Whether something is computed of the open phrase.
    fn is_computed(&self) -> bool {
        let phrase = self.open.and_then(|open| self.request.phrases.get(open));
        phrase.is_some_and(|phrase| matches!(phrase.role, Role::Computed(_)))
    }

    /// Whether something is computed of a phrase so far.
    fn computes(&self) -> bool {
        let computed = |one: &Phrase| matches!(one.role, Role::Computed(_));
        self.request.phrases.iter().any(computed)
    }

    /// Whether a content word follows the token at `at`, and not an entity.
    fn stands_before_a_word(&self, at: usize) -> bool {
        let the = usize::from(matches!(self.word(at + 1), "the" | "each" | "every"));
        let next = self.tokens.get(at + 1 + the);
        next.is_some_and(|next| next.content.is_some() && !next.behind_entity && !next.apart)
    }

    fn begin(&mut self, role: Role) {
        self.close();
        self.role = role;
    }

    /// Reads a cue and returns how many tokens it has.
    fn cue(&mut self, at: usize) -> Option<usize> {
        let next = self.word(at + 1).to_owned();
        let word = self.tokens[at].word.clone();
        if let Some(read) = self.number_of(at) {
            return Some(read);
        }
        if let (Some(first), Some((found, Degree::Superlative))) = (number(&word), adjective(&next))
        {
            // `the three largest cities`.
            self.request.first = Some(first);
            self.request.order = Some(found.extremes[0] == Extreme::Max);
            self.begin(Role::Order);
            self.add(&self.tokens[at + 1], None);
            self.begin(Role::Column);
            return Some(2);
        }
        let aggregate = match word.as_str() {
            "average" | "mean" | "avg" => Some(Aggregate::Average),
            "total" | "sum" | "combined" => Some(Aggregate::Sum),
            "much" if self.asks_in_all(at) => Some(Aggregate::Sum),
            "maximum" | "max" if next != "of" || self.word(at + 2).parse::<u64>().is_err() => {
                Some(Aggregate::Max)
            }
            "minimum" | "min" if next != "of" || self.word(at + 2).parse::<u64>().is_err() => {
                Some(Aggregate::Min)
            }
            _ => None,
        };
        if let Some(aggregate) = aggregate {
            return Some(self.computed(at, aggregate));
        }
        if let Some(read) = self.key(at) {
            return Some(read);
        }
        match word.as_str() {
            // The orders of a shop are no order.
            _ if is_one_of(&word, ORDERS)
                && (word != "sort" || next != "of")
                && (word != "order"
                    || self.request.order.is_some()
                    || matches!(next.as_str(), "by" | "of")
                    || at
                        .checked_sub(1)
                        .is_some_and(|before| self.word(before) == "in")) =>
            {
                self.begin(Role::Order);
                let last = matches!(word.as_str(), "descending" | "decreasing" | "ranked");
                let known = self.request.order.unwrap_or_default();
                self.request.order = Some(known || last);
                Some(1)
            }
            "top" => {
                self.request.first = Some(number(&next)?);
                self.request.order = Some(true);
                self.begin(Role::Column);
                Some(2)
            }
            "by" if self.request.first.is_some() => {
                self.begin(Role::Order);
                Some(1)
            }
            "most" | "fewest" | "least" if self.counts_next(at) => {
                let most = word == "most";
                self.request.most = Some(if most { Extreme::Max } else { Extreme::Min });
                self.begin(Role::Counted);
                Some(1)
            }
            _ if is_one_of(&word, DIFFERENT) => {
                self.close();
                let computed = |one: &Phrase| matches!(one.role, Role::Computed(_));
                let before = (at.saturating_sub(3)..at).any(|at| self.word(at) == "for");
                if before && self.request.phrases.iter().any(computed) {
                    // `the largest area for different continents`.
                    self.begin(Role::Key);
                    self.request.grouped = true;
                }
                Some(1)
            }
            _ if word == "no" || is_negation(&word) => {
                let degree = adjective(&next).map(|(_, degree)| degree);
                let compared = matches!(next.as_str(), "more" | "less" | "fewer" | "later")
                    || degree == Some(Degree::Comparative);
                if compared || at == 0 {
                    return None;
                }
                self.request.without = true;
                self.begin(Role::Without);
                Some(1)
            }
            _ => None,
        }
    }

    /// Reads what rows are grouped by: `per city`, `for each city`, `by city`.
    fn key(&mut self, at: usize) -> Option<usize> {
        let next = self.word(at + 1).to_owned();
        let word = self.tokens[at].word.clone();
        match word.as_str() {
            "in" if next == "total" => Some(2),
            "each" if next == "time" => Some(2),
            "per" | "each" | "every" if !self.begins_of() => {
                self.begin(Role::Key);
                self.request.grouped |= word != "every";
                Some(1)
            }
            "each" | "every" if self.is_computed() => {
                // `the average age of each team`.
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(1)
            }
            "by" if self.computes() && self.stands_before_a_word(at) => {
                // `the average salary by job`.
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(1)
            }
            "for" | "in" | "from" | "by" | "to" if matches!(next.as_str(), "each" | "every") => {
                self.begin(Role::Key);
                self.request.grouped = true;
                Some(2)
            }
            _ => None,
        }
    }

    /// Reads `how many`, `the number of`, and numbers of things: `at least two`, `3 or more`.
    fn number_of(&mut self, at: usize) -> Option<usize> {
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
        let counted = match (word, second) {
            ("how", "many") => Some(2),
            ("total", "number" | "count") => Some(2),
            ("number" | "numbers" | "count", "of") => Some(1),
            _ => None,
        };
        if let Some(read) = counted {
            let read = read + usize::from(self.word(at + read) == "of");
            if matches!(self.role, Role::Order | Role::Key) && self.open.is_none() {
                // Rows are ordered, or grouped, by a number that the graph has.
                return Some(read);
            }
            self.request.count = Some(self.tokens[at].at);
            self.request.count_beside |= self.beside;
            self.begin(Role::Counted);
            return Some(read);
        }
        let (op, number, read) = match (word, second) {
            ("at", "least") => (Op::Ge, number(third)?, 3),
            ("at", "most") => (Op::Le, number(third)?, 3),
            ("more" | "greater" | "fewer" | "less", "than") => {
                let op = if matches!(word, "more" | "greater") {
                    Op::Gt
                } else {
                    Op::Lt
                };
                (op, number(third)?, 3)
            }
            ("over", _) => (Op::Gt, number(second)?, 2),
            ("only" | "exactly", _) => (Op::Eq, number(second)?, 2),
            (_, "or") if matches!(third, "more" | "fewer" | "less") && fourth != "than" => {
                let op = if third == "more" { Op::Ge } else { Op::Le };
                (op, number(word)?, 3)
            }
            _ => return None,
        };
        // Nothing has 25,000 of something in a graph that one asks by words.
        if is_of_quantity(self.word(at + read)) || number > LARGEST_COUNT {
            return None;
        }
        self.request.having = Some((op, number));
        self.begin(Role::Counted);
        self.request.had = self.request.phrases.len();
        Some(read)
    }

    /// Reads what is computed of a column; behind a comparison it is what the column is compared
    /// with.
    fn computed(&mut self, at: usize, aggregate: Aggregate) -> usize {
        let before = (at.saturating_sub(3)..at).map(|at| self.word(at).to_owned());
        let mut op = before.filter_map(|word| match word.as_str() {
            "above" | "over" | "exceeding" => Some(Op::Gt),
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
        // `the average number of injuries` is the mean of a number that the graph has.
        match (self.word(at + 1), self.word(at + 2)) {
            ("number" | "amount", "of") => 3,
            ("of", _) => 2,
            _ => 1,
        }
    }

    /// Whether `much` at `at` asks for a sum: `how much did they cost altogether`.
    fn asks_in_all(&self, at: usize) -> bool {
        let all = |token: &Token| matches!(token.word.as_str(), "altogether" | "overall");
        self.word(at.wrapping_sub(1)) == "how" && self.tokens.iter().any(all)
    }

    /// Whether `most` at `at` stands before something to count, not before an adjective.
    fn counts_next(&self, at: usize) -> bool {
        let next = self.word(at + 1);
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let several =
            next.ends_with('s') || matches!(next, "people" | "children" | "men" | "women");
        before != "at"
            && several
            && self
                .tokens
                .get(at + 1)
                .is_some_and(|token| token.content.is_some())
            && adjective(next).is_none()
    }
}
