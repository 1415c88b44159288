//! Questions around an instance of a class.

use kg::term::NodeId;

use super::{QuestionSampler, Shape};
use crate::synth::plan::{QuestionPlan, Set, Test};
use crate::synth::profile::GraphProfile;

impl QuestionSampler<'_, '_> {
    /// A question of a shape around an instance of a class.
    pub(super) fn around_class(
        &mut self,
        shape: Shape,
        class: usize,
        node: NodeId,
    ) -> Option<QuestionPlan> {
        let set = Set::Class(class);
        match shape {
            Shape::Class => self.list(set, node),
            Shape::ClassCount => Some(QuestionPlan::Count { set }),
            Shape::ClassAttribute => {
                let (set, end) = self.onward_any(set, node)?;
                self.list(set, end)
            }
            Shape::ClassConstraint | Shape::ConstrainedCount => {
                let test = if self.rng.chance(0.5) {
                    self.attribute_test(node, None)
                } else {
                    self.entity_test(node, None)
                };
                let set = set.keep(test?);
                if shape == Shape::ConstrainedCount {
                    Some(QuestionPlan::Count { set })
                } else {
                    self.tested(set, node)
                }
            }
            Shape::Type => {
                let set = self.reach(node, 1)?.keep(Test::Of(class));
                self.list(set, node)
            }
            _ => None,
        }
    }

    /// The extreme of a class by an attribute of a joined node, as tables join: the attribute
    /// "height" of a player is in the table of persons.
    pub(super) fn joined_superlative(
        &mut self,
        relation: usize,
        head: NodeId,
    ) -> Option<QuestionPlan> {
        let step = self.neighbour(head, None, GraphProfile::is_classed)?;
        let class = self.class(step.to)?;
        let via = (step.relation, !step.forward);
        let set = Set::Class(class).most_via(via, relation, self.rng.chance(0.6));
        if self.rng.chance(0.6) {
            let (set, end) = self.onward_any(set, step.to)?;
            return self.list(set, end);
        }
        self.list(set, step.to)
    }
}
