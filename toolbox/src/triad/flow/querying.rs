//! Query phase of an attempt: runs the instantiated queries.

use super::Try;
use crate::triad::fill::products;
use crate::triad::solve::solve;
use crate::triad::task::{SubTask, TriadFailure};
use crate::triad::template::{AnswerType, QueryTemplate};

impl Try<'_, '_> {
    /// Instantiates the template with the combinations of candidates and runs the queries.
    pub(super) fn run(&mut self, template: &QueryTemplate) -> Result<(), TriadFailure> {
        let mut used: Vec<usize> = template
            .branches
            .iter()
            .flatten()
            .copied()
            .filter(|&i| !self.triples[i].is_given())
            .collect();
        used.sort_unstable();
        used.dedup();
        let sizes: Vec<usize> = used
            .iter()
            .map(|&i| self.links[i].len())
            .chain(self.entities.iter().map(Vec::len))
            .collect();
        let (mut first, mut bound) = (None, None);
        let mut unmatched = None;
        for picks in products(&sizes, self.options.products) {
            let query = self
                .filled(template, &used, &picks)
                .map_err(|error| TriadFailure::Syntax(SubTask::Template, error))?;
            let text = || query.text(self.session);
            first.get_or_insert_with(text);
            if !self.tried.queries.insert(query.clone()) {
                continue;
            }
            match solve(self.session, &query, self.bounds()) {
                // All truth values are kept: keeping only true ones would answer yes to every
                // question.
                Ok(solved) if solved.matched || template.kind == AnswerType::Ask => {
                    self.matched.push((query, solved));
                }
                // A count is an answer even if nothing matches.
                Ok(solved) => unmatched = unmatched.or(Some((query, solved))),
                Err(why) => bound = Some(why),
            }
            if self.matched.len() == self.options.queries.max(1) {
                break;
            }
        }
        if self.matched.is_empty() && template.kind != AnswerType::Select {
            self.matched.extend(unmatched);
        }
        match self.matched.len() {
            0 => Err(bound.map_or_else(
                || TriadFailure::NoSolution(first.unwrap_or_default()),
                TriadFailure::Bounds,
            )),
            1 => {
                self.choose(0);
                Ok(())
            }
            _ if !self.options.select_query => {
                self.choose(0);
                Ok(())
            }
            _ => {
                // Sorted by text, so that the order does not reveal the choice.
                let session = self.session;
                self.matched
                    .sort_by_cached_key(|(query, _)| query.text(session));
                self.now = Some(SubTask::Query);
                Ok(())
            }
        }
    }
}
