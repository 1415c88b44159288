//! From programs to SPARQL: the algebra of a query that has, on the same graph, the program's
//! answers (rules A.2; the paper's authors publish this direction).
//!
//! ```text
//! v0 = get_head_entity(lx, city)                     ?x city lx
//! v1 = get_entity_by_constraint(v0, capacity, argmax) ?x capacity ?n . { SELECT (MAX(?o) AS ?n) { ?y city lx . ?y capacity ?o } }
//! ```
//! Walks, classes, intersections and unions become patterns on any graph. The tools compare by kind
//! and by span (rules R8 to R13), SPARQL compares by datatype. So several spellings of a
//! comparison's filter are tried on the set that the program compares. If no spelling keeps the
//! same members as the tool, the program is refused. A table becomes one solution per row, and its
//! query is run once to check that it gives these rows. Tests check two laws on random programs and
//! on all gold sets: `program_to_query(p)` has the answers of `p`, and if that query converts, the
//! converted program has them too.

mod arithmetic;
mod columns;
mod comparison;
mod error;
mod extreme;
mod spelling;
mod tables;
mod truth;
mod writer;

pub use error::Inexpressible;

use kg::Kg;
use kg::spargebra::Query;
use kg::term::Term;
use toolbox::call::{Call, Target, Tool, ToolTable};
use toolbox::exec::{ExecOptions, Observation, Session, run_program};
use toolbox::link::Linked;
use writer::QueryWriter;

/// The query of a program. `exclude` are the terms that its answer must not contain (rule R7).
///
/// # Errors
/// [`Inexpressible`] names the call that no query expresses on this graph, or the reason why the
/// program fails.
///
/// ```
/// use toolbox::call::parse_program;
/// use kg::FrozenKg;
/// use kg::term::Term;
///
/// let iri = |name: &str| Term::Iri(format!("http://ex.org/{name}"));
/// let kg = FrozenKg::from_triples([[iri("lions"), iri("city"), iri("lx")]]);
/// let calls = parse_program("v0 = get_tail_entity(lions, city); ans = end(v0)")?;
/// let query = datagen::to_sparql::program_to_query(&kg, &calls, &[])?;
/// assert_eq!(query.to_string(), "SELECT DISTINCT ?x WHERE { <http://ex.org/lions> <http://ex.org/city> ?x . }");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn program_to_query(
    kg: &dyn Kg,
    calls: &[Call],
    exclude: &[Term],
) -> Result<Query, Inexpressible> {
    let mut session = Session::new(
        kg,
        "",
        Linked::default(),
        &[],
        ExecOptions {
            max_steps: calls.len(),
            tools: ToolTable::Extended,
            ..ExecOptions::default()
        },
    )
    .map_err(|error| Inexpressible::Fails {
        step: 0,
        error: error.into(),
    })?;
    run_program(&mut session, calls)
        .map_err(|(step, error)| Inexpressible::Fails { step, error })?;
    let mut assigned = Vec::new();
    for step in session.steps() {
        if let (Target::Var(_), Observation::Value(value)) = (step.call.target, &step.observation) {
            assigned.push((step.call.clone(), value.clone()));
        }
    }
    let last = session.steps().last().map(|step| step.call.clone());
    let mut writer = QueryWriter {
        kg,
        calls: assigned,
        next: 0,
    };
    let Some(Call {
        tool: Tool::End,
        args,
        ..
    }) = last
    else {
        return Err(Inexpressible::Argument("the last call".to_owned()));
    };
    let answer = args
        .first()
        .ok_or_else(|| Inexpressible::Argument("end()".to_owned()))?;
    writer.query(answer, exclude)
}
