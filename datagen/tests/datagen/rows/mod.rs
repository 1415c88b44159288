//! Rows of queries and of programs, for the laws of the extended tools.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use datagen::convert::GoldProgram;
use kg::spargebra::Query;
use kg::term::{Literal, Term};
use kg::{FrozenKg, Kg, QueryAnswer, QueryLimits};
use toolbox::call::ToolTable;
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Session, ToolError, Value, run_program};
use toolbox::link::Linked;

/// Sorted rows; an empty cell is `None`.
pub(crate) type Rows = Vec<Vec<Option<Term>>>;

/// The rows of a query; those of an ASK are one cell.
pub(crate) fn of_query(kg: &FrozenKg, query: &Query) -> Option<Rows> {
    match kg.query(query, QueryLimits::default()).ok()? {
        QueryAnswer::Rows { mut rows, .. } => {
            rows.iter_mut().flatten().flatten().for_each(respell);
            rows.sort();
            Some(rows)
        }
        QueryAnswer::Bool(truth) => Some(vec![vec![Some(boolean(truth))]]),
    }
}

/// One spelling for equal numbers of one datatype: the evaluator respells the numbers that MIN and
/// MAX give.
fn respell(term: &mut Term) {
    if let Term::Literal(literal) = term
        && kg::value::is_number(literal)
        && let Ok(number) = literal.lexical.parse::<f64>()
    {
        literal.lexical = number.to_string();
    }
}

fn boolean(truth: bool) -> Term {
    Term::Literal(Literal::xsd(truth.to_string(), "boolean"))
}

/// The rows of a program; those of a set, a number or a truth value have one cell.
///
/// # Errors
/// The program fails.
pub(crate) fn of_program(kg: &FrozenKg, program: &GoldProgram) -> Result<Rows, ToolError> {
    let nodes = program.exclude.iter().filter_map(|term| kg.find(term));
    let options = ExecOptions {
        tools: ToolTable::Extended,
        lists: false,
        exclude: Exclude {
            nodes: nodes.collect(),
            when: ExcludeWhen::Answer,
        },
        ..ExecOptions::default()
    };
    let mut session = Session::new(kg, "", Linked::default(), &[], options).unwrap();
    let answer = run_program(&mut session, &program.calls).map_err(|(_, error)| error)?;
    let mut rows: Rows = match answer {
        Value::Table(table) => table
            .rows()
            .map(|row| row.iter().map(|cell| cell.value(kg)).collect())
            .collect(),
        Value::Set(set) => set.iter().map(|&node| vec![Some(kg.term(node))]).collect(),
        Value::Int(number) => {
            let number = Literal::xsd(number.to_string(), "integer");
            vec![vec![Some(Term::Literal(number))]]
        }
        Value::Bool(truth) => vec![vec![Some(boolean(truth))]],
    };
    rows.iter_mut().flatten().flatten().for_each(respell);
    rows.sort();
    Ok(rows)
}
