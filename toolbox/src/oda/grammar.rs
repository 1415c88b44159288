//! The grammar of the awaited turn: it contains only existing sets and groups that the last action
//! found, so a model cannot invent any.

use crate::grammar::Grammar;
use crate::limits::MAX_SET_ARGS as MAX_ARGS;
use crate::text::handle_index;

use super::options::Reflection;
use super::read::Pick;
use super::run::{Awaited, Run};

/// Maximum characters of the facts that a model writes in one turn ([`Reflection::GeneratedFact`]).
const FACTS: usize = 200;

impl Run<'_> {
    /// The grammar of the awaited turn. Every text in it can be executed, except comparisons
    /// between incomparable values.
    #[must_use]
    pub fn grammar(&self) -> Grammar {
        match self.awaited() {
            Awaited::Action => self.action(),
            Awaited::Reflection if self.options().reflection == Reflection::GeneratedFact => {
                Grammar::free(1, FACTS, "")
            }
            Awaited::Reflection => self.reflection(),
            Awaited::Nothing => Grammar::any([]),
        }
    }

    /// Handles of all sets, entities first, in the order used in combinations; and the subset that
    /// can be answers.
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
        // The order is entities, classes, results.
        let at = all
            .iter()
            .position(|set| set.starts_with('v'))
            .unwrap_or(all.len());
        all.splice(at..at, live.classes);
        let answers = all
            .iter()
            .filter(|set| !statements.contains(set))
            .cloned()
            .collect();
        (all, answers)
    }

    fn action(&self) -> Grammar {
        let (sets, answers) = self.sets();
        let joined = |tool: &str, sets: &[String]| {
            let parts = sets.iter().map(Grammar::text);
            Grammar::seq([
                Grammar::text(format!("{tool}(")),
                Grammar::list(parts, ", ", 2, MAX_ARGS),
                Grammar::text(")"),
            ])
        };
        let combined =
            |sets: &[String]| Grammar::any([joined("intersect", sets), joined("union", sets)]);
        let mut choices = Vec::new();
        if !self.forced() {
            let open = sets.iter().filter(|set| !self.is_explored(set));
            let open = Grammar::any([Grammar::one_of(open.map(String::as_str)), combined(&sets)]);
            choices.push(Grammar::seq([Grammar::text("neighbor "), open]));
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
                    .map(Grammar::text),
            );
        }
        let any = || {
            Grammar::any([
                Grammar::one_of(sets.iter().map(String::as_str)),
                combined(&sets),
            ])
        };
        let answer = Grammar::any([
            Grammar::text("none"),
            Grammar::one_of(answers.iter().map(String::as_str)),
            combined(&answers),
            Grammar::seq([Grammar::text("count "), any()]),
            Grammar::seq([Grammar::text("judge "), Grammar::one_of(self.comparisons())]),
        ]);
        choices.push(Grammar::seq([Grammar::text("answer "), answer]));
        Grammar::any(choices)
    }

    fn is_one(&self, set: &str) -> bool {
        self.members(set).is_some_and(|members| members.len() == 1)
    }

    fn reflection(&self) -> Grammar {
        let none = Grammar::text("none");
        if self.found_paths() > 0 {
            let paths = (0..self.found_paths()).map(|i| Grammar::text(format!("p{i}")));
            return Grammar::any([none, Grammar::list(paths, "; ", 1, self.found_paths())]);
        }
        let items = self.groups();
        let most = items.len();
        let narrowed = self.narrowings();
        let items = items.into_iter().map(|(text, out)| {
            let text = Grammar::text(text);
            if out {
                Grammar::seq([text, Grammar::maybe(narrowed.clone())])
            } else {
                text
            }
        });
        Grammar::any([none, Grammar::list(items, "; ", 1, most)])
    }

    /// The groups that the last action found, in written form, with true for out-relations.
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
    fn narrowings(&self) -> Grammar {
        let linked = self.session().linked();
        let compared = |ops: &[&str], letter: char, many: usize| {
            let ops = Grammar::one_of(ops.iter().map(|op| format!(" {op} {letter}")));
            Grammar::seq([ops, Grammar::one_of((0..many).map(|i| i.to_string()))])
        };
        Grammar::any([
            compared(&["=", "!="], 'e', linked.entities.len()),
            compared(&["=", "!=", ">", ">=", "<", "<="], 'x', linked.values.len()),
            Grammar::one_of([" argmax", " argmin"]),
        ])
    }

    /// Whether a pick refers to something that the last action found.
    #[must_use]
    pub fn holds(&self, pick: &Pick) -> bool {
        let text = format!("{}{}", if pick.incoming { "~" } else { "" }, pick.relation);
        let path = handle_index(&pick.relation, 'p');
        path.is_some_and(|path| path < self.found_paths())
            || self.groups().iter().any(|(group, _)| *group == text)
    }
}
