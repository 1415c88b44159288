//! Names: a label that only filters read becomes a test of the node that has it, because `where`
//! reads the label of a node.

use std::collections::BTreeSet;

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::Variable;
use kg::term::NodeId;

use super::super::exact::passing;
use super::TableWriter;
use super::body::Wanted;
use super::body::{Body, Triple, variables};
use super::calls::Bound;
use crate::algebra::{exists, replace};
use crate::graph::{algebra, is_language_test};
use crate::refusal::Refusal;

/// The filters of one label.
pub(super) struct LabelTest<'q> {
    /// The variable of the node.
    node: String,
    /// The label's relation by IRI.
    relation: String,
    /// The variable of the label.
    label: String,
    filters: Vec<&'q Expression>,
}

impl TableWriter<'_> {
    /// A group without its labels, and their tests; `None` if no label is only filtered.
    pub(super) fn labels<'q>(
        &self,
        body: &Body<'q>,
        wanted: &Wanted,
    ) -> Option<(Body<'q>, Vec<LabelTest<'q>>)> {
        let vocabulary = self.calls.names.vocabulary;
        let mut tests: Vec<LabelTest<'q>> = Vec::new();
        for triple in &body.triples {
            let (Some(node), Some(label)) = (triple.subject.var(), triple.object.var()) else {
                continue;
            };
            let elsewhere = |other: &&Triple| {
                let ends = [other.subject.var(), other.object.var()];
                *other != triple && ends.contains(&Some(label))
            };
            let named = triple.repeat.is_none() && vocabulary.is_label(&triple.relation);
            if !named || wanted.contains(label) || body.triples.iter().any(|one| elsewhere(&one)) {
                continue;
            }
            let reads = |filter: &&Expression| variables(filter).contains(label);
            let filters: Vec<&Expression> = body.filters.iter().copied().filter(reads).collect();
            if filters.iter().all(|filter| variables(filter).len() == 1) {
                tests.push(LabelTest {
                    node: node.to_owned(),
                    relation: triple.relation.clone(),
                    label: label.to_owned(),
                    filters,
                });
            }
        }
        if tests.is_empty() {
            return None;
        }
        let is_label = |name: &str| tests.iter().any(|test| test.label == name);
        let rest = Body {
            triples: (body.triples.iter())
                .filter(|triple| !triple.object.var().is_some_and(is_label))
                .cloned()
                .collect(),
            classes: body.classes.clone(),
            filters: (body.filters.iter())
                .filter(|filter| !variables(filter).iter().any(|name| is_label(name)))
                .copied()
                .collect(),
            parts: body.parts.clone(),
            minus: body.minus.clone(),
            values: body.values.clone(),
            same: body.same.clone(),
            computed: body.computed.clone(),
            optional: body.optional.clone(),
        };
        Some((rest, tests))
    }

    /// The rows whose node has a label that passes the tests. On a graph they must be those that
    /// the query's own tests keep.
    pub(super) fn labelled(
        &mut self,
        main: &Bound,
        test: &LabelTest<'_>,
    ) -> Result<Bound, Refusal> {
        let place = main.index(&test.node).ok_or(Refusal::HiddenRelation)?;
        let texts = test.filters.iter().filter(|one| !is_language_test(one));
        let kept = match texts.collect::<Vec<_>>()[..] {
            [] => main.clone(),
            [Expression::FunctionCall(function, arguments)] => {
                let (test, text) = self.text_test(function, arguments)?;
                self.calls.filter(main, place, test, text)?
            }
            _ => return Err(Refusal::Filter),
        };
        let (Some(kg), Some(nodes), Some(left)) = (
            self.calls.kg(),
            self.calls.nodes(main, place),
            self.calls.nodes(&kept, place),
        ) else {
            return Ok(kept);
        };
        let label = Variable::new_unchecked(&test.label);
        let step = [crate::graph::PathStep::forward(&test.relation)];
        let triple = algebra::along(algebra::tail().into(), &step, label.clone().into());
        let filters = test
            .filters
            .iter()
            .map(|filter| replace(filter, &mut |_| label.clone().into()));
        let pattern = filters.fold(triple, |pattern: GraphPattern, one| {
            algebra::filter(pattern, one)
        });
        let passing = passing(kg, nodes.into_iter(), &[exists(pattern)])?;
        let passing: BTreeSet<NodeId> = passing.into_iter().collect();
        if left.into_iter().eq(passing) {
            Ok(kept)
        } else {
            Err(Refusal::ComparisonDiffers)
        }
    }
}
