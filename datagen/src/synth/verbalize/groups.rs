//! What is said of values that groups of things have, and of what two groups or two things share.

use kg::value::Op;

use super::super::plan::{Set, Test};
use super::super::profile::Tail;
use super::super::words::{plural, singular};
use super::{Modifier, Np, Say};

impl Say<'_, '_> {
    /// What is said of values that a group of things has: `of all cities`, `where singers above age 20 are from`.
    pub(super) fn of_group(&mut self, from: &Set) -> Modifier {
        if matches!(from, Set::Class(_)) && self.rng.chance(0.3) {
            let np = self.np(from);
            let each = self.word(&["of each", "for each", "of every", "that each"]);
            let has = if each == "that each" { " has" } else { "" };
            return Modifier::plain(format!("{each} {}{has}", singular(&np.noun)));
        }
        let owners = self.text_of_many(from);
        match self.rng.below(8) {
            0 => Modifier::plain(format!("of all {}", owners.trim_start_matches("the "))),
            1 => Modifier::plain(format!("for all {owners}")),
            2 | 3 => Modifier::new(
                format!("with {owners}"),
                format!("has {owners}"),
                format!("have {owners}"),
            ),
            4 => {
                let be = self.word(&[
                    "are from",
                    "are",
                    "live",
                    "come from",
                    "were",
                    "are in",
                    "belong to",
                ]);
                let bare = be
                    .rsplit_once(' ')
                    .map_or("", |(_, preposition)| preposition)
                    .to_owned();
                let one = if bare.is_empty() {
                    format!("has {owners}")
                } else {
                    format!("are {owners} {bare}")
                };
                Modifier::new(
                    format!("where {owners} {be}"),
                    one.clone(),
                    one.replacen("has ", "have ", 1),
                )
            }
            5 => Modifier::new(
                format!("that {owners} have"),
                format!("do {owners} have"),
                format!("do {owners} have"),
            ),
            6 => Modifier::new(
                format!("used by {owners}"),
                format!("do {owners} use"),
                format!("do {owners} use"),
            ),
            _ => Modifier::new(
                format!("that have {owners}"),
                format!("has {owners}"),
                format!("have {owners}"),
            ),
        }
    }

    /// Values that two groups share, or things that two others both belong to, said of both at once.
    pub(super) fn both(&mut self, of: &Set, test: &Test) -> Option<Np> {
        let Test::Is {
            relation,
            forward,
            set,
        } = test
        else {
            return None;
        };
        match of {
            Set::Walk {
                from,
                relation: first,
                forward: true,
                silent: false,
            } if !forward => {
                let noun = self.noun_of(*first);
                let (one, other) = (self.text_of_many(from), self.text_of_many(set));
                let (one, other) = (
                    one.trim_start_matches("the "),
                    other.trim_start_matches("the "),
                );
                let after = match self.rng.below(6) {
                    0 => Modifier::new(
                        format!("shared by {one} and {other}"),
                        format!("is shared by {one} and {other}"),
                        format!("are shared by {one} and {other}"),
                    ),
                    1 => {
                        let be = self.word(&["live", "are from", "are", "come from"]);
                        Modifier::new(
                            format!("where both {one} and {other} {be}"),
                            format!("has both {one} and {other}"),
                            format!("have both {one} and {other}"),
                        )
                    }
                    2 => Modifier::new(
                        format!("with both {one} and {other}"),
                        format!("has both {one} and {other}"),
                        format!("have both {one} and {other}"),
                    ),
                    3 => Modifier::new(
                        format!("that have both {one} and {other}"),
                        format!("has {one} as well as {other}"),
                        format!("have {one} as well as {other}"),
                    ),
                    4 => Modifier::new(
                        format!("that {one} and {other} share"),
                        format!("do {one} and {other} share"),
                        format!("do both {one} and {other} have"),
                    ),
                    _ => Modifier::new(
                        format!("of both {one} and {other}"),
                        format!("has {one} and {other}"),
                        format!("have {one} and {other}"),
                    ),
                };
                Some(Np {
                    noun: singular(&noun),
                    after: vec![after],
                    ..Np::default()
                })
            }
            Set::Keep {
                of,
                test:
                    Test::Is {
                        relation: first,
                        forward: along,
                        set: before,
                    },
            } if first == relation && along == forward => {
                let (one, other, say) = match (before.as_ref(), set.as_ref()) {
                    (
                        Set::Keep {
                            test:
                                Test::Value {
                                    relation: by,
                                    op: Op::Eq,
                                    value: one,
                                },
                            ..
                        },
                        Set::Keep {
                            test:
                                Test::Value {
                                    relation: and,
                                    op: Op::Eq,
                                    value: other,
                                },
                            ..
                        },
                    ) if by == and => (
                        self.value(one, Tail::Text),
                        self.value(other, Tail::Text),
                        *by,
                    ),
                    (one, other) => (self.text_of(one), self.text_of(other), *relation),
                };
                let mut np = self.np(of);
                let n = self.noun_of(say);
                let after = match self.rng.below(6) {
                    0 => Modifier::new(
                        format!("with both {one} and {other}"),
                        format!("has both {one} and {other}"),
                        format!("have both {one} and {other}"),
                    ),
                    1 => Modifier::new(
                        format!("where both {one} and {other} are {}", plural(&n)),
                        format!("has both {one} and {other} as {}", plural(&n)),
                        format!("have both {one} and {other} as {}", plural(&n)),
                    ),
                    2 => Modifier::new(
                        format!("with {one} and {other} as {}", plural(&n)),
                        format!("has the {} {one} and {other}", plural(&n)),
                        format!("have the {} {one} and {other}", plural(&n)),
                    ),
                    3 => Modifier::new(
                        format!("that have {one} and {other}"),
                        format!("has {one} and {other}"),
                        format!("have {one} and {other}"),
                    ),
                    4 => Modifier::new(
                        format!("that use both {one} and {other}"),
                        format!("uses both {one} and {other}"),
                        format!("use both {one} and {other}"),
                    ),
                    _ => self.said_of_heads(
                        if *forward { *relation } else { say },
                        &format!("both {one} and {other}"),
                    ),
                };
                np.after.push(after);
                Some(np)
            }
            _ => None,
        }
    }
}
