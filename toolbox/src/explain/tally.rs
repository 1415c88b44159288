//! What a plan is made of, counted: its relations, comparisons and the parts of the question that it uses.

use kg::term::Literal;

use super::plan::bit;
use super::words::Explainer;
use crate::link::year_of;

/// What a plan is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Sum of how much the question asks for each relation.
    pub(super) asked: f32,
    /// Relations followed, without those that end at statement nodes.
    pub(super) hops: usize,
    /// Those of them from a place to the place that contains it, or back.
    pub(super) lies: usize,
    /// Relations that lead to rows of a table whose name the question does not say.
    pub(super) rows: usize,
    /// Relations followed backwards.
    pub(super) incoming: usize,
    /// Relations followed both ways.
    pub(super) both: usize,
    /// Comparisons and intersections.
    pub(super) filters: usize,
    /// Classes that a set was narrowed to.
    pub(super) classes: usize,
    /// Comparisons in another direction than the question's.
    pub(super) contrary: usize,
    /// Extremes.
    pub(super) extremes: usize,
    /// Comparisons with the value of a linked entity.
    pub(super) compared: usize,
    /// Relations that lead from things without a label to their names.
    pub(super) names: usize,
    /// Relations followed back the way that the plan came.
    pub(super) returns: usize,
    /// Those of them that explain no word of the question.
    pub(super) unasked: usize,
    /// Intersections with what the same relations lead to from another entity.
    pub(super) parallel: usize,
    /// Relations whose words stand further from the mention than those of the relation before, less
    /// those whose words stand nearer.
    pub(super) order: i32,
    /// Linked entities used, as bits.
    pub(super) entities: u64,
    /// Comparisons with values that are everyday words.
    pub(super) everyday: usize,
    /// Relations to things that explain no word, and neither do the classes of these things.
    pub(super) unsaid: usize,
    /// Extremes of other things than those that the question says.
    pub(super) misplaced: usize,
    /// Values of the question used, as bits.
    pub(super) values: u64,
    /// It ends in a truth that the question's own words deny.
    pub(super) denied: bool,
    /// It uses the part of a text that the question says.
    pub(super) part: bool,
}

impl Tally {
    /// Whether a plan uses a linked entity, a value that its mention writes, or the work behind its name.
    pub(super) fn uses(&self, entity: usize, explainer: &Explainer<'_, '_>) -> bool {
        let value = explainer.as_values.get(entity).copied().unwrap_or_default();
        let work = explainer.asked.owned.get(entity).copied().flatten();
        let entities = bit(entity) | work.map_or(0, bit);
        self.entities & entities != 0 || self.values & value != 0
    }

    /// Number of values of the question that a plan does not use. A year is also its last day: two
    /// values, one of which is used.
    pub(super) fn values_unused(&self, values: &[Literal]) -> usize {
        let mut years: Vec<(&str, bool)> = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let uses = self.values & bit(at) != 0;
            let value = year_of(value);
            match years.iter_mut().find(|(known, _)| *known == value) {
                Some((_, known)) => *known |= uses,
                None => years.push((value, uses)),
            }
        }
        years.iter().filter(|(_, used)| !used).count()
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            hops: self.hops + other.hops,
            lies: self.lies + other.lies,
            rows: self.rows + other.rows,
            incoming: self.incoming + other.incoming,
            both: self.both + other.both,
            filters: self.filters + other.filters,
            classes: self.classes + other.classes,
            contrary: self.contrary + other.contrary,
            extremes: self.extremes + other.extremes,
            compared: self.compared + other.compared,
            names: self.names + other.names,
            returns: self.returns + other.returns,
            unasked: self.unasked + other.unasked,
            parallel: self.parallel + other.parallel,
            unsaid: self.unsaid + other.unsaid,
            misplaced: self.misplaced + other.misplaced,
            order: self.order + other.order,
            entities: self.entities | other.entities,
            everyday: self.everyday + other.everyday,
            values: self.values | other.values,
            denied: self.denied | other.denied,
            part: self.part | other.part,
        }
    }
}
