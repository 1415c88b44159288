//! The syntax tree of calls.

use kg::term::Literal;
use kg::value::{DatePart, Extreme, Op, Sign};

/// The thirteen tools of KG-Agent's toolbox (Table 8), then the extended ones (rules D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// E1: relations leaving and entering a set.
    GetRelation,
    /// E2: walk against a relation.
    GetHeadEntity,
    /// E3: walk along a relation.
    GetTailEntity,
    /// E4: all instances of a class.
    GetEntityByType,
    /// E5: keep the members that have an extreme value or a value that satisfies a comparison.
    GetEntityByConstraint,
    /// E6: entities that a surface mention may refer to.
    GetCandidateEntity,
    /// L1: size of a set.
    Count,
    /// L2: set intersection.
    Intersect,
    /// L3: set union.
    Union,
    /// L4: whether a comparison holds for some member.
    Judge,
    /// L5: stop with an answer.
    End,
    /// S1: the question-relevant part of a relation list.
    RetrieveRelation,
    /// S2: the best of several candidates.
    DisambiguateEntity,
    /// X1: set difference.
    Difference,
    /// X2: a table with one more column, the values of a relation.
    Extend,
    /// X3: the rows of a table that pass a test.
    Where,
    /// X4: one row per group of rows.
    Group,
    /// X5: a table with other columns.
    Columns,
    /// X6: a table in another order.
    Sort,
    /// X7: the first rows of a table.
    First,
    /// X8: whether a table has a row.
    Exists,
    /// X9: one of two sets, by a truth value.
    Choose,
    /// X10: a table with one more column, computed by arithmetic.
    Compute,
}

/// What a call assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Nothing (the relation tools).
    None,
    /// `vN`.
    Var(u32),
    /// `ans`.
    Ans,
}

/// What a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HandleKind {
    /// `e0`: a linked entity of the question.
    Entity,
    /// `r0`: a relation in the latest list of the call's set.
    Relation,
    /// `c0`: a class offered with the question.
    Class,
    /// `x0`: a literal found in the question.
    Value,
    /// `m0`: the relation, among those shown for the call's set, that is linked to this word of the
    /// question.
    Mention,
}

impl HandleKind {
    /// The first letter of handles of this kind.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Entity => 'e',
            Self::Relation => 'r',
            Self::Class => 'c',
            Self::Value => 'x',
            Self::Mention => 'm',
        }
    }
}

/// A short name for an item shown to the planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    /// The kind of item.
    pub kind: HandleKind,
    /// Position in the list of shown items.
    pub index: u32,
}

common::worded! {
    /// What is computed from one column of a group of rows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Aggregate, fn word() {
        /// The number of different values.
        Distinct = "distinct",
        /// The sum.
        Sum = "sum",
        /// The mean.
        Average = "average",
        /// The value that is first in order.
        Min = "min",
        /// The value that is last in order.
        Max = "max",
    }
}

/// How a path follows its relation, if not exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Repeat {
    /// `+ r`: once or more.
    OneOrMore,
    /// `* r`: any number of times; the start is reached too.
    ZeroOrMore,
    /// `maybe r`: once, and the row stays with an empty cell where there is no value.
    Maybe,
}

impl Repeat {
    /// Every way to repeat.
    pub const ALL: [Self; 3] = [Self::OneOrMore, Self::ZeroOrMore, Self::Maybe];

    /// The mark in calls; those of repetition are SPARQL's.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::OneOrMore => "+",
            Self::ZeroOrMore => "*",
            Self::Maybe => "maybe",
        }
    }
}

/// One column of the table that a call makes, or one key of its order. `k0` is the first column of
/// the table that the call reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// `k0`: the column.
    Key(u32),
    /// `count`: the number of rows.
    Count,
    /// `sum k0`: computed from the column.
    Of(Aggregate, u32),
    /// `year k0`: a part of the dates of the column.
    Part(DatePart, u32),
    /// `asc k0`: in order of the column.
    Ascending(u32),
    /// `desc k0`: in reverse order of the column.
    Descending(u32),
}

common::worded! {
    /// A test of texts. Case does not matter (rule R8).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum TextTest, fn word() {
        /// The value contains the text.
        Contains = "contains",
        /// The value starts with the text.
        Starts = "starts",
        /// The value ends with the text.
        Ends = "ends",
    }
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// A variable, `v3`.
    Var(u32),
    /// A handle, `e0`.
    Handle(Handle),
    /// An entity, relation or class by name.
    Name(String),
    /// A relation followed backwards, `~r` (rule R15).
    Inverse(Box<Arg>),
    /// A relation followed several times or where it has a value, `+ r`, `* ~r` or `maybe r`.
    Repeated(Repeat, Box<Arg>),
    /// A literal, bare (`2011`) or quoted (`"Young Forrest"@en`).
    Literal(Literal),
    /// A comparison operator.
    Op(Op),
    /// `argmax` or `argmin`.
    Extreme(Extreme),
    /// A bracketed list; `[]` is the empty set.
    List(Vec<Arg>),
    /// `v3.k0`: column 0 of table 3. As a set, it is the column's different values.
    Column(u32, u32),
    /// A column to make, or a key of an order.
    Field(Field),
    /// A test of texts.
    Text(TextTest),
    /// An operator of arithmetic.
    Sign(Sign),
}

/// One call with its assignment target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The left side of `=`.
    pub target: Target,
    /// The tool.
    pub tool: Tool,
    /// The arguments in order.
    pub args: Vec<Arg>,
}

impl Call {
    /// A call whose target follows from its tool: nothing, `ans`, or variable number `next`.
    #[must_use]
    pub fn new(tool: Tool, args: Vec<Arg>, next: u32) -> Self {
        let target = match tool {
            Tool::GetRelation | Tool::RetrieveRelation => Target::None,
            Tool::End => Target::Ans,
            _ => Target::Var(next),
        };
        Self { target, tool, args }
    }
}

impl Arg {
    /// The handle `e{index}`, `r{index}`, ….
    #[must_use]
    pub fn handle(kind: HandleKind, index: usize) -> Self {
        // More than u32::MAX items are never shown; saturating keeps the conversion total.
        Self::Handle(Handle {
            kind,
            index: u32::try_from(index).unwrap_or(u32::MAX),
        })
    }

    /// A name.
    #[must_use]
    pub fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    /// A relation argument without `~`, `+` and `*`.
    #[must_use]
    pub fn relation(&self) -> &Self {
        match self {
            Self::Inverse(inner) | Self::Repeated(_, inner) => inner.relation(),
            other => other,
        }
    }

    /// Like [`Arg::relation`].
    pub fn relation_mut(&mut self) -> &mut Self {
        match self {
            Self::Inverse(inner) | Self::Repeated(_, inner) => inner.relation_mut(),
            other => other,
        }
    }

    /// Whether a relation argument walks backwards.
    #[must_use]
    pub fn is_inverse(&self) -> bool {
        match self {
            Self::Inverse(_) => true,
            Self::Repeated(_, inner) => inner.is_inverse(),
            _ => false,
        }
    }

    /// How a relation argument is followed, if not exactly once.
    #[must_use]
    pub fn repeat(&self) -> Option<Repeat> {
        match self {
            Self::Repeated(repeat, _) => Some(*repeat),
            _ => None,
        }
    }
}
