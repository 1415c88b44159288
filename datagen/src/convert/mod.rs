//! From query graphs to programs (rules A.2.3).
//!
//! [`convert`] turns a query into a query graph and compiles that into calls. If the context has a
//! knowledge graph, the program is tried there (`trial`): class constraints and existence checks
//! that do not change the result are left out. Some parts of a query have no tool: inequalities
//! between variables, language filters, cycles. They are the query's *residue*. `residue` checks on
//! the graph that they remove no solution. A query that no program expresses is refused.

mod ask;
mod compile;
pub(crate) mod dataset;
mod exact;
mod ground;
mod limit;
mod names;
mod program;
mod residue;
mod rows;
mod tables;
mod trial;
mod union;
mod view;

pub use program::GoldProgram;

use std::collections::BTreeSet;

use exact::Execution;
use kg::term::Term;
use kg::{Kg, spargebra};
use names::CallNames;
use program::{Draft, DraftSource};
use residue::Residue;
use toolbox::call::ToolTable;
use toolbox::exec::{EntSet, ExcludeWhen};
use trial::{Trial, TrialRun};

use crate::graph::{QueryGraph, Var, Vocabulary, read_query};
use crate::refusal::Refusal;

/// What conversion knows beyond the query.
#[derive(Clone, Copy, Default)]
pub struct Context<'a> {
    /// The graph that the program will run on. Without one, names come from IRIs and nothing is
    /// left out.
    pub kg: Option<&'a dyn Kg>,
    /// The data set's topic entities in order of mention; may be empty.
    pub topics: &'a [Term],
    /// Whether excluded entities are dropped from the answer only or after every call (rule R7).
    pub exclude: ExcludeWhen,
    /// The tools that the program may use.
    pub tools: ToolTable,
}

/// Converts a gold query into a program.
///
/// # Errors
/// The reason why the tools cannot express the query exactly.
pub fn convert(query: &spargebra::Query, context: &Context<'_>) -> Result<GoldProgram, Refusal> {
    let query = &dataset::over_the_whole(query, context.kg).map_err(|(reason, _)| reason)?;
    let vocabulary = Vocabulary::new(context.kg);
    match convert_sets(query, context, &vocabulary) {
        // The extended tools are tried only if the thirteen fail. If both fail, the first reason is
        // reported.
        Err(reason) if context.tools == ToolTable::Extended => {
            tables::convert_table(query, context, &vocabulary).map_err(|_| reason)
        }
        other => other,
    }
}

/// Converts a gold query into a program of the thirteen tools.
fn convert_sets(
    query: &spargebra::Query,
    context: &Context<'_>,
    vocabulary: &Vocabulary,
) -> Result<GoldProgram, Refusal> {
    let unlimited = context.kg.and_then(|kg| limit::unlimited(kg, query));
    let query = unlimited.as_ref().unwrap_or(query);
    let graph = graph_in(query, context, vocabulary)?;
    let source = DraftSource {
        graph: &graph,
        names: CallNames {
            kg: context.kg,
            vocabulary,
        },
        topics: context.topics,
        verbatim: false,
    };
    let Some(kg) = context.kg else {
        return source.draft(&BTreeSet::new())?.program.within_limit();
    };
    let mut trial = Trial::new(kg, source, context.exclude)?;
    let TrialRun::Exact(run) = trial.execute()? else {
        return trial.draft.program.within_limit();
    };
    // Intermediate sets contain every value of their variables only if nothing was left out and
    // excluded entities stay in them until the answer.
    let whole = trial.without.is_empty() && context.exclude != ExcludeWhen::EveryStep;
    let residue = Residue {
        kg,
        vocabulary,
        graph: &graph,
        exclude: context.exclude,
        passed: if whole {
            passed(&trial.draft, &run)
        } else {
            Vec::new()
        },
    };
    let exclude = residue.check(&trial.draft.alternatives, &run.value)?;
    if let Some(counted) = &graph.rows
        && !rows::are_distinct(kg, query, counted)?
    {
        return Err(Refusal::Aggregate);
    }
    let mut program = trial.shortest(&run.value);
    for term in exclude {
        if !program.exclude.contains(&term) {
            program.exclude.push(term);
        }
    }
    program.within_limit()
}

/// The program's intermediate sets, by query variable. Each contains every value that the variable
/// has in a solution. Empty if the query has alternatives, because a variable then has several
/// sets.
fn passed(draft: &Draft, run: &Execution<'_>) -> Vec<(Var, EntSet)> {
    match draft.alternatives.as_slice() {
        [only] if only.unions.is_empty() => draft
            .sets
            .iter()
            .filter_map(|(var, arg)| Some((*var, run.set(arg)?)))
            .collect(),
        _ => Vec::new(),
    }
}

/// The query graph from which the program of a gold query is made: variable predicates are replaced
/// by relations of the knowledge graph, and parts without effect there are dropped (see `ground`).
///
/// # Errors
/// The reason why no query graph can represent the query.
pub(crate) fn graph_of(
    query: &spargebra::Query,
    context: &Context<'_>,
) -> Result<QueryGraph, Refusal> {
    graph_in(query, context, &Vocabulary::new(context.kg))
}

fn graph_in(
    query: &spargebra::Query,
    context: &Context<'_>,
    vocabulary: &Vocabulary,
) -> Result<QueryGraph, Refusal> {
    let mut graph = read_query(query, vocabulary)?;
    ground::predicates(&mut graph, context.kg)?;
    if let Some(kg) = context.kg {
        ground::intervals(&mut graph.group, kg);
        ground::alternatives(&mut graph.group, kg);
    }
    union::hoist(&mut graph.group);
    Ok(graph)
}
