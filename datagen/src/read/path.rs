//! Paths of plain-text sets as algebra: `SELECT DISTINCT ?xN { topic r1 ?x1 . ?x1 r2 ?x2 … }`, and
//! their names as terms.

use kg::spargebra::Query;
use kg::spargebra::algebra::GraphPattern;
use kg::spargebra::term::{NamedNode, NamedNodePattern, TermPattern, TriplePattern, Variable};
use kg::term::Term;
use kg::{Kg, text_iri};

use crate::algebra::{differs, distinct_values, filter_all, select};

/// One step of a path: a relation, followed from head to tail or in reverse.
pub(super) struct Hop<'a> {
    pub relation: &'a str,
    pub forward: bool,
}

/// The IRI of a name in a plain-text set: the graph's node with that name, or the IRI that the
/// loader of plain-text graphs gives it.
pub(super) fn iri(kg: Option<&dyn Kg>, name: &str) -> NamedNode {
    let plain = text_iri(name);
    let found = kg.and_then(|kg| {
        if kg.find(&Term::Iri(plain.clone())).is_some() {
            return None;
        }
        kg.iri(kg.by_name(name)?)
    });
    NamedNode::new_unchecked(found.unwrap_or(plain))
}

/// The query of one or more paths that end in the same variable. With `apart`, no variable may
/// equal the path's topic.
pub(super) fn query(kg: Option<&dyn Kg>, paths: &[(&str, Vec<Hop<'_>>)], apart: bool) -> Query {
    let answer = Variable::new_unchecked("x");
    let mut patterns = Vec::new();
    let mut differences = Vec::new();
    for (number, (topic, hops)) in paths.iter().enumerate() {
        let topic = iri(kg, topic);
        let mut at = TermPattern::NamedNode(topic.clone());
        for (i, hop) in hops.iter().enumerate() {
            let variable = if i + 1 == hops.len() {
                answer.clone()
            } else {
                Variable::new_unchecked(format!("p{number}n{i}"))
            };
            let next = TermPattern::Variable(variable.clone());
            let (subject, object) = if hop.forward {
                (at, next.clone())
            } else {
                (next.clone(), at)
            };
            patterns.push(TriplePattern {
                subject,
                predicate: NamedNodePattern::NamedNode(iri(kg, hop.relation)),
                object,
            });
            if apart {
                let topic = topic.clone().into();
                differences.push(differs(variable.into(), topic));
            }
            at = next;
        }
    }
    let inner = filter_all(GraphPattern::Bgp { patterns }, differences);
    select(distinct_values(inner, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_query() {
        let hops = vec![
            Hop {
                relation: "directed_by",
                forward: true,
            },
            Hop {
                relation: "directed_by",
                forward: false,
            },
        ];
        let text = query(None, &[("Kismet \"2\"", hops)], true).to_string();
        assert!(
            text.contains("<urn:kgagent:Kismet%20%222%22> <urn:kgagent:directed_by> ?p0n0"),
            "{text}"
        );
        assert!(
            text.contains("?x <urn:kgagent:directed_by> ?p0n0"),
            "{text}"
        );
        assert!(text.contains("SELECT DISTINCT ?x"), "{text}");
    }
}
