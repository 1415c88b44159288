//! Random graphs generated from a query: its own patterns are instantiated as triples several
//! times, with noise. This code reads the algebra and does not depend on the conversion.

mod maker;

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::Query;
use kg::spargebra::algebra::{
    AggregateExpression, Expression, Function, GraphPattern, OrderExpression,
    PropertyPathExpression,
};
use kg::spargebra::term::{
    GroundTerm, Literal as RdfLiteral, NamedNodePattern, TermPattern, Variable,
};
use kg::term::{Literal, Term, XSD};

/// A small generator, so that failures are reproducible.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % sides.max(1) as u64) as usize
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        if from.is_empty() {
            None
        } else {
            from.get(self.below(from.len()))
        }
    }
}

/// A triple pattern, and whether it is required.
#[derive(Clone)]
struct Fact {
    subject: TermPattern,
    path: PropertyPathExpression,
    object: TermPattern,
    /// Inside OPTIONAL, EXISTS, NOT EXISTS or MINUS: present in some copies only.
    maybe: bool,
    /// The union branches that it belongs to.
    branches: Vec<(usize, usize)>,
}

/// What a query requires of its variables.
#[derive(Default)]
pub(crate) struct Frozen {
    facts: Vec<Fact>,
    /// Constants that a variable is compared with.
    compared: BTreeMap<String, Vec<(char, Literal)>>,
    /// Terms that a variable may equal.
    values: BTreeMap<String, Vec<Term>>,
    /// Constants that a variable must not equal.
    differ: BTreeMap<String, Vec<Term>>,
    /// Variables that are sorted, aggregated or compared with each other: literals.
    literal: BTreeSet<String>,
    /// Variables that are a subject: no literals.
    subjects: BTreeSet<String>,
    same: Vec<(String, String)>,
    /// Variables of which the first is less than the second.
    ordered: Vec<(String, String)>,
    unions: usize,
}

fn literal(literal: &RdfLiteral) -> Literal {
    match literal.language() {
        Some(lang) => Literal {
            lexical: literal.value().to_owned(),
            datatype: None,
            lang: Some(lang.to_ascii_lowercase()),
        },
        None if literal.datatype().as_str() == format!("{XSD}string") => {
            Literal::plain(literal.value())
        }
        None => Literal {
            lexical: literal.value().to_owned(),
            datatype: Some(literal.datatype().as_str().to_owned()),
            lang: None,
        },
    }
}

fn iri(text: impl Into<String>) -> Term {
    Term::Iri(text.into())
}

impl Frozen {
    pub(crate) fn of(query: &Query) -> Self {
        let mut frozen = Self::default();
        if let Query::Select { pattern, .. } | Query::Ask { pattern, .. } = query {
            frozen.pattern(pattern, false, &[]);
        }
        frozen
    }

    fn pattern(&mut self, pattern: &GraphPattern, maybe: bool, branches: &[(usize, usize)]) {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    let path = match &triple.predicate {
                        NamedNodePattern::NamedNode(name) => name.clone(),
                        NamedNodePattern::Variable(variable) => {
                            kg::spargebra::term::NamedNode::new_unchecked(format!(
                                "http://ex.org/r/{}",
                                variable.as_str()
                            ))
                        }
                    };
                    let path = PropertyPathExpression::NamedNode(path);
                    self.fact(&triple.subject, path, &triple.object, maybe, branches);
                }
            }
            GraphPattern::Path {
                subject,
                path,
                object,
            } => self.fact(subject, path.clone(), object, maybe, branches),
            GraphPattern::Join { left, right } => {
                self.pattern(left, maybe, branches);
                self.pattern(right, maybe, branches);
            }
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => {
                self.pattern(left, maybe, branches);
                self.pattern(right, true, branches);
                expression
                    .iter()
                    .for_each(|e| self.expression(e, false, branches));
            }
            GraphPattern::Minus { left, right } => {
                self.pattern(left, maybe, branches);
                self.pattern(right, true, branches);
            }
            GraphPattern::Union { left, right } => {
                self.unions += 1;
                let union = self.unions;
                for (i, side) in [left, right].into_iter().enumerate() {
                    let branches: Vec<_> = branches.iter().copied().chain([(union, i)]).collect();
                    self.pattern(side, maybe, &branches);
                }
            }
            GraphPattern::Filter { expr, inner } => {
                self.pattern(inner, maybe, branches);
                self.expression(expr, false, branches);
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                self.pattern(inner, maybe, branches);
                self.assign(variable.as_str(), expression, branches);
            }
            GraphPattern::Values {
                variables,
                bindings,
            } => self.listed(variables, bindings),
            GraphPattern::OrderBy { inner, expression } => {
                self.pattern(inner, maybe, branches);
                for key in expression {
                    let (OrderExpression::Asc(key) | OrderExpression::Desc(key)) = key;
                    self.value(key);
                }
            }
            GraphPattern::Group {
                inner, aggregates, ..
            } => {
                self.pattern(inner, maybe, branches);
                for (output, aggregate) in aggregates {
                    if let AggregateExpression::FunctionCall { name, expr, .. } = aggregate
                        && !name.to_string().starts_with("COUNT")
                    {
                        self.value(expr);
                        self.literal.insert(output.as_str().to_owned());
                    }
                }
            }
            GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. }
            | GraphPattern::Graph { inner, .. } => self.pattern(inner, maybe, branches),
            _ => {}
        }
    }

    /// `BIND(expression AS ?variable)`.
    fn assign(&mut self, variable: &str, expression: &Expression, branches: &[(usize, usize)]) {
        match expression {
            Expression::Variable(other) => self
                .same
                .push((variable.to_owned(), other.as_str().to_owned())),
            Expression::NamedNode(node) => {
                self.values
                    .entry(variable.to_owned())
                    .or_default()
                    .push(iri(node.as_str()));
            }
            other => self.expression(other, false, branches),
        }
    }

    /// `VALUES`.
    fn listed(&mut self, variables: &[Variable], bindings: &[Vec<Option<GroundTerm>>]) {
        for (i, variable) in variables.iter().enumerate() {
            for row in bindings {
                let term = match &row[i] {
                    Some(GroundTerm::NamedNode(node)) => iri(node.as_str()),
                    Some(GroundTerm::Literal(value)) => Term::Literal(literal(value)),
                    _ => continue,
                };
                self.values
                    .entry(variable.as_str().to_owned())
                    .or_default()
                    .push(term);
            }
        }
    }

    fn fact(
        &mut self,
        subject: &TermPattern,
        path: PropertyPathExpression,
        object: &TermPattern,
        maybe: bool,
        branches: &[(usize, usize)],
    ) {
        self.ends(subject, &path, object);
        self.facts.push(Fact {
            subject: subject.clone(),
            path,
            object: object.clone(),
            maybe,
            branches: branches.to_vec(),
        });
    }

    /// Records the variables that some triple of a path has as its subject.
    fn ends(&mut self, subject: &TermPattern, path: &PropertyPathExpression, object: &TermPattern) {
        let mut note = |node: &TermPattern| self.subjects.extend(name(node));
        match path {
            PropertyPathExpression::Reverse(_) => note(object),
            PropertyPathExpression::Alternative(..) => {
                note(subject);
                note(object);
            }
            _ => note(subject),
        }
    }

    /// A variable that is sorted or computed with.
    fn value(&mut self, expression: &Expression) {
        match expression {
            Expression::Variable(variable) => {
                self.literal.insert(variable.as_str().to_owned());
            }
            Expression::FunctionCall(_, arguments) => {
                arguments.iter().for_each(|argument| self.value(argument));
            }
            Expression::UnaryMinus(inner) | Expression::UnaryPlus(inner) => self.value(inner),
            _ => {}
        }
    }

    fn expression(&mut self, expression: &Expression, negated: bool, branches: &[(usize, usize)]) {
        use Expression as E;
        match expression {
            E::And(a, b) | E::Or(a, b) => {
                self.expression(a, negated, branches);
                self.expression(b, negated, branches);
            }
            E::Not(inner) => self.expression(inner, !negated, branches),
            E::Exists(pattern) => self.pattern(pattern, true, branches),
            E::Equal(a, b) | E::SameTerm(a, b) => {
                self.compare(a, if negated { '!' } else { '=' }, b);
            }
            E::Greater(a, b) | E::GreaterOrEqual(a, b) => self.compare(a, '>', b),
            E::Less(a, b) | E::LessOrEqual(a, b) => self.compare(a, '<', b),
            E::In(a, list) => list
                .iter()
                .for_each(|b| self.compare(a, if negated { '!' } else { '=' }, b)),
            E::If(test, _, _) => self.expression(test, negated, branches),
            E::FunctionCall(
                Function::Regex | Function::Contains | Function::StrStarts | Function::StrEnds,
                arguments,
            ) => {
                if let [of, E::Literal(text), ..] = arguments.as_slice() {
                    let text = text.value().trim_matches(['^', '$']);
                    // A year is looked for in dates.
                    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
                        self.near(of, '=', Literal::plain(text));
                    }
                }
            }
            // BIND of a part of a date.
            E::FunctionCall(Function::Year | Function::Month | Function::Day, arguments) => {
                if let Some(of) = arguments.first() {
                    self.near(of, '>', Literal::xsd("2001-05-06", "date"));
                }
            }
            E::FunctionCall(_, arguments) => arguments
                .iter()
                .for_each(|argument| self.expression(argument, negated, branches)),
            _ => {}
        }
    }

    /// Values of a variable are near this one.
    fn near(&mut self, of: &Expression, op: char, value: Literal) {
        if let Core::Var(variable) = core(of) {
            self.compared.entry(variable).or_default().push((op, value));
        }
    }

    fn compare(&mut self, a: &Expression, op: char, b: &Expression) {
        match (core(a), core(b)) {
            (Core::Var(variable), Core::Term(term)) | (Core::Term(term), Core::Var(variable)) => {
                let op = match (op, core(a)) {
                    ('>', Core::Term(_)) => '<',
                    ('<', Core::Term(_)) => '>',
                    (op, _) => op,
                };
                match (term, op) {
                    // YEAR(?d) is a number; ?d is a date of that year.
                    (Term::Literal(value), _) if is_year(a) || is_year(b) => {
                        let date = Literal::xsd(format!("{:0>4}-05-06", value.lexical), "date");
                        self.compared.entry(variable).or_default().push((op, date));
                    }
                    (Term::Literal(value), _) => {
                        self.compared.entry(variable).or_default().push((op, value));
                    }
                    (term, '!') => self.differ.entry(variable).or_default().push(term),
                    (term, _) => self.values.entry(variable).or_default().push(term),
                }
            }
            (Core::Var(a), Core::Var(b)) => {
                if op == '=' {
                    self.same.push((a, b));
                } else if op != '!' {
                    self.ordered.push(if op == '<' {
                        (a.clone(), b.clone())
                    } else {
                        (b.clone(), a.clone())
                    });
                    self.literal.extend([a, b]);
                }
            }
            _ => {}
        }
    }
}

fn is_year(expression: &Expression) -> bool {
    matches!(expression, Expression::FunctionCall(Function::Year, _))
}

enum Core {
    Var(String),
    Term(Term),
    Other,
}

fn core(expression: &Expression) -> Core {
    match expression {
        Expression::Variable(variable) => Core::Var(variable.as_str().to_owned()),
        Expression::NamedNode(node) => Core::Term(iri(node.as_str())),
        Expression::Literal(value) => Core::Term(Term::Literal(literal(value))),
        Expression::UnaryPlus(inner) => core(inner),
        Expression::FunctionCall(
            Function::Str
            | Function::LCase
            | Function::UCase
            | Function::Year
            | Function::Custom(_),
            arguments,
        ) => arguments.first().map_or(Core::Other, core),
        _ => Core::Other,
    }
}

fn name(node: &TermPattern) -> Option<String> {
    match node {
        TermPattern::Variable(variable) => Some(Variable::as_str(variable).to_owned()),
        TermPattern::BlankNode(blank) => Some(format!("_:{}", blank.as_str())),
        _ => None,
    }
}
