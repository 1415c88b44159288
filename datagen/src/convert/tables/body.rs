//! The parts of a group: triples, filters, sub-queries.

use std::collections::BTreeSet;

use kg::spargebra::algebra::{Expression, Function, GraphPattern, PropertyPathExpression};
use kg::spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, Variable};
use kg::term::Term;
use kg::value::DatePart;
use toolbox::call::Repeat;

use super::{TableWriter, visible};
use crate::graph::{plain_variable, term_literal};
use crate::refusal::Refusal;

/// The names that a pattern must give.
pub(super) type Wanted = BTreeSet<String>;

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
    /// How often the relation is followed, if not once.
    pub repeat: Option<Repeat>,
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
    /// Variables that are computed, those that read others first.
    pub computed: Vec<(String, Computation<'q>)>,
    /// Triples that rows may have, the last one first, with the variable that only they bind.
    pub optional: Vec<(Triple, String)>,
}

/// How a variable is computed.
#[derive(Clone, Copy)]
pub(super) enum Computation<'q> {
    /// As a part of a date.
    Part(DatePart, &'q str),
    /// By arithmetic.
    Arithmetic(&'q Expression),
}

impl Computation<'_> {
    /// The variables that it reads.
    pub(super) fn reads(&self) -> BTreeSet<String> {
        match self {
            Self::Part(_, of) => BTreeSet::from([(*of).to_owned()]),
            Self::Arithmetic(expression) => variables(expression),
        }
    }
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

    fn triple(&self, triple: Triple, body: &mut Body<'_>) {
        let typed = self.calls.names.vocabulary.is_type(&triple.relation);
        if let (true, None, End::Var(name), End::Constant(Term::Iri(class))) =
            (typed, triple.repeat, &triple.subject, &triple.object)
        {
            let class = (name.clone(), class.clone());
            if !body.classes.contains(&class) {
                body.classes.push(class);
            }
        } else if !body.triples.contains(&triple) {
            body.triples.push(triple);
        }
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
                let relation = relation.as_str().to_owned();
                let triple = Triple {
                    subject,
                    relation,
                    repeat: None,
                    object,
                };
                self.triple(triple, body);
                Ok(())
            }
            PropertyPathExpression::Reverse(inner) => self.path(object, inner, subject, body),
            PropertyPathExpression::Sequence(first, second) => {
                self.fresh += 1;
                let middle = End::Var(format!("_:step{}", self.fresh));
                self.path(subject, first, middle.clone(), body)?;
                self.path(middle, second, object, body)
            }
            PropertyPathExpression::OneOrMore(inner) => {
                self.repeated(subject, (Repeat::OneOrMore, inner), object, body)
            }
            PropertyPathExpression::ZeroOrMore(inner) => {
                self.repeated(subject, (Repeat::ZeroOrMore, inner), object, body)
            }
            _ => Err(Refusal::PropertyPath),
        }
    }

    /// `r+` or `r*` of one relation, in either direction.
    fn repeated(
        &mut self,
        subject: End,
        (repeat, inner): (Repeat, &PropertyPathExpression),
        object: End,
        body: &mut Body<'_>,
    ) -> Result<(), Refusal> {
        let (subject, relation, object) = match inner {
            PropertyPathExpression::NamedNode(relation) => (subject, relation, object),
            PropertyPathExpression::Reverse(inner) => match inner.as_ref() {
                PropertyPathExpression::NamedNode(relation) => (object, relation, subject),
                _ => return Err(Refusal::PropertyPath),
            },
            _ => return Err(Refusal::PropertyPath),
        };
        let triple = Triple {
            subject,
            relation: relation.as_str().to_owned(),
            repeat: Some(repeat),
            object,
        };
        self.triple(triple, body);
        Ok(())
    }

    /// The only triple of an OPTIONAL, between a known variable and a new one.
    fn optional(pattern: &GraphPattern, known: &[String]) -> Option<(Triple, String)> {
        let GraphPattern::Bgp { patterns } = pattern else {
            return None;
        };
        let [triple] = &patterns[..] else {
            return None;
        };
        let NamedNodePattern::NamedNode(relation) = &triple.predicate else {
            return None;
        };
        let triple = Triple {
            subject: Self::end(&triple.subject),
            relation: relation.as_str().to_owned(),
            repeat: Some(Repeat::Maybe),
            object: Self::end(&triple.object),
        };
        let (subject, object) = (triple.subject.var()?, triple.object.var()?);
        let is_known = |name: &str| known.iter().any(|one| one == name);
        let new = match (is_known(subject), is_known(object)) {
            (true, false) => object.to_owned(),
            (false, true) => subject.to_owned(),
            _ => return None,
        };
        Some((triple, new))
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
                    let triple = Triple {
                        subject: Self::end(&triple.subject),
                        relation: relation.as_str().to_owned(),
                        repeat: None,
                        object: Self::end(&triple.object),
                    };
                    self.triple(triple, body);
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
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => self.left_join(left, right, expression.as_ref(), body, wanted),
            GraphPattern::Extend {
                inner,
                variable,
                expression: Expression::Variable(other),
            } => {
                let same = (variable.as_str().to_owned(), other.as_str().to_owned());
                body.same.push(same);
                self.flatten(inner, body, wanted)
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                let computation = match date_part(expression) {
                    Some((part, of)) => Computation::Part(part, of.as_str()),
                    None if is_arithmetic(expression) => Computation::Arithmetic(expression),
                    None => return Err(Refusal::Filter),
                };
                let name = variable.as_str().to_owned();
                body.computed.push((name, computation));
                self.flatten(inner, body, wanted)
            }
            GraphPattern::Values {
                variables,
                bindings,
            } => {
                let [variable] = &variables[..] else {
                    return Err(Refusal::Unsupported);
                };
                let term = |row: &Vec<Option<GroundTerm>>| match row.first() {
                    Some(Some(GroundTerm::NamedNode(iri))) => {
                        Ok(Term::Iri(iri.as_str().to_owned()))
                    }
                    _ => Err(Refusal::Unsupported),
                };
                let terms = bindings.iter().map(term).collect::<Result<_, _>>()?;
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

    /// Adds an OPTIONAL. It never removes a row. A variable that only it binds is a column with empty
    /// cells.
    fn left_join<'q>(
        &mut self,
        left: &'q GraphPattern,
        right: &'q GraphPattern,
        condition: Option<&'q Expression>,
        body: &mut Body<'q>,
        wanted: &Wanted,
    ) -> Result<(), Refusal> {
        let known = visible(left);
        let new = visible(right);
        // `BOUND(?x)` makes the OPTIONAL that binds it one that every row has.
        let always = always_bound(right);
        let bound = |filter: &&Expression| match filter {
            Expression::Bound(variable) => {
                let name = variable.as_str();
                always.iter().any(|one| one == name) && !known.iter().any(|one| one == name)
            }
            _ => false,
        };
        if body.filters.iter().any(bound) {
            if let Some(condition) = condition {
                conjuncts(condition, &mut body.filters);
            }
            self.flatten(left, body, wanted)?;
            return self.flatten(right, body, wanted);
        }
        // What another OPTIONAL may leave open, this one may bind.
        if open(left).iter().any(|name| new.contains(name)) {
            return Err(Refusal::OptionalAnswer);
        }
        let mut new = new.iter().filter(|name| !known.contains(name));
        if new.any(|name| wanted.contains(name)) {
            let one = Self::optional(right, &known).filter(|_| condition.is_none());
            body.optional.push(one.ok_or(Refusal::OptionalAnswer)?);
        }
        self.flatten(left, body, wanted)
    }
}

/// Variables that every solution of a pattern of triples binds.
pub(super) fn always_bound(pattern: &GraphPattern) -> Vec<String> {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => visible(pattern),
        GraphPattern::Join { left, right } => {
            let mut names = always_bound(left);
            names.extend(always_bound(right));
            names
        }
        GraphPattern::Filter { inner, .. } => always_bound(inner),
        _ => Vec::new(),
    }
}

/// The variables that a pattern does not always bind, because only an OPTIONAL has them.
fn open(pattern: &GraphPattern) -> Vec<String> {
    match pattern {
        GraphPattern::LeftJoin { left, right, .. } => {
            let known = visible(left);
            let new = visible(right).into_iter();
            let new = new.filter(|name| !known.contains(name));
            new.chain(open(left)).collect()
        }
        GraphPattern::Join { left, right } => {
            let mut names = open(left);
            names.extend(open(right));
            names
        }
        GraphPattern::Filter { inner, .. } | GraphPattern::Extend { inner, .. } => open(inner),
        _ => Vec::new(),
    }
}

/// Whether an expression adds, subtracts, multiplies or divides.
pub(super) fn is_arithmetic(expression: &Expression) -> bool {
    matches!(
        expression,
        Expression::Add(..)
            | Expression::Subtract(..)
            | Expression::Multiply(..)
            | Expression::Divide(..)
            | Expression::UnaryMinus(_)
    )
}

/// YEAR, MONTH or DAY of a variable.
pub(super) fn date_part(expression: &Expression) -> Option<(DatePart, &Variable)> {
    let Expression::FunctionCall(function, of) = expression else {
        return None;
    };
    let part = match function {
        Function::Year => DatePart::Year,
        Function::Month => DatePart::Month,
        Function::Day => DatePart::Day,
        _ => return None,
    };
    match of.as_slice() {
        [of] => plain_variable(of).map(|of| (part, of)),
        _ => None,
    }
}
