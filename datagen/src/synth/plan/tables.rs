//! Questions whose answer is a table or a summary (extended tools).

use kg::value::Op;
use toolbox::call::Aggregate;

use super::Uses;

/// A value in a row: an attribute of the member, or of the thing to which the relations of `via`
/// lead from it. Without an attribute it is the member or that thing itself.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::synth) struct RowValue {
    pub(in crate::synth) via: Vec<usize>,
    pub(in crate::synth) relation: Option<usize>,
}

/// The order of rows, and how many of them are asked for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::synth) struct RowOrder {
    pub(in crate::synth) relation: usize,
    pub(in crate::synth) max: bool,
    pub(in crate::synth) first: Option<usize>,
}

/// What is asked of the members of a set.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::synth) enum TableRows {
    /// Values of each member side by side.
    Listed {
        values: Vec<RowValue>,
        order: Option<RowOrder>,
    },
    /// One row per group of members.
    Grouped(RowGroups),
    /// Numbers over all members: their average age, their highest price.
    Summed(Vec<(Aggregate, usize)>),
    /// Values of the members with more (`max`) or less of an attribute than the average.
    Beyond {
        values: Vec<RowValue>,
        relation: usize,
        max: bool,
    },
    /// Values of the members to which a relation joins no instance of a class; without values,
    /// their number.
    Lacking {
        values: Vec<RowValue>,
        relation: usize,
        class: usize,
    },
}

/// Groups of members with equal values.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::synth) struct RowGroups {
    pub(in crate::synth) keys: Vec<RowValue>,
    /// What is computed of an attribute of each group; without it, members are counted.
    pub(in crate::synth) measure: Option<(Aggregate, usize)>,
    /// Whether the answer has the measure.
    pub(in crate::synth) shown: bool,
    /// Only groups whose number of members compares so.
    pub(in crate::synth) size: Option<(Op, usize)>,
    /// The order by the measure, largest first (`true`) or last, and how many groups are asked for.
    pub(in crate::synth) order: Option<(bool, Option<usize>)>,
}

impl RowValue {
    /// An attribute of the member.
    pub(in crate::synth) fn own(relation: usize) -> Self {
        Self {
            via: Vec::new(),
            relation: Some(relation),
        }
    }

    fn collect(&self, uses: &mut Uses) {
        uses.relations.extend(self.relation);
        uses.relations.extend(&self.via);
    }
}

impl TableRows {
    pub(super) fn collect(&self, uses: &mut Uses) {
        let values: &[RowValue] = match self {
            Self::Listed { values, order } => {
                uses.relations.extend(order.iter().map(|by| by.relation));
                values
            }
            Self::Grouped(groups) => {
                uses.relations.extend(groups.measure.map(|of| of.1));
                &groups.keys
            }
            Self::Summed(summaries) => {
                uses.relations.extend(summaries.iter().map(|of| of.1));
                &[]
            }
            Self::Beyond {
                values, relation, ..
            } => {
                uses.relations.push(*relation);
                values
            }
            Self::Lacking {
                values,
                relation,
                class,
            } => {
                uses.relations.push(*relation);
                uses.classes.push(*class);
                values
            }
        };
        values.iter().for_each(|value| value.collect(uses));
    }

    /// Whether a value comes from another thing than the member.
    pub(super) fn joins(&self) -> bool {
        let values: &[RowValue] = match self {
            Self::Listed { values, .. } => values,
            Self::Grouped(groups) => &groups.keys,
            Self::Summed(_) | Self::Beyond { .. } => &[],
            Self::Lacking { .. } => return true,
        };
        (values.iter()).any(|value| !value.via.is_empty() && value.relation.is_some())
    }
}
