//! Reflection without a model (ODA table 3): the groups most similar to the question, or a random
//! choice.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::exec::Relation;
use crate::observe::similarity_of;
use crate::rank::RankError;
use kg::term::{NodeId, RelId};

use super::error::OdaError;
use super::options::Reflection;
use super::run::{Awaited, Run};

/// Number of far ends per group that are compared with the question.
const COMPARED: usize = 64;

impl Run<'_> {
    /// The reflection turn according to [`super::OdaOptions::reflection`]; `None` if a model has to
    /// write it.
    ///
    /// # Errors
    /// Returns [`OdaError::Ended`] if no reflection is awaited, or the error of the ranker.
    pub fn reflected_by_rule(&self) -> Result<Option<String>, OdaError> {
        if self.awaited() != Awaited::Reflection {
            return Err(OdaError::Ended);
        }
        let groups: Vec<String> = match self.found_paths() {
            0 => self.groups().into_iter().map(|(group, _)| group).collect(),
            paths => (0..paths).map(|i| format!("p{i}")).collect(),
        };
        let scores: Vec<f64> = match self.options().reflection {
            Reflection::Model | Reflection::GeneratedFact => return Ok(None),
            Reflection::Similarity => self.similarities()?,
            Reflection::Random => {
                let number = |(i, _): (usize, &String)| {
                    let mut hasher = FxHasher::default();
                    (
                        self.options().seed,
                        self.session().question(),
                        self.actions().len(),
                        i,
                    )
                        .hash(&mut hasher);
                    // The upper bits of this hash are mixed better.
                    (hasher.finish() >> 11) as f64
                };
                groups.iter().enumerate().map(number).collect()
            }
        };
        if groups.is_empty() {
            return Ok(Some("none".to_owned()));
        }
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        order.truncate(self.options().kept);
        // A reflection lists groups in the order in which they were shown.
        order.sort_unstable();
        Ok(Some(
            order
                .into_iter()
                .map(|i| groups[i].as_str())
                .collect::<Vec<_>>()
                .join("; "),
        ))
    }

    /// The best similarity among the triples of each group.
    fn similarities(&self) -> Result<Vec<f64>, RankError> {
        let Some((set, shown)) = self.found_relations() else {
            return Ok(vec![0.0; self.found_paths()]);
        };
        let (kg, members) = (
            self.session().kg(),
            self.members(set).unwrap_or_else(|| [].into()),
        );
        let similarity = similarity_of(self.session().ranker());
        let cancel = self.session().cancel();
        let relations = shown
            .out
            .iter()
            .map(|&r| (r, true))
            .chain(shown.incoming.iter().map(|&r| (r, false)));
        let best = |(relation, forward): (Relation, bool)| {
            let id: RelId = match relation {
                Relation::Plain(id) => id,
                Relation::Interval(index) => kg.schema().intervals[index].from,
            };
            let far = |node: &NodeId| {
                if forward {
                    kg.tails(*node, id).into_owned()
                } else {
                    kg.heads(id, *node).into_owned()
                }
            };
            let pairs: Vec<(RelId, NodeId)> = members
                .iter()
                .flat_map(far)
                .take(COMPARED)
                .map(|far| (id, far))
                .collect();
            let scores = similarity.scores(kg, self.session().bare_question(), &pairs, &cancel)?;
            Ok(scores.into_iter().fold(0.0f32, f32::max))
        };
        relations
            .map(best)
            .map(|score| score.map(f64::from))
            .collect()
    }
}
