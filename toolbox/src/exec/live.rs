//! The live items of a session: everything that the next call may name, and how calls write it.

use super::session::{Session, SetKey};
use super::types::{Naming, Relation, Value};
use crate::call::{Arg, Live, LiveSet, print_name};
use crate::link;
use crate::mention::{Mentions, Named};
use crate::text_values;
use kg::term::{Literal, NodeId};

impl Session<'_> {
    /// Everything that the next call may name, in the given naming.
    #[must_use]
    pub fn live(&self, naming: Naming) -> Live {
        let handles = naming.things_by_handle();
        let mut sets = Vec::new();
        let relation_texts = |relations: &[Relation], first: usize| -> Vec<String> {
            let named = relations
                .iter()
                .zip(self.mentioned(relations, naming))
                .enumerate();
            let text =
                |(i, (&relation, mention)): (usize, (&Relation, Option<usize>))| match mention {
                    Some(mention) => format!("m{mention}"),
                    None if naming.relations_by_handle() => format!("r{}", first + i),
                    None => print_name(&self.relation_name(relation)),
                };
            named.map(text).collect()
        };
        let mut add =
            |key: SetKey, text: String, scalar: bool, entity: bool, unanswerable: bool| {
                let shown = self.shown.get(&key).cloned().unwrap_or_default();
                sets.push(LiveSet {
                    text,
                    scalar,
                    entity,
                    unanswerable,
                    just_listed: self.last_shown.as_ref() == Some(&key),
                    out: relation_texts(&shown.out, 0),
                    incoming: relation_texts(&shown.incoming, shown.out.len()),
                });
            };
        let name = |node: NodeId| print_name(&self.kg.name(node));
        let written = |letter: char, i: usize, name: &dyn Fn() -> String| {
            if handles {
                format!("{letter}{i}")
            } else {
                name()
            }
        };
        for (i, &node) in self.linked.entities.iter().enumerate() {
            add(
                SetKey::Node(node),
                written('e', i, &|| name(node)),
                false,
                true,
                self.only_statements(&[node]),
            );
        }
        for (i, value) in self.variables.iter().enumerate() {
            let (scalar, unanswerable) = match value {
                Value::Set(set) => (false, self.only_statements(set)),
                Value::Int(_) | Value::Bool(_) => (true, false),
            };
            add(
                SetKey::Var(u32::try_from(i).unwrap_or(u32::MAX)),
                format!("v{i}"),
                scalar,
                false,
                unanswerable,
            );
        }
        let classes = self.classes.iter().enumerate();
        let values = self.linked.values.iter().enumerate();
        let types = &self.kg.schema().type_relations;
        Live {
            next_var: u32::try_from(self.variables.len()).unwrap_or(u32::MAX),
            last_call: self.steps.len() + 1 >= self.options.max_steps,
            sets,
            types: types.iter().map(|relation| name(relation.node())).collect(),
            classes: classes
                .map(|(i, &node)| written('c', i, &|| name(node)))
                .collect(),
            values: values
                .map(|(i, value)| written('x', i, &|| Arg::Literal(value.clone()).to_string()))
                .collect(),
            mentions: link::mention_texts(&self.question)
                .into_iter()
                .map(|text| Literal::plain(text).to_string())
                .collect(),
        }
    }

    /// For each relation of one direction of a list, the mention linked to it, if the naming uses
    /// mentions.
    #[must_use]
    pub fn mentioned(&self, relations: &[Relation], naming: Naming) -> Vec<Option<usize>> {
        if !naming.relations_by_mention() {
            return vec![None; relations.len()];
        }
        let named: Vec<Named> = relations
            .iter()
            .map(|&r| Named {
                name: self.relation_name(r),
                label: self.relation_label(r),
            })
            .collect();
        self.mentions().link(&named)
    }

    /// The words of the question that may name relations.
    #[must_use]
    pub fn mentions(&self) -> &Mentions {
        self.mentions.get_or_init(|| {
            Mentions::of(&text_values::mask_values(
                &self.linked.mask(&self.question),
                &self.linked.values,
            ))
        })
    }
}
