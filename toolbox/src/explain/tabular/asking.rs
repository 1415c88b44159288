//! What a word of a question does there: whether it begins one more column, orders something or ends a phrase. English.

use super::super::adjective::adjective;
use super::reading::{Reader, Token};
use super::request::{BEHIND, DONE, Role, is_one_of};

impl Reader<'_> {
    /// Whether `name` is what the asker tells us to do: `name all rivers`.
    pub(super) fn is_order(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let begins = matches!(before, "" | "you" | "to" | "please" | "me");
        begins
            && self.word(at + 1) != "of"
            && !self.tokens.get(at + 1).is_some_and(|next| next.apart)
    }

    /// Whether `which` at `at` asks for one more thing: `and in which city`.
    pub(super) fn asks_beside(&self, at: usize) -> bool {
        let back = |back: usize| at.checked_sub(back).map_or("", |at| self.word(at));
        let and = back(1) == "and" || BEHIND.contains(&back(1)) && back(2) == "and";
        and && self
            .tokens
            .get(at + 1)
            .is_some_and(|next| next.content.is_some())
    }

    /// Whether `what` at `at` asks for one more thing of what was asked for: `and what is its population`.
    pub(super) fn asks_what_is(&self, at: usize) -> bool {
        let is = matches!(self.word(at + 1), "is" | "are" | "was" | "were");
        let its = matches!(self.word(at + 2), "its" | "their" | "his" | "her");
        self.follows_and(at) && is && its && self.has_column()
    }

    /// Whether `when` or `how` at `at` asks for one more thing, behind `and`.
    pub(super) fn asks_for_value(&self, at: usize) -> bool {
        let next = self.word(at + 1);
        let measure = next == "much" || adjective(next).is_some();
        let along = || {
            let back = |back: usize| at.checked_sub(back).map_or("", |at| self.word(at));
            back(1) == "with" && matches!(back(2), "along" | "together")
        };
        let joined = self.follows_and(at) || along();
        joined && (self.word(at) == "when" || measure) && self.has_column()
    }

    /// Whether `and` stands before the token at `at`.
    pub(super) fn follows_and(&self, at: usize) -> bool {
        at.checked_sub(1)
            .is_some_and(|before| self.word(before) == "and")
    }

    /// Whether `called` at `at` asks what something is called: no name follows.
    pub(super) fn asks_for_name(&self, at: usize) -> bool {
        let what = |one: &Token| matches!(one.word.as_str(), "what" | "how");
        let ends = |next: &Token| (next.apart || next.word == "and") && !next.behind_entity;
        let is = matches!(self.word(at.wrapping_sub(1)), "it" | "they" | "are" | "is");
        // `what are her children called` asks for the children.
        let last = self.tokens.get(at + 1).is_none() && self.request.phrases.len() < 2;
        let noun = !last
            && at
                .checked_sub(1)
                .is_some_and(|before| self.tokens[before].content.is_some());
        self.tokens[..at].iter().any(what)
            && self.tokens.get(at + 1).is_none_or(ends)
            && !self.tokens[at].before_entity
            && (is || noun)
    }

    /// Whether the word at `at` is the last one before a mark, and a verb.
    pub(super) fn ends_as_verb(&self, at: usize) -> bool {
        let verb = self.word(at).ends_with("ed") || is_one_of(self.word(at), DONE);
        verb && self.tokens.get(at + 1).is_none_or(|next| next.apart)
    }

    /// Whether the word at `at` says what was done to the things of the open column, by whom or where.
    pub(super) fn is_participle(&self, at: usize) -> bool {
        let phrase = self.open.and_then(|open| self.request.phrases.get(open));
        let column = phrase.is_some_and(|one| one.role == Role::Column && !one.words.is_empty());
        let done = self.tokens[at].content.is_some() && self.word(at).ends_with("ed");
        column
            && !self.of
            && done
            && is_one_of(
                self.word(at + 1),
                "by from in at on to for after before since between",
            )
    }
}
