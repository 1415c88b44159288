//! A group of triples, filters and sub-queries as a table.

use std::collections::BTreeSet;

use kg::spargebra::algebra::{Expression, GraphPattern};
use toolbox::call::{Field, Tool};
use toolbox::exec::Cell;

use super::body::Wanted;
use super::body::{Body, Computation, End, Triple, variables};
use super::calls::{Bound, BoundForm};
use super::head::{hidden, is_optional, key, optional};
use super::parts::{Later, Others};
use super::{TableWriter, rewrite, visible};
use crate::refusal::Refusal;

impl TableWriter<'_> {
    /// The table of a group. `seed` has a variable whose values are known already.
    pub(super) fn body(
        &mut self,
        pattern: &GraphPattern,
        wanted: &Wanted,
        seed: Option<&Bound>,
    ) -> Result<Bound, Refusal> {
        let here = self.calls.snapshot();
        let mut body = Body::default();
        self.flatten(pattern, &mut body, wanted)?;
        match self.group(&body, wanted, seed) {
            // A branch of a union may need the rest of the group to start from.
            Err(reason @ (Refusal::NoStart | Refusal::Disconnected | Refusal::OptionalAnswer)) => {
                let Some(apart) = rewrite::distributed(pattern) else {
                    return Err(reason);
                };
                self.calls.restore(here);
                self.relation(&apart, wanted)
            }
            other => other,
        }
    }

    /// The table of the parts of a group.
    pub(super) fn group(
        &mut self,
        body: &Body<'_>,
        wanted: &Wanted,
        seed: Option<&Bound>,
    ) -> Result<Bound, Refusal> {
        let mut wanted = wanted.clone();
        for (alias, of) in &body.same {
            if wanted.contains(alias) {
                wanted.insert(of.clone());
            }
        }
        let mut computed = Vec::new();
        for (made, computation) in &body.computed {
            let filtered = |filter: &&Expression| variables(filter).contains(made);
            if wanted.contains(made) || body.filters.iter().any(filtered) {
                wanted.extend(computation.reads());
                computed.push((made, *computation));
            }
        }
        self.check_optional(body)?;
        for (triple, new) in &body.optional {
            let ends = [triple.subject.var(), triple.object.var()];
            wanted.extend(
                ends.into_iter()
                    .flatten()
                    .filter(|name| name != new)
                    .map(str::to_owned),
            );
        }
        let mut parts = Vec::new();
        for (place, part) in body.parts.iter().enumerate() {
            parts.push(self.part(body, (place, part), &wanted)?);
        }
        let labels = self.labels(body, &wanted);
        let body = labels.as_ref().map_or(body, |(rest, _)| rest);
        let names: BTreeSet<String> = body.variables().into_iter().map(str::to_owned).collect();
        let (mut main, used) = self.main(body, &names, &wanted, &mut parts, seed)?;
        let mut others = Others::new(used);
        for (alias, of) in &body.same {
            if let Some(place) = main.index(of) {
                main.columns[place].push(alias.clone());
            }
        }
        for (made, computation) in computed.into_iter().rev() {
            main = match computation {
                Computation::Part(part, of) => match main.index(of) {
                    Some(place) => self.dated(&main, made, part, place)?,
                    None => main,
                },
                Computation::Arithmetic(expression) => {
                    self.arithmetic(main, expression, made, &parts)?
                }
            };
        }
        for (triple, new) in body.optional.iter().rev() {
            main = self.with_optional(&main, triple, new)?;
        }
        for label in labels.iter().flat_map(|(_, labels)| labels) {
            main = self.labelled(&main, label)?;
        }
        // Filters that reach another part of the group: its table is made for them.
        let mut rest: Vec<Later<'_>> = Vec::new();
        for filter in &body.filters {
            let names = variables(filter);
            let exists = matches!(filter, Expression::Exists(_))
                || matches!(filter, Expression::Not(inner) if matches!(inner.as_ref(), Expression::Exists(_)));
            if let Expression::Bound(variable) = filter {
                // What triples bind is bound in every row.
                if !body.variables().contains(variable.as_str()) {
                    return Err(Refusal::OptionalAnswer);
                }
            } else if exists {
                main = self.exists(main, filter)?;
            } else if names.iter().all(|name| main.has(name)) {
                main = self.keep(main, filter)?;
            } else {
                rest.push((filter, names));
            }
        }
        for later in &rest {
            main = self.across(main, body, later, &rest, (&parts, &mut others))?;
        }
        self.joined(&main, &others)?;
        let used = others.used;
        let applied = |name: &String| used.contains(name) || main.has(name);
        if !rest.iter().all(|(_, names)| names.iter().all(applied)) {
            return Err(Refusal::VariableComparison);
        }
        if !names.is_subset(&used) {
            return Err(Refusal::Disconnected);
        }
        for part in parts.iter().filter(|part| part.form != BoundForm::Number) {
            main = self.meet(main, part)?;
        }
        for minus in &body.minus {
            main = self.minus(main, minus)?;
        }
        Ok(main)
    }

    /// The table of a sub-query. Of a union only the columns are kept that something else reads.
    fn part(
        &mut self,
        body: &Body<'_>,
        (place, part): (usize, &GraphPattern),
        wanted: &Wanted,
    ) -> Result<Bound, Refusal> {
        let mut names: Wanted = visible(part).into_iter().collect();
        if matches!(part, GraphPattern::Union { .. }) {
            let mut read = wanted.clone();
            read.extend(body.variables().into_iter().map(str::to_owned));
            read.extend(body.filters.iter().flat_map(|filter| variables(filter)));
            let others = body.parts.iter().enumerate();
            let others = others.filter(|(other, _)| *other != place);
            for pattern in others.map(|(_, other)| other).chain(&body.minus) {
                read.extend(visible(pattern));
            }
            for filter in &body.filters {
                read.extend(self.mentioned(filter)?);
            }
            names.retain(|name| read.contains(name));
        }
        self.relation(part, &names)
    }

    /// Nothing but the answer and its order may read what OPTIONAL binds.
    fn check_optional(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let mut filtered = Wanted::new();
        for filter in body.filters.iter().filter(|_| !body.optional.is_empty()) {
            filtered.extend(self.mentioned(filter)?);
        }
        let read = |name: &String| {
            body.variables().contains(name.as_str())
                || filtered.contains(name)
                || (body.parts.iter().chain(&body.minus)).any(|part| visible(part).contains(name))
                || body
                    .computed
                    .iter()
                    .any(|(_, one)| one.reads().contains(name))
        };
        let mut new = body.optional.iter().map(|(_, name)| name);
        let twice = |name: &String| body.optional.iter().filter(|(_, one)| one == name).count() > 1;
        if new.any(|name| read(name) || twice(name)) {
            return Err(Refusal::OptionalAnswer);
        }
        Ok(())
    }

    /// One more column with empty cells, for a triple that rows may have. On a graph in which all
    /// rows have it, it is an ordinary column.
    fn with_optional(
        &mut self,
        main: &Bound,
        triple: &Triple,
        new: &str,
    ) -> Result<Bound, Refusal> {
        let place = |end: &End| end.var().and_then(|name| main.index(name));
        let (near, forward) = match (place(&triple.subject), place(&triple.object)) {
            (Some(near), None) => (near, true),
            (None, Some(near)) => (near, false),
            _ => return Err(Refusal::OptionalAnswer),
        };
        if main.columns[near].iter().any(|name| is_optional(name)) {
            return Err(Refusal::OptionalAnswer);
        }
        let here = self.calls.snapshot();
        let path = (triple.relation.as_str(), triple.repeat, forward);
        let mut longer = self.calls.extend(main, near, path, new)?;
        let last = longer.columns.len() - 1;
        let table = self.calls.table(&longer);
        if table.is_some_and(|table| table.column(last).all(|cell| *cell != Cell::Empty)) {
            self.calls.restore(here);
            let path = (triple.relation.as_str(), None, forward);
            return self.calls.extend(main, near, path, new);
        }
        longer.columns[last].push(optional(new));
        Ok(longer)
    }

    /// One more column, a part of the dates of another.
    pub(super) fn dated(
        &mut self,
        main: &Bound,
        made: &str,
        part: kg::value::DatePart,
        place: usize,
    ) -> Result<Bound, Refusal> {
        let columns = main.columns.iter().enumerate();
        let mut fields: Vec<(Field, Vec<String>)> = columns
            .map(|(place, names)| (key(place), names.clone()))
            .collect();
        let column = u32::try_from(place).map_err(|_| Refusal::TooLong)?;
        let names = vec![hidden(made), made.to_owned()];
        fields.push((Field::Part(part, column), names));
        self.calls.regroup(main, Tool::Columns, &fields)
    }
}
