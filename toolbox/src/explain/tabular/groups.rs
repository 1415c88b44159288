//! Whether the rows of a plan are grouped, and ordered by what they show.

use super::super::cues::is_generic;
use super::super::plan::{Hop, Start, Way};
use super::columns::{Columns, Composer};
use super::plan::Shown;
use super::request::Role;
use crate::exec::Relation;

impl Composer<'_, '_, '_> {
    /// Whether the question counts something in groups.
    pub(super) fn counts_in_groups(&self, columns: &Columns) -> bool {
        let request = self.request;
        let keyed = columns.own_key || !columns.keys.is_empty();
        let grouped = request.grouped && keyed || request.is_grouped() && !columns.shown.is_empty();
        self.count.is_some() && grouped
    }

    /// Whether something is computed in groups: by a key, by a column that is shown, or by each member, which has several
    /// values unless `alone`.
    pub(super) fn computes_in_groups(&self, columns: &Columns, alone: bool) -> bool {
        let column = |one: &(usize, Shown)| matches!(one.1, Shown::Path(_));
        let key_shown = columns.key_shown && columns.shown.iter().any(column);
        let own = self.request.grouped && columns.own_key && !alone;
        !columns.keys.is_empty() || own || key_shown || self.request.best.is_some()
    }

    /// Whether everything is computed of what a member has one of, so that members are no groups.
    pub(super) fn computes_of_one(&self, columns: &Columns) -> bool {
        let mut all = columns.shown.iter().filter_map(|(_, one)| match one {
            Shown::Computed(_, path) => self.chosen.get(*path),
            _ => None,
        });
        all.all(|hops| {
            let mut paths = self.paths.iter();
            paths.any(|path| path.hops == *hops && path.has_one_value())
        })
    }

    /// Whether each member alone would be a group of one row.
    pub(super) fn groups_members_alone(&self, columns: &Columns) -> bool {
        let alone = |key: &usize| self.chosen.get(*key).is_some_and(Vec::is_empty);
        // Each row has its own key, and its own name.
        let names = &self.explainer.session.kg().schema().row_names;
        let own = |key: &usize| {
            let hops = self.chosen.get(*key);
            let mut paths = self.paths.iter();
            let named = matches!(hops.map(Vec::as_slice), Some([Hop { relation: Relation::Plain(id), way: Way::Out }])
                if names.iter().any(|all| *all == [*id]));
            named || paths.any(|path| path.is_own_key() && Some(&path.hops) == hops)
        };
        let computed = |(_, one): &(usize, Shown)| matches!(one, Shown::Computed(..));
        let members = columns.counted.is_none() && !columns.shown.iter().any(computed);
        // An entity alone is one group: nobody asks for the most of one.
        let single = self.request.most.is_some() && self.base.plan.topic().is_some();
        let few = single || self.chosen.iter().all(Vec::is_empty);
        few && columns.keys.iter().any(alone) || members && columns.keys.iter().any(own)
    }

    /// Whether what a group has is counted once for each member of a class that leads to the group:
    /// the actors of a film once for each of its genres.
    pub(super) fn counts_again(&self, columns: &Columns) -> bool {
        let plan = &self.base.plan;
        let class = plan.steps.is_empty() && matches!(plan.start, Start::Class(_));
        let hops = |path: usize| self.chosen.get(path).map(Vec::as_slice);
        let Some(counted) = columns.counted.and_then(hops).filter(|_| class) else {
            return false;
        };
        let mut keys = columns.keys.iter().filter_map(|&key| hops(key));
        keys.any(|key| !key.is_empty() && key.len() < counted.len() && counted.starts_with(key))
    }

    /// Orders rows by the only number that is shown, if the question says only how: `the 3 highest support rates`.
    pub(super) fn order_by_shown(&mut self, columns: &mut Columns) {
        let words = &self.explainer.asked.words;
        let any = |at: &usize| words.get(*at).is_some_and(|word| is_generic(&word.word));
        let mut orders = self
            .request
            .phrases
            .iter()
            .filter(|one| one.role == Role::Order);
        let says_how =
            orders.next().is_some_and(|one| one.words.iter().all(any)) && orders.next().is_none();
        if let ([(_, Shown::Path(path))], true, true) = (
            columns.shown.as_slice(),
            says_how,
            self.request.first.is_some(),
        ) && self.is_number(*path)
        {
            columns.order = Some(*path);
        }
    }
}
