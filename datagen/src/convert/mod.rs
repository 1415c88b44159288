//! From query graphs to programs (spec A.2.3).
//!
//! [`convert`] reads a parsed query's graph, compiles it strictly, and with a graph at hand leaves out what does not matter there: class
//! constraints and existence checks whose absence gives the same result. What cannot be expressed is refused; what verification has to
//! judge (inequalities between variables, language filters, cycles closed by `intersect`) is only tried, because every program is run and compared.

mod ask;
mod compile;
mod exact;
mod ground;
mod limit;
mod names;
mod residue;
mod rows;
mod union;
mod view;

use std::collections::BTreeSet;

use compile::{Compiler, JudgementKind, Spare};
use exact::Check;
use kg::term::{Literal, Term};
use kg::{Kg, spargebra};
use names::Names;
use residue::Residue;
use toolbox::call::{Arg, Call, Tool};
use toolbox::exec::{
    EntSet, Exclude, ExcludeWhen, ExecOptions, Observation, Session, Value, run_program,
};
use toolbox::limits::MAX_STEPS;
use toolbox::link::Linked;
use view::View;

use crate::graph::{Form, Group, Node, QueryGraph, Var, Vocabulary, read_query};
use crate::refusal::Refusal;

/// What conversion knows beyond the query.
#[derive(Clone, Copy, Default)]
pub struct Context<'a> {
    /// The graph that the program will run on; without one, names come from IRIs and nothing is left out.
    pub kg: Option<&'a dyn Kg>,
    /// The data set's topic entities in order of mention; may be empty.
    pub topics: &'a [Term],
    /// Where the program's exclusions are dropped when it runs (rule R7).
    pub exclude: ExcludeWhen,
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

/// Converts a gold query into a program.
///
/// # Errors
/// The reason for which no program of the thirteen tools says exactly this.
pub fn convert(query: &spargebra::Query, context: &Context<'_>) -> Result<GoldProgram, Refusal> {
    let vocabulary = Vocabulary::new(context.kg);
    let unlimited = context.kg.and_then(|kg| limit::unlimited(kg, query));
    let query = unlimited.as_ref().unwrap_or(query);
    let graph = graph_in(query, context, &vocabulary)?;
    let names = Names {
        kg: context.kg,
        vocabulary: &vocabulary,
    };
    let mut without = BTreeSet::new();
    let strict = program(&graph, context, names, &without, false);
    let Some(kg) = context.kg else {
        return strict.and_then(|made| checked(made.program));
    };
    let mut trial = Trial {
        kg,
        graph: &graph,
        context,
        names,
        verbatim: false,
    };
    let mut best = strict?;
    let Some(mut result) = trial
        .run(&best.program)
        .or_else(|| trial.repair(&mut best, &mut without))
    else {
        return checked(best.program);
    };
    if !result.holds(kg, &best.checks)? {
        // Dates are written as short as they can be; where that says too much, as the query writes them.
        trial.verbatim = true;
        best = trial.program(&without).ok_or(Refusal::ComparisonDiffers)?;
        result = trial.run(&best.program).ok_or(Refusal::ComparisonDiffers)?;
        if !result.holds(kg, &best.checks)? {
            return Err(Refusal::ComparisonDiffers);
        }
    }
    // What is left out, or dropped on the way, makes sets smaller than what the query says.
    let whole = without.is_empty() && context.exclude != ExcludeWhen::EveryStep;
    let passed = if whole {
        passed(kg, &best, &result)
    } else {
        Vec::new()
    };
    let residue = Residue {
        kg,
        vocabulary: &vocabulary,
        graph: &graph,
        exclude: context.exclude,
        passed,
    };
    let exclude = residue.check(&best.alternatives, &result.value)?;
    if let Some(counted) = &graph.rows
        && !rows::differ_in_nothing(kg, query, counted)?
    {
        return Err(Refusal::Aggregate);
    }
    let Made {
        program: mut best,
        spares,
        ..
    } = best;
    if spares.iter().any(|spare| !without.contains(spare)) {
        trial.shorten(&mut best, &result.value, without, spares);
    }
    for term in exclude {
        if !best.exclude.contains(&term) {
            best.exclude.push(term);
        }
    }
    checked(best)
}

/// The sets that a program passed at variables of its query. Each holds whatever the variable is in a solution, and with alternatives one
/// variable has several.
fn passed(kg: &dyn Kg, made: &Made, ran: &Ran) -> Vec<(Var, EntSet)> {
    if made.alternatives.len() != 1
        || made
            .alternatives
            .iter()
            .any(|group| !group.unions.is_empty())
    {
        return Vec::new();
    }
    let set = |arg: &Arg| {
        exact::Run {
            kg,
            variables: &ran.variables,
        }
        .set(arg)
    };
    made.sets
        .iter()
        .filter_map(|(var, arg)| Some((*var, set(arg)?)))
        .collect()
}

/// The graph of a gold query as programs are made from it: predicates grounded, and without what says nothing on the graph at hand.
///
/// # Errors
/// The reason for which there is none.
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

/// Looks for what a program can do without on its graph.
struct Trial<'a> {
    kg: &'a dyn Kg,
    graph: &'a QueryGraph,
    context: &'a Context<'a>,
    names: Names<'a>,
    verbatim: bool,
}

/// A program and what has to be known about it.
struct Made {
    program: GoldProgram,
    /// What could be left out of it.
    spares: Vec<Spare>,
    /// What its comparisons are held to.
    checks: Vec<Check>,
    /// The groups whose answers it unites.
    alternatives: Vec<Group>,
    /// The variables of the query whose sets it passes on the way.
    sets: Vec<(Var, Arg)>,
}

/// What a program gave.
struct Ran {
    value: Value,
    variables: Vec<Value>,
}

impl Ran {
    fn holds(&self, kg: &dyn Kg, checks: &[Check]) -> Result<bool, Refusal> {
        exact::Run {
            kg,
            variables: &self.variables,
        }
        .holds(checks)
    }
}

impl Trial<'_> {
    /// What a program gives, relation lists skipped.
    fn run(&self, program: &GoldProgram) -> Option<Ran> {
        let calls: Vec<Call> = program
            .calls
            .iter()
            .filter(|call| call.tool != Tool::GetRelation)
            .cloned()
            .collect();
        // What stands outside of the answer only is left to verification; what is dropped at every step changes the sets on the way.
        let nodes = program
            .exclude
            .iter()
            .filter(|_| self.context.exclude == ExcludeWhen::EveryStep)
            .filter_map(|term| self.kg.find(term));
        let exclude = Exclude {
            nodes: nodes.collect(),
            when: self.context.exclude,
        };
        let options = ExecOptions {
            max_steps: calls.len(),
            lists: false,
            exclude,
            ..ExecOptions::default()
        };
        let mut session = Session::new(self.kg, "", Linked::default(), &[], options).ok()?;
        let value = run_program(&mut session, &calls).ok()?;
        let assigned = session
            .steps()
            .iter()
            .filter_map(|step| match &step.observation {
                Observation::Value(value) => Some(value.clone()),
                Observation::Relations(_) | Observation::Answer(_) => None,
            });
        Some(Ran {
            value,
            variables: assigned.collect(),
        })
    }

    fn program(&self, without: &BTreeSet<Spare>) -> Option<Made> {
        program(self.graph, self.context, self.names, without, self.verbatim).ok()
    }

    /// A program that cannot run may hold an alternative that leads nowhere here, or an interval that nothing bears: without it, it means
    /// the same.
    fn repair(&self, best: &mut Made, without: &mut BTreeSet<Spare>) -> Option<Ran> {
        let mut idle = Vec::new();
        dispensable(&self.graph.group, &mut idle);
        if self.graph.form == Form::Ask {
            // What a judgement needs one value of may have several: another one of the query's edges may do, or narrowing first.
            let mut fewer = BTreeSet::new();
            for kind in [JudgementKind::Compared, JudgementKind::Within] {
                let orders: Vec<usize> = self
                    .graph
                    .group
                    .edges
                    .iter()
                    .map(|edge| edge.order)
                    .rev()
                    .collect();
                for order in orders {
                    fewer.insert(Spare::Judgement(order, kind));
                    if let Some(made) = self.program(&fewer)
                        && let Some(result) = self.run(&made.program)
                        && result.holds(self.kg, &made.checks) == Ok(true)
                    {
                        *best = made;
                        *without = fewer;
                        return Some(result);
                    }
                }
            }
        }
        for spare in idle {
            let fewer = BTreeSet::from([spare]);
            if let Some(made) = self.program(&fewer)
                && let Some(result) = self.run(&made.program)
            {
                *best = made;
                *without = fewer;
                return Some(result);
            }
        }
        None
    }

    /// Leaves out what does not change the result, beginning with `spares`.
    fn shorten(
        &self,
        best: &mut GoldProgram,
        result: &Value,
        mut without: BTreeSet<Spare>,
        spares: Vec<Spare>,
    ) {
        // Everything at once is the common case; leaving something out can bring up more to leave out.
        let mut all: BTreeSet<Spare> = without.iter().cloned().chain(spares).collect();
        while let Some(Made {
            program: shorter,
            spares,
            ..
        }) = self.program(&all)
        {
            let before = all.len();
            all.extend(spares);
            if all.len() == before {
                if shorter.calls.len() < best.calls.len()
                    && self.run(&shorter).is_some_and(|ran| ran.value == *result)
                {
                    *best = shorter;
                    return;
                }
                break;
            }
        }
        let mut tried = without.clone();
        loop {
            let Some(made) = self.program(&without) else {
                return;
            };
            let Some(spare) = made
                .spares
                .into_iter()
                .find(|spare| tried.insert(spare.clone()))
            else {
                return;
            };
            without.insert(spare.clone());
            match self.program(&without) {
                Some(Made {
                    program: shorter, ..
                }) if shorter.calls.len() < best.calls.len()
                    && self.run(&shorter).is_some_and(|ran| ran.value == *result) =>
                {
                    *best = shorter;
                }
                _ => {
                    without.remove(&spare);
                }
            }
        }
    }
}

/// Alternatives and intervals of a group.
fn dispensable(group: &Group, into: &mut Vec<Spare>) {
    for edge in group.edges.iter().filter(|edge| edge.steps.len() > 1) {
        into.extend(
            edge.steps
                .iter()
                .map(|step| Spare::Step(edge.order, step.clone())),
        );
    }
    into.extend(
        group
            .intervals
            .iter()
            .filter_map(|interval| interval.node.var())
            .map(Spare::Interval),
    );
    for branch in group.unions.iter().flatten() {
        into.extend(branch.edges.first().map(|edge| Spare::Branch(edge.order)));
        dispensable(branch, into);
    }
}

fn checked(program: GoldProgram) -> Result<GoldProgram, Refusal> {
    if program.calls.len() > MAX_STEPS {
        Err(Refusal::TooLong)
    } else {
        Ok(program)
    }
}

/// One program, strict but for what it is to do without.
fn program(
    graph: &QueryGraph,
    context: &Context<'_>,
    names: Names<'_>,
    without: &BTreeSet<Spare>,
    verbatim: bool,
) -> Result<Made, Refusal> {
    let mut group = graph.group.clone();
    prune(&mut group, without);
    let answer = graph.form.answer();
    let mut compiler = Compiler::new(names, context.topics, without, answer);
    compiler.verbatim = verbatim;
    compiler.aggregated = graph.aggregated;
    compiler.key.clone_from(&graph.key);
    let mut unions = !group.unions.is_empty();
    let mut alternatives = Vec::new();
    let result = match graph.form {
        Form::Ask => ask::ask(&mut compiler, &group)?,
        Form::Select(var) | Form::Count(var) => {
            alternatives = union::multiply(
                group.clone(),
                answer,
                graph.extreme.map(|(var, _)| var),
                context.topics,
            )?;
            unions |= alternatives.len() > 1;
            let mut sets = Vec::new();
            for alternative in &alternatives {
                if matches!(graph.form, Form::Count(_))
                    && !union::is_connected(alternative, var, context.topics)
                {
                    return Err(Refusal::Disconnected);
                }
                sets.push(compiler.select(alternative, var, graph.extreme)?);
            }
            let set = compiler.combine(Tool::Union, sets);
            if matches!(graph.form, Form::Count(_)) {
                compiler.emit(Tool::Count, vec![set])
            } else {
                set
            }
        }
    };
    compiler.emit(Tool::End, vec![result]);
    let spares = std::mem::take(&mut compiler.spares);
    let sets = std::mem::take(&mut compiler.sets).into_iter().collect();
    let (calls, classes, checks) = (compiler.calls, compiler.classes, compiler.checks);
    let literals = literals(&calls);
    let mut constants = constants(&group);
    for term in compiler.found {
        if !constants.contains(&term) {
            constants.push(term);
        }
    }
    let hops = answer
        .and_then(|var| View::new(&group, context.topics, None).best(var, None))
        .map_or(1, |start| start.distance);
    let exclude = group
        .differ
        .iter()
        .filter(|(var, _)| Some(*var) == answer)
        .map(|(_, term)| term.clone())
        .collect();
    let shape = shape(graph, &group, &calls, unions).to_owned();
    let hops = u32::try_from(hops).unwrap_or(u32::MAX);
    let program = GoldProgram {
        calls,
        exclude,
        shape,
        hops,
        constants,
        literals,
        classes,
    };
    Ok(Made {
        program,
        spares,
        checks,
        alternatives,
        sets,
    })
}

fn prune(group: &mut Group, without: &BTreeSet<Spare>) {
    if without.is_empty() {
        return;
    }
    group.classes.retain(|(node, class)| {
        node.var()
            .is_none_or(|var| !without.contains(&Spare::Class(var, class.clone())))
    });
    group.intervals.retain(|interval| {
        interval
            .node
            .var()
            .is_none_or(|var| !without.contains(&Spare::Interval(var)))
    });
    for edge in &mut group.edges {
        let order = edge.order;
        edge.steps
            .retain(|step| !without.contains(&Spare::Step(order, step.clone())));
    }
    for branches in &mut group.unions {
        branches.retain(|branch| {
            branch
                .edges
                .first()
                .is_none_or(|edge| !without.contains(&Spare::Branch(edge.order)))
        });
        branches
            .iter_mut()
            .for_each(|branch| prune(branch, without));
    }
}

fn literals(calls: &[Call]) -> Vec<Literal> {
    let mut found = Vec::new();
    for arg in calls
        .iter()
        .filter(|call| call.tool != Tool::GetCandidateEntity)
        .flat_map(|call| &call.args)
    {
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
    placed
        .into_iter()
        .filter(|(_, iri)| seen.insert(iri.clone()))
        .map(|(_, iri)| Term::Iri(iri))
        .collect()
}

fn shape(graph: &QueryGraph, group: &Group, calls: &[Call], unions: bool) -> &'static str {
    use kg::value::Extreme;
    let uses = |tool: Tool| calls.iter().any(|call| call.tool == tool);
    match (graph.form, graph.extreme) {
        (Form::Ask, _) => "ask",
        (Form::Count(_), _) => "count",
        (Form::Select(var), Some(_)) if group.values.iter().any(|(known, _)| *known == var) => {
            "compare"
        }
        (Form::Select(_), Some((_, Extreme::Max))) => "argmax",
        (Form::Select(_), Some((_, Extreme::Min))) => "argmin",
        (Form::Select(_), None) if unions || uses(Tool::Union) => "union",
        (Form::Select(_), None) if !group.intervals.is_empty() => "interval",
        (Form::Select(_), None) if !group.comparisons.is_empty() || !group.ordered.is_empty() => {
            "filter"
        }
        (Form::Select(_), None) if constants(group).len() > 1 => "star",
        (Form::Select(_), None) if constants(group).is_empty() => "class",
        (Form::Select(_), None) => "chain",
    }
}
