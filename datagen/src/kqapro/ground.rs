//! Names as nodes. In KQA Pro, entities and concepts are referred to by name. With a graph, a name
//! stands for the nodes with that name; without a graph it stays a label that the program looks up.

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use kg::term::{RDFS_LABEL, Term};
use kg::{Kg, PatternPart, operands, parts};

use crate::algebra::{iri, join, values};

/// The nodes with exactly this name.
pub(super) fn named(kg: &dyn Kg, name: &str) -> Vec<Term> {
    kg.by_label(name)
        .into_iter()
        .filter(|&node| kg.label(node).as_deref() == Some(name))
        .map(|node| kg.term(node))
        .collect()
}

/// Replaces label triples by the nodes with the label. A variable with one name and one node
/// becomes that node everywhere; any other gets its nodes by VALUES. Unknown names stay and are
/// refused later.
pub(super) fn ground(query: &mut Query, kg: Option<&dyn Kg>) {
    let (Some(kg), Query::Select { pattern, .. } | Query::Ask { pattern, .. }) = (kg, query) else {
        return;
    };
    let mut uses = NameUses::default();
    walk(pattern, &mut |part| uses.collect(part));
    let mut nodes: BTreeMap<&str, Vec<Term>> = BTreeMap::new();
    for name in uses.names.values().flatten() {
        nodes.entry(name).or_insert_with(|| named(kg, name));
    }
    let mut fixed: BTreeMap<&str, &str> = BTreeMap::new();
    for (variable, names) in &uses.names {
        if let (Some(name), 1) = (names.first(), names.len())
            && let [Term::Iri(only)] = nodes[name.as_str()].as_slice()
            && !uses.kept.contains(variable)
        {
            fixed.insert(variable, only);
        }
    }
    walk(pattern, &mut |part| {
        let GraphPattern::Bgp { patterns } = part else {
            return;
        };
        let mut given = Vec::new();
        patterns.retain(|triple| match label(triple) {
            Some((variable, _)) if fixed.contains_key(variable) => false,
            Some((variable, name)) if !nodes[name].is_empty() => {
                given.push(values(variable, &nodes[name]));
                false
            }
            _ => true,
        });
        for triple in patterns.iter_mut() {
            for end in [&mut triple.subject, &mut triple.object] {
                if let TermPattern::Variable(variable) = end
                    && let Some(only) = fixed.get(variable.as_str())
                {
                    *end = iri(only).into();
                }
            }
        }
        let rest = std::mem::replace(
            part,
            GraphPattern::Bgp {
                patterns: Vec::new(),
            },
        );
        *part = given.into_iter().fold(rest, join);
    });
}

/// The variable and the label of a label triple.
fn label(triple: &TriplePattern) -> Option<(&str, &str)> {
    match (&triple.subject, &triple.predicate, &triple.object) {
        (
            TermPattern::Variable(variable),
            NamedNodePattern::NamedNode(relation),
            TermPattern::Literal(name),
        ) if relation.as_str() == RDFS_LABEL => Some((variable.as_str(), name.value())),
        _ => None,
    }
}

#[derive(Default)]
struct NameUses {
    /// The names of variables.
    names: BTreeMap<String, BTreeSet<String>>,
    /// Variables that are used outside triples.
    kept: BTreeSet<String>,
}

impl NameUses {
    fn collect(&mut self, part: &mut GraphPattern) {
        match part {
            GraphPattern::Bgp { patterns } => {
                for (variable, name) in patterns.iter().filter_map(label) {
                    self.names
                        .entry(variable.to_owned())
                        .or_default()
                        .insert(name.to_owned());
                }
            }
            GraphPattern::Project { variables, .. } => self.kept.extend(
                variables
                    .iter()
                    .map(|variable| variable.as_str().to_owned()),
            ),
            GraphPattern::Group { .. }
            | GraphPattern::Filter { .. }
            | GraphPattern::OrderBy { .. } => {
                for part in parts(part) {
                    if let PatternPart::Expression(expression) = part {
                        self.keep(expression);
                    }
                }
            }
            _ => {}
        }
    }

    /// Keeps the variables of an expression.
    fn keep(&mut self, expression: &mut Expression) {
        if let Expression::Variable(variable) | Expression::Bound(variable) = expression {
            self.kept.insert(variable.as_str().to_owned());
        }
        for operand in operands(expression) {
            self.keep(operand);
        }
    }
}

/// Visits a pattern and its sub-patterns, innermost first.
pub(super) fn walk(pattern: &mut GraphPattern, each: &mut dyn FnMut(&mut GraphPattern)) {
    for part in parts(pattern) {
        if let PatternPart::Pattern(inner) = part {
            walk(inner, each);
        }
    }
    each(pattern);
}
