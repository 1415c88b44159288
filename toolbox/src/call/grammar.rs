//! The grammar tables: one row per tool. The parser, printer, acceptor and tool list are derived
//! from them.

use serde::{Deserialize, Serialize};

use super::ast::Tool;

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A set: variable, entity (handle or name), or bracketed list of them.
    Set,
    /// A relation shown for the call's first set, or its inverse.
    Relation,
    /// Like [`Param::Relation`], or a path that repeats one or follows it where it has a value.
    Path,
    /// A class.
    Class,
    /// A comparison operator, `argmax` or `argmin`.
    Comparator,
    /// A comparison operator.
    Operator,
    /// A literal or an entity to compare with.
    Value,
    /// A surface mention.
    Mention,
    /// A table.
    Table,
    /// A comparison operator or a test of texts.
    Test,
    /// A literal, a set, a number, or a column of the same table.
    Operand,
    /// A column to group by, or what is computed per group.
    Field,
    /// A column of the table, or a part of its dates.
    Key,
    /// A column of the table with a direction.
    Order,
    /// A number of rows.
    Size,
    /// A truth value.
    Truth,
    /// An operator of arithmetic.
    Sign,
    /// A number, or a column of the same table.
    Amount,
}

/// The result type of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Relations, shown to the planner.
    Relations,
    /// A set of entities.
    Set,
    /// A number.
    Number,
    /// A truth value.
    Truth,
    /// A table.
    Table,
    /// The answer; it ends the program.
    Answer,
}

/// One row of the grammar table.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The tool.
    pub tool: Tool,
    /// Its name in calls.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Number of required parameters; the rest are optional.
    pub required: usize,
    /// Whether the last parameter may be repeated.
    pub variadic: bool,
    /// The result type.
    pub returns: Returns,
    /// Description for the tool list.
    pub doc: &'static str,
}

const fn row(
    tool: Tool,
    name: &'static str,
    params: &'static [Param],
    returns: Returns,
    doc: &'static str,
) -> Signature {
    Signature {
        tool,
        name,
        params,
        required: params.len(),
        variadic: false,
        returns,
        doc,
    }
}

impl Signature {
    /// Makes the last parameter optional.
    const fn optional(mut self) -> Self {
        self.required -= 1;
        self
    }

    /// Lets the last parameter be repeated.
    const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }
}

/// The thirteen tools in the order of rules A.1.
pub const SIGNATURES: [Signature; 13] = [
    row(
        Tool::GetRelation,
        "get_relation",
        &[Param::Set, Param::Set],
        Returns::Relations,
        "relations leaving (out) and entering (in) the members of a set; with two sets, those that link the first to the second",
    ).optional(),
    row(
        Tool::GetHeadEntity,
        "get_head_entity",
        &[Param::Set, Param::Relation],
        Returns::Set,
        "entities that have the relation to a member (an in-relation, walked backwards)",
    ),
    row(
        Tool::GetTailEntity,
        "get_tail_entity",
        &[Param::Set, Param::Relation],
        Returns::Set,
        "entities or literals to which a member has the relation (an out-relation, walked forwards)",
    ),
    row(
        Tool::GetEntityByType,
        "get_entity_by_type",
        &[Param::Class],
        Returns::Set,
        "all entities of a class",
    ),
    row(
        Tool::GetEntityByConstraint,
        "get_entity_by_constraint",
        &[Param::Set, Param::Relation, Param::Comparator, Param::Value],
        Returns::Set,
        "members with a value of the relation that is =, !=, <, <=, > or >= the given one, or that is extreme (argmax, argmin; no value)",
    ).optional(),
    row(
        Tool::GetCandidateEntity,
        "get_candidate_entity",
        &[Param::Mention],
        Returns::Set,
        "entities that a mention in the question may mean, best first",
    ),
    row(
        Tool::Count,
        "count",
        &[Param::Set],
        Returns::Number,
        "the number of members",
    ),
    row(
        Tool::Intersect,
        "intersect",
        &[Param::Set, Param::Set],
        Returns::Set,
        "members of all the sets",
    ).variadic(),
    row(
        Tool::Union,
        "union",
        &[Param::Set, Param::Set],
        Returns::Set,
        "members of any of the sets",
    ).variadic(),
    row(
        Tool::Judge,
        "judge",
        &[Param::Set, Param::Relation, Param::Operator, Param::Value],
        Returns::Truth,
        "whether some member has a value of the relation that compares so with the given one",
    ),
    row(
        Tool::End,
        "end",
        &[Param::Set],
        Returns::Answer,
        "stop: the answer is this set, number or truth value; [] if the graph has none",
    ),
    row(
        Tool::RetrieveRelation,
        "retrieve_relation",
        &[Param::Set],
        Returns::Relations,
        "the relations of a set that matter most for the question",
    ),
    row(
        Tool::DisambiguateEntity,
        "disambiguate_entity",
        &[Param::Set],
        Returns::Set,
        "the one candidate that fits the question best",
    ),
];

/// The extended tools (rules D), which a session offers after the thirteen if its table is
/// [`ToolTable::Extended`]. A parameter for a table also takes a set, which is then a table of one
/// column.
pub const EXTENDED: [Signature; 10] = [
    row(
        Tool::Difference,
        "difference",
        &[Param::Set, Param::Set],
        Returns::Set,
        "members of the first set that are not in the second",
    ),
    row(
        Tool::Extend,
        "extend",
        &[Param::Set, Param::Path],
        Returns::Table,
        "one more column: the values of the relation (~relation backwards) at a column such as v1.k0; a row per value, none without; + relation follows it once or more, * relation any number of times, maybe relation leaves the cell empty where there is none",
    ),
    row(
        Tool::Where,
        "where",
        &[Param::Set, Param::Test, Param::Operand],
        Returns::Table,
        "rows whose column is =, !=, <, <=, > or >= a value, a number or another column, is in a set (=) or not (!=), or contains, starts or ends with a text",
    ),
    row(
        Tool::Group,
        "group",
        &[Param::Table, Param::Field],
        Returns::Table,
        "one row per combination of the columns k0, k1, ..., with count (rows), distinct k2, sum k2, average k2, min k2 or max k2 of each",
    ).variadic(),
    row(
        Tool::Columns,
        "columns",
        &[Param::Table, Param::Key],
        Returns::Table,
        "the table with these columns only, or with year k0, month k0 or day k0 of a date",
    ).variadic(),
    row(
        Tool::Sort,
        "sort",
        &[Param::Table, Param::Order],
        Returns::Table,
        "the rows in order: asc k0, desc k1, ...",
    ).variadic(),
    row(
        Tool::First,
        "first",
        &[Param::Table, Param::Size, Param::Size],
        Returns::Table,
        "the first rows; a second number says how many rows to leave out before them",
    )
    .optional(),
    row(
        Tool::Exists,
        "exists",
        &[Param::Set],
        Returns::Truth,
        "whether a set or table has a member or row",
    ),
    row(
        Tool::Choose,
        "choose",
        &[Param::Truth, Param::Set, Param::Set],
        Returns::Set,
        "the first set if the truth value is true, else the second",
    ),
    row(
        Tool::Compute,
        "compute",
        &[Param::Set, Param::Sign, Param::Amount],
        Returns::Table,
        "one more column: a column of numbers such as v1.k0 +, -, * or / a number or another column; no row without a result",
    ),
];

/// The tools that a session offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolTable {
    /// The paper's thirteen.
    #[default]
    Paper,
    /// The thirteen and the extended ones.
    Extended,
}

impl ToolTable {
    /// The rows of the table, in the order of the tool list.
    pub fn rows(self) -> impl Iterator<Item = &'static Signature> {
        let more: &[Signature] = match self {
            Self::Paper => &[],
            Self::Extended => &EXTENDED,
        };
        SIGNATURES.iter().chain(more)
    }

    /// Whether the table has a tool.
    #[must_use]
    pub fn has(self, tool: Tool) -> bool {
        self == Self::Extended || (tool as usize) < SIGNATURES.len()
    }

    /// The names of the tools, for messages.
    #[must_use]
    pub fn names(self) -> String {
        let names: Vec<&str> = self.rows().map(|row| row.name).collect();
        names.join(", ")
    }
}

impl Tool {
    /// The row of the grammar table for this tool.
    #[must_use]
    pub fn signature(self) -> &'static Signature {
        // The tables list the tools in the order of the enum (checked by a test).
        let index = self as usize;
        SIGNATURES
            .get(index)
            .unwrap_or_else(|| &EXTENDED[index - SIGNATURES.len()])
    }

    /// The name in calls.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.signature().name
    }

    /// Looks up a tool by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        ToolTable::Extended
            .rows()
            .find(|row| row.name == name)
            .map(|row| row.tool)
    }
}

impl Param {
    /// Whether the argument names a relation.
    #[must_use]
    pub fn names_relation(self) -> bool {
        matches!(self, Self::Relation | Self::Path)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Relation | Self::Path => "relation",
            Self::Class => "class",
            Self::Comparator => "comparator",
            Self::Operator => "operator",
            Self::Value => "value",
            Self::Mention => "mention",
            Self::Table => "table",
            Self::Test => "test",
            Self::Operand => "value",
            Self::Field => "field",
            Self::Key => "column",
            Self::Order => "order",
            Self::Size => "number",
            Self::Truth => "truth value",
            Self::Sign => "sign",
            Self::Amount => "number",
        }
    }
}

/// The tool list for prompts: one line per tool, generated from the table.
#[must_use]
pub fn tool_list(table: ToolTable) -> String {
    let mut text = String::new();
    for row in table.rows() {
        let params: Vec<String> = row
            .params
            .iter()
            .enumerate()
            .map(|(i, param)| {
                if i < row.required {
                    param.word().to_owned()
                } else {
                    format!("[{}]", param.word())
                }
            })
            .collect();
        let more = if row.variadic { ", ..." } else { "" };
        let returns = match row.returns {
            Returns::Relations => "relations",
            Returns::Set => "set",
            Returns::Number => "number",
            Returns::Truth => "truth value",
            Returns::Table => "table",
            Returns::Answer => "answer",
        };
        text.push_str(&format!(
            "{}({}{more}) -> {returns}: {}\n",
            row.name,
            params.join(", "),
            row.doc
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_indexed_by_tool() {
        for row in ToolTable::Extended.rows() {
            assert_eq!(row.tool.signature().name, row.name);
            assert_eq!(Tool::by_name(row.name), Some(row.tool));
            assert_eq!(
                ToolTable::Paper.has(row.tool),
                SIGNATURES.iter().any(|own| own.tool == row.tool)
            );
        }
        assert_eq!(tool_list(ToolTable::Paper).lines().count(), 13);
        assert_eq!(tool_list(ToolTable::Extended).lines().count(), 23);
    }

    #[test]
    fn the_tool_list_puts_optional_arguments_in_brackets() {
        let list = tool_list(ToolTable::Paper);
        for start in [
            "get_relation(set, [set]) -> relations: ",
            "get_tail_entity(set, relation) -> set: ",
            "intersect(set, set, ...) -> set: ",
        ] {
            assert!(list.lines().any(|line| line.starts_with(start)), "{list}");
        }
    }
}
