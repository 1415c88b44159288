//! Sampling: a question of a given shape around an edge of a relation or an instance of a class,
//! such that the graph has an answer.

mod class;
mod edge;
mod sets;
mod several;
mod shape;
mod tables;
mod values;

use common::rng::Rng;

use super::plan::QuestionPlan;
use super::profile::GraphProfile;
use edge::SampledEdge;

pub(super) use shape::Shape;

/// The part of the graph that a question is sampled around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Relation(usize),
    Class(usize),
}

/// Samples questions from a graph.
pub(super) struct QuestionSampler<'a, 'g> {
    pub profile: &'a GraphProfile<'g>,
    pub rng: Rng,
}

impl QuestionSampler<'_, '_> {
    /// A question of a shape, if one is found around the focus.
    pub(super) fn sample(&mut self, shape: Shape, focus: Focus) -> Option<QuestionPlan> {
        match focus {
            Focus::Relation(relation) => {
                let edge = *self.rng.pick(&self.profile.relations[relation].sample)?;
                self.around_edge(shape, &SampledEdge::new(self.profile, relation, edge))
            }
            Focus::Class(class) => {
                let node = *self.rng.pick(&self.profile.classes[class].sample)?;
                self.around_class(shape, class, node)
            }
        }
    }
}
