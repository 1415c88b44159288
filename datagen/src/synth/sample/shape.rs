//! The shapes of questions.

/// Defines [`Shape`] with the name and the weight of each shape.
macro_rules! shapes {
    ($($shape:ident = $name:literal, $weight:literal;)*) => {
        /// The shape of a question.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::synth) enum Shape {
            $($shape,)*
        }

        impl Shape {
            /// All shapes in declaration order, each with its name and its weight: its share of the
            /// questions if the graph has enough of it.
            pub(in crate::synth) const ALL: [(Self, &'static str, u32); [$($weight),*].len()] =
                [$((Self::$shape, $name, $weight)),*];
        }
    };
}

shapes! {
    Attribute = "attribute", 7;
    Forward = "forward", 7;
    Backward = "backward", 7;
    TwoHop = "two-hop", 7;
    ThreeHop = "three-hop", 3;
    Star = "star", 4;
    EntityConstraint = "entity-constraint", 5;
    LiteralConstraint = "literal-constraint", 7;
    Comparison = "comparison", 7;
    TwoConstraints = "two-constraints", 4;
    Between = "between", 2;
    Type = "type", 3;
    Negation = "negation", 3;
    Count = "count", 6;
    Superlative = "superlative", 6;
    SuperlativeAttribute = "superlative-attribute", 6;
    Boolean = "boolean", 4;
    BooleanComparison = "boolean-comparison", 2;
    Union = "union", 4;
    Compare = "compare", 2;
    Interval = "interval", 3;
    Shared = "shared", 4;
    Class = "class", 4;
    ClassAttribute = "class-attribute", 7;
    ClassConstraint = "class-constraint", 12;
    ClassSuperlative = "class-superlative", 12;
    ClassCount = "class-count", 5;
    ConstrainedCount = "constrained-count", 12;
    Table = "table", 18;
    SortedRows = "sorted-rows", 14;
    TopRows = "top-rows", 12;
    GroupCount = "group-count", 20;
    GroupSummary = "group-summary", 8;
    GroupMost = "group-most", 10;
    GroupSize = "group-size", 10;
    Summary = "summary", 12;
    BeyondAverage = "beyond-average", 6;
    Lacking = "lacking", 10;
}

impl Shape {
    /// The name in datasets and reports.
    pub(in crate::synth) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether questions of this shape need the extended tools.
    pub(in crate::synth) fn makes_table(self) -> bool {
        self as usize >= Self::Table as usize
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
                | Self::SortedRows
                | Self::TopRows
                | Self::GroupCount
                | Self::GroupSummary
                | Self::GroupMost
                | Self::GroupSize
                | Self::Summary
                | Self::BeyondAverage
        )
    }
}
