//! From query graphs to programs (spec A.2.3).
//!
//! [`convert`] reads a parsed query's graph, compiles it strictly, and with a graph at hand leaves out what does not matter there: class
//! constraints and existence checks whose absence gives the same result. What cannot be expressed is refused; what verification has to
//! judge (inequalities between variables, language filters, cycles closed by `intersect`) is only tried, because every program is run and compared.

mod ask;
mod compile;
mod ground;
mod names;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use compile::{Compiler, Spare};
use names::Names;
use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::{ExecOptions, Session, Value, run_program};
use toolbox::kg::{Kg, spargebra};
use toolbox::limits::MAX_STEPS;
use toolbox::link::Linked;
use toolbox::rank::Ranker;
use toolbox::term::{Literal, Term};
use view::View;

use crate::graph::{Form, Group, Node, QueryGraph, Vocabulary, read_query};
use crate::refusal::Refusal;

/// What conversion knows beyond the query.
#[derive(Clone, Copy, Default)]
pub struct Context<'a> {
    /// The graph that the program will run on; without one, names come from IRIs and nothing is left out.
    pub kg: Option<&'a dyn Kg>,
    /// The data set's topic entities in order of mention; may be empty.
    pub topics: &'a [Term],
}

/// A program made from a gold query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldProgram {
    /// Calls with full names, `ans = end(..)` last.
    pub calls: Vec<Call>,
    /// Constants that the query keeps out of the answer by `!=` (rule R7).
    pub exclude: Vec<Term>,
    /// The coarse shape: `ask`, `compare`, `argmax`, `argmin`, `count`, `union`, `interval`, `star`, `filter`, `class`, `chain`.
    pub shape: String,
    /// Edges from the primary start to the answer.
    pub hops: u32,
    /// Entity constants in order of mention: the linked entities where the data set names no topics.
    pub constants: Vec<Term>,
    /// Literals that calls compare with.
    pub literals: Vec<Literal>,
    /// Classes that calls name.
    pub classes: Vec<Term>,
}

/// Alternatives into which unions may be multiplied out: beyond it no program stays within the step limit.
const MAX_ALTERNATIVES: usize = 8;

/// Converts a gold query into a program.
///
/// # Errors
/// The reason for which no program of the thirteen tools says exactly this.
pub fn convert(query: &spargebra::Query, context: &Context<'_>) -> Result<GoldProgram, Refusal> {
    let vocabulary = Vocabulary::new(context.kg);
    let mut graph = read_query(query, &vocabulary)?;
    ground::predicates(&mut graph, context.kg)?;
    let names = Names { kg: context.kg, vocabulary: &vocabulary };
    let mut without = BTreeSet::new();
    let strict = program(&graph, context, names, &without);
    let Some(kg) = context.kg else { return strict.and_then(|(program, _)| checked(program)) };
    let (strict, _) = strict?;
    let Some(result) = run(kg, &strict.calls) else { return checked(strict) };
    let mut best = strict;
    // Everything at once is the common case; where it changes the result, one by one.
    let mut all = without.clone();
    while let Ok((shorter, spares)) = program(&graph, context, names, &all) {
        let before = all.len();
        all.extend(spares);
        if all.len() == before {
            if shorter.calls.len() < best.calls.len() && run(kg, &shorter.calls).as_ref() == Some(&result) {
                return checked(shorter);
            }
            break;
        }
    }
    let mut tried: BTreeSet<Spare> = BTreeSet::new();
    while let Some(spare) = program(&graph, context, names, &without)?.1.into_iter().find(|spare| tried.insert(spare.clone())) {
        without.insert(spare.clone());
        match program(&graph, context, names, &without) {
            Ok((shorter, _)) if shorter.calls.len() < best.calls.len() && run(kg, &shorter.calls).as_ref() == Some(&result) => best = shorter,
            _ => {
                without.remove(&spare);
            }
        }
    }
    checked(best)
}

fn checked(program: GoldProgram) -> Result<GoldProgram, Refusal> {
    if program.calls.len() > MAX_STEPS { Err(Refusal::TooLong) } else { Ok(program) }
}

/// Relation lists are not looked at here, so ranking them would be in vain.
struct NoRanking;

impl Ranker for NoRanking {
    fn score(&self, _: &str, candidates: &[String]) -> Vec<f32> {
        vec![0.0; candidates.len()]
    }
}

/// The result of a program, relation lists skipped.
fn run(kg: &dyn Kg, calls: &[Call]) -> Option<Value> {
    let calls: Vec<Call> = calls.iter().filter(|call| call.tool != Tool::GetRelation).cloned().collect();
    let options = ExecOptions { max_steps: calls.len(), ranker: Arc::new(NoRanking), ..ExecOptions::default() };
    let mut session = Session::new(kg, "", Linked::default(), &[], options);
    run_program(&mut session, &calls).ok()
}

/// One program, and what could be left out of it.
fn program(
    graph: &QueryGraph,
    context: &Context<'_>,
    names: Names<'_>,
    without: &BTreeSet<Spare>,
) -> Result<(GoldProgram, Vec<Spare>), Refusal> {
    let mut group = graph.group.clone();
    prune(&mut group, without);
    let answer = graph.form.answer();
    let mut compiler = Compiler::new(names, context.topics, without, answer);
    let mut unions = !group.unions.is_empty();
    let result = match graph.form {
        Form::Ask => ask::ask(&mut compiler, &group)?,
        Form::Select(var) | Form::Count(var) => {
            let alternatives = multiply(group.clone(), answer, graph.extreme.map(|(var, _)| var), context.topics)?;
            unions |= alternatives.len() > 1;
            let mut sets = Vec::new();
            for alternative in &alternatives {
                if matches!(graph.form, Form::Count(_)) && !is_connected(alternative, var, context.topics) {
                    return Err(Refusal::Disconnected);
                }
                sets.push(compiler.select(alternative, var, graph.extreme)?);
            }
            let set = compiler.combine(Tool::Union, sets);
            if matches!(graph.form, Form::Count(_)) { compiler.emit(Tool::Count, vec![set]) } else { set }
        }
    };
    compiler.emit(Tool::End, vec![result]);
    let spares = std::mem::take(&mut compiler.spares);
    let (calls, classes) = (compiler.calls, compiler.classes);
    let literals = literals(&calls);
    let constants = constants(&group);
    let hops = answer.and_then(|var| View::new(&group, context.topics, None).best(var, None)).map_or(1, |start| start.distance);
    let exclude = group.differ.iter().filter(|(var, _)| Some(*var) == answer).map(|(_, term)| term.clone()).collect();
    let shape = shape(graph, &group, &calls, unions).to_owned();
    let hops = u32::try_from(hops).unwrap_or(u32::MAX);
    Ok((GoldProgram { calls, exclude, shape, hops, constants, literals, classes }, spares))
}

fn prune(group: &mut Group, without: &BTreeSet<Spare>) {
    group.classes.retain(|(node, class)| node.var().is_none_or(|var| !without.contains(&Spare::Class(var, class.clone()))));
    for branch in group.unions.iter_mut().flatten() {
        prune(branch, without);
    }
}

/// Keeps the unions that are one node's alternatives, each with a start of its own, and multiplies the others out.
fn multiply(
    group: Group,
    answer: Option<crate::graph::Var>,
    extreme: Option<crate::graph::Var>,
    topics: &[Term],
) -> Result<Vec<Group>, Refusal> {
    let index = (0..group.unions.len()).find(|&i| !is_local(&group, i, answer, extreme, topics));
    let Some(index) = index else { return Ok(vec![group]) };
    if extreme.is_some() {
        return Err(Refusal::Extreme);
    }
    let mut rest = group;
    let branches = rest.unions.remove(index);
    let mut all = Vec::new();
    for branch in branches {
        let mut joined = rest.clone();
        joined.edges.extend(branch.edges);
        joined.comparisons.extend(branch.comparisons);
        joined.intervals.extend(branch.intervals);
        joined.classes.extend(branch.classes);
        joined.values.extend(branch.values);
        joined.labels.extend(branch.labels);
        joined.unions.extend(branch.unions);
        joined.differ.extend(branch.differ);
        joined.ordered.extend(branch.ordered);
        all.extend(multiply(joined, answer, extreme, topics)?);
        if all.len() > MAX_ALTERNATIVES {
            return Err(Refusal::TooLong);
        }
    }
    Ok(all)
}

/// Whether a union shares one variable with the rest and every branch can be walked from a start of its own to it.
fn is_local(
    group: &Group,
    index: usize,
    answer: Option<crate::graph::Var>,
    extreme: Option<crate::graph::Var>,
    topics: &[Term],
) -> bool {
    let branches = &group.unions[index];
    let mut rest = group.clone();
    rest.unions.remove(index);
    let mut outside = variables(&rest);
    outside.extend(answer);
    outside.extend(extreme);
    let inside: BTreeSet<crate::graph::Var> = branches.iter().flat_map(variables).collect();
    let shared: Vec<crate::graph::Var> = inside.intersection(&outside).copied().collect();
    let [var] = shared[..] else { return false };
    branches.iter().all(|branch| {
        branch.differ.is_empty() && is_connected(branch, var, topics) && View::new(branch, topics, None).best(var, None).is_some()
    })
}

fn variables(group: &Group) -> BTreeSet<crate::graph::Var> {
    let mut vars = View::new(group, &[], None).variables();
    vars.extend(group.ordered.iter().flat_map(|ordered| [ordered.left, ordered.right]));
    vars.extend(group.unions.iter().flatten().flat_map(variables));
    vars
}

/// Whether every part of the group hangs together with a variable.
fn is_connected(group: &Group, var: crate::graph::Var, topics: &[Term]) -> bool {
    let view = View::new(group, topics, None);
    let here = view.component(var);
    let compared = |var: &crate::graph::Var| group.ordered.iter().any(|ordered| ordered.left == *var || ordered.right == *var);
    view.variables().iter().all(|other| here.contains(other) || compared(other))
        && group.edges.iter().all(|edge| edge.subject.var().or(edge.object.var()).is_some())
}

fn literals(calls: &[Call]) -> Vec<Literal> {
    let mut found = Vec::new();
    for arg in calls.iter().filter(|call| call.tool != Tool::GetCandidateEntity).flat_map(|call| &call.args) {
        if let Arg::Literal(literal) = arg
            && !found.contains(literal)
        {
            found.push(literal.clone());
        }
    }
    found
}

fn constants(group: &Group) -> Vec<Term> {
    let mut placed: Vec<(usize, String)> = Vec::new();
    let mut open = vec![group];
    while let Some(group) = open.pop() {
        for edge in &group.edges {
            for node in [&edge.subject, &edge.object] {
                if let Node::Entity(iri) = node {
                    placed.push((edge.order, iri.clone()));
                }
            }
        }
        for term in group.values.iter().flat_map(|(_, terms)| terms) {
            if let Term::Iri(iri) = term {
                placed.push((usize::MAX, iri.clone()));
            }
        }
        open.extend(group.unions.iter().flatten());
    }
    // Stable, so that values keep their order behind the edges.
    placed.sort_by_key(|(order, _)| *order);
    let mut seen = BTreeSet::new();
    placed.into_iter().filter(|(_, iri)| seen.insert(iri.clone())).map(|(_, iri)| Term::Iri(iri)).collect()
}

fn shape(graph: &QueryGraph, group: &Group, calls: &[Call], unions: bool) -> &'static str {
    use toolbox::value::Extreme;
    let uses = |tool: Tool| calls.iter().any(|call| call.tool == tool);
    match (graph.form, graph.extreme) {
        (Form::Ask, _) => "ask",
        (Form::Count(_), _) => "count",
        (Form::Select(var), Some(_)) if group.values.iter().any(|(known, _)| *known == var) => "compare",
        (Form::Select(_), Some((_, Extreme::Max))) => "argmax",
        (Form::Select(_), Some((_, Extreme::Min))) => "argmin",
        (Form::Select(_), None) if unions || uses(Tool::Union) => "union",
        (Form::Select(_), None) if !group.intervals.is_empty() => "interval",
        (Form::Select(_), None) if !group.comparisons.is_empty() || !group.ordered.is_empty() => "filter",
        (Form::Select(_), None) if constants(group).len() > 1 => "star",
        (Form::Select(_), None) if constants(group).is_empty() => "class",
        (Form::Select(_), None) => "chain",
    }
}
