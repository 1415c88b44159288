//! Reading what a question asks of a table from its words. English.

use super::super::adjective::adjective;
use super::super::cues::whole_words;
use super::super::focus::{QUESTION_WORDS, is_content};
use super::super::name_parts::name_part;
use super::super::question::Asked;
use super::request::{BEHIND, Label, Phrase, Request, Role, is_one_of};

/// Words that begin what an answer has to satisfy.
const CONDITIONS: [&str; 9] = [
    "who", "whose", "that", "which", "where", "with", "having", "when", "among",
];
/// Words that begin what is asked for.
const ASKING: [&str; 11] = [
    "list", "show", "give", "return", "what", "how", "find", "tell", "along", "display", "well",
];
/// Those of them that begin a list of columns.
pub(super) const LISTING: [&str; 6] = ["list", "show", "give", "return", "find", "display"];
/// Those of them that ask a question.
const QUESTION: [&str; 3] = ["what", "how", "tell"];
/// Words between `when` and what happened then: `when were they hired`.
pub(super) const ASKED_OF: &str =
    "was were is are did do does has have had they it he she each one of them a an the that";
/// A word of the question.
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) word: String,
    /// Its index among the content words.
    pub(super) content: Option<usize>,
    /// Whether it is part of a value.
    pub(super) value: bool,
    /// Whether a comma or another mark stands before it.
    pub(super) apart: bool,
    /// Whether that is a question mark, or a dash.
    asked: bool,
    /// Whether that is a colon.
    colon: bool,
    /// Whether an entity stands before it.
    pub(super) behind_entity: bool,
    /// Whether an entity stands behind it.
    pub(super) before_entity: bool,
    /// Whether it belongs to the name of a relation such as `total amount`.
    pub(super) in_name: bool,
}

impl AsRef<str> for Token {
    fn as_ref(&self) -> &str {
        &self.word
    }
}

/// Reads a question with spaces for its entities.
pub(super) fn read(bare: &str, asked: &Asked) -> Request {
    let mut end = 0;
    let tokens: Vec<Token> = whole_words(bare)
        .into_iter()
        .map(|(at, mut word)| {
            let length = word.len();
            if let Some(meant) = asked.meant(&word) {
                word = meant.to_owned();
            }
            let between = bare.get(end..at).unwrap_or_default();
            // `clubs founded before 1930 - name and town`
            let dash = between.contains(" - ");
            let mentions = asked.mentions.iter().flatten();
            let entity = mentions
                .into_iter()
                .any(|&(from, to)| end <= from && to <= at);
            end = at + length;
            let content = asked.placed(at);
            Token {
                value: content.is_some_and(|at| asked.words[at].value.is_some()),
                asked: dash || between.contains('?'),
                content,
                behind_entity: entity && between.trim_matches([' ', ',']).is_empty(),
                before_entity: (asked.mentions.iter().flatten()).any(|&(from, _)| from == end + 1),
                // `make + model`
                apart: dash || between.contains([',', ';', ':', '.', '?', '!', '+', '&']),
                colon: between.contains(':'),
                in_name: asked.is_in_amount_name(at),
                at,
                word,
            }
        })
        .collect();
    let mut reader = Reader {
        tokens: &tokens,
        request: Request::default(),
        chooses: asked.either.is_some(),
        role: Role::Column,
        open: None,
        of: false,
        beside: false,
    };
    let mut next = 0;
    while next < tokens.len() {
        next += reader.token(next);
    }
    let word = |at: usize| tokens.get(at).map_or("", |token| token.word.as_str());
    let mut request = reader.request;
    // `For every branch, what are its name and its city?`
    let begin = match word(0) {
        "for" => (tokens.iter().position(|token| token.apart)).unwrap_or_default(),
        _ => 0,
    };
    let what = word(begin) == "what" && matches!(word(begin + 1), "is" | "are");
    request.commands = LISTING.contains(&word(begin)) || what;
    request.asks = tokens
        .iter()
        .any(|token| QUESTION_WORDS.contains(&token.word.as_str()));
    request.settle(asked);
    request
}

pub(super) struct Reader<'t> {
    pub(super) tokens: &'t [Token],
    pub(super) request: Request,
    /// Whether the question asks for one of several things.
    pub(super) chooses: bool,
    /// The role of the next phrase.
    pub(super) role: Role,
    /// The phrase that is being read.
    pub(super) open: Option<usize>,
    /// Whether the next word stands behind the `of` of the open phrase.
    pub(super) of: bool,
    /// Whether the next phrase is one more column: after `height and`, `along with`.
    pub(super) beside: bool,
}

impl Reader<'_> {
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.word.as_str())
    }

    /// Reads the token at `at` and returns how many were read.
    fn token(&mut self, at: usize) -> usize {
        let token = &self.tokens[at];
        if token.apart {
            self.mark(token);
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
            "the" | "all" | "each" | "every" | "their" | "its" | "his" | "her" | "s"
            | "different"
                if self.of => {}
            // `of his or her club`
            "or" if matches!(self.word(at + 1), "her" | "she") => return 2,
            "and" | "or" => self.and(at),
            "together" if self.word(at + 1) == "with" => self.close(),
            // `whose email is missing`
            "missing" | "unknown" | "blank" | "empty" if self.lacks(at) => {
                self.request.without = true;
            }
            "name" if self.is_order(at) => {}
            _ if name_part(self.tokens, at).is_some() => self.add(token, Some(Label::Name)),
            "name" | "names" => self.add(token, Some(Label::Name)),
            "id" | "ids" | "identifier" | "identifiers" => self.add(token, Some(Label::Key)),
            "called" | "named" if self.asks_for_name(at) => {
                self.close();
                (self.role, self.beside) = (Role::Column, true);
                self.add(token, Some(Label::Name));
                self.close();
            }
            // `every gym by name`.
            "by" if matches!(self.word(at + 1), "name" | "names" | "id" | "title") => {
                self.close();
                (self.role, self.beside) = (Role::Column, true);
            }
            // `and on which day is it held`.
            "which" | "what" if self.asks_beside(at) => {
                self.close();
                (self.role, self.beside) = (Role::Column, true);
                self.request.and_value = true;
            }
            // `and what is its population`
            "what" if self.asks_what_is(at) => {
                self.close();
                (self.role, self.beside) = (Role::Column, true);
                self.request.and_value = true;
                return 3;
            }
            "when" | "how" if self.asks_for_value(at) => return self.value(at),
            _ if CONDITIONS.contains(&word) && at > 0 => self.condition(at),
            _ if BEHIND.contains(&word) && !self.request.phrases.is_empty() => {
                // `sorted by age, for all players older than 20`
                let ordered = word == "for" && self.role == Role::Order && self.open.is_some();
                self.close();
                if ordered || matches!(self.role, Role::Column | Role::Counted | Role::Computed(_))
                {
                    self.role = Role::Condition;
                }
            }
            _ if ASKING.contains(&word) && self.role != Role::Order => {
                self.close();
                if LISTING.contains(&word) && token.apart && at > 0 {
                    self.request.listed = Some(self.request.phrases.len());
                    let me = usize::from(matches!(self.word(at + 1), "me" | "us"));
                    self.request.listed_of = matches!(self.word(at + 1 + me), "their" | "its");
                }
                self.role = Role::Column;
                // `besides English, what does he speak`: a comma before a question joins nothing.
                self.beside &= !(token.apart && QUESTION.contains(&word));
                self.beside |= at > 0 && !QUESTION.contains(&word);
            }
            "belong" | "belongs" | "exist" | "live" | "living" | "working" | "work" | "reside"
            | "study"
                if self.role == Role::Counted && !self.is_empty() =>
            {
                self.begin(Role::Condition);
            }
            // `how many games has each stadium held?`
            _ if self.role == Role::Key && self.open.is_some() && self.ends_as_verb(at) => {}
            // `missions launched from the cape` asks for missions.
            _ if self.is_participle(at) => {
                self.begin(Role::Condition);
                self.add(token, None);
            }
            _ if token.content.is_some() => self.add(token, None),
            _ if word == "are" || word == "is" || !is_content(word) => self.close(),
            _ => {}
        }
        1
    }

    /// Reads a word that begins what an answer has to satisfy, or `with their`, which begins one more column.
    fn condition(&mut self, at: usize) {
        let word = self.tokens[at].word.as_str();
        self.close();
        let together = matches!(self.word(at - 1), "along" | "together");
        let their = together && word == "with"
            || matches!(self.word(at + 1), "their" | "its")
            || self.ends_with_column(at);
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

    /// Reads `and` or `or`.
    fn and(&mut self, at: usize) {
        let token = &self.tokens[at];
        self.join(token);
        // `the average height and weight` are two averages, `the average height and the team` are not.
        let open = self.open.and_then(|open| self.request.phrases.get(open));
        let next = self.tokens.get(at + 1);
        let shared = open
            .filter(|open| {
                let word = next.is_some_and(|next| next.content.is_some() && !next.value);
                word && token.word == "and"
                    && matches!(open.role, Role::Computed(_))
                    && !open.words.is_empty()
                    && open.of.is_empty()
            })
            .map(|open| open.role);
        self.close();
        if matches!(self.role, Role::Computed(_) | Role::Key) {
            self.role = Role::Column;
        }
        self.role = shared.unwrap_or(self.role);
        // `clubs in either Spain or Malta, and their towns`
        let their = token.word == "and" && matches!(self.word(at + 1), "its" | "their");
        let columns = matches!(self.role, Role::Condition | Role::Column);
        if their && columns && self.has_column() {
            (self.role, self.beside) = (Role::Column, true);
        }
    }

    /// Reads a mark before a token.
    fn mark(&mut self, token: &Token) {
        // `Who are our guests? First and last names please.`
        let asks = QUESTION_WORDS.contains(&token.word.as_str());
        if token.asked && !self.request.phrases.is_empty() && token.word != "and" && !asks {
            self.request.listed = Some(self.request.phrases.len());
            self.close();
            self.beside = true;
        } else if !token.colon {
            self.join(token);
        }
        self.close();
        if !matches!(self.role, Role::Order | Role::Column) {
            self.role = Role::Column;
        }
    }

    /// Begins one more column at `and when was it founded` or `and how tall is she`, and returns how many tokens were read.
    fn value(&mut self, at: usize) -> usize {
        self.close();
        (self.role, self.beside) = (Role::Column, true);
        self.request.and_value = true;
        let mut read = 1;
        if self.word(at) == "how" {
            self.add(&self.tokens[at + 1], None);
            read += 1;
        }
        let asked = |at: &usize| is_one_of(self.word(*at), ASKED_OF);
        read + (at + read..).take_while(asked).count()
    }

    /// Adds a word to the open phrase, or opens one.
    pub(super) fn add(&mut self, token: &'_ Token, label: Option<Label>) {
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

    pub(super) fn open_phrase(&mut self, at: usize) {
        if self.role == Role::Column && !self.beside && self.has_column() {
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

    /// Whether a phrase names a column so far.
    pub(super) fn has_column(&self) -> bool {
        let column = |one: &Phrase| one.role == Role::Column;
        self.request.phrases.iter().any(column)
    }

    /// Reads `and` or a comma at a token.
    fn join(&mut self, token: &Token) {
        let open = self.open.and_then(|open| self.request.phrases.get(open));
        let column = open.is_some_and(|open| open.role == Role::Column);
        self.beside |= column && !token.behind_entity;
    }

    pub(super) fn close(&mut self) {
        let once = matches!(self.role, Role::Computed(_) | Role::Mean(_) | Role::Key);
        if self.open.take().is_some() && once {
            self.role = Role::Condition;
        }
        self.of = false;
    }

    /// Whether the last phrase is said to be missing by the word at `at`, and so is left out.
    fn lacks(&mut self, at: usize) -> bool {
        let is = at
            .checked_sub(1)
            .is_some_and(|at| matches!(self.word(at), "is" | "are" | "was"));
        let last = self
            .request
            .phrases
            .last_mut()
            .filter(|one| is && one.role == Role::Condition);
        if let Some(last) = last {
            last.role = Role::Without;
            return true;
        }
        false
    }

    /// Whether a ranked list ends with one more column behind `with` at `at`: `top 3 concerts with the price`.
    fn ends_with_column(&self, at: usize) -> bool {
        const NOUNS: usize = 2;
        let rest = self.tokens.get(at + 2..).unwrap_or_default();
        let noun =
            |one: &Token| one.content.is_some() && !one.value && adjective(&one.word).is_none();
        (self.word(at), self.word(at + 1)) == ("with", "the")
            && (self.request.first.is_some() || self.request.order.is_some())
            && (1..=NOUNS).contains(&rest.len())
            && rest.iter().all(noun)
    }

    /// Whether the last word was `of`, or words such as `of the`.
    pub(super) fn begins_of(&self) -> bool {
        let phrase = self.open.and_then(|open| self.request.phrases.get(open));
        self.of && phrase.is_some_and(|phrase| phrase.of.is_empty())
    }

    /// Whether something is computed of the open phrase.
    pub(super) fn is_computed(&self) -> bool {
        let phrase = self.open.and_then(|open| self.request.phrases.get(open));
        phrase.is_some_and(|phrase| matches!(phrase.role, Role::Computed(_)))
    }

    /// Whether the open phrase has no words yet.
    pub(super) fn is_empty(&self) -> bool {
        let phrase = self.open.and_then(|open| self.request.phrases.get(open));
        phrase.is_some_and(|phrase| phrase.words.is_empty())
    }

    /// Whether something is computed of a phrase so far.
    pub(super) fn computes(&self) -> bool {
        let computed = |one: &Phrase| matches!(one.role, Role::Computed(_));
        self.request.phrases.iter().any(computed)
    }

    /// Whether a content word follows the token at `at`, and not an entity.
    pub(super) fn stands_before_a_word(&self, at: usize) -> bool {
        let the = usize::from(matches!(self.word(at + 1), "the" | "each" | "every"));
        let next = self.tokens.get(at + 1 + the);
        next.is_some_and(|next| {
            let named = next.content.is_some() && !next.behind_entity && !next.apart;
            named && !next.before_entity
        })
    }

    pub(super) fn begin(&mut self, role: Role) {
        self.close();
        self.role = role;
    }
}
