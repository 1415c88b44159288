//! A group of triples, filters and sub-queries as a table.

use std::collections::BTreeSet;

use kg::spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use kg::spargebra::term::{GroundTerm, NamedNodePattern, TermPattern};
use kg::term::Term;

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
                if new
                    .iter()
                    .any(|name| !known.contains(name) && wanted.contains(name))
                {
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
        let names: BTreeSet<String> = body.variables().into_iter().map(str::to_owned).collect();
        let mut main = self.main(body, &names, &wanted, &mut parts, seed)?;
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
}
