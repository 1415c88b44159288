//! Execution of reflections.

use super::{Found, Run, shown_tokens};
use crate::call::print_name;
use crate::exec::Relation;
use crate::observe::shown;
use crate::oda::error::OdaError;
use crate::oda::read::Pick;
use crate::oda::selected::Selected;
use crate::text::handle_index;
use common::transcript::Part;
use kg::term::NodeId;

impl Run<'_> {
    pub(super) fn reflect(&mut self, picks: &[Pick]) -> Result<Vec<Part>, OdaError> {
        let Some(found) = self.found.clone() else {
            return Err(OdaError::Ended);
        };
        let mut made = Vec::new();
        for pick in picks.iter().take(self.options.kept) {
            let (near, far) = match &found {
                Found::Neighbors { set, .. } => (set.clone(), self.pick(set, pick)?),
                Found::Paths { from, to, paths } => {
                    let path = handle_index(&pick.relation, 'p')
                        .and_then(|index| paths.get(index))
                        .ok_or_else(|| OdaError::NotFound(pick.relation.clone()))?
                        .clone();
                    (from.clone(), self.walk(from, to, &path)?)
                }
            };
            let sign = if pick.incoming { "~" } else { "" };
            let narrowed = pick
                .narrowed
                .as_ref()
                .map(|by| format!(" {by}"))
                .unwrap_or_default();
            let group = format!("{sign}{}{narrowed}", pick.relation);
            self.memory.add(Selected {
                near,
                group: group.clone(),
                far: far.clone(),
            });
            made.push((far, group));
        }
        self.found = None;
        if made.is_empty() {
            return Ok(vec![Part::ours("none")]);
        }
        let alone = made.len() == 1;
        let mut parts = Vec::new();
        for (i, (far, group)) in made.iter().enumerate() {
            parts.push(Part::ours(format!(
                "{}{}",
                if i == 0 { "" } else { "\n" },
                self.sized(far)
            )));
            if !alone {
                parts.push(Part::kg(format!(" {group}")));
            }
        }
        // Observe the far ends next; the members of a narrowed set were observed before it was
        // narrowed.
        let walked = made
            .iter()
            .zip(picks)
            .filter(|(_, pick)| pick.narrowed.is_none())
            .map(|((far, _), _)| far);
        let tasks: Vec<(String, Vec<NodeId>)> = walked
            .filter_map(|far| Some((far.clone(), self.members(far)?.to_vec())))
            .filter(|task| !task.1.is_empty())
            .collect();
        parts.extend(shown::lines(
            &self.session,
            &tasks,
            &self.options.observe,
            shown_tokens(&self.options),
        )?);
        Ok(parts)
    }

    /// Executes the pick of one group of the explored set and returns the resulting set.
    fn pick(&mut self, set: &str, pick: &Pick) -> Result<String, OdaError> {
        let relation = &pick.relation;
        let sign = if pick.incoming { "~" } else { "" };
        match &pick.narrowed {
            None if pick.incoming => self.assigned(&format!("get_head_entity({set}, {relation})")),
            None => self.assigned(&format!("get_tail_entity({set}, {relation})")),
            Some(by) => {
                let by = by.split(' ').collect::<Vec<_>>();
                let made = self.assigned(&format!(
                    "get_entity_by_constraint({set}, {sign}{relation}, {})",
                    by.join(", ")
                ))?;
                if let (2, Some(step)) = (by.len(), self.session.steps().last()) {
                    self.compared
                        .insert(made[1..].parse().unwrap_or_default(), step.call.clone());
                }
                Ok(made)
            }
        }
    }

    /// Follows a path up to its last relation and returns the set of nodes before the goal.
    fn walk(
        &mut self,
        from: &str,
        to: &str,
        path: &[(Relation, bool)],
    ) -> Result<String, OdaError> {
        let mut here = from.to_owned();
        for (i, &(relation, forward)) in path.iter().enumerate() {
            let name = print_name(&self.session.relation_name(relation));
            here = if i + 1 == path.len() {
                let sign = if forward { "" } else { "~" };
                self.assigned(&format!(
                    "get_entity_by_constraint({here}, {sign}{name}, =, {to})"
                ))?
            } else if forward {
                self.assigned(&format!("get_tail_entity({here}, {name})"))?
            } else {
                self.assigned(&format!("get_head_entity({here}, {name})"))?
            };
        }
        if let Some(step) = self.session.steps().last() {
            self.compared
                .insert(here[1..].parse().unwrap_or_default(), step.call.clone());
        }
        Ok(here)
    }
}
