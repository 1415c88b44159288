//! One program of a query graph.

use std::collections::BTreeSet;

use kg::term::{Literal, Term};
use kg::value::Extreme;
use toolbox::call::{Arg, Call, Returns, Target, Tool};
use toolbox::limits::MAX_STEPS;

use super::ask;
use super::compile::{Compiler, OptionalConstraint};
use super::exact::ComparisonCheck;
use super::names::CallNames;
use super::union;
use super::view::TreeView;
use crate::graph::{GraphNode, PatternGroup, QueryForm, QueryGraph, Var};
use crate::refusal::Refusal;

/// A program made from a gold query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldProgram {
    /// Calls with full names, `ans = end(..)` last.
    pub calls: Vec<Call>,
    /// Constants that the query excludes from the answer by `!=` (rule R7).
    pub exclude: Vec<Term>,
    /// The coarse shape: `ask`, `compare`, `argmax`, `argmin`, `count`, `union`, `interval`,
    /// `star`, `filter`, `class`, `chain`.
    pub shape: String,
    /// Edges from the primary start to the answer.
    pub hops: u32,
    /// Entity constants in order of mention: the linked entities if the data set names no topics.
    pub constants: Vec<Term>,
    /// Literals that calls compare with.
    pub literals: Vec<Literal>,
    /// Classes that calls name.
    pub classes: Vec<Term>,
}

impl GoldProgram {
    /// Whether the answer is a table.
    #[must_use]
    pub fn makes_table(&self) -> bool {
        let Some(Arg::Var(answer)) = self.calls.last().and_then(|end| end.args.first()) else {
            return false;
        };
        let mut tables = BTreeSet::new();
        for call in &self.calls {
            let Target::Var(made) = call.target else {
                continue;
            };
            let reads = |arg: &Arg| matches!(arg, Arg::Var(index) if tables.contains(index));
            let table = call.tool.signature().returns == Returns::Table
                || call.tool == Tool::Union && call.args.iter().any(reads);
            if table {
                tables.insert(made);
            }
        }
        tables.contains(answer)
    }

    /// Refuses a program that is longer than an agent's step limit.
    pub(super) fn within_limit(self) -> Result<Self, Refusal> {
        if self.calls.len() > MAX_STEPS {
            Err(Refusal::TooLong)
        } else {
            Ok(self)
        }
    }
}

/// A program before it was tried on a graph, with the facts that compiling found.
pub(super) struct Draft {
    pub program: GoldProgram,
    /// Constraints that could be left out.
    pub optional: Vec<OptionalConstraint>,
    /// Requirements on the comparisons.
    pub checks: Vec<ComparisonCheck>,
    /// The groups whose answers are united.
    pub alternatives: Vec<PatternGroup>,
    /// The program's intermediate sets, by query variable.
    pub sets: Vec<(Var, Arg)>,
}

/// The input of a draft.
#[derive(Clone, Copy)]
pub(super) struct DraftSource<'a> {
    pub graph: &'a QueryGraph,
    pub names: CallNames<'a>,
    pub topics: &'a [Term],
    /// Whether literals are written as in the query, and not as short as possible.
    pub verbatim: bool,
}

impl DraftSource<'_> {
    /// Compiles the graph, leaving out only the constraints in `without`.
    pub(super) fn draft(&self, without: &BTreeSet<OptionalConstraint>) -> Result<Draft, Refusal> {
        let Self { graph, topics, .. } = *self;
        let mut group = graph.group.clone();
        prune(&mut group, without);
        let answer = graph.form.answer();
        let mut compiler = Compiler::new(self.names, topics, without, answer);
        compiler.verbatim = self.verbatim;
        compiler.aggregated = graph.aggregated;
        compiler.key.clone_from(&graph.key);
        let mut unions = !group.unions.is_empty();
        let mut alternatives = Vec::new();
        let result = match graph.form {
            QueryForm::Ask => ask::ask(&mut compiler, &group)?,
            QueryForm::Select(var) | QueryForm::Count(var) => {
                alternatives = union::multiply(
                    group.clone(),
                    answer,
                    graph.extreme.map(|(var, _)| var),
                    topics,
                )?;
                unions |= alternatives.len() > 1;
                let mut sets = Vec::new();
                for alternative in &alternatives {
                    if matches!(graph.form, QueryForm::Count(_))
                        && !union::is_connected(alternative, var, topics)
                    {
                        return Err(Refusal::Disconnected);
                    }
                    sets.push(compiler.select(alternative, var, graph.extreme)?);
                }
                let set = compiler.combine(Tool::Union, sets);
                if matches!(graph.form, QueryForm::Count(_)) {
                    compiler.emit(Tool::Count, vec![set])
                } else {
                    set
                }
            }
        };
        compiler.emit(Tool::End, vec![result]);
        let optional = std::mem::take(&mut compiler.optional);
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
            .and_then(|var| TreeView::new(&group, topics).best(var, None))
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
        Ok(Draft {
            program,
            optional,
            checks,
            alternatives,
            sets,
        })
    }
}

/// Removes constraints from a group.
fn prune(group: &mut PatternGroup, without: &BTreeSet<OptionalConstraint>) {
    if without.is_empty() {
        return;
    }
    group.classes.retain(|(node, class)| {
        node.var()
            .is_none_or(|var| !without.contains(&OptionalConstraint::Class(var, class.clone())))
    });
    group.intervals.retain(|interval| {
        interval
            .node
            .var()
            .is_none_or(|var| !without.contains(&OptionalConstraint::Interval(var)))
    });
    for edge in &mut group.edges {
        let order = edge.order;
        edge.steps
            .retain(|step| !without.contains(&OptionalConstraint::Step(order, step.clone())));
    }
    for branches in &mut group.unions {
        branches.retain(|branch| {
            branch
                .edges
                .first()
                .is_none_or(|edge| !without.contains(&OptionalConstraint::Branch(edge.order)))
        });
        branches
            .iter_mut()
            .for_each(|branch| prune(branch, without));
    }
}

/// The literals that calls compare with.
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

/// The entities of a group in order of mention; those of VALUES come last.
fn constants(group: &PatternGroup) -> Vec<Term> {
    let mut placed: Vec<(usize, String)> = Vec::new();
    let mut open = vec![group];
    while let Some(group) = open.pop() {
        for edge in &group.edges {
            for node in [&edge.subject, &edge.object] {
                if let GraphNode::Entity(iri) = node {
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
    // The sort is stable, so values keep their order after the edges.
    placed.sort_by_key(|(order, _)| *order);
    let mut seen = BTreeSet::new();
    placed
        .into_iter()
        .filter(|(_, iri)| seen.insert(iri.clone()))
        .map(|(_, iri)| Term::Iri(iri))
        .collect()
}

/// The coarse shape of a program.
fn shape(graph: &QueryGraph, group: &PatternGroup, calls: &[Call], unions: bool) -> &'static str {
    let uses = |tool: Tool| calls.iter().any(|call| call.tool == tool);
    match (graph.form, graph.extreme) {
        (QueryForm::Ask, _) => "ask",
        (QueryForm::Count(_), _) => "count",
        (QueryForm::Select(var), Some(_))
            if group.values.iter().any(|(known, _)| *known == var) =>
        {
            "compare"
        }
        (QueryForm::Select(_), Some((_, Extreme::Max))) => "argmax",
        (QueryForm::Select(_), Some((_, Extreme::Min))) => "argmin",
        (QueryForm::Select(_), None) if unions || uses(Tool::Union) => "union",
        (QueryForm::Select(_), None) if !group.intervals.is_empty() => "interval",
        (QueryForm::Select(_), None)
            if !group.comparisons.is_empty() || !group.ordered.is_empty() =>
        {
            "filter"
        }
        (QueryForm::Select(_), None) if constants(group).len() > 1 => "star",
        (QueryForm::Select(_), None) if constants(group).is_empty() => "class",
        (QueryForm::Select(_), None) => "chain",
    }
}
