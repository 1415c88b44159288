//! What may be written next, as a phrase: only sets that are there, only groups that were found, so that nothing can be invented.

use crate::limits::MAX_SET_ARGS as MAX_ARGS;
use crate::phrase::Phrase;

use super::run::{Awaited, Run};
use super::{Form, Reflection, read};

/// Characters of the facts that a model writes down in one turn ([`Reflection::GeneratedFact`]).
const FACTS: usize = 200;

impl Run<'_> {
    /// The language of the turn that is awaited. Every text of it can be written, though a comparison of things that do not compare fails.
    #[must_use]
    pub fn phrase(&self) -> Phrase {
        match self.awaited() {
            Awaited::Action => self.action(),
            Awaited::Reflection if self.options().reflection == Reflection::GeneratedFact => {
                Phrase::free(1, FACTS, "")
            }
            Awaited::Reflection => self.reflection(),
            Awaited::Nothing => Phrase::any([]),
        }
    }

    /// Handles of all sets, entities first, in the order in which combinations list them; and those that are answers.
    #[must_use]
    pub fn sets(&self) -> (Vec<String>, Vec<String>) {
        let live = self.session().live(self.naming());
        let (mut all, mut statements) = (Vec::new(), Vec::new());
        for set in live
            .sets
            .iter()
            .filter(|set| !set.scalar && !self.is_class_variable(&set.text))
        {
            all.push(set.text.clone());
            if set.unanswerable {
                statements.push(set.text.clone());
            }
        }
        // Entities, classes, results.
        let at = all
            .iter()
            .position(|set| set.starts_with('v'))
            .unwrap_or(all.len());
        if self.options().form == Form::Grouped {
            all.splice(at..at, live.classes);
        }
        let answers = all
            .iter()
            .filter(|set| !statements.contains(set))
            .cloned()
            .collect();
        (all, answers)
    }

    fn action(&self) -> Phrase {
        let (sets, answers) = self.sets();
        let joined = |tool: &str, sets: &[String]| {
            let parts = sets.iter().map(Phrase::text);
            Phrase::seq([
                Phrase::text(format!("{tool}(")),
                Phrase::list(parts, ", ", 2, MAX_ARGS),
                Phrase::text(")"),
            ])
        };
        let combined =
            |sets: &[String]| Phrase::any([joined("intersect", sets), joined("union", sets)]);
        let paper = self.options().form == Form::Paper;
        let mut choices = Vec::new();
        if !self.forced() {
            let open = sets.iter().filter(|set| !self.is_explored(set));
            let mut open = vec![Phrase::one_of(
                open.filter(|set| !paper || self.is_one(set))
                    .map(String::as_str),
            )];
            if !paper {
                open.push(combined(&sets));
            }
            let open = Phrase::any(open);
            choices.push(Phrase::seq([Phrase::text("neighbor "), open]));
            let single: Vec<&String> = sets
                .iter()
                .filter(|set| !set.starts_with('c') && self.is_one(set))
                .collect();
            let pairs = single
                .iter()
                .enumerate()
                .flat_map(|(i, a)| single[i + 1..].iter().map(move |b| format!("path {a} {b}")));
            choices.extend(
                pairs
                    .filter(|pair| !self.actions().contains(pair))
                    .map(Phrase::text),
            );
        }
        let any = || {
            Phrase::any([
                Phrase::one_of(sets.iter().map(String::as_str)),
                combined(&sets),
            ])
        };
        let answer = Phrase::any([
            Phrase::text("none"),
            Phrase::one_of(answers.iter().map(String::as_str)),
            combined(&answers),
            Phrase::seq([Phrase::text("count "), any()]),
            Phrase::seq([Phrase::text("judge "), Phrase::one_of(self.comparisons())]),
        ]);
        choices.push(Phrase::seq([Phrase::text("answer "), answer]));
        Phrase::any(choices)
    }

    fn is_one(&self, set: &str) -> bool {
        self.members(set).is_some_and(|members| members.len() == 1)
    }

    fn reflection(&self) -> Phrase {
        let none = Phrase::text("none");
        if self.found_ways() > 0 {
            let ways = (0..self.found_ways()).map(|i| Phrase::text(format!("p{i}")));
            return Phrase::any([none, Phrase::list(ways, "; ", 1, self.found_ways())]);
        }
        let triples = self.found_triples().len();
        if triples > 0 {
            return Phrase::any([
                none,
                Phrase::list(
                    (0..triples).map(|i| Phrase::text(format!("t{i}"))),
                    "; ",
                    1,
                    triples,
                ),
            ]);
        }
        let items = self.groups();
        let most = items.len();
        let narrowed = self.narrowings();
        let items = items.into_iter().map(|(text, out)| {
            let text = Phrase::text(text);
            if out {
                Phrase::seq([text, Phrase::maybe(narrowed.clone())])
            } else {
                text
            }
        });
        Phrase::any([none, Phrase::list(items, "; ", 1, most)])
    }

    /// The groups that the last action found, as they are written, and whether they leave the set.
    #[must_use]
    pub fn groups(&self) -> Vec<(String, bool)> {
        let Some((set, _)) = self.found_relations() else {
            return Vec::new();
        };
        let live = self.session().live(self.naming());
        let Some(set) = live.sets.into_iter().find(|known| known.text == set) else {
            return Vec::new();
        };
        let incoming = set
            .incoming
            .into_iter()
            .map(|text| (format!("~{text}"), false));
        set.out
            .into_iter()
            .map(|text| (text, true))
            .chain(incoming)
            .collect()
    }

    /// ` = e1`, ` > x0`, ` argmax`, ….
    fn narrowings(&self) -> Phrase {
        let linked = self.session().linked();
        let compared = |ops: &[&str], letter: char, many: usize| {
            let ops = Phrase::one_of(ops.iter().map(|op| format!(" {op} {letter}")));
            Phrase::seq([ops, Phrase::one_of((0..many).map(|i| i.to_string()))])
        };
        Phrase::any([
            compared(&["=", "!="], 'e', linked.entities.len()),
            compared(&["=", "!=", ">", ">=", "<", "<="], 'x', linked.values.len()),
            Phrase::one_of([" argmax", " argmin"]),
        ])
    }

    /// Whether a pick names something that the last action found.
    #[must_use]
    pub fn holds(&self, pick: &read::Pick) -> bool {
        let text = format!("{}{}", if pick.incoming { "~" } else { "" }, pick.relation);
        let way = pick
            .relation
            .strip_prefix('p')
            .and_then(|index| index.parse::<usize>().ok());
        let triple = pick
            .relation
            .strip_prefix('t')
            .and_then(|index| index.parse::<usize>().ok());
        way.is_some_and(|way| way < self.found_ways())
            || triple.is_some_and(|triple| triple < self.found_triples().len())
            || self.groups().iter().any(|(group, _)| *group == text)
    }
}
