//! From connected triples to a table: where it starts, and a column per variable.

use std::collections::BTreeSet;

use kg::spargebra::algebra::Expression;
use kg::term::{NodeId, Term};
use kg::value::Op;
use toolbox::call::{Arg, Tool};

use super::super::names::bare;
use super::body::Wanted;
use super::body::{Body, End, Triple, variables, variables as variables_of};
use super::calls::{Bound, BoundForm};
use super::{TableWriter, visible};
use crate::refusal::Refusal;

/// The triples of a table that are not columns yet.
struct Open<'b> {
    triples: Vec<&'b Triple>,
    classes: Vec<&'b (String, String)>,
    /// Variables whose values must come from a list (`VALUES`).
    values: Vec<&'b (String, Vec<Term>)>,
}

impl TableWriter<'_> {
    /// The table of the part of a group that has the wanted variables, and the variables of that
    /// part.
    pub(super) fn main(
        &mut self,
        body: &Body<'_>,
        variables: &BTreeSet<String>,
        wanted: &Wanted,
        parts: &mut [Bound],
        seed: Option<&Bound>,
    ) -> Result<(Bound, BTreeSet<String>), Refusal> {
        // A triple without a variable is a condition that no column expresses.
        let fixed =
            |triple: &Triple| triple.subject.var().is_none() && triple.object.var().is_none();
        if body.triples.iter().any(fixed) {
            return Err(Refusal::Disconnected);
        }
        let tables = || parts.iter().filter(|part| part.form != BoundForm::Number);
        if variables.is_empty() {
            let has = |part: &&Bound| wanted.iter().any(|name| part.has(name));
            let tested = |part: &&Bound| {
                let mut names = body.filters.iter().flat_map(|filter| variables_of(filter));
                names.any(|name| part.has(&name))
            };
            let chosen = tables().find(has).or_else(|| parts.iter().find(has));
            let chosen = chosen.or_else(|| parts.iter().find(tested));
            let chosen = chosen.cloned().ok_or(Refusal::Disconnected)?;
            return Ok((chosen, BTreeSet::new()));
        }
        let here: BTreeSet<String> = wanted.intersection(variables).cloned().collect();
        let first = || {
            let mentioned = body.triples.iter();
            let mentioned =
                mentioned.flat_map(|triple| [triple.subject.var(), triple.object.var()]);
            let classes = body.classes.iter().map(|(name, _)| name.as_str());
            let values = body.values.iter().map(|(name, _)| name.as_str());
            let mut all = mentioned.flatten().chain(classes).chain(values);
            all.next().map(str::to_owned)
        };
        let begin = here.iter().next().cloned().or_else(first);
        let begin = begin.ok_or(Refusal::NoStart)?;
        let part = body.connected(&BTreeSet::from([begin]));
        if !here.iter().all(|name| part.contains(name)) {
            return Err(Refusal::Disconnected);
        }
        let mut needed = wanted.clone();
        for filter in &body.filters {
            needed.extend(self.mentioned(filter)?);
        }
        for other in body.minus.iter().chain(&body.parts) {
            needed.extend(visible(other));
        }
        let sharing = tables().find(|table| part.iter().any(|name| table.has(name)));
        let outside: Vec<&String> = wanted.difference(variables).collect();
        if outside
            .iter()
            .any(|name| tables().any(|table| table.has(name)))
            && !sharing.is_some_and(|table| outside.iter().all(|name| table.has(name)))
        {
            return Err(Refusal::Disconnected);
        }
        let sharing = match sharing.cloned() {
            Some(table) if table.distinct => {
                let names: Vec<String> = table.columns.iter().flatten().cloned().collect();
                Some(self.distinct(&table, &names)?)
            }
            other => other,
        };
        let root = sharing.or_else(|| {
            seed.filter(|seed| part.iter().any(|name| seed.has(name)))
                .cloned()
        });
        let made = self.component(body, &part, &needed, root)?;
        Ok((made, part))
    }

    /// Every variable that a filter mentions, within EXISTS too.
    pub(super) fn mentioned(&mut self, filter: &Expression) -> Result<BTreeSet<String>, Refusal> {
        let pattern = match filter {
            Expression::Exists(pattern) => pattern,
            Expression::Not(inner) => match inner.as_ref() {
                Expression::Exists(pattern) => pattern,
                _ => return Ok(variables(filter)),
            },
            _ => return Ok(variables(filter)),
        };
        let mut body = Body::default();
        self.flatten(pattern, &mut body, &Wanted::new())?;
        let mut names: BTreeSet<String> = body.variables().into_iter().map(str::to_owned).collect();
        for inner in &body.filters {
            names.extend(self.mentioned(inner)?);
        }
        for part in &body.parts {
            names.extend(visible(part));
        }
        Ok(names)
    }

    /// The table of connected variables; those that are not needed may be left out if that changes
    /// no row.
    fn component(
        &mut self,
        body: &Body<'_>,
        part: &BTreeSet<String>,
        needed: &Wanted,
        root: Option<Bound>,
    ) -> Result<Bound, Refusal> {
        let inside = |triple: &&Triple| {
            let ends = [triple.subject.var(), triple.object.var()];
            ends.into_iter().flatten().any(|name| part.contains(name))
        };
        let mut open = Open {
            triples: body.triples.iter().filter(inside).collect(),
            classes: (body.classes.iter())
                .filter(|(name, _)| part.contains(name))
                .collect(),
            values: (body.values.iter())
                .filter(|(name, _)| part.contains(name))
                .collect(),
        };
        let mut made = match root {
            Some(root) => root,
            None => self.start(&mut open)?,
        };
        let known: Vec<String> = made.columns.iter().flatten().cloned().collect();
        for name in known {
            made = self.classed(made, &name, &mut open)?;
        }
        while let Some(at) = open
            .triples
            .iter()
            .position(|triple| touches(&made, triple))
        {
            let triple = open.triples.remove(at);
            made = self.followed(made, triple, needed, &mut open)?;
        }
        if open.triples.is_empty() && open.classes.is_empty() && open.values.is_empty() {
            Ok(made)
        } else {
            Err(Refusal::Disconnected)
        }
    }

    /// The set that the table starts from: the nodes that an entity or a literal leads to, listed
    /// entities, or a class.
    fn start(&mut self, open: &mut Open<'_>) -> Result<Bound, Refusal> {
        let from = |iri: bool| {
            move |triple: &&Triple| {
                let fits = |end: &End| match end {
                    End::Constant(Term::Iri(_)) => iri,
                    End::Constant(_) => !iri,
                    End::Var(_) => false,
                };
                let (a, b) = (&triple.subject, &triple.object);
                fits(a) && b.var().is_some() || fits(b) && a.var().is_some()
            }
        };
        let entity = open.triples.iter().position(from(true));
        if entity.is_none() && !open.values.is_empty() {
            let (name, terms) = open.values.remove(0);
            return Ok(Bound::set(self.listed(terms)?, name));
        }
        if entity.is_none() && !open.classes.is_empty() {
            let (name, class) = open.classes.remove(0);
            let set = self.calls.class(class)?;
            return Ok(Bound::set(set, name));
        }
        let at = entity.or_else(|| open.triples.iter().position(from(false)));
        let triple = open.triples.remove(at.ok_or(Refusal::NoStart)?);
        let (constant, name, forward) = match (&triple.subject, &triple.object) {
            (End::Constant(term), End::Var(name)) => (term, name, true),
            (End::Var(name), End::Constant(term)) => (term, name, false),
            _ => return Err(Refusal::NoStart),
        };
        let constant = self.calls.constant(constant)?;
        let path = (triple.relation.as_str(), triple.repeat, forward);
        self.calls.reached(&constant, path, name)
    }

    /// How calls name the members of a list.
    fn listed(&mut self, terms: &[Term]) -> Result<Arg, Refusal> {
        let names = terms.iter().map(|term| self.calls.constant(term));
        let mut names = names.collect::<Result<Vec<_>, _>>()?;
        Ok(match names.len() {
            1 => names.remove(0),
            _ => Arg::List(names),
        })
    }

    /// Follows one triple from the table.
    fn followed(
        &mut self,
        made: Bound,
        triple: &Triple,
        needed: &Wanted,
        open: &mut Open<'_>,
    ) -> Result<Bound, Refusal> {
        let place = |end: &End| end.var().and_then(|name| made.index(name));
        let (near, far, forward) = match (place(&triple.subject), place(&triple.object)) {
            (Some(near), _) => (near, &triple.object, true),
            (None, Some(near)) => (near, &triple.subject, false),
            (None, None) => return Err(Refusal::Disconnected),
        };
        match far {
            End::Constant(term) => {
                let value = match term {
                    Term::Literal(literal) => Arg::Literal(bare(literal)),
                    other => self.calls.constant(other)?,
                };
                let typed = self.calls.names.vocabulary.is_type(&triple.relation);
                if made.form == BoundForm::Set && triple.repeat.is_none() && !typed {
                    let kept = self
                        .calls
                        .constrain(&made, &triple.relation, forward, value)?;
                    return self.same_literal(&made, kept, triple, term);
                }
                let longer = self.extend(&made, near, triple, forward, "")?;
                let last = longer.columns.len() - 1;
                let kept = self.calls.filter(&longer, last, Arg::Op(Op::Eq), value)?;
                let (kg, left) = (self.calls.kg(), self.calls.nodes(&kept, last));
                match (kg, left, term) {
                    (Some(kg), Some(left), Term::Literal(_))
                        if left.iter().any(|node| Some(*node) != kg.find(term)) =>
                    {
                        Err(Refusal::ComparisonDiffers)
                    }
                    _ => Ok(kept),
                }
            }
            End::Var(name) => {
                if let Some(known) = made.index(name) {
                    let longer = self.extend(&made, near, triple, forward, "")?;
                    let (last, known) = (longer.columns.len() - 1, longer.column(known));
                    return self.calls.filter(&longer, last, Arg::Op(Op::Eq), known);
                }
                let here = self.calls.snapshot();
                let longer = self.extend(&made, near, triple, forward, name)?;
                let used = needed.contains(name)
                    || open.triples.iter().any(|other| {
                        other.subject.var() == Some(name) || other.object.var() == Some(name)
                    })
                    || open.classes.iter().any(|(other, _)| other == name)
                    || open.values.iter().any(|(other, _)| other == name);
                if !used && self.calls.has_rows_of(&longer, &made) {
                    self.calls.restore(here);
                    return Ok(made);
                }
                self.classed(longer, name, open)
            }
        }
    }

    /// Checks on a graph that a comparison with a literal kept the members that have this very
    /// literal.
    fn same_literal(
        &self,
        made: &Bound,
        kept: Bound,
        triple: &Triple,
        term: &Term,
    ) -> Result<Bound, Refusal> {
        let (Some(kg), Some(before), Some(left), Term::Literal(_)) = (
            self.calls.kg(),
            self.calls.nodes(made, 0),
            self.calls.nodes(&kept, 0),
            term,
        ) else {
            return Ok(kept);
        };
        let relation = kg.find(&Term::Iri(triple.relation.clone()));
        let (Some(relation), Some(value)) = (relation, kg.find(term)) else {
            return Err(Refusal::UnknownConstant);
        };
        let has = |node: &NodeId| kg.has(*node, relation.relation(), value);
        if left.into_iter().eq(before.into_iter().filter(has)) {
            Ok(kept)
        } else {
            Err(Refusal::ComparisonDiffers)
        }
    }

    fn extend(
        &mut self,
        made: &Bound,
        near: usize,
        triple: &Triple,
        forward: bool,
        name: &str,
    ) -> Result<Bound, Refusal> {
        let path = (triple.relation.as_str(), triple.repeat, forward);
        self.calls.extend(made, near, path, name)
    }

    /// Keeps the rows in which a variable has a value of its lists and classes. On a graph, a class that all values have is left out.
    fn classed(
        &mut self,
        mut made: Bound,
        name: &str,
        open: &mut Open<'_>,
    ) -> Result<Bound, Refusal> {
        let lists: Vec<&(String, Vec<Term>)> =
            (open.values.extract_if(.., |(other, _)| other == name)).collect();
        for (_, terms) in lists {
            let place = made.index(name).ok_or(Refusal::Disconnected)?;
            let members = self.listed(terms)?;
            made = self.within(made, place, members)?;
        }
        let classes: Vec<String> = open
            .classes
            .extract_if(.., |(other, _)| other == name)
            .map(|(_, class)| class.clone())
            .collect();
        for class in classes {
            let place = made.index(name).ok_or(Refusal::Disconnected)?;
            let (kg, nodes) = (self.calls.kg(), self.calls.nodes(&made, place));
            if let (Some(kg), Some(nodes)) = (kg, nodes) {
                let class = kg.find(&Term::Iri(class.clone()));
                let class = class.ok_or(Refusal::UnknownConstant)?;
                let instances = kg.instances(class);
                if nodes
                    .iter()
                    .all(|node| instances.binary_search(node).is_ok())
                {
                    continue;
                }
            }
            let members = self.calls.class(&class)?;
            made = self.within(made, place, members)?;
        }
        Ok(made)
    }

    /// The rows that have a member of a set in a column.
    fn within(&mut self, made: Bound, place: usize, members: Arg) -> Result<Bound, Refusal> {
        if made.form != BoundForm::Set {
            return self.calls.filter(&made, place, Arg::Op(Op::Eq), members);
        }
        let sets = vec![made.arg.clone(), members];
        let arg = self.calls.emit(Tool::Intersect, sets)?;
        Ok(Bound { arg, ..made })
    }
}

fn touches(made: &Bound, triple: &Triple) -> bool {
    [&triple.subject, &triple.object]
        .into_iter()
        .filter_map(End::var)
        .any(|name| made.has(name))
}
