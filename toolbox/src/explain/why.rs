//! Which part of a program accounts for each word of the question, for people to read.

use std::sync::Arc;

use kg::term::NodeId;
use serde::{Deserialize, Serialize};

use super::kinship::Lineage;
use super::nodes::measurable;
use super::plan::{Hop, Way};
use super::words::Explainer;
use crate::call::{Arg, Tool};
use crate::exec::{Observation, Session, Step, Value};

/// The probability from which a part of a program counts as the reason for a word.
const REASON: f32 = 0.02;

/// A content word of the question and the part of the program that accounts for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WordReason {
    /// The word as written, in lower case.
    pub word: String,
    /// The relation or class that accounts for it, by name; absent if the program has no such part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// P(word | relation or class), rounded to three digits.
    pub probability: f64,
}

/// The parts of a program, each with P(word | part) for every content word.
struct Parts {
    parts: Vec<(String, Arc<[f32]>)>,
    lineage: Lineage,
}

/// A reason for every content word that is neither a question word nor a value, in the order of the
/// question. `session` has run the program.
pub(super) fn reasons(session: &Session<'_>, explainer: &mut Explainer<'_, '_>) -> Vec<WordReason> {
    let mut parts = Parts {
        parts: Vec::new(),
        lineage: Lineage::default(),
    };
    for step in session.steps() {
        parts.read(session, step, explainer);
    }
    let words = explainer.asked.words.iter().enumerate();
    words
        .filter(|(_, word)| !word.is_mark() && word.value.is_none())
        .map(|(at, word)| {
            let p = |part: &(String, Arc<[f32]>)| part.1.get(at).copied().unwrap_or(0.0);
            // Of equal parts the earlier one is named.
            let best = (parts.parts.iter().rev()).max_by(|a, b| p(a).total_cmp(&p(b)));
            let best = best.filter(|part| p(part) >= REASON);
            WordReason {
                word: word.word.clone(),
                by: best.map(|(name, _)| name.clone()),
                probability: best.map_or(0.0, |part| (f64::from(p(part)) * 1e3).round() / 1e3),
            }
        })
        .collect()
}

impl Parts {
    fn read(&mut self, session: &Session<'_>, step: &Step, explainer: &mut Explainer<'_, '_>) {
        let kg = session.kg();
        let named = |node: NodeId| kg.label(node).unwrap_or_else(|| kg.name(node));
        if matches!(step.call.args.first(), Some(Arg::Name(_))) {
            self.lineage = Lineage::default();
        }
        if let Some((relation, forward)) = step.walked {
            let way = if forward { Way::Out } else { Way::In };
            let hop = Hop { relation, way };
            let explained = explainer.hop(hop);
            let mut words = explained.words;
            if matches!(step.call.tool, Tool::GetHeadEntity | Tool::GetTailEntity) {
                let nodes = match &step.observation {
                    Observation::Value(Value::Set(set)) => &set[..],
                    _ => &[],
                };
                if !measurable(session, nodes) {
                    words = explained.to_things;
                }
                explainer.relative(&mut self.lineage, hop, &mut words);
            }
            self.parts.push((session.relation_name(relation), words));
        }
        if step.call.tool == Tool::GetEntityByType
            && let Some(&class) = step.inputs.first().and_then(|set| set.first())
        {
            self.parts.push((named(class), explainer.class(class)));
        }
        let Observation::Value(Value::Set(set)) = &step.observation else {
            return;
        };
        if let Some(&first) = set.first()
            && kg.term(first).as_literal().is_none()
        {
            for class in kg.types(first) {
                self.parts.push((named(class), explainer.class(class)));
            }
        }
    }
}
