//! Tables: rows of cells, in order and with repetitions (rules D).

use std::sync::Arc;

use kg::Kg;
use kg::term::{Literal, NodeId, Term};
use kg::value::DatePart;

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// A node of the graph.
    Node(NodeId),
    /// A value that a tool computed.
    Computed(ComputedValue),
    /// Nothing: a relation that was followed where it has a value.
    Empty,
}

/// A value that a tool computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ComputedValue {
    /// An `xsd:integer`. Counts are most computed values, so they take no memory of their own.
    Integer(i64),
    /// Any other literal. Tables made from each other share it.
    Other(Arc<Literal>),
}

impl ComputedValue {
    /// The literal.
    #[must_use]
    pub fn literal(&self) -> Literal {
        match self {
            Self::Integer(number) => Literal::xsd(number.to_string(), "integer"),
            Self::Other(literal) => literal.as_ref().clone(),
        }
    }

    /// The text of the literal.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Integer(number) => number.to_string(),
            Self::Other(literal) => literal.lexical.clone(),
        }
    }
}

impl Cell {
    /// A computed literal.
    #[must_use]
    pub fn computed(literal: Literal) -> Self {
        let number: Option<i64> = literal.lexical.parse().ok();
        let short = number.map(ComputedValue::Integer);
        let short = short.filter(|number| number.literal() == literal);
        Self::Computed(short.unwrap_or_else(|| ComputedValue::Other(Arc::new(literal))))
    }

    /// A computed whole number.
    #[must_use]
    pub fn number(number: usize) -> Self {
        match i64::try_from(number) {
            Ok(number) => Self::Computed(ComputedValue::Integer(number)),
            Err(_) => Self::computed(Literal::xsd(number.to_string(), "integer")),
        }
    }

    /// The RDF term; an empty cell has none.
    #[must_use]
    pub fn value(&self, kg: &dyn Kg) -> Option<Term> {
        match self {
            Self::Node(node) => Some(kg.term(*node)),
            Self::Computed(value) => Some(Term::Literal(value.literal())),
            Self::Empty => None,
        }
    }

    /// The RDF term; of an empty cell the empty text.
    #[must_use]
    pub fn term(&self, kg: &dyn Kg) -> Term {
        self.value(kg)
            .unwrap_or_else(|| Term::Literal(Literal::plain(String::new())))
    }

    /// The label or name of a node, or the text of a computed value.
    #[must_use]
    pub fn text(&self, kg: &dyn Kg) -> String {
        match self {
            Self::Node(node) => kg.label(*node).unwrap_or_else(|| kg.name(*node)),
            Self::Computed(value) => value.text(),
            Self::Empty => String::new(),
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// What the column holds, for people: the name of a relation, or a word of the call.
    pub heading: String,
    /// Whether every cell is a number with a numeric datatype.
    pub numbers: bool,
    /// The finest part that every cell has as a date; `None` if a cell is no date.
    pub dates: Option<DatePart>,
    /// Whether every cell is a node or empty.
    pub nodes: bool,
}

impl TableColumn {
    /// A column of numbers that a tool computed.
    #[must_use]
    pub fn computed(heading: String) -> Self {
        Self {
            heading,
            numbers: true,
            dates: None,
            nodes: false,
        }
    }
}

/// Rows of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: Vec<TableColumn>,
    /// Row by row.
    cells: Vec<Cell>,
    ordered: bool,
}

impl Table {
    /// A table of one column, the members of a set.
    #[must_use]
    pub fn of_set(kg: &dyn Kg, set: &[NodeId]) -> Self {
        let column = TableColumn {
            heading: "member".to_owned(),
            numbers: all_literals(kg, set, kg::value::is_number),
            dates: common_part(kg, set),
            nodes: true,
        };
        Self {
            columns: vec![column],
            cells: set.iter().copied().map(Cell::Node).collect(),
            ordered: false,
        }
    }

    /// A table of one cell.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        let cell = Cell::computed(Literal::xsd(number.to_string(), "integer"));
        Self {
            columns: vec![TableColumn::computed("count".to_owned())],
            cells: vec![cell],
            ordered: false,
        }
    }

    /// A table from its cells, row by row. Cells beyond the last whole row are dropped.
    #[must_use]
    pub(crate) fn new(columns: Vec<TableColumn>, mut cells: Vec<Cell>, ordered: bool) -> Self {
        let whole = cells.len() - cells.len() % columns.len().max(1);
        cells.truncate(whole);
        Self {
            columns,
            cells,
            ordered,
        }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Whether the order of the rows was asked for.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len() / self.columns.len().max(1)
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cells, row by row.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The rows.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, Cell> {
        self.cells.chunks_exact(self.columns.len().max(1))
    }

    /// The cells of one column, in order of the rows; nothing if there is no such column.
    pub fn column(&self, index: usize) -> impl Iterator<Item = &Cell> {
        self.rows().filter_map(move |row| row.get(index))
    }

    /// The different nodes of one column, sorted and without empty cells; `None` if a cell is
    /// computed.
    #[must_use]
    pub fn set(&self, index: usize) -> Option<Vec<NodeId>> {
        let node = |cell: &Cell| match cell {
            Cell::Node(node) => Some(*node),
            Cell::Computed(_) | Cell::Empty => None,
        };
        let cells = self.column(index).filter(|cell| **cell != Cell::Empty);
        let mut nodes: Vec<NodeId> = cells.map(node).collect::<Option<_>>()?;
        nodes.sort_unstable();
        nodes.dedup();
        Some(nodes)
    }

    /// The only cell of a table with one row and one column.
    #[must_use]
    pub fn only(&self) -> Option<&Cell> {
        match self.cells.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// Whether every node is a literal that passes a test.
pub(super) fn all_literals(kg: &dyn Kg, nodes: &[NodeId], test: fn(&Literal) -> bool) -> bool {
    nodes
        .iter()
        .all(|&node| kg.term(node).as_literal().is_some_and(test))
}

/// The finest part that every node has as a date: of a year there is no month.
pub(super) fn common_part(kg: &dyn Kg, nodes: &[NodeId]) -> Option<DatePart> {
    let all_have = |part: &DatePart| {
        let has = |literal: &Literal| part.of(literal).is_some();
        let mut nodes = nodes.iter();
        nodes.all(|&node| kg.term(node).as_literal().is_some_and(has))
    };
    DatePart::ALL.into_iter().rfind(all_have)
}
