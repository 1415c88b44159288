//! The grammar table: one row per tool. The parser, printer, acceptor and tool list are derived
//! from it.

use super::ast::Tool;

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A set: variable, entity (handle or name), or bracketed list of them.
    Set,
    /// A relation shown for the call's first set, or its inverse.
    Relation,
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

impl Tool {
    /// The row of the grammar table for this tool.
    #[must_use]
    pub fn signature(self) -> &'static Signature {
        // The table lists the tools in the order of the enum (checked by a test).
        &SIGNATURES[self as usize]
    }

    /// The name in calls.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.signature().name
    }

    /// Looks up a tool by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        SIGNATURES
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.tool)
    }
}

impl Param {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Relation => "relation",
            Self::Class => "class",
            Self::Comparator => "comparator",
            Self::Operator => "operator",
            Self::Value => "value",
            Self::Mention => "mention",
        }
    }
}

/// The tool list for prompts: one line per tool, generated from the table.
#[must_use]
pub fn tool_list() -> String {
    let mut text = String::new();
    for row in &SIGNATURES {
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
        for row in &SIGNATURES {
            assert_eq!(row.tool.signature().name, row.name);
            assert_eq!(Tool::by_name(row.name), Some(row.tool));
        }
        assert_eq!(tool_list().lines().count(), 13);
    }
}
