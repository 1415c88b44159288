//! The label service of Wikidata's endpoint: `SERVICE wikibase:label { bd:serviceParam
//! wikibase:language "en,de" . }`. It binds `?xLabel` to the label of `?x` for every such variable
//! that is selected. Here it reads `rdfs:label`: the first of the languages in which `?x` has one.
//! `?xAltLabel` and `?xDescription` are refused.

use std::collections::BTreeSet;

use oxigraph::model::{Literal as OxLiteral, NamedNode};
use spargebra::Query;
use spargebra::algebra::{Expression, Function, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern, Variable};

use super::parts::{PatternPart, any_pattern, operands, parts};
use super::query::QueryError;
use crate::term::RDFS_LABEL;

const SERVICE: &str = "http://wikiba.se/ontology#label";
const LANGUAGE: &str = "http://wikiba.se/ontology#language";
const PARAMETER: &str = "http://www.bigdata.com/rdf#serviceParam";
/// Placeholder for the user's language, which is unknown here.
const AUTO: &str = "[AUTO_LANGUAGE]";
/// The language where none is given.
const USUAL: &str = "en";

/// What a label service binds.
#[derive(Default)]
struct Labels {
    languages: Vec<String>,
    /// In manual mode, the triples that are to be found.
    manual: Vec<TriplePattern>,
}

/// Replaces the label services of a query.
///
/// # Errors
/// [`QueryError::Refused`] for anything else than labels.
pub(super) fn rewrite(query: &mut Query) -> Result<(), QueryError> {
    let (mut wanted, pattern) = match query {
        Query::Select { pattern, .. }
        | Query::Ask { pattern, .. }
        | Query::Describe { pattern, .. } => (BTreeSet::new(), pattern),
        Query::Construct {
            template, pattern, ..
        } => {
            let mut wanted = BTreeSet::new();
            template
                .iter()
                .for_each(|triple| of_triple(triple, &mut wanted));
            (wanted, pattern)
        }
    };
    if any_pattern(pattern, &is_service) {
        scope(pattern, &mut wanted)?;
    }
    Ok(())
}

fn is_service(p: &GraphPattern) -> bool {
    matches!(p, GraphPattern::Service { name: NamedNodePattern::NamedNode(name), .. } if name.as_str() == SERVICE)
}

/// One SELECT. `wanted` are the variables that are read outside of it.
fn scope(p: &mut GraphPattern, wanted: &mut BTreeSet<Variable>) -> Result<(), QueryError> {
    match p {
        GraphPattern::Project { inner, variables } => {
            let mut own: BTreeSet<Variable> = variables.iter().cloned().collect();
            own.append(wanted);
            body(inner, &mut own)
        }
        GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => scope(inner, wanted),
        _ => body(p, wanted),
    }
}

/// What is below the projection: modifiers first, which may read labels, then the pattern.
fn body(p: &mut GraphPattern, wanted: &mut BTreeSet<Variable>) -> Result<(), QueryError> {
    if is_modifier(p) {
        for part in parts(p) {
            if let PatternPart::Expression(inner) = part {
                of_expression(inner, wanted);
            }
        }
        if let GraphPattern::Group { variables, .. } = p {
            wanted.extend(variables.iter().cloned());
        }
        for part in parts(p) {
            if let PatternPart::Pattern(inner) = part {
                body(inner, wanted)?;
            }
        }
        return Ok(());
    }
    let mut found = None;
    take(p, &mut found)?;
    let Some(labels) = found else { return Ok(()) };
    let mut bound = BTreeSet::new();
    p.on_in_scope_variable(|variable| {
        bound.insert(variable.clone());
    });
    for (entity, label) in labels.asked(wanted, &bound)? {
        *p = labels.with(std::mem::take(p), &entity, &label);
    }
    Ok(())
}

/// Whether a pattern only changes the solutions of the one below it, after the label service.
fn is_modifier(p: &GraphPattern) -> bool {
    match p {
        GraphPattern::OrderBy { .. } | GraphPattern::Extend { .. } | GraphPattern::Group { .. } => {
            true
        }
        // HAVING.
        GraphPattern::Filter { inner, .. } => is_modifier(inner),
        _ => false,
    }
}

/// Takes the label services out of a pattern. Those of nested SELECTs are replaced there.
fn take(p: &mut GraphPattern, found: &mut Option<Labels>) -> Result<(), QueryError> {
    if is_service(p) {
        if let GraphPattern::Service { inner, .. } = p {
            found.get_or_insert_default().read(inner)?;
        }
        *p = GraphPattern::default();
        return Ok(());
    }
    if matches!(p, GraphPattern::Project { .. }) {
        return scope(p, &mut BTreeSet::new());
    }
    for part in parts(p) {
        if let PatternPart::Pattern(inner) = part {
            take(inner, found)?;
        }
    }
    if let GraphPattern::Join { left, right } = p {
        let empty = |p: &GraphPattern| *p == GraphPattern::default();
        if empty(right) {
            *p = std::mem::take(left.as_mut());
        } else if empty(left) {
            *p = std::mem::take(right.as_mut());
        }
    }
    Ok(())
}

impl Labels {
    /// Reads the pattern of a service.
    fn read(&mut self, inner: &GraphPattern) -> Result<(), QueryError> {
        let GraphPattern::Bgp { patterns } = inner else {
            return Err(refused("a pattern that is more than triples"));
        };
        for triple in patterns {
            let TermPattern::NamedNode(subject) = &triple.subject else {
                self.manual.push(triple.clone());
                continue;
            };
            let is_language = matches!(&triple.predicate, NamedNodePattern::NamedNode(name) if name.as_str() == LANGUAGE);
            match &triple.object {
                TermPattern::Literal(list) if subject.as_str() == PARAMETER && is_language => {
                    let list = list.value().split(',').map(str::trim);
                    let tags = list.filter(|tag| !tag.is_empty() && *tag != AUTO);
                    self.languages.extend(tags.map(str::to_ascii_lowercase));
                }
                _ if subject.as_str() == PARAMETER => {}
                _ => self.manual.push(triple.clone()),
            }
        }
        Ok(())
    }

    /// Each variable whose label is wanted, with the variable of the label.
    fn asked(
        &self,
        wanted: &BTreeSet<Variable>,
        bound: &BTreeSet<Variable>,
    ) -> Result<Vec<(TermPattern, Variable)>, QueryError> {
        let mut asked = Vec::new();
        for triple in &self.manual {
            let TermPattern::Variable(label) = &triple.object else {
                return Err(refused("a label that is not a variable"));
            };
            if !wanted.contains(label) {
                continue;
            }
            match &triple.predicate {
                NamedNodePattern::NamedNode(name) if name.as_str() == RDFS_LABEL => {
                    asked.push((triple.subject.clone(), label.clone()));
                }
                other => return Err(refused(&format!("{other}"))),
            }
        }
        if !self.manual.is_empty() {
            return Ok(asked);
        }
        for label in wanted.difference(bound) {
            let name = label.as_str();
            let of = |suffix: &str| {
                let entity = Variable::new(name.strip_suffix(suffix)?).ok()?;
                bound.contains(&entity).then_some(entity)
            };
            if of("AltLabel").is_some() || of("Description").is_some() {
                return Err(refused(&label.to_string()));
            }
            if let Some(entity) = of("Label") {
                asked.push((entity.into(), label.clone()));
            }
        }
        Ok(asked)
    }

    /// The pattern with the label of an entity, if it has one.
    fn with(&self, p: GraphPattern, entity: &TermPattern, label: &Variable) -> GraphPattern {
        let usual = [USUAL.to_owned()];
        let languages = match self.languages.as_slice() {
            [] => &usual[..],
            some => some,
        };
        let optional = |left, variable: &Variable, language: &str| GraphPattern::LeftJoin {
            left: Box::new(left),
            right: Box::new(GraphPattern::Bgp {
                patterns: vec![TriplePattern {
                    subject: entity.clone(),
                    predicate: NamedNode::new_unchecked(RDFS_LABEL).into(),
                    object: variable.clone().into(),
                }],
            }),
            expression: Some(Expression::Equal(
                Box::new(Expression::FunctionCall(
                    Function::Lang,
                    vec![variable.clone().into()],
                )),
                Box::new(OxLiteral::new_simple_literal(language).into()),
            )),
        };
        if let [only] = languages {
            return optional(p, label, only);
        }
        let (mut p, mut each) = (p, Vec::new());
        for (at, language) in languages.iter().enumerate() {
            let variable = Variable::new_unchecked(format!("{}In{at}", label.as_str()));
            p = optional(p, &variable, language);
            each.push(variable.into());
        }
        GraphPattern::Extend {
            inner: Box::new(p),
            variable: label.clone(),
            expression: Expression::Coalesce(each),
        }
    }
}

fn refused(what: &str) -> QueryError {
    QueryError::Refused(format!(
        "{what} of SERVICE wikibase:label, of which only labels are read,"
    ))
}

fn of_triple(triple: &TriplePattern, found: &mut BTreeSet<Variable>) {
    for term in [&triple.subject, &triple.object] {
        if let TermPattern::Variable(variable) = term {
            found.insert(variable.clone());
        }
    }
}

fn of_expression(e: &mut Expression, found: &mut BTreeSet<Variable>) {
    if let Expression::Variable(variable) | Expression::Bound(variable) = e {
        found.insert(variable.clone());
    }
    operands(e)
        .into_iter()
        .for_each(|operand| of_expression(operand, found));
}
