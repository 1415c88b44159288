//! Binding of relation arguments to the relations of a set (rules R1, R2).

use super::missing;
use crate::call::{Arg, Call, Tool};
use crate::exec::error::ToolError;
use crate::exec::resolve::NEAREST;
use crate::exec::session::Session;
use crate::exec::types::Relation;
use crate::rank::{RankError, best_first};
use kg::term::NodeId;

impl Session<'_> {
    /// Binds a relation argument (rules R1, R2): an exact name that some member has in the right
    /// direction, else the only shown relation with this last segment or label. An empty set binds
    /// any relation, because the result is empty in every case.
    pub(super) fn bound_relation(
        &self,
        call: &Call,
        from: &[NodeId],
        along: bool,
    ) -> Result<(Relation, bool), ToolError> {
        let (name, forward) = match call.args.get(1) {
            Some(Arg::Name(name)) => (name, along),
            Some(Arg::Inverse(inner)) => match inner.as_ref() {
                Arg::Name(name) => (name, !along),
                _ => return Err(missing(call)),
            },
            _ => return Err(missing(call)),
        };
        let bound = self
            .relation_by_name(name)
            .or_else(|| self.shown_by_segment(call, name, forward));
        let has = |relation: Relation, forward: bool| {
            from.iter()
                .any(|&node| self.has_any(node, relation, forward))
        };
        match bound {
            Some(relation) if from.is_empty() || has(relation, forward) => Ok((relation, forward)),
            Some(relation) if has(relation, !forward) => {
                let (set, relation) = (call.args[0].to_string(), self.relation_name(relation));
                let hint = match (call.tool, forward) {
                    (Tool::GetTailEntity, _) => format!("use get_head_entity({set}, {relation})"),
                    (Tool::GetHeadEntity, _) => format!("use get_tail_entity({set}, {relation})"),
                    (_, true) => format!("write ~{relation}"),
                    (_, false) => format!("write {relation} without ~"),
                };
                Err(ToolError::WrongDirection {
                    relation,
                    set,
                    incoming: forward,
                    hint,
                })
            }
            _ => Err(ToolError::UnknownRelation {
                given: name.clone(),
                set: call.args[0].to_string(),
                near: self.nearest_relations(from, name)?,
            }),
        }
    }

    fn has_any(&self, node: NodeId, relation: Relation, forward: bool) -> bool {
        match relation {
            Relation::Interval(index) if forward => {
                let interval = &self.kg.schema().intervals[index];
                !self.kg.tails(node, interval.from).is_empty()
                    || !self.kg.tails(node, interval.to).is_empty()
            }
            _ => !self.step(node, relation, forward).is_empty(),
        }
    }

    fn shown_by_segment(&self, call: &Call, name: &str, forward: bool) -> Option<Relation> {
        let shown = self.shown.get(&self.set_key(call.args.first()?).ok()?)?;
        let candidates = if forward { &shown.out } else { &shown.incoming };
        let fits = |relation: &&Relation| {
            let full = self.relation_name(**relation);
            let label = self.relation_label(**relation);
            full.rsplit(['.', '/', '#', ':']).next() == Some(name) || label.as_deref() == Some(name)
        };
        let mut fitting = candidates.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(&only), None) => Some(only),
            _ => None,
        }
    }

    pub(super) fn nearest_relations(
        &self,
        from: &[NodeId],
        name: &str,
    ) -> Result<Vec<String>, RankError> {
        if !self.options.lists {
            return Ok(Vec::new());
        }
        let mut names: Vec<String> = self
            .adjacent(from)
            .iter()
            .map(|adjacent| self.relation_name(adjacent.relation))
            .collect();
        names.sort_unstable();
        names.dedup();
        let scores = self.options.ranker.score(name, &names, &self.cancel())?;
        Ok(best_first(&scores, &names)
            .into_iter()
            .take(NEAREST)
            .map(|i| names[i].clone())
            .collect())
    }
}
