//! Parts of a group that share one column with the main table: semi-joins, MINUS, EXISTS, and
//! comparisons with a number of a sub-query.

use std::collections::{BTreeSet, HashSet};

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::Variable;
use kg::term::NodeId;
use kg::value::Op;
use toolbox::call::{Arg, Tool};
use toolbox::exec::Cell;

use super::super::exact::passing_with;
use super::body::Body;
use super::body::Wanted;
use super::calls::{Bound, BoundForm};
use super::filters::between;
use super::{TableWriter, visible};
use crate::algebra::{ground, replace};
use crate::graph::algebra;
use crate::refusal::Refusal;

/// A filter that is applied after the main table, with its variables.
pub(super) type Later<'q> = (&'q Expression, BTreeSet<String>);

/// Parts of a group that filters connect with the main table.
pub(super) struct Others {
    /// The variables of the main table's part and of the others.
    pub used: BTreeSet<String>,
    parts: Vec<OtherPart>,
}

struct OtherPart {
    made: Bound,
    /// Equal columns: the variable of the main table, and that of the part.
    links: Vec<(String, String)>,
}

impl Others {
    pub(super) fn new(used: BTreeSet<String>) -> Self {
        Self {
            used,
            parts: Vec::new(),
        }
    }

    /// Notes that a column of the main table has values of another part's column.
    fn link(&mut self, made: &Bound, mine: &str, other: &str) {
        let link = (mine.to_owned(), other.to_owned());
        let known = self.parts.iter_mut().find(|part| part.made.arg == made.arg);
        match known {
            Some(part) => part.links.push(link),
            None => self.parts.push(OtherPart {
                made: made.clone(),
                links: vec![link],
            }),
        }
    }
}

impl TableWriter<'_> {
    /// The rows whose values also occur in a part that shares one column.
    pub(super) fn meet(&mut self, main: Bound, part: &Bound) -> Result<Bound, Refusal> {
        let shared: Vec<(usize, usize)> = (part.columns.iter().enumerate())
            .flat_map(|(place, names)| names.iter().map(move |name| (place, name)))
            .filter_map(|(place, name)| Some((main.index(name)?, place)))
            .collect();
        match shared[..] {
            [] => Ok(main),
            _ if part.arg == main.arg => Ok(main),
            [(mine, theirs)] => {
                self.calls
                    .filter(&main, mine, Arg::Op(Op::Eq), part.column(theirs))
            }
            _ => Err(Refusal::Unsupported),
        }
    }

    /// A filter between the main table and another part of the group. `used` gets the variables
    /// of parts that a comparison reads.
    pub(super) fn across(
        &mut self,
        main: Bound,
        body: &Body<'_>,
        (filter, names): &Later<'_>,
        rest: &[Later<'_>],
        (parts, made_for): (&[Bound], &mut Others),
    ) -> Result<Bound, Refusal> {
        let others: Vec<&String> = names.iter().filter(|name| !main.has(name)).collect();
        let [other] = others[..] else {
            // A filter within another part is applied when that part is made.
            return if others.len() == names.len() {
                Ok(main)
            } else {
                Err(Refusal::VariableComparison)
            };
        };
        if names.len() == 1 {
            return Ok(main);
        }
        let Some((mine, op, theirs)) = between(filter) else {
            return Err(Refusal::VariableComparison);
        };
        let (mine, op) = if main.has(mine) && theirs == *other {
            (mine, op)
        } else if main.has(theirs) && mine == *other {
            (theirs, crate::graph::mirrored(op))
        } else {
            return Err(Refusal::VariableComparison);
        };
        let place = main.index(mine).ok_or(Refusal::VariableComparison)?;
        let known = parts.iter().find(|part| part.has(other));
        if let Some(part) = known.filter(|part| {
            part.form == BoundForm::Number || part.columns.len() == 1 && op != Op::Eq
        }) {
            made_for.used.insert(other.clone());
            let kept = self
                .calls
                .filter(&main, place, Arg::Op(op), part.arg.clone())?;
            return self.same_as_filter((&main, place), &kept, filter, (mine, part));
        }
        let made = match known {
            Some(part) if op == Op::Eq => part.clone(),
            Some(_) => return Err(Refusal::VariableComparison),
            None => self.other_part(body, other, rest, made_for)?,
        };
        made_for.used.insert(other.clone());
        if op == Op::Eq {
            made_for.link(&made, mine, other);
            let set = made.column(made.index(other).ok_or(Refusal::Disconnected)?);
            return self.calls.filter(&main, place, Arg::Op(op), set);
        }
        let only = self.distinct(&made, std::slice::from_ref(other))?;
        let kept = self
            .calls
            .filter(&main, place, Arg::Op(op), only.arg.clone())?;
        self.same_as_filter((&main, place), &kept, filter, (mine, &only))
    }

    /// The table of the part of a group that has a variable.
    fn other_part(
        &mut self,
        body: &Body<'_>,
        other: &str,
        rest: &[Later<'_>],
        made_for: &mut Others,
    ) -> Result<Bound, Refusal> {
        if let Some(known) = made_for.parts.iter().find(|part| part.made.has(other)) {
            return Ok(known.made.clone());
        }
        let there = body.connected(&BTreeSet::from([other.to_owned()]));
        let inside = |name: &String| there.contains(name);
        let group = Body {
            triples: (body.triples.iter())
                .filter(|triple| {
                    let ends = [triple.subject.var(), triple.object.var()];
                    ends.into_iter().flatten().any(|name| there.contains(name))
                })
                .cloned()
                .collect(),
            classes: (body.classes.iter())
                .filter(|(name, _)| inside(name))
                .cloned()
                .collect(),
            values: (body.values.iter())
                .filter(|(name, _)| inside(name))
                .cloned()
                .collect(),
            filters: (rest.iter())
                .filter(|(_, names)| names.iter().all(inside))
                .map(|(filter, _)| *filter)
                .collect(),
            ..Body::default()
        };
        let mut wanted = Wanted::from([other.to_owned()]);
        for (_, names) in rest {
            wanted.extend(names.intersection(&there).cloned());
        }
        let made = self.group(&group, &wanted, None)?;
        made_for.used.extend(there);
        Ok(made)
    }

    /// Checks on a graph that a row of the main table that has a value of another part in each of
    /// several columns has the values of one of its rows.
    pub(super) fn joined(&self, main: &Bound, others: &Others) -> Result<(), Refusal> {
        for part in others.parts.iter().filter(|part| part.links.len() > 1) {
            let (Some(ours), Some(theirs)) = (self.calls.table(main), self.calls.table(&part.made))
            else {
                continue;
            };
            let places = |of: &Bound, names: Vec<&String>| -> Option<Vec<usize>> {
                names.into_iter().map(|name| of.index(name)).collect()
            };
            let mine = places(main, part.links.iter().map(|(mine, _)| mine).collect());
            let other = places(
                &part.made,
                part.links.iter().map(|(_, other)| other).collect(),
            );
            let (Some(mine), Some(other)) = (mine, other) else {
                return Err(Refusal::VariableComparison);
            };
            let tuple = |row: &[Cell], places: &[usize]| -> Vec<Cell> {
                places
                    .iter()
                    .filter_map(|&place| row.get(place))
                    .cloned()
                    .collect()
            };
            let known: HashSet<Vec<Cell>> = theirs.rows().map(|row| tuple(row, &other)).collect();
            if !ours.rows().all(|row| known.contains(&tuple(row, &mine))) {
                return Err(Refusal::VariableComparison);
            }
        }
        Ok(())
    }

    /// Checks on a graph that a comparison with the one value of another part kept the rows that
    /// the query's own test keeps.
    fn same_as_filter(
        &self,
        (before, place): (&Bound, usize),
        kept: &Bound,
        filter: &Expression,
        (mine, only): (&str, &Bound),
    ) -> Result<Bound, Refusal> {
        let (Some(kg), Some(nodes), Some(left), Some(value)) = (
            self.calls.kg(),
            self.calls.nodes(before, place),
            self.calls.nodes(kept, place),
            self.calls.terms(only),
        ) else {
            return Ok(kept.clone());
        };
        let other = Variable::new_unchecked("other");
        let test = replace(filter, &mut |variable| {
            if variable.as_str() == mine {
                algebra::tail().into()
            } else {
                other.clone().into()
            }
        });
        let value = value.iter().filter_map(ground);
        let bound = [(other.clone(), value.collect())];
        let passing = passing_with(kg, nodes.into_iter(), &[test], &bound)?;
        let passing: BTreeSet<NodeId> = passing.into_iter().collect();
        if left.into_iter().eq(passing) {
            Ok(kept.clone())
        } else {
            Err(Refusal::ComparisonDiffers)
        }
    }

    /// MINUS: the rows whose value does not occur in the other pattern.
    pub(super) fn minus(&mut self, main: Bound, pattern: &GraphPattern) -> Result<Bound, Refusal> {
        let shared: Vec<String> = visible(pattern)
            .into_iter()
            .filter(|name| main.has(name))
            .collect();
        let [only] = &shared[..] else {
            return Err(Refusal::Minus);
        };
        let made = self.relation(pattern, &Wanted::from([only.clone()]))?;
        self.among(main, only, Op::Ne, &made, only)
    }

    /// The rows whose value of `mine` is (`Op::Eq`) or is not (`Op::Ne`) a value of `theirs` in
    /// another table. Two sets give their intersection or their difference.
    fn among(
        &mut self,
        main: Bound,
        mine: &str,
        op: Op,
        other: &Bound,
        theirs: &str,
    ) -> Result<Bound, Refusal> {
        let place = main.index(mine).ok_or(Refusal::Minus)?;
        let set = other.column(other.index(theirs).ok_or(Refusal::Minus)?);
        if main.form == BoundForm::Set {
            let tool = if op == Op::Eq {
                Tool::Intersect
            } else {
                Tool::Difference
            };
            let arg = self.calls.emit(tool, vec![main.arg.clone(), set])?;
            return Ok(Bound { arg, ..main });
        }
        self.calls.filter(&main, place, Arg::Op(op), set)
    }

    /// EXISTS and NOT EXISTS: the rows whose value occurs, or does not occur, in the pattern.
    pub(super) fn exists(&mut self, main: Bound, filter: &Expression) -> Result<Bound, Refusal> {
        let (pattern, op) = match filter {
            Expression::Exists(pattern) => (pattern, Op::Eq),
            Expression::Not(inner) => match inner.as_ref() {
                Expression::Exists(pattern) => (pattern, Op::Ne),
                _ => return Err(Refusal::Minus),
            },
            _ => return Err(Refusal::Minus),
        };
        let mut body = Body::default();
        self.flatten(pattern, &mut body, &Wanted::new())?;
        let mut inside: BTreeSet<String> =
            body.variables().into_iter().map(str::to_owned).collect();
        for part in &body.parts {
            inside.extend(visible(part));
        }
        // `FILTER(?outer = ?inner)` in the pattern says which values must be equal.
        let link = |filter: &&Expression| {
            let (a, op, b) = between(filter)?;
            let outer = |name: &str| main.has(name) && !inside.contains(name);
            match (op, outer(a), outer(b)) {
                (Op::Eq, true, false) if inside.contains(b) => Some((a.to_owned(), b.to_owned())),
                (Op::Eq, false, true) if inside.contains(a) => Some((b.to_owned(), a.to_owned())),
                _ => None,
            }
        };
        let links: Vec<(String, String)> = body.filters.iter().filter_map(link).collect();
        body.filters.retain(|filter| link(filter).is_none());
        let shared = inside.iter().filter(|name| main.has(name));
        let shared: Vec<(String, String)> = links
            .into_iter()
            .chain(shared.map(|name| (name.clone(), name.clone())))
            .collect();
        let [(outer, inner)] = &shared[..] else {
            return Err(Refusal::Minus);
        };
        let wanted = Wanted::from([inner.clone()]);
        let here = self.calls.snapshot();
        let made = match self.group(&body, &wanted, None) {
            Err(Refusal::NoStart) => {
                self.calls.restore(here);
                let mut seed = main.clone();
                let place = main.index(outer).ok_or(Refusal::Minus)?;
                seed.columns = vec![Vec::new(); main.columns.len()];
                seed.columns[place] = vec![inner.clone()];
                self.group(&body, &wanted, Some(&seed))?
            }
            other => other?,
        };
        self.among(main, outer, op, &made, inner)
    }
}
