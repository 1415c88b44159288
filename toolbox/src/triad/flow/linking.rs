//! Linking phase of an attempt: requests the relations of each triple in turn.

use std::time::Instant;

use super::{Stop, Try};
use crate::triad::candidates;
use crate::triad::error::TriadError;
use crate::triad::fill::{FilledQuery, Pattern, fill, products};
use crate::triad::render;
use crate::triad::solve::Bounds;
use crate::triad::task::{SubTask, TriadFailure};
use crate::triad::template::{AnswerType, QueryTemplate};
use crate::triad::triple::End;
use kg::term::NodeId;

/// Number of link combinations that provide the context of the next triple.
const CONTEXTS: usize = 4;

impl Try<'_, '_> {
    /// The possible nodes of an end.
    fn nodes(&self, end: &End, bounds: Bounds) -> Result<Option<Vec<NodeId>>, TriadFailure> {
        match end {
            End::Entity(index) => Ok(self.entities.get(*index).cloned()),
            End::Class(_) => Ok(None),
            End::Var(var) => {
                // Each `is` triple of a variable belongs to one alternative, so their objects
                // together are its possible nodes.
                let said = self
                    .triples
                    .iter()
                    .filter(|triple| triple.is_same() && triple.subject == *end);
                let is: Vec<&End> = said.map(|triple| &triple.object).collect();
                if !is.is_empty() {
                    let nodes = is.into_iter().filter_map(|end| {
                        if let End::Entity(index) = end {
                            self.entities.get(*index)
                        } else {
                            None
                        }
                    });
                    let mut nodes: Vec<NodeId> = nodes.flatten().copied().collect();
                    nodes.sort_unstable();
                    nodes.dedup();
                    return Ok(Some(nodes));
                }
                let mut all: Option<Vec<NodeId>> = None;
                for patterns in self.linked_patterns() {
                    if let Some(nodes) =
                        candidates::linked_nodes(self.session, &patterns, var, bounds)
                            .map_err(TriadFailure::Bounds)?
                    {
                        all.get_or_insert_default().extend(nodes);
                    }
                }
                if let Some(all) = &mut all {
                    all.sort_unstable();
                    all.dedup();
                }
                Ok(all)
            }
        }
    }

    /// The patterns of the triples linked so far, for each of the best combinations of links.
    fn linked_patterns(&self) -> Vec<Vec<Pattern>> {
        // Only the first `is` triple of a variable is used, because a conjunction of two never
        // matches.
        let again = |i: usize| {
            self.triples[i].is_same()
                && self.triples[..i]
                    .iter()
                    .any(|t| t.is_same() && t.subject == self.triples[i].subject)
        };
        let known =
            |i: &usize| !self.links[*i].is_empty() || (self.triples[*i].is_given() && !again(*i));
        let done: Vec<usize> = (0..self.triples.len()).filter(known).collect();
        let sizes: Vec<usize> = done
            .iter()
            .map(|&i| self.links[i].len().max(1))
            .chain(self.entities.iter().map(Vec::len))
            .collect();
        let template = QueryTemplate {
            kind: AnswerType::Ask,
            answer: None,
            branches: vec![done.clone()],
            filters: Vec::new(),
            extreme: None,
        };
        let picked = products(&sizes, CONTEXTS);
        picked
            .iter()
            .filter_map(|picks| {
                self.filled(&template, &done, picks)
                    .ok()?
                    .branches
                    .into_iter()
                    .next()
            })
            .collect()
    }

    /// The template with one choice of links (for the triples in `done`) and entities.
    pub(super) fn filled(
        &self,
        template: &QueryTemplate,
        done: &[usize],
        picks: &[usize],
    ) -> Result<FilledQuery, TriadError> {
        let mut links = vec![None; self.triples.len()];
        done.iter()
            .zip(picks)
            .for_each(|(&triple, &pick)| links[triple] = self.links[triple].get(pick).copied());
        let chosen = self.entities.iter().zip(&picks[done.len()..]);
        let entities: Vec<NodeId> = chosen
            .filter_map(|(nodes, &pick)| nodes.get(pick).copied())
            .collect();
        fill(template, &self.triples, &links, &entities, self.session)
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            until: Instant::now() + self.deadline,
            rows: self.options.rows,
        }
    }

    /// Requests the relations of the next triple: first those without variables, then those with a
    /// known end.
    pub(super) fn link_next(&mut self) -> Result<(), Stop> {
        loop {
            let left = |i: &usize| !self.order.contains(i) && !self.triples[*i].is_given();
            let bounds = self.bounds();
            // The fewest unknown ends; ties go to the earlier triple.
            let mut best: Option<(usize, usize)> = None;
            for i in (0..self.triples.len()).filter(left) {
                let ends = [&self.triples[i].subject, &self.triples[i].object];
                let known = |end: &&&End| matches!(end, End::Entity(_)) || self.reached(end);
                let vars = ends.iter().filter(|end| end.var().is_some()).count();
                let open = ends.len() - ends.iter().filter(known).count();
                if best.is_none_or(|(cost, _)| open * 3 + vars < cost) {
                    best = Some((open * 3 + vars, i));
                }
            }
            let Some((_, triple)) = best else {
                self.ask(SubTask::Template, render::task(SubTask::Template));
                return Ok(());
            };
            self.order.push(triple);
            let (subject, object) = (
                self.triples[triple].subject.clone(),
                self.triples[triple].object.clone(),
            );
            let from = self.nodes(&subject, bounds)?;
            // Other triples about the far end do not exclude a relation, because the triples may be
            // alternatives. For a yes-or-no question the answer may be that no such relation leads
            // there.
            let between = self.kind != AnswerType::Ask && matches!(object, End::Entity(_));
            let to = if from.is_none() || between {
                self.nodes(&object, bounds)?
            } else {
                None
            };
            let ranked = candidates::relations(
                self.session,
                &self.triples[triple].phrase,
                from.as_deref(),
                to.as_deref(),
            )?;
            self.offered.extend(ranked.iter().map(|(link, _)| *link));
            self.shown = render::cut(self.session, &ranked, self.options.shown);
            if self.shown.is_empty() {
                return Err(TriadFailure::NoRelation(self.triples[triple].to_string()).into());
            }
            if self.options.select_uris {
                let turn = render::relations(&self.shown, triple, self.options.relations);
                self.ask(SubTask::Relations(triple), turn);
                return Ok(());
            }
            self.links[triple] = self
                .shown
                .iter()
                .take(self.options.relations.max(1))
                .map(|(link, _)| *link)
                .collect();
        }
    }

    /// Whether a linked triple contains the end.
    fn reached(&self, end: &End) -> bool {
        let speaks = |i: usize| self.triples[i].subject == *end || self.triples[i].object == *end;
        (0..self.triples.len())
            .any(|i| (self.order.contains(&i) || self.triples[i].is_given()) && speaks(i))
    }
}
