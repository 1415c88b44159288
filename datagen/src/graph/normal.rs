//! Normal form of a query graph: one number per variable, constants in place of variables with a
//! single possible value, bounds paired into intervals, single-edge unions folded into edges,
//! repeated blocks folded into extremes.

use std::collections::{BTreeSet, HashMap};

use kg::spargebra::algebra::Expression;
use kg::term::Term;
use kg::value::Op;

use super::algebra;
use super::extreme_block;
use super::intervals::fold_bounds;
use super::query_graph::{
    Comparison, Edge, GraphNode, PathStep, PatternGroup, QueryForm, QueryGraph, Var,
};
use super::reader::PatternReader;
use super::rename::{rename, substitute};
use super::vocabulary::Vocabulary;
use crate::refusal::Refusal;

/// Normalises a query graph that was just read.
pub(super) fn normalise(
    reader: &PatternReader<'_>,
    mut graph: QueryGraph,
) -> Result<QueryGraph, Refusal> {
    let aliases = representatives(&reader.aliases);
    let new_name = |var: Var| aliases.get(&var).copied().unwrap_or(var);
    graph.form = match graph.form {
        QueryForm::Select(var) => QueryForm::Select(new_name(var)),
        QueryForm::Count(var) => QueryForm::Count(new_name(var)),
        QueryForm::Ask => QueryForm::Ask,
    };
    graph.extreme = graph.extreme.map(|(var, extreme)| (new_name(var), extreme));
    graph.key = graph.key.map(|key| algebra::renumber(&key, &new_name));
    let answer = graph.form.answer();
    let folding = Folding {
        new_name: &new_name,
        answer,
        vocabulary: reader.vocabulary,
    };
    folding.fold(&mut graph.group, &answer.into_iter().collect())?;
    fold_blocks(&mut graph, &folding)?;
    let computed = |var: Var| reader.derived.contains_key(&var);
    let extreme = graph.extreme.map(|(var, _)| var);
    if answer.is_some_and(computed) || extreme.is_some_and(computed) {
        return Err(Refusal::Filter);
    }
    let used = |var: Var| graph.group.mentions(var) || answer == Some(var) || extreme == Some(var);
    if optional(&graph.group).into_iter().map(new_name).any(used) {
        return Err(Refusal::OptionalAnswer);
    }
    Ok(graph)
}

/// Replaces an inner MAX or MIN over a copy of the outer pattern by the graph's extreme.
fn fold_blocks(graph: &mut QueryGraph, folding: &Folding<'_>) -> Result<(), Refusal> {
    let inner_folding = Folding {
        answer: None,
        ..*folding
    };
    for block in std::mem::take(&mut graph.group.blocks) {
        let mut repeated = block.group;
        inner_folding.fold(&mut repeated, &BTreeSet::new())?;
        let (inner, outer) = (
            (folding.new_name)(block.inner),
            (folding.new_name)(block.var),
        );
        if graph.extreme.is_some() || !extreme_block::repeats(&repeated, &graph.group, inner, outer)
        {
            return Err(Refusal::Aggregate);
        }
        graph.extreme = Some((outer, block.extreme));
        graph.aggregated = true;
    }
    Ok(())
}

/// One representative for every class of equal variables.
fn representatives(aliases: &[(Var, Var)]) -> HashMap<Var, Var> {
    fn find(to: &HashMap<Var, Var>, mut var: Var) -> Var {
        while let Some(&next) = to.get(&var) {
            var = next;
        }
        var
    }
    let mut to: HashMap<Var, Var> = HashMap::new();
    for &(a, b) in aliases {
        let (a, b) = (find(&to, a), find(&to, b));
        if a != b {
            to.insert(a, b);
        }
    }
    to.keys().map(|&var| (var, find(&to, var))).collect()
}

/// What folding a group needs to know about the whole query.
#[derive(Clone, Copy)]
struct Folding<'a> {
    new_name: &'a dyn Fn(Var) -> Var,
    answer: Option<Var>,
    vocabulary: &'a Vocabulary,
}

impl Folding<'_> {
    /// Brings a group into normal form. `shared` are the variables that are also mentioned outside
    /// the group.
    fn fold(&self, group: &mut PatternGroup, shared: &BTreeSet<Var>) -> Result<(), Refusal> {
        rename(group, self.new_name);
        self.fold_branches(group, shared)?;
        let literals = take_literal_values(group)?;
        group.comparisons.extend(literals);
        self.exclude_literals(group);
        let constants = single_values(group, shared);
        substitute(group, &constants);
        // A variable with a literal value must have no other constraint: they would repeat or
        // contradict each other.
        let is_constrained = |var: &Var| {
            group.values.iter().any(|(known, _)| known == var)
                || group.labels.iter().any(|(known, _)| known == var)
                || group.comparisons.iter().any(|known| known.var == *var)
                || group.ordered.iter().any(|pair| pair.involves(*var))
                || group
                    .unions
                    .iter()
                    .flatten()
                    .any(|branch| branch.mentions(*var))
        };
        if constants.keys().any(is_constrained) {
            return Err(Refusal::Unsupported);
        }
        take_classes(group, self.vocabulary);
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
        fold_bounds(group)?;
        fold_unions(group);
        Ok(())
    }

    /// Folds the branches of a group's unions.
    fn fold_branches(
        &self,
        group: &mut PatternGroup,
        shared: &BTreeSet<Var>,
    ) -> Result<(), Refusal> {
        let mut unions = std::mem::take(&mut group.unions);
        for branch in unions.iter_mut().flatten() {
            rename(branch, self.new_name);
        }
        for i in 0..unions.len() {
            let mut outside = shared.clone();
            outside.extend(group.variables());
            for (j, branches) in unions.iter().enumerate() {
                if j != i {
                    outside.extend(branches.iter().flat_map(PatternGroup::variables));
                }
            }
            for branch in &mut unions[i] {
                self.fold(branch, &outside)?;
                if !branch.blocks.is_empty() {
                    return Err(Refusal::Aggregate);
                }
            }
        }
        group.unions = unions;
        Ok(())
    }

    /// A literal that the answer must not equal is excluded like an entity.
    fn exclude_literals(&self, group: &mut PatternGroup) {
        let excluded = |comparison: &Comparison| {
            Some(comparison.var) == self.answer && comparison.op == Op::Ne
        };
        for comparison in group.comparisons.extract_if(.., |known| excluded(known)) {
            let term = Term::Literal(comparison.value);
            group.differ.push((comparison.var, term));
        }
    }
}

/// Turns values that are a single literal into comparisons. A list of literals cannot become one.
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
                kept.push((var, terms.to_vec()));
            }
            _ => return Err(Refusal::Filter),
        }
    }
    group.values = kept;
    Ok(comparisons)
}

/// Variables with a single possible value; the answer and variables shared with other groups stay
/// variables.
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

/// Turns edges to a class into class constraints; the class may have been a variable until now.
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

/// A union of single edges between the same two nodes becomes one edge with alternatives, and a
/// union of comparisons of one variable becomes a choice.
fn fold_unions(group: &mut PatternGroup) {
    for branches in std::mem::take(&mut group.unions) {
        if let Some(edge) = alternatives(&branches) {
            group.edges.push(edge);
        } else if let Some(choice) = choice(&branches) {
            group.choices.push(choice);
        } else {
            group.unions.push(branches);
        }
    }
    group.edges.sort_by_key(|edge| edge.order);
}

/// The comparisons of a union whose branches each compare the same variable.
fn choice(branches: &[PatternGroup]) -> Option<(Var, Vec<Comparison>)> {
    let comparisons: Vec<Comparison> = branches
        .iter()
        .map(|branch| branch.only_comparison().cloned())
        .collect::<Option<_>>()?;
    let var = comparisons.first()?.var;
    comparisons
        .iter()
        .all(|comparison| comparison.var == var)
        .then_some((var, comparisons))
}

/// The edge of a union whose branches each join the same two nodes.
fn alternatives(branches: &[PatternGroup]) -> Option<Edge> {
    let mut whole: Option<Edge> = None;
    for branch in branches {
        let edge = branch.only_edge().filter(|edge| edge.predicate.is_none())?;
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

/// Variables that only OPTIONAL binds, in unions too.
fn optional(group: &PatternGroup) -> Vec<Var> {
    let inner = group.unions.iter().flatten().flat_map(optional);
    group.optional.iter().copied().chain(inner).collect()
}
