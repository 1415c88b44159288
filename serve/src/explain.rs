//! What stands behind a kept answer: its trace, the query of its program, and which step of the
//! program uses which triple.

use kg::Kg;
use kg::term::{NodeId, Term};
use serde_json::{Value, json};
use toolbox::call::{Call, ToolTable, parse_program};
use toolbox::exec::{ExecOptions, Session, evidence, run_program};
use toolbox::link::Linked;

use crate::fault::Fault;
use crate::service::Service;
use crate::store::StoredAnswer;

/// A kept answer with everything that explains it. `steps` and `names` have an entry for each triple
/// of the evidence: the steps that use it, counting from 0, and the names of its nodes. If
/// the graph has changed since, it is explained by the graph as it is now.
pub(crate) fn whole(service: &Service, stored: &StoredAnswer) -> Result<Value, Fault> {
    let graph = service.graph(Some(&stored.graph))?;
    let kg = &graph.kg;
    let mut value = stored.object.clone();
    if kg.content_hash() != stored.content_hash {
        value["graph_changed"] = true.into();
    }
    match sparql(kg, stored) {
        Ok(query) => value["sparql"] = query.into(),
        Err(why) => value["no_sparql"] = why.into(),
    }
    let evidence = &stored.answer.evidence;
    let find = |term: &Term| kg.find(term);
    let names = evidence.iter().map(|triple| {
        let name = |term: &Term| find(term).map_or_else(String::new, |node| kg.name(node));
        triple.triple.each_ref().map(name)
    });
    let mut statements: Vec<&Term> = evidence
        .iter()
        .flat_map(|triple| [&triple.triple[0], &triple.triple[2]])
        .filter(|term| find(term).is_some_and(|node| kg.is_statement(node)))
        .collect();
    statements.sort();
    statements.dedup();
    value["names"] = json!(names.collect::<Vec<_>>());
    value["statements"] = json!(statements);
    value["topics"] = json!(topics(kg, stored));
    value["steps"] = json!(steps(kg, stored));
    value["feedback"] = service.feedback.is_some().into();
    value["trace"] = json!(stored.events);
    Ok(value)
}

/// The calls of the answer's program.
///
/// # Errors
/// Says why the answer has no program of calls.
fn program(stored: &StoredAnswer) -> Result<Vec<Call>, String> {
    if stored.answer.program.is_empty() {
        return Err("the answer has no program".to_owned());
    }
    parse_program(&stored.answer.program.join(";\n"))
        .map_err(|_| "this agent writes no program of calls".to_owned())
}

/// The SPARQL query of the answer's program.
///
/// # Errors
/// Says why the program has no query.
pub(crate) fn sparql(kg: &dyn Kg, stored: &StoredAnswer) -> Result<String, String> {
    let calls = program(stored)?;
    datagen::to_sparql::program_to_query(kg, &calls, &topics(kg, stored))
        .map(|query| query.to_string())
        .map_err(|error| error.to_string())
}

fn topics(kg: &dyn Kg, stored: &StoredAnswer) -> Vec<Term> {
    let terms = |name: &String| kg.by_name(name).map(|node| kg.term(node));
    stored.entities.iter().filter_map(terms).collect()
}

/// For each triple of the evidence the steps that use it; nothing if the program does not run as it
/// did.
fn steps(kg: &dyn Kg, stored: &StoredAnswer) -> Vec<Vec<usize>> {
    let Ok(calls) = program(stored) else {
        return Vec::new();
    };
    let entities: Vec<NodeId> = (stored.entities.iter())
        .filter_map(|name| kg.by_name(name))
        .collect();
    let linked = Linked::asked(kg, &stored.question, &entities);
    let options = ExecOptions {
        tools: ToolTable::Extended,
        ..ExecOptions::default()
    };
    let session = Session::new(kg, &stored.question, linked, &[], options);
    let Ok(mut session) = session else {
        return Vec::new();
    };
    if run_program(&mut session, &calls).is_err() {
        return Vec::new();
    }
    let known = evidence(&session);
    let used = |terms: &[Term; 3]| {
        let nodes = terms.each_ref().map(|term| kg.find(term));
        let at = (known.triples.iter())
            .position(|(s, p, o)| nodes == [Some(*s), Some(p.node()), Some(*o)]);
        at.map(|at| known.steps[at].iter().copied().collect())
    };
    let evidence = stored.answer.evidence.iter();
    evidence
        .map(|triple| used(&triple.triple).unwrap_or_default())
        .collect()
}
