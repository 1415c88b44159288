//! A group of triples, filters and sub-queries as a table.

use std::collections::BTreeSet;

use kg::spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use kg::spargebra::term::{GroundTerm, NamedNodePattern, TermPattern};
use kg::term::Term;
use kg::value::Op;
use toolbox::call::{Arg, Tool};

use super::calls::{Bound, BoundForm};
use super::head::Wanted;
use super::{TableWriter, visible};
use crate::graph::term_literal;
use crate::refusal::Refusal;

/// An end of a triple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Var(String),
    Constant(Term),
}

impl End {
    pub(super) fn var(&self) -> Option<&str> {
        match self {
            Self::Var(name) => Some(name),
            Self::Constant(_) => None,
        }
    }
}

/// A triple with a fixed relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Triple {
    pub subject: End,
    pub relation: String,
    pub object: End,
}

/// The parts of a group.
#[derive(Default)]
pub(super) struct Body<'q> {
    pub triples: Vec<Triple>,
    /// Variables with the IRI of their class.
    pub classes: Vec<(String, String)>,
    pub filters: Vec<&'q Expression>,
    pub parts: Vec<&'q GraphPattern>,
    pub minus: Vec<&'q GraphPattern>,
    pub values: Vec<(String, Vec<Term>)>,
    /// Variables that are the same.
    pub same: Vec<(String, String)>,
}

impl Body<'_> {
    /// The variables of triples, classes and values.
    pub(super) fn variables(&self) -> BTreeSet<&str> {
        let ends = self.triples.iter();
        let ends = ends.flat_map(|triple| [triple.subject.var(), triple.object.var()]);
        ends.flatten()
            .chain(self.classes.iter().map(|(name, _)| name.as_str()))
            .chain(self.values.iter().map(|(name, _)| name.as_str()))
            .collect()
    }

    /// The variables that triples connect with one of these.
    pub(super) fn connected(&self, from: &BTreeSet<String>) -> BTreeSet<String> {
        let mut here = from.clone();
        loop {
            let before = here.len();
            for triple in &self.triples {
                if let (Some(a), Some(b)) = (triple.subject.var(), triple.object.var())
                    && (here.contains(a) || here.contains(b))
                {
                    here.extend([a.to_owned(), b.to_owned()]);
                }
            }
            if here.len() == before {
                return here;
            }
        }
    }
}

/// The sides of `a && b && …`.
fn conjuncts<'q>(expression: &'q Expression, into: &mut Vec<&'q Expression>) {
    match expression {
        Expression::And(left, right) => {
            conjuncts(left, into);
            conjuncts(right, into);
        }
        other => into.push(other),
    }
}

/// The variables of an expression, without those of EXISTS.
pub(super) fn variables(expression: &Expression) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    crate::algebra::replace(expression, &mut |variable| {
        names.insert(variable.as_str().to_owned());
        variable.clone().into()
    });
    names
}

impl TableWriter<'_> {
    fn end(term: &TermPattern) -> End {
        match term {
            TermPattern::NamedNode(iri) => End::Constant(Term::Iri(iri.as_str().to_owned())),
            TermPattern::Literal(literal) => End::Constant(Term::Literal(term_literal(literal))),
            TermPattern::BlankNode(blank) => End::Var(format!("_:{}", blank.as_str())),
            TermPattern::Variable(variable) => End::Var(variable.as_str().to_owned()),
        }
    }

    fn triple(
        &self,
        subject: End,
        relation: &str,
        object: End,
        body: &mut Body<'_>,
    ) -> Result<(), Refusal> {
        if self.calls.names.vocabulary.is_type(relation) {
            let (End::Var(name), End::Constant(Term::Iri(class))) = (subject, object) else {
                return Err(Refusal::HiddenRelation);
            };
            let class = (name, class);
            if !body.classes.contains(&class) {
                body.classes.push(class);
            }
            return Ok(());
        }
        let triple = Triple {
            subject,
            relation: relation.to_owned(),
            object,
        };
        if !body.triples.contains(&triple) {
            body.triples.push(triple);
        }
        Ok(())
    }

    /// A path as triples with new variables between its steps.
    fn path(
        &mut self,
        subject: End,
        path: &PropertyPathExpression,
        object: End,
        body: &mut Body<'_>,
    ) -> Result<(), Refusal> {
        match path {
            PropertyPathExpression::NamedNode(relation) => {
                self.triple(subject, relation.as_str(), object, body)
            }
            PropertyPathExpression::Reverse(inner) => self.path(object, inner, subject, body),
            PropertyPathExpression::Sequence(first, second) => {
                self.fresh += 1;
                let middle = End::Var(format!("_:step{}", self.fresh));
                self.path(subject, first, middle.clone(), body)?;
                self.path(middle, second, object, body)
            }
            _ => Err(Refusal::PropertyPath),
        }
    }

    /// Adds a pattern to a group.
    pub(super) fn flatten<'q>(
        &mut self,
        pattern: &'q GraphPattern,
        body: &mut Body<'q>,
        wanted: &Wanted,
    ) -> Result<(), Refusal> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    let NamedNodePattern::NamedNode(relation) = &triple.predicate else {
                        return Err(Refusal::VariablePredicate);
                    };
                    let (subject, object) = (Self::end(&triple.subject), Self::end(&triple.object));
                    self.triple(subject, relation.as_str(), object, body)?;
                }
                Ok(())
            }
            GraphPattern::Path {
                subject,
                path,
                object,
            } => self.path(Self::end(subject), path, Self::end(object), body),
            GraphPattern::Join { left, right } => {
                self.flatten(left, body, wanted)?;
                self.flatten(right, body, wanted)
            }
            GraphPattern::Filter { expr, inner } => {
                conjuncts(expr, &mut body.filters);
                self.flatten(inner, body, wanted)
            }
            GraphPattern::Minus { left, right } => {
                body.minus.push(right);
                self.flatten(left, body, wanted)
            }
            GraphPattern::LeftJoin { left, right, .. } => {
                // OPTIONAL never removes a row; a variable that only it binds cannot be a column.
                let known = visible(left);
                let new = visible(right);
                if new.iter().any(|name| !known.contains(name) && wanted.contains(name)) {
                    return Err(Refusal::OptionalAnswer);
                }
                self.flatten(left, body, wanted)
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression: Expression::Variable(other),
            } => {
                let same = (variable.as_str().to_owned(), other.as_str().to_owned());
                body.same.push(same);
                self.flatten(inner, body, wanted)
            }
            GraphPattern::Extend { .. } => Err(Refusal::Filter),
            GraphPattern::Values {
                variables,
                bindings,
            } => {
                let [variable] = &variables[..] else {
                    return Err(Refusal::Unsupported);
                };
                let mut terms = Vec::new();
                for row in bindings {
                    terms.push(match row.first() {
                        Some(Some(GroundTerm::NamedNode(iri))) => {
                            Term::Iri(iri.as_str().to_owned())
                        }
                        _ => return Err(Refusal::Unsupported),
                    });
                }
                body.values.push((variable.as_str().to_owned(), terms));
                Ok(())
            }
            GraphPattern::Project { .. }
            | GraphPattern::Distinct { .. }
            | GraphPattern::Reduced { .. }
            | GraphPattern::Slice { .. }
            | GraphPattern::OrderBy { .. }
            | GraphPattern::Group { .. }
            | GraphPattern::Union { .. } => {
                body.parts.push(pattern);
                Ok(())
            }
            _ => Err(Refusal::Unsupported),
        }
    }

    /// The table of a group. `seed` has a variable whose values are known already.
    pub(super) fn body(
        &mut self,
        pattern: &GraphPattern,
        wanted: &Wanted,
        seed: Option<&Bound>,
    ) -> Result<Bound, Refusal> {
        let mut body = Body::default();
        self.flatten(pattern, &mut body, wanted)?;
        self.group(&body, wanted, seed)
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
        let mut parts = Vec::new();
        for part in &body.parts {
            parts.push(self.relation(part, &visible(part).into_iter().collect())?);
        }
        let own: BTreeSet<String> = body.variables().into_iter().map(str::to_owned).collect();
        let mut main = self.main(body, &own, &wanted, &mut parts, seed)?;
        for (alias, of) in &body.same {
            if let Some(place) = main.index(of) {
                main.columns[place].push(alias.clone());
            }
        }
        let mut left: Vec<&Expression> = body.filters.clone();
        // Filters that reach another part of the group: its table is made for them.
        let mut rest = Vec::new();
        for filter in left.drain(..) {
            let names = variables(filter);
            let exists = matches!(filter, Expression::Exists(_))
                || matches!(filter, Expression::Not(inner) if matches!(inner.as_ref(), Expression::Exists(_)));
            if exists {
                main = self.exists(main, filter)?;
            } else if names.iter().all(|name| main.has(name)) {
                main = self.keep(main, filter)?;
            } else {
                rest.push((filter, names));
            }
        }
        for (filter, names) in &rest {
            main = self.across(main, body, filter, names, &rest, &parts)?;
        }
        for part in parts.iter().filter(|part| part.form != BoundForm::Number) {
            main = self.meet(main, part)?;
        }
        for minus in &body.minus {
            main = self.minus(main, minus)?;
        }
        Ok(main)
    }

    /// The rows whose values also occur in a part that shares one column.
    fn meet(&mut self, main: Bound, part: &Bound) -> Result<Bound, Refusal> {
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

    /// A filter between the main table and another part of the group.
    fn across(
        &mut self,
        main: Bound,
        body: &Body<'_>,
        filter: &Expression,
        names: &BTreeSet<String>,
        rest: &[(&Expression, BTreeSet<String>)],
        parts: &[Bound],
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
        let Some((mine, op, theirs)) = super::filters::between(filter) else {
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
        if let Some(part) = known.filter(|part| part.form == BoundForm::Number || part.columns.len() == 1 && op != Op::Eq) {
            return self.calls.filter(&main, place, Arg::Op(op), part.arg.clone());
        }
        if op != Op::Eq {
            return Err(Refusal::VariableComparison);
        }
        let set = match known {
            Some(part) => part.column(part.index(other).ok_or(Refusal::Disconnected)?),
            None => {
                let there = body.connected(&BTreeSet::from([other.clone()]));
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
                    filters: (rest.iter())
                        .filter(|(_, names)| names.iter().all(inside))
                        .map(|(filter, _)| *filter)
                        .collect(),
                    ..Body::default()
                };
                let made = self.group(&group, &Wanted::from([other.clone()]), None)?;
                made.column(made.index(other).ok_or(Refusal::Disconnected)?)
            }
        };
        self.calls.filter(&main, place, Arg::Op(op), set)
    }

    /// MINUS: the rows whose value does not occur in the other pattern.
    fn minus(&mut self, main: Bound, pattern: &GraphPattern) -> Result<Bound, Refusal> {
        let shared: Vec<String> = visible(pattern)
            .into_iter()
            .filter(|name| main.has(name))
            .collect();
        let [only] = &shared[..] else {
            return Err(Refusal::Minus);
        };
        let made = self.relation(pattern, &Wanted::from([only.clone()]))?;
        self.without(main, only, &made, only)
    }

    /// The rows whose value of `mine` is no value of `theirs` in another table. Of two sets it is
    /// their difference.
    fn without(
        &mut self,
        main: Bound,
        mine: &str,
        other: &Bound,
        theirs: &str,
    ) -> Result<Bound, Refusal> {
        let place = main.index(mine).ok_or(Refusal::Minus)?;
        let set = other.column(other.index(theirs).ok_or(Refusal::Minus)?);
        if main.form == BoundForm::Set {
            let arg = self.calls.emit(Tool::Difference, vec![main.arg.clone(), set])?;
            return Ok(Bound { arg, ..main });
        }
        self.calls.filter(&main, place, Arg::Op(Op::Ne), set)
    }

    /// EXISTS and NOT EXISTS: the rows whose value occurs, or does not occur, in the pattern.
    fn exists(&mut self, main: Bound, filter: &Expression) -> Result<Bound, Refusal> {
        let (pattern, holds) = match filter {
            Expression::Exists(pattern) => (pattern, true),
            Expression::Not(inner) => match inner.as_ref() {
                Expression::Exists(pattern) => (pattern, false),
                _ => return Err(Refusal::Minus),
            },
            _ => return Err(Refusal::Minus),
        };
        let mut body = Body::default();
        self.flatten(pattern, &mut body, &Wanted::new())?;
        let mut inside: BTreeSet<String> = body.variables().into_iter().map(str::to_owned).collect();
        for part in &body.parts {
            inside.extend(visible(part));
        }
        // `FILTER(?outer = ?inner)` in the pattern says which values must meet.
        let link = |filter: &&Expression| {
            let (a, op, b) = super::filters::between(filter)?;
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
        if holds {
            let place = main.index(outer).ok_or(Refusal::Minus)?;
            let set = made.column(made.index(inner).ok_or(Refusal::Minus)?);
            if main.form == BoundForm::Set {
                let arg = self.calls.emit(Tool::Intersect, vec![main.arg.clone(), set])?;
                return Ok(Bound { arg, ..main });
            }
            return self.calls.filter(&main, place, Arg::Op(Op::Eq), set);
        }
        self.without(main, outer, &made, inner)
    }
}
