//! The query that the generalist writes, as algebra: names in angle brackets are slots, which are
//! filled in the algebra and never in the text (rules C.5).

use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::{NamedNode, NamedNodePattern, TermPattern, TriplePattern as RdfTriple};
use kg::term::Term;
use kg::{Kg, PatternPart, QueryError, algebra_literal, construct, operands, parse_query, parts};

use super::read::{NamedEnd, NamedTriple};
use crate::exec::Relation;
use crate::triad::{Pattern, Place};

/// How slots begin in the parsed query; no name of a graph does.
const SLOT: &str = "slot:";
/// The IRI that `a` stands for.
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// A parsed query with slots.
#[derive(Clone, Debug)]
pub(super) struct SlotQuery {
    query: Query,
    names: Vec<String>,
}

/// One triple pattern of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlotPattern {
    /// A triple that has to be linked.
    Open(NamedTriple),
    /// A pattern that stays as it is written.
    Fixed,
}

impl SlotQuery {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError::Syntax`], or [`QueryError::Refused`] for paths of relations.
    pub(super) fn parse(text: &str) -> Result<Self, QueryError> {
        let (text, names) = with_slots(text);
        let mut query = parse_query(&text)?;
        let mut paths = false;
        let pattern = pattern_of(&mut query)
            .ok_or_else(|| QueryError::Refused("a query other than SELECT and ASK".to_owned()))?;
        each_pattern(pattern, &mut |one| {
            paths |= matches!(
                one,
                GraphPattern::Path { .. }
                    | GraphPattern::Service { .. }
                    | GraphPattern::Graph { .. }
            );
        });
        if paths {
            return Err(QueryError::Refused("a path of relations".to_owned()));
        }
        Ok(Self { query, names })
    }

    /// Its triple patterns, in the order of [`filled`](Self::filled).
    pub(super) fn patterns(&self) -> Vec<SlotPattern> {
        let mut query = self.query.clone();
        let mut found = Vec::new();
        each_triple(&mut query, &mut |triple| {
            found.push(self.slot_pattern(triple));
        });
        found
    }

    /// The names in its conditions, such as in `FILTER (?x = <Paris>)`.
    pub(super) fn conditions(&self) -> Vec<String> {
        let mut query = self.query.clone();
        let mut found = Vec::new();
        each_constant(&mut query, &mut |node| {
            found.extend(self.name(node.as_str()).map(str::to_owned));
        });
        found
    }

    /// The query with its open patterns replaced by linked ones, and the names in its conditions by
    /// terms; `None` if one of them has no IRI.
    pub(super) fn filled(
        &self,
        kg: &dyn Kg,
        links: &[Option<Pattern>],
        conditions: &[Term],
    ) -> Option<Query> {
        let mut query = self.query.clone();
        let (mut links, mut complete) = (links.iter(), true);
        each_triple(&mut query, &mut |triple| {
            if let Some(Some(pattern)) = links.next() {
                match linked(kg, pattern) {
                    Some(filled) => *triple = filled,
                    None => complete = false,
                }
            }
        });
        let mut conditions = conditions.iter();
        each_constant(&mut query, &mut |node| {
            if self.name(node.as_str()).is_some() {
                match conditions.next() {
                    Some(Term::Iri(iri)) => *node = NamedNode::new_unchecked(iri),
                    _ => complete = false,
                }
            }
        });
        complete.then_some(query)
    }

    fn name(&self, iri: &str) -> Option<&str> {
        let index: usize = iri.strip_prefix(SLOT)?.parse().ok()?;
        self.names.get(index).map(String::as_str)
    }

    fn slot_pattern(&self, triple: &RdfTriple) -> SlotPattern {
        let end = |term: &TermPattern| match term {
            TermPattern::NamedNode(node) => {
                let name = self.name(node.as_str()).unwrap_or(node.as_str());
                Some(NamedEnd::Name(name.to_owned()))
            }
            TermPattern::Variable(var) => Some(NamedEnd::Var(var.as_str().to_owned())),
            TermPattern::Literal(literal) => Some(NamedEnd::Name(literal.value().to_owned())),
            TermPattern::BlankNode(node) => Some(NamedEnd::Var(node.as_str().to_owned())),
        };
        let phrase = match &triple.predicate {
            NamedNodePattern::NamedNode(node) if node.as_str() == TYPE => Some("a"),
            NamedNodePattern::NamedNode(node) => self.name(node.as_str()),
            NamedNodePattern::Variable(_) => None,
        };
        match (end(&triple.subject), phrase, end(&triple.object)) {
            (Some(subject), Some(phrase), Some(object)) => SlotPattern::Open(NamedTriple {
                subject,
                phrase: phrase.to_owned(),
                object,
            }),
            _ => SlotPattern::Fixed,
        }
    }
}

/// A query of the triples alone, for a generalist that is left out: `kind` over the variable `x`.
pub(super) fn plain_query(kind: crate::triad::AnswerType, triples: &[NamedTriple]) -> String {
    let end = |end: &NamedEnd| match end {
        NamedEnd::Name(name) => format!("<{name}>"),
        NamedEnd::Var(name) => format!("?{name}"),
    };
    let one = |triple: &NamedTriple| {
        let (subject, object) = (end(&triple.subject), end(&triple.object));
        format!("{subject} <{}> {object}", triple.phrase)
    };
    let all = triples.iter().map(one).collect::<Vec<_>>().join(" . ");
    match kind {
        crate::triad::AnswerType::Ask => format!("ASK {{ {all} }}"),
        crate::triad::AnswerType::Count => {
            format!("SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {all} }}")
        }
        crate::triad::AnswerType::Select => format!("SELECT DISTINCT ?x WHERE {{ {all} }}"),
    }
}

/// The text with every name in angle brackets replaced by the IRI of a slot, and the names.
fn with_slots(text: &str) -> (String, Vec<String>) {
    let (mut out, mut names) = (String::new(), Vec::new());
    let mut rest = text;
    let mut quote: Option<char> = None;
    while let Some(c) = rest.chars().next() {
        let name = if c == '<' && quote.is_none() {
            bracketed(rest)
        } else {
            None
        };
        if let Some(name) = name {
            out.push_str(&format!("<{SLOT}{}>", names.len()));
            names.push(name.trim().to_owned());
            rest = &rest[name.len() + 2..];
            continue;
        }
        match quote {
            Some(mark) if mark == c => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    (out, names)
}

/// The name in the angle brackets at the beginning of a text; `None` if `<` is a comparison.
fn bracketed(text: &str) -> Option<&str> {
    let inside = &text[1..];
    let name = &inside[..inside.find('>')?];
    let first = name.chars().next()?;
    let odd = |c: char| matches!(c, '<' | '{' | '}' | '"' | '?' | '=' | '&' | '|' | '\n');
    (!first.is_whitespace() && !name.contains(odd)).then_some(name)
}

/// A linked pattern as a triple of the algebra; `None` if a part of it has no IRI.
fn linked(kg: &dyn Kg, pattern: &Pattern) -> Option<RdfTriple> {
    let end = |place: &Place| match place {
        Place::Var(name) => Some(TermPattern::Variable(
            kg::spargebra::term::Variable::new_unchecked(name),
        )),
        Place::Node(node) => match kg.term(*node) {
            Term::Iri(iri) => Some(NamedNode::new_unchecked(iri).into()),
            Term::Literal(literal) => Some(algebra_literal(&literal).into()),
            Term::Blank(_) => None,
        },
    };
    let Pattern::Walk {
        head,
        relation: Relation::Plain(relation),
        tail,
    } = pattern
    else {
        return None;
    };
    Some(RdfTriple {
        subject: end(head)?,
        predicate: NamedNode::new_unchecked(kg.iri(relation.node())?).into(),
        object: end(tail)?,
    })
}

/// The triples that a query reads, for its evidence: at most `most`.
///
/// # Errors
/// [`QueryError`] if there are more, or the query fails.
pub(super) fn proof(
    kg: &dyn Kg,
    query: &Query,
    limits: kg::QueryLimits,
) -> Result<Vec<[Term; 3]>, QueryError> {
    let mut query = query.clone();
    let mut template = Vec::new();
    each_triple(&mut query, &mut |triple| template.push(triple.clone()));
    let Some(pattern) = pattern_of(&mut query) else {
        return Ok(Vec::new());
    };
    let whole = Query::Construct {
        template,
        dataset: None,
        pattern: matched(pattern.clone()),
        base_iri: None,
    };
    Ok(construct(kg, &whole, limits)?.unwrap_or_default())
}

/// The part of a pattern that matches triples, without what counts, orders or cuts the solutions.
fn matched(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Group { inner, .. }
        | GraphPattern::Extend { inner, .. } => matched(*inner),
        // HAVING is a condition on groups.
        GraphPattern::Filter { expr, inner } => match *inner {
            GraphPattern::Group { inner, .. } => matched(*inner),
            GraphPattern::Extend { inner, .. } if matches!(*inner, GraphPattern::Group { .. }) => {
                matched(*inner)
            }
            inner => GraphPattern::Filter {
                expr,
                inner: Box::new(inner),
            },
        },
        other => other,
    }
}

fn pattern_of(query: &mut Query) -> Option<&mut GraphPattern> {
    match query {
        Query::Select { pattern, .. } | Query::Ask { pattern, .. } => Some(pattern),
        Query::Construct { .. } | Query::Describe { .. } => None,
    }
}

/// Calls `visit` for every triple pattern of a query.
fn each_triple(query: &mut Query, visit: &mut dyn FnMut(&mut RdfTriple)) {
    if let Some(pattern) = pattern_of(query) {
        each_pattern(pattern, &mut |one| {
            if let GraphPattern::Bgp { patterns } = one {
                patterns.iter_mut().for_each(&mut *visit);
            }
        });
    }
}

/// Calls `visit` for a pattern and every pattern in it, those of EXISTS included.
fn each_pattern(pattern: &mut GraphPattern, visit: &mut dyn FnMut(&mut GraphPattern)) {
    visit(pattern);
    for part in parts(pattern) {
        match part {
            PatternPart::Pattern(inner) => each_pattern(inner, visit),
            PatternPart::Expression(expression) => each_expression(expression, &mut |one| {
                if let Expression::Exists(pattern) = one {
                    each_pattern(pattern, visit);
                }
            }),
        }
    }
}

/// Calls `visit` for every IRI in the conditions of a query.
fn each_constant(query: &mut Query, visit: &mut dyn FnMut(&mut NamedNode)) {
    let Some(pattern) = pattern_of(query) else {
        return;
    };
    each_pattern(pattern, &mut |one| {
        // Sort keys and what aggregates take are no conditions.
        if matches!(
            one,
            GraphPattern::OrderBy { .. } | GraphPattern::Group { .. }
        ) {
            return;
        }
        for part in parts(one) {
            if let PatternPart::Expression(expression) = part {
                each_expression(expression, &mut |inner| {
                    if let Expression::NamedNode(node) = inner {
                        visit(node);
                    }
                });
            }
        }
    });
}

/// Calls `visit` for an expression and every expression in it.
fn each_expression(expression: &mut Expression, visit: &mut dyn FnMut(&mut Expression)) {
    visit(expression);
    for operand in operands(expression) {
        each_expression(operand, visit);
    }
}
