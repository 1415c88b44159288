//! Relation lists: the relations of a set, their ranking, and the part that a list shows (tools E1
//! and S1, rules A.3 and A.5).

use super::error::ToolError;
use super::paper::{listed_tokens, paper_tokens};
use super::session::Session;
use super::types::{Relation, Shown};
use crate::call::{Arg, Call};
use crate::limits::fits_prompt;
use crate::rank::{LeadsTo, RankError, RankingContext, RelationCandidate};
use kg::term::{NodeId, RelId};
use kg::value::Kind;

/// A relation in the ranking of all relations of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedRelation {
    /// The relation.
    pub relation: Relation,
    /// The relation as the ranker saw it, including its direction.
    pub candidate: RelationCandidate,
    /// The ranker's score.
    pub score: f32,
}

/// Sorts a ranking by score; equal scores in order of names.
pub(crate) fn best_first(ranked: &mut [RankedRelation]) {
    ranked.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.candidate.name.cmp(&b.candidate.name))
    });
}

/// A relation of a set and the first member that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adjacent {
    pub(crate) relation: Relation,
    pub(crate) out: bool,
    pub(crate) member: NodeId,
}

/// Weight of the ranking by a triple's phrase against the ranking by the whole question.
const PHRASE_WEIGHT: f32 = 2.0;

impl Session<'_> {
    /// All relations of a set, best first; a list shows the first ones.
    ///
    /// # Errors
    /// Returns [`ToolError`] if the argument is not a set or the ranker fails.
    pub fn ranking(&self, set: &Arg) -> Result<Vec<RankedRelation>, ToolError> {
        Ok(self.ranked(&self.adjacent(&self.set(set)?), &self.path(set))?)
    }

    /// The relations of the nodes in `from`, best first for the question and one of its phrases.
    /// With `to`, only relations that lead to one of its nodes (Triad's one-hop traversal, rules
    /// C.4).
    pub(crate) fn relations_of(
        &self,
        from: &[NodeId],
        to: Option<&[NodeId]>,
        phrase: &str,
    ) -> Result<Vec<RankedRelation>, RankError> {
        let mut all = self.adjacent(from);
        if let Some(to) = to {
            self.keep_between(&mut all, from, to, || Ok::<(), RankError>(()))?;
        }
        let mut ranked = self.ranked(&all, &[])?;
        let candidates: Vec<RelationCandidate> =
            ranked.iter().map(|one| one.candidate.clone()).collect();
        let by_phrase = self.options.ranker.score_relations(
            RankingContext {
                question: phrase,
                path: &[],
                cancel: &self.cancel(),
            },
            &candidates,
        )?;
        ranked
            .iter_mut()
            .zip(by_phrase)
            .for_each(|(one, by_phrase)| one.score += PHRASE_WEIGHT * by_phrase);
        best_first(&mut ranked);
        Ok(ranked)
    }

    /// The relations followed from linked entities to a set, as rankers see them; empty for an
    /// entity.
    #[must_use]
    pub fn path(&self, set: &Arg) -> Vec<RelationCandidate> {
        match set {
            Arg::Var(index) | Arg::Column(index, _) => {
                self.paths.get(*index as usize).cloned().unwrap_or_default()
            }
            Arg::List(items) => items.iter().flat_map(|item| self.path(item)).collect(),
            _ => Vec::new(),
        }
    }

    /// The list that a call shows for a set: its relations or, with a second set, those that link
    /// the two sets, best first.
    pub(super) fn list(
        &self,
        call: &Call,
        from: &[NodeId],
        second: Option<&[NodeId]>,
        limit: usize,
    ) -> Result<Shown, ToolError> {
        if !self.options.lists {
            return Ok(Shown::default());
        }
        let mut adjacent = self.adjacent(from);
        if let Some(second) = second {
            let mut clock = self.clock.clone();
            self.keep_between(&mut adjacent, from, second, || clock.tick())?;
        }
        let path = call
            .args
            .first()
            .map(|set| self.path(set))
            .unwrap_or_default();
        let ranked = self.ranked(&adjacent, &path)?;
        let shown = self.cut(&ranked, limit);
        Ok(match self.options.prompt_tokens {
            Some(most) => self.fitting(
                &ranked,
                shown,
                limit,
                most.saturating_sub(paper_tokens(self, call)),
            ),
            None => shown,
        })
    }

    /// Shortens a list until it fits into the tokens left in the prompt. Required relations stay,
    /// and at least one relation.
    fn fitting(&self, ranked: &[RankedRelation], shown: Shown, limit: usize, left: usize) -> Shown {
        let tokens = |relation: &Relation| listed_tokens(&self.relation_name(*relation));
        let cost = |shown: &Shown| {
            shown
                .out
                .iter()
                .chain(&shown.incoming)
                .map(tokens)
                .sum::<usize>()
        };
        let must = ranked
            .iter()
            .filter(|one| self.options.must_show.contains(&one.relation))
            .count();
        let (mut shown, mut limit) = (shown, limit.min(ranked.len()));
        while limit > must.max(1) && cost(&shown) > left {
            limit -= 1;
            shown = self.cut(ranked, limit);
        }
        shown
    }

    /// The relations of a set: out-relations first, each direction in id order.
    pub(crate) fn adjacent(&self, from: &[NodeId]) -> Vec<Adjacent> {
        let [mut out, mut incoming] = self.kg.relations_of(from);
        for found in [&mut out, &mut incoming] {
            found.retain(|(id, _)| !self.options.without.contains(id));
        }
        let plain = |out: bool| {
            move |&(id, member): &(RelId, NodeId)| Adjacent {
                relation: Relation::Plain(id),
                out,
                member,
            }
        };
        let mut all: Vec<Adjacent> = out.iter().map(plain(true)).collect();
        for (index, interval) in self.kg.schema().intervals.iter().enumerate() {
            let bound = [interval.from, interval.to]
                .into_iter()
                .find_map(|id| out.binary_search_by_key(&id, |found| found.0).ok());
            if let Some(at) = bound {
                all.push(Adjacent {
                    relation: Relation::Interval(index),
                    out: true,
                    member: out[at].1,
                });
            }
        }
        let schema = self.kg.schema();
        // Rule R3: an in-relation is dropped if its declared reverse is among the out-relations,
        // unless a gold program follows it.
        let reverse_is_listed = |id: RelId| {
            schema
                .reverse(id)
                .any(|reverse| out.binary_search_by_key(&reverse, |found| found.0).is_ok())
        };
        let dropped = |id: RelId| {
            schema.settings.unify_directions
                && !self.options.must_show.contains(&Relation::Plain(id))
                && reverse_is_listed(id)
        };
        all.extend(
            incoming
                .iter()
                .filter(|found| !dropped(found.0))
                .map(plain(false)),
        );
        all
    }

    /// Keeps relations that link a member of the first set to one of the second (out), or the
    /// reverse (in). Calls `go_on` for every node that it visits, and returns its error.
    fn keep_between<E>(
        &self,
        all: &mut Vec<Adjacent>,
        first: &[NodeId],
        second: &[NodeId],
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut kept = Vec::new();
        for &adjacent in all.iter() {
            for &node in first {
                go_on()?;
                let far = self.step(node, adjacent.relation, adjacent.out);
                if far.iter().any(|far| second.binary_search(far).is_ok()) {
                    kept.push(adjacent);
                    break;
                }
            }
        }
        *all = kept;
        Ok(())
    }

    /// All given relations whose names are not too long to be shown, best first; equal scores in
    /// order of names.
    pub(super) fn ranked(
        &self,
        all: &[Adjacent],
        path: &[RelationCandidate],
    ) -> Result<Vec<RankedRelation>, RankError> {
        let cancel = self.cancel();
        let (mut named, mut candidates) = (Vec::new(), Vec::new());
        for (at, adjacent) in all.iter().enumerate() {
            cancel.check_item(at)?;
            let (relation, out) = (adjacent.relation, adjacent.out);
            let candidate = self.candidate(relation, out, Some(adjacent.member));
            if fits_prompt(&candidate.name) {
                named.push(adjacent);
                candidates.push(candidate);
            }
        }
        let asked = RankingContext {
            question: &self.bare_question,
            path,
            cancel: &cancel,
        };
        let scores = self.options.ranker.score_relations(asked, &candidates)?;
        let mut ranked: Vec<RankedRelation> = named
            .into_iter()
            .zip(candidates)
            .zip(scores)
            .map(|((adjacent, candidate), score)| RankedRelation {
                relation: adjacent.relation,
                candidate,
                score,
            })
            .collect();
        best_first(&mut ranked);
        Ok(ranked)
    }

    /// The first relations of a ranking as a list. A required relation beyond the limit replaces
    /// the last relation that is not required.
    pub(crate) fn cut(&self, ranked: &[RankedRelation], limit: usize) -> Shown {
        let must = |one: &RankedRelation| self.options.must_show.contains(&one.relation);
        let (head, rest) = ranked.split_at(limit.min(ranked.len()));
        let mut kept: Vec<&RankedRelation> = head.iter().collect();
        for one in rest.iter().filter(|one| must(one)) {
            if let Some(place) = kept.iter().rposition(|other| !must(other)) {
                kept.remove(place);
                kept.push(one);
            }
        }
        let mut shown = Shown::default();
        for one in kept {
            if one.candidate.out {
                shown.out.push(one.relation);
            } else {
                shown.incoming.push(one.relation);
            }
        }
        shown
    }

    /// A relation as rankers see it, for a set in which `member` has it.
    pub(super) fn candidate(
        &self,
        relation: Relation,
        out: bool,
        member: Option<NodeId>,
    ) -> RelationCandidate {
        let name = self.relation_name(relation);
        let label = self.relation_label(relation).filter(|label| *label != name);
        let leads_to = match relation {
            Relation::Plain(_) => member
                .and_then(|node| self.step(node, relation, out).first().copied())
                .map_or(LeadsTo::Unknown, |far| self.leads_to(far)),
            Relation::Interval(_) => LeadsTo::Time,
        };
        RelationCandidate {
            name,
            label,
            out,
            leads_to,
        }
    }

    fn leads_to(&self, far: NodeId) -> LeadsTo {
        let resource = self.kg.resources().contains(&far.0);
        let literal = if resource && !self.kg.has_texts() {
            None
        } else {
            self.literals(&[far]).pop()
        };
        match literal.map(|literal| Kind::majority([&literal])) {
            Some(Kind::Int | Kind::Float) => LeadsTo::Number,
            Some(Kind::Time) => LeadsTo::Time,
            _ if !resource => LeadsTo::Text,
            _ if !self.kg.has_label(far) => LeadsTo::Statement,
            _ => LeadsTo::Thing(
                self.kg
                    .types(far)
                    .into_iter()
                    .map(|class| self.kg.name(class))
                    .collect(),
            ),
        }
    }
}
