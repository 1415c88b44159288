//! Normal form of a group: one number a variable, constants in place of variables that can only be one, from/to halves folded into
//! intervals, single-edge unions folded into edges, repeated blocks folded into extremes.

use std::collections::{BTreeSet, HashMap};

use kg::spargebra::algebra::Expression;
use kg::term::{Literal, Term, XSD};
use kg::value::Op;

use super::read::PatternReader;
use super::{
    Comparison, Edge, GraphNode, IntervalBound, PathStep, PatternGroup, QueryForm, QueryGraph,
    TimeInterval, Var, Vocabulary, algebra, block,
};
use crate::refusal::Refusal;

/// Ends of the names of the two relations of an interval (rule R11).
const INTERVAL_ENDS: &[(&str, &str)] = &[
    (".from", ".to"),
    (".from_date", ".to_date"),
    (".start_date", ".end_date"),
];

pub(super) fn normalise(
    reader: &mut PatternReader<'_>,
    mut graph: QueryGraph,
) -> Result<QueryGraph, Refusal> {
    let aliases = representatives(&reader.aliases);
    let rename = |var: Var| aliases.get(&var).copied().unwrap_or(var);
    graph.form = match graph.form {
        QueryForm::Select(var) => QueryForm::Select(rename(var)),
        QueryForm::Count(var) => QueryForm::Count(rename(var)),
        QueryForm::Ask => QueryForm::Ask,
    };
    graph.extreme = graph.extreme.map(|(var, extreme)| (rename(var), extreme));
    graph.key = graph.key.map(|key| algebra::renumber(&key, &rename));
    let keep = graph.form.answer();
    fold(
        &mut graph.group,
        &rename,
        keep,
        &keep.into_iter().collect(),
        reader.vocabulary,
    )?;
    for inner in std::mem::take(&mut graph.group.blocks) {
        let mut repeated = inner.group;
        let inner_var = rename(inner.inner);
        fold(
            &mut repeated,
            &rename,
            None,
            &BTreeSet::new(),
            reader.vocabulary,
        )?;
        let outer_var = rename(inner.var);
        if graph.extreme.is_some() || !block::repeats(&repeated, &graph.group, inner_var, outer_var)
        {
            return Err(Refusal::Aggregate);
        }
        graph.extreme = Some((outer_var, inner.extreme));
        graph.aggregated = true;
    }
    let unconstrained = |var: &Var| reader.derived.contains_key(var);
    if keep.is_some_and(|var| unconstrained(&var))
        || graph.extreme.is_some_and(|(var, _)| unconstrained(&var))
    {
        return Err(Refusal::Filter);
    }
    let used = |var: Var| {
        uses(&graph.group, var)
            || keep == Some(var)
            || graph.extreme.is_some_and(|(extreme, _)| extreme == var)
    };
    if optional(&graph.group).into_iter().map(rename).any(used) {
        return Err(Refusal::OptionalAnswer);
    }
    Ok(graph)
}

/// One variable for every class of variables that are the same.
fn representatives(aliases: &[(Var, Var)]) -> HashMap<Var, Var> {
    let mut to: HashMap<Var, Var> = HashMap::new();
    for &(a, b) in aliases {
        let find = |mut var: Var| {
            while let Some(&next) = to.get(&var) {
                var = next;
            }
            var
        };
        let (a, b) = (find(a), find(b));
        if a != b {
            to.insert(a, b);
        }
    }
    let flat = |mut var: Var| {
        while let Some(&next) = to.get(&var) {
            var = next;
        }
        var
    };
    to.keys().map(|&var| (var, flat(var))).collect()
}

/// `keep` is the answer; `shared` are the variables that something outside the group speaks of too.
fn fold(
    group: &mut PatternGroup,
    rename: &dyn Fn(Var) -> Var,
    keep: Option<Var>,
    shared: &BTreeSet<Var>,
    vocabulary: &Vocabulary,
) -> Result<(), Refusal> {
    rename_group(group, rename);
    let mut unions = std::mem::take(&mut group.unions);
    unions
        .iter_mut()
        .flatten()
        .for_each(|branch| rename_group(branch, rename));
    for i in 0..unions.len() {
        let mut outside = shared.clone();
        outside.extend(spoken_of(group));
        let others = unions
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .flat_map(|(_, branches)| branches);
        outside.extend(others.flat_map(spoken_of));
        for branch in &mut unions[i] {
            fold(branch, rename, keep, &outside, vocabulary)?;
            if !branch.blocks.is_empty() {
                return Err(Refusal::Aggregate);
            }
        }
    }
    group.unions = unions;
    let literals = take_literal_values(group)?;
    group.comparisons.extend(literals);
    // A literal that the answer must not be is kept out as an entity is.
    let kept_out =
        |comparison: &Comparison| Some(comparison.var) == keep && comparison.op == Op::Ne;
    for comparison in group
        .comparisons
        .iter()
        .filter(|comparison| kept_out(comparison))
    {
        group
            .differ
            .push((comparison.var, Term::Literal(comparison.value.clone())));
    }
    group.comparisons.retain(|comparison| !kept_out(comparison));
    let constants = single_values(group, shared);
    substitute(group, &constants);
    // A variable that is one constant and something else beside is either contradictory or said twice.
    let said_twice = |var: &Var| {
        group.values.iter().any(|(known, _)| known == var)
            || group.labels.iter().any(|(known, _)| known == var)
            || group
                .comparisons
                .iter()
                .any(|comparison| comparison.var == *var)
            || group
                .ordered
                .iter()
                .any(|ordered| ordered.left == *var || ordered.right == *var)
            || group
                .unions
                .iter()
                .flatten()
                .any(|branch| uses(branch, *var))
    };
    if constants.keys().any(said_twice) {
        return Err(Refusal::Unsupported);
    }
    take_classes(group, vocabulary);
    for (a, b) in std::mem::take(&mut group.unequal) {
        match (constants.get(&a), constants.get(&b)) {
            (Some(term), None) => group.differ.push((b, term.clone())),
            (None, Some(term)) => group.differ.push((a, term.clone())),
            (None, None) => group.unequal.push((a, b)),
            (Some(_), Some(_)) => {}
        }
    }
    group.differ.sort();
    group.differ.dedup();
    fold_halves(group)?;
    fold_unions(group);
    Ok(())
}

fn rename_group(group: &mut PatternGroup, rename: &dyn Fn(Var) -> Var) {
    let node = |node: &mut GraphNode| {
        if let GraphNode::Var(var) = node {
            *var = rename(*var);
        }
    };
    for edge in &mut group.edges {
        node(&mut edge.subject);
        node(&mut edge.object);
        edge.predicate = edge.predicate.map(rename);
    }
    group.classes.iter_mut().for_each(|(at, _)| node(at));
    group
        .intervals
        .iter_mut()
        .for_each(|interval| node(&mut interval.node));
    group
        .halves
        .iter_mut()
        .for_each(|half| node(&mut half.node));
    group
        .comparisons
        .iter_mut()
        .for_each(|comparison| comparison.var = rename(comparison.var));
    group
        .values
        .iter_mut()
        .for_each(|(var, _)| *var = rename(*var));
    group
        .labels
        .iter_mut()
        .for_each(|(var, _)| *var = rename(*var));
    group
        .differ
        .iter_mut()
        .for_each(|(var, _)| *var = rename(*var));
    group
        .unequal
        .iter_mut()
        .for_each(|(a, b)| (*a, *b) = (rename(*a), rename(*b)));
    for ordered in &mut group.ordered {
        (ordered.left, ordered.right) = (rename(ordered.left), rename(ordered.right));
        ordered.test = algebra::renumber(&ordered.test, rename);
    }
    group
        .comparisons
        .iter_mut()
        .for_each(|comparison| comparison.test = algebra::renumber(&comparison.test, rename));
    group
        .tests
        .iter_mut()
        .for_each(|test| *test = algebra::renumber(test, rename));
    group.typed.iter_mut().for_each(|(at, _, _)| node(at));
    group
        .same
        .iter_mut()
        .for_each(|(a, b)| (*a, *b) = (rename(*a), rename(*b)));
}

/// A variable that can be one literal only is compared with it; lists of literals are beyond a comparison.
fn take_literal_values(group: &mut PatternGroup) -> Result<Vec<Comparison>, Refusal> {
    let mut comparisons = Vec::new();
    let mut kept = Vec::new();
    for (var, terms) in std::mem::take(&mut group.values) {
        match terms.as_slice() {
            [Term::Literal(value)] => {
                let (left, right) = (
                    Box::new(algebra::variable(var).into()),
                    Box::new(algebra::rdf_literal(value).into()),
                );
                comparisons.push(Comparison {
                    var,
                    op: Op::Eq,
                    value: value.clone(),
                    test: Expression::SameTerm(left, right),
                });
            }
            terms if terms.iter().all(|term| matches!(term, Term::Iri(_))) => {
                kept.push((var, terms.to_vec()))
            }
            _ => return Err(Refusal::Filter),
        }
    }
    group.values = kept;
    Ok(comparisons)
}

/// Variables that edges and annotations of a group speak of.
fn spoken_of(group: &PatternGroup) -> BTreeSet<Var> {
    let mut vars: BTreeSet<Var> = group
        .edges
        .iter()
        .flat_map(|edge| [edge.subject.var(), edge.object.var(), edge.predicate])
        .flatten()
        .collect();
    vars.extend(group.classes.iter().filter_map(|(node, _)| node.var()));
    vars.extend(
        group
            .intervals
            .iter()
            .filter_map(|interval| interval.node.var()),
    );
    vars.extend(group.halves.iter().filter_map(|half| half.node.var()));
    vars.extend(group.comparisons.iter().map(|comparison| comparison.var));
    vars.extend(group.values.iter().map(|(var, _)| *var));
    vars.extend(group.labels.iter().map(|(var, _)| *var));
    vars.extend(
        group
            .ordered
            .iter()
            .flat_map(|ordered| [ordered.left, ordered.right]),
    );
    vars.extend(group.unions.iter().flatten().flat_map(spoken_of));
    vars
}

/// Variables that can be one entity only; the answer and what is spoken of elsewhere stay variables.
fn single_values(group: &mut PatternGroup, shared: &BTreeSet<Var>) -> HashMap<Var, Term> {
    let mut constants = HashMap::new();
    group.values.retain(|(var, terms)| match terms.as_slice() {
        [term] if !shared.contains(var) && !constants.contains_key(var) => {
            constants.insert(*var, term.clone());
            false
        }
        _ => true,
    });
    constants
}

fn substitute(group: &mut PatternGroup, constants: &HashMap<Var, Term>) {
    if constants.is_empty() {
        return;
    }
    let node = |node: &mut GraphNode| {
        if let GraphNode::Var(var) = node
            && let Some(Term::Iri(iri)) = constants.get(var)
        {
            *node = GraphNode::Entity(iri.clone());
        }
    };
    for edge in &mut group.edges {
        node(&mut edge.subject);
        node(&mut edge.object);
    }
    group.classes.iter_mut().for_each(|(at, _)| node(at));
    group
        .intervals
        .iter_mut()
        .for_each(|interval| node(&mut interval.node));
    group
        .halves
        .iter_mut()
        .for_each(|half| node(&mut half.node));
    group.typed.iter_mut().for_each(|(at, _, _)| node(at));
    for test in &mut group.tests {
        *test = algebra::replace(test, &mut |old| {
            let known = constants
                .iter()
                .find(|(var, _)| algebra::variable(**var) == *old);
            known
                .and_then(|(_, term)| algebra::constant(term))
                .unwrap_or_else(|| old.clone().into())
        });
    }
    for branch in group.unions.iter_mut().flatten() {
        substitute(branch, constants);
    }
}

/// Edges whose end turned out to be a class.
fn take_classes(group: &mut PatternGroup, vocabulary: &Vocabulary) {
    let (mut classes, mut typed) = (Vec::new(), Vec::new());
    group
        .edges
        .retain(|edge| match (edge.steps.as_slice(), &edge.object) {
            ([step], GraphNode::Entity(class))
                if step.forward && vocabulary.is_type(&step.relation) =>
            {
                classes.push((edge.subject.clone(), class.clone()));
                typed.push((edge.subject.clone(), step.relation.clone(), class.clone()));
                false
            }
            _ => true,
        });
    group.classes.extend(classes);
    group.typed.extend(typed);
}

/// Pairs the halves of the from/to pattern.
fn fold_halves(group: &mut PatternGroup) -> Result<(), Refusal> {
    let mut halves = std::mem::take(&mut group.halves);
    while let Some(half) = halves.pop() {
        let place = halves
            .iter()
            .position(|other| other.node == half.node && pair(&half, other).is_some());
        let Some(other) = place.map(|place| halves.remove(place)) else {
            return Err(Refusal::Minus);
        };
        let Some((from, to)) = pair(&half, &other) else {
            return Err(Refusal::Minus);
        };
        let Some(value) = span(&from.value, &to.value) else {
            return Err(Refusal::Filter);
        };
        let (starts, ends) = (from.test.clone(), to.test.clone());
        let (from, to) = (from.relation.clone(), to.relation.clone());
        group.intervals.insert(
            0,
            TimeInterval {
                node: half.node.clone(),
                from,
                to,
                value,
                starts,
                ends,
            },
        );
    }
    Ok(())
}

fn pair<'h>(
    a: &'h IntervalBound,
    b: &'h IntervalBound,
) -> Option<(&'h IntervalBound, &'h IntervalBound)> {
    let (from, to) = match (a.op, b.op) {
        (Op::Le, Op::Ge) => (a, b),
        (Op::Ge, Op::Le) => (b, a),
        _ => return None,
    };
    let stem = |ends: &&(&str, &str)| {
        from.relation
            .strip_suffix(ends.0)
            .is_some_and(|stem| to.relation.strip_suffix(ends.1) == Some(stem))
    };
    INTERVAL_ENDS
        .iter()
        .any(|ends| stem(&ends))
        .then_some((from, to))
}

/// The year, month or day that lasts from `start` (compared with the end) to `end` (compared with the start).
fn span(end: &Literal, start: &Literal) -> Option<Literal> {
    let (start, end) = (day(&start.lexical)?, day(&end.lexical)?);
    let (year, month) = (&start[..start.len() - 6], &start[..start.len() - 3]);
    if start == end {
        return Some(Literal::plain(start));
    }
    if end == format!("{year}-12-31") && start == format!("{year}-01-01") {
        return Some(Literal::plain(year));
    }
    let last = ["28", "29", "30", "31"]
        .iter()
        .any(|last| end == format!("{month}-{last}"));
    (last && start.ends_with("-01")).then(|| Literal::plain(month))
}

/// The date part of a date or date-time.
fn day(lexical: &str) -> Option<String> {
    let date = lexical.split('T').next()?;
    let digits: Vec<&str> = date.rsplitn(3, '-').collect();
    match digits.as_slice() {
        [day, month, year] if day.len() == 2 && month.len() == 2 && year.len() >= 4 => {
            Some(date.to_owned())
        }
        _ => None,
    }
}

/// A union of single edges between the same two nodes is one edge with alternatives.
fn fold_unions(group: &mut PatternGroup) {
    let mut kept = Vec::new();
    for branches in std::mem::take(&mut group.unions) {
        match alternatives(&branches) {
            Some(edge) => group.edges.push(edge),
            None => kept.push(branches),
        }
    }
    group.unions = kept;
    take_choices(group);
    group.edges.sort_by_key(|edge| edge.order);
}

/// A union of comparisons of one variable is a choice.
fn take_choices(group: &mut PatternGroup) {
    let choice = |branches: &Vec<PatternGroup>| {
        let mut comparisons = Vec::new();
        for branch in branches {
            let [comparison] = branch.comparisons.as_slice() else {
                return None;
            };
            if *branch
                != (PatternGroup {
                    comparisons: branch.comparisons.clone(),
                    ..PatternGroup::default()
                })
            {
                return None;
            }
            comparisons.push(comparison.clone());
        }
        let var = comparisons.first()?.var;
        comparisons
            .iter()
            .all(|comparison| comparison.var == var)
            .then_some((var, comparisons))
    };
    group.choices.extend(group.unions.iter().filter_map(choice));
    group.unions.retain(|branches| choice(branches).is_none());
}

fn alternatives(branches: &[PatternGroup]) -> Option<Edge> {
    let mut whole: Option<Edge> = None;
    for branch in branches {
        let [edge] = branch.edges.as_slice() else {
            return None;
        };
        if edge.predicate.is_some()
            || *branch
                != (PatternGroup {
                    edges: branch.edges.clone(),
                    ..PatternGroup::default()
                })
        {
            return None;
        }
        match &mut whole {
            None => whole = Some(edge.clone()),
            Some(whole) if (&whole.subject, &whole.object) == (&edge.subject, &edge.object) => {
                whole.steps.extend(edge.steps.iter().cloned());
            }
            Some(whole) if (&whole.subject, &whole.object) == (&edge.object, &edge.subject) => {
                whole.steps.extend(edge.steps.iter().map(|step| PathStep {
                    relation: step.relation.clone(),
                    forward: !step.forward,
                }));
            }
            Some(_) => return None,
        }
    }
    whole
}

/// Whether the group says anything about a variable.
pub(crate) fn uses(group: &PatternGroup, var: Var) -> bool {
    let node = |node: &GraphNode| node.var() == Some(var);
    group
        .edges
        .iter()
        .any(|edge| node(&edge.subject) || node(&edge.object) || edge.predicate == Some(var))
        || group
            .comparisons
            .iter()
            .any(|comparison| comparison.var == var)
        || group.choices.iter().any(|(known, _)| *known == var)
        || group.intervals.iter().any(|interval| node(&interval.node))
        || group.classes.iter().any(|(at, _)| node(at))
        || group.values.iter().any(|(known, _)| *known == var)
        || group.labels.iter().any(|(known, _)| *known == var)
        || group
            .ordered
            .iter()
            .any(|ordered| ordered.left == var || ordered.right == var)
        || group
            .unions
            .iter()
            .flatten()
            .any(|branch| uses(branch, var))
}

fn optional(group: &PatternGroup) -> Vec<Var> {
    let inner = group.unions.iter().flatten().flat_map(optional);
    group.optional.iter().copied().chain(inner).collect()
}

/// A literal as calls write it: numbers and dates bare, everything else as plain text.
#[must_use]
pub(crate) fn bare(literal: &Literal) -> Literal {
    let local = literal
        .datatype
        .as_deref()
        .and_then(|iri| iri.strip_prefix(XSD));
    let lexical = match local {
        Some("date" | "dateTime" | "gYear" | "gYearMonth" | "dateTimeStamp") => {
            let date = literal
                .lexical
                .split('T')
                .next()
                .unwrap_or(&literal.lexical);
            without_zone(date)
        }
        _ => &literal.lexical,
    };
    Literal::plain(lexical)
}

/// A date without its time zone, `-08:00` or `Z`.
fn without_zone(date: &str) -> &str {
    let date = date.strip_suffix('Z').unwrap_or(date);
    match date
        .len()
        .checked_sub(6)
        .and_then(|at| date.get(at..).map(|zone| (at, zone)))
    {
        Some((at, zone))
            if zone.starts_with(['-', '+']) && zone.as_bytes().get(3) == Some(&b':') =>
        {
            &date[..at]
        }
        _ => date,
    }
}
