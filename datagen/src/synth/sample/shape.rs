//! The shapes of questions.

/// The shape of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::synth) enum Shape {
    Attribute,
    Forward,
    Backward,
    TwoHop,
    ThreeHop,
    Star,
    EntityConstraint,
    LiteralConstraint,
    Comparison,
    TwoConstraints,
    Between,
    Type,
    Negation,
    Count,
    Superlative,
    SuperlativeAttribute,
    Boolean,
    BooleanComparison,
    Union,
    Compare,
    Interval,
    Shared,
    Class,
    ClassAttribute,
    ClassConstraint,
    ClassSuperlative,
    ClassCount,
    ConstrainedCount,
}

impl Shape {
    /// All shapes in declaration order, each with its name and its weight: its share of the
    /// questions if the graph has enough of it.
    pub(in crate::synth) const ALL: [(Self, &'static str, u32); 28] = [
        (Self::Attribute, "attribute", 7),
        (Self::Forward, "forward", 7),
        (Self::Backward, "backward", 7),
        (Self::TwoHop, "two-hop", 7),
        (Self::ThreeHop, "three-hop", 3),
        (Self::Star, "star", 4),
        (Self::EntityConstraint, "entity-constraint", 5),
        (Self::LiteralConstraint, "literal-constraint", 7),
        (Self::Comparison, "comparison", 7),
        (Self::TwoConstraints, "two-constraints", 4),
        (Self::Between, "between", 2),
        (Self::Type, "type", 3),
        (Self::Negation, "negation", 3),
        (Self::Count, "count", 6),
        (Self::Superlative, "superlative", 6),
        (Self::SuperlativeAttribute, "superlative-attribute", 6),
        (Self::Boolean, "boolean", 4),
        (Self::BooleanComparison, "boolean-comparison", 2),
        (Self::Union, "union", 4),
        (Self::Compare, "compare", 2),
        (Self::Interval, "interval", 3),
        (Self::Shared, "shared", 4),
        (Self::Class, "class", 4),
        (Self::ClassAttribute, "class-attribute", 7),
        (Self::ClassConstraint, "class-constraint", 12),
        (Self::ClassSuperlative, "class-superlative", 12),
        (Self::ClassCount, "class-count", 5),
        (Self::ConstrainedCount, "constrained-count", 12),
    ];

    /// The name in datasets and reports.
    pub(in crate::synth) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether questions of this shape compare values of the relation that they are sampled around.
    /// Keys of table rows are not such values.
    pub(in crate::synth) fn compares_values(self) -> bool {
        matches!(
            self,
            Self::Backward
                | Self::Star
                | Self::LiteralConstraint
                | Self::Comparison
                | Self::TwoConstraints
                | Self::Between
                | Self::Superlative
                | Self::SuperlativeAttribute
                | Self::BooleanComparison
                | Self::Union
                | Self::Compare
                | Self::Shared
                | Self::ClassConstraint
                | Self::ClassSuperlative
                | Self::ConstrainedCount
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_declaration_order() {
        for (i, (shape, ..)) in Shape::ALL.into_iter().enumerate() {
            assert_eq!(shape as usize, i);
        }
    }
}
