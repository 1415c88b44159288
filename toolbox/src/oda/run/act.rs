//! Execution of actions.

use super::{Found, Run};
use crate::call::{Arg, Call, Tool, parse_call, print_name};
use crate::exec::{Observation, Relation};
use crate::observe::{PathOptions, paths};
use crate::oda::error::OdaError;
use crate::oda::read::{Action, AnswerTurn};
use crate::prompt::dialogue_relations;
use common::transcript::Part;

/// Maximum number of distinct paths shown between two entities.
const SHOWN_PATHS: usize = 10;

impl Run<'_> {
    pub(super) fn act(&mut self, act: &Action) -> Result<Option<Vec<Part>>, OdaError> {
        if let Action::Answer(say) = act {
            return self.answer(say).map(|()| None);
        }
        if self.forced() {
            return Err(OdaError::Over(self.options.iterations));
        }
        let (action, found, parts) = match act {
            Action::Neighbor(set) => {
                let action = format!("neighbor {set}");
                let text = self.resolved(set)?;
                if self.is_explored(&text) || self.actions.contains(&action) {
                    return Err(OdaError::Repeated(action));
                }
                let step = self
                    .session
                    .run(&parse_call(&format!("get_relation({text})"))?)?;
                let Observation::Relations(shown) = step.observation.clone() else {
                    return Err(OdaError::Ended);
                };
                let mut parts = Vec::new();
                if set.contains('(') {
                    parts.push(Part::ours(format!("{}\n", self.sized(&text))));
                }
                parts.extend(dialogue_relations(
                    &self.session,
                    &shown,
                    self.template.naming,
                ));
                self.explored.extend([text.clone(), set.clone()]);
                (action, Found::Neighbors { set: text, shown }, parts)
            }
            Action::Path(from, to) => {
                let action = format!("path {from} {to}");
                if self.actions.contains(&action) {
                    return Err(OdaError::Repeated(action));
                }
                let (paths, parts) = self.paths(from, to)?;
                (
                    action,
                    Found::Paths {
                        from: from.clone(),
                        to: to.clone(),
                        paths,
                    },
                    parts,
                )
            }
            Action::Answer(_) => return Err(OdaError::Ended),
        };
        self.actions.push(action);
        self.found = Some(found);
        Ok(Some(parts))
    }

    fn answer(&mut self, say: &AnswerTurn) -> Result<(), OdaError> {
        let what = match say {
            AnswerTurn::None => "[]".to_owned(),
            AnswerTurn::Set(set) => self.resolved(set)?,
            AnswerTurn::Count(set) => {
                let set = self.resolved(set)?;
                self.assigned(&format!("count({set})"))?
            }
            AnswerTurn::Judge(set) => {
                let made = set
                    .get(1..)
                    .and_then(|index| index.parse().ok())
                    .and_then(|index: u32| self.compared.get(&index));
                let args: Vec<Arg> = made
                    .ok_or_else(|| OdaError::NoComparison(set.clone()))?
                    .args
                    .clone();
                let next = u32::try_from(self.session.variables()).unwrap_or(u32::MAX);
                self.session.run(&Call::new(Tool::Judge, args, next))?;
                format!("v{next}")
            }
        };
        self.session
            .run(&parse_call(&format!("ans = end({what})"))?)?;
        self.found = None;
        Ok(())
    }

    /// The distinct paths between two entities as sequences of relations, and their rendering.
    #[allow(clippy::type_complexity)]
    fn paths(
        &self,
        from: &str,
        to: &str,
    ) -> Result<(Vec<Vec<(Relation, bool)>>, Vec<Part>), OdaError> {
        let one = |handle: &str| match self.members(handle).as_deref() {
            Some([node]) => Ok(*node),
            _ => Err(OdaError::NotOne(handle.to_owned())),
        };
        let (a, b) = (one(from)?, one(to)?);
        let options = PathOptions {
            without: self.options.observe.without.clone(),
            ..PathOptions::default()
        };
        let mut distinct: Vec<Vec<(Relation, bool)>> = Vec::new();
        for hops in paths(self.session.kg(), a, b, &options).paths {
            let path: Vec<_> = hops
                .iter()
                .map(|hop| (Relation::Plain(hop.triple.1), hop.forward))
                .collect();
            if distinct.len() < SHOWN_PATHS && !distinct.contains(&path) {
                distinct.push(path);
            }
        }
        let mut parts = Vec::new();
        for (i, path) in distinct.iter().enumerate() {
            parts.push(Part::ours(format!(
                "{}p{i}",
                if i == 0 { "" } else { "\n" }
            )));
            for &(relation, forward) in path {
                let sign = if forward { "" } else { "~" };
                parts.push(Part::kg(format!(
                    " {sign}{}",
                    print_name(&self.session.relation_name(relation))
                )));
            }
        }
        if parts.is_empty() {
            parts.push(Part::ours("none"));
        }
        Ok((distinct, parts))
    }
}
