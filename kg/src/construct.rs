//! CONSTRUCT: a query for the template's variables, and the template filled with each row. DESCRIBE
//! is a CONSTRUCT of all triples that begin with what is described.

use std::collections::BTreeSet;

use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern, Variable};

use crate::graph::Kg;
use crate::sparql::{QueryAnswer, QueryError, QueryLimits, term_literal};
use crate::term::Term;

/// The triples of a CONSTRUCT or DESCRIBE query, sorted and without duplicates; `None` for other queries.
/// Triples that RDF does not have (an unbound part, a literal as subject) are left out. The row
/// limit also limits the number of triples.
///
/// # Errors
/// [`QueryError`] if the query is not allowed or exceeds a limit.
pub fn construct(
    kg: &dyn Kg,
    query: &Query,
    limits: QueryLimits,
) -> Result<Option<Vec<[Term; 3]>>, QueryError> {
    let (template, pattern, base_iri) = match query {
        Query::Construct {
            template,
            pattern,
            base_iri,
            ..
        } => (template.clone(), pattern.clone(), base_iri),
        Query::Describe {
            pattern, base_iri, ..
        } => {
            let (template, pattern) = described(pattern);
            (template, pattern, base_iri)
        }
        Query::Select { .. } | Query::Ask { .. } => return Ok(None),
    };
    let select = Query::Select {
        dataset: query.dataset().cloned(),
        pattern: GraphPattern::Project {
            inner: Box::new(pattern),
            variables: variables(&template),
        },
        base_iri: base_iri.clone(),
    };
    let QueryAnswer::Rows { variables, rows } = kg.query(&select, limits)? else {
        return Err(QueryError::Evaluation("CONSTRUCT has no rows".to_owned()));
    };
    let mut triples = BTreeSet::new();
    for (number, row) in rows.iter().enumerate() {
        let bindings = Bindings {
            variables: &variables,
            row,
            number,
        };
        triples.extend(template.iter().filter_map(|triple| bindings.fill(triple)));
        if triples.len() > limits.rows {
            return Err(QueryError::Rows(limits.rows));
        }
    }
    Ok(Some(triples.into_iter().collect()))
}

/// Template and pattern of all triples that begin with a value of the pattern's variables.
fn described(pattern: &GraphPattern) -> (Vec<TriplePattern>, GraphPattern) {
    let mut template: Vec<TriplePattern> = Vec::new();
    let mut triples = GraphPattern::default();
    pattern.on_in_scope_variable(|subject| {
        let number = template.len();
        let triple = TriplePattern {
            subject: subject.clone().into(),
            predicate: Variable::new_unchecked(format!("describedBy{number}")).into(),
            object: Variable::new_unchecked(format!("describedAs{number}")).into(),
        };
        let own = GraphPattern::Bgp {
            patterns: vec![triple.clone()],
        };
        triples = match number {
            0 => own,
            _ => GraphPattern::Union {
                left: Box::new(std::mem::take(&mut triples)),
                right: Box::new(own),
            },
        };
        template.push(triple);
    });
    let pattern = GraphPattern::Join {
        left: Box::new(pattern.clone()),
        right: Box::new(triples),
    };
    (template, pattern)
}

/// The variables of a template, each once.
fn variables(template: &[TriplePattern]) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    for triple in template {
        let predicate = match &triple.predicate {
            NamedNodePattern::Variable(variable) => Some(variable),
            NamedNodePattern::NamedNode(_) => None,
        };
        let ends = [&triple.subject, &triple.object].map(|end| match end {
            TermPattern::Variable(variable) => Some(variable),
            _ => None,
        });
        for variable in ends.into_iter().chain([predicate]).flatten() {
            if !found.contains(variable) {
                found.push(variable.clone());
            }
        }
    }
    found
}

/// A row of the query.
struct Bindings<'a> {
    variables: &'a [String],
    row: &'a [Option<Term>],
    number: usize,
}

impl Bindings<'_> {
    fn value(&self, variable: &Variable) -> Option<Term> {
        let known = self.variables.iter();
        let at = known
            .zip(self.row)
            .find(|(name, _)| *name == variable.as_str());
        at.and_then(|(_, value)| value.clone())
    }

    fn term(&self, pattern: &TermPattern) -> Option<Term> {
        Some(match pattern {
            TermPattern::NamedNode(node) => Term::Iri(node.as_str().to_owned()),
            // Each row has its own blank nodes.
            TermPattern::BlankNode(node) => {
                Term::Blank(format!("r{}x{}", self.number, node.as_str()))
            }
            TermPattern::Literal(literal) => Term::Literal(term_literal(literal)),
            TermPattern::Variable(variable) => self.value(variable)?,
        })
    }

    fn fill(&self, triple: &TriplePattern) -> Option<[Term; 3]> {
        let subject = self.term(&triple.subject)?;
        let predicate = match &triple.predicate {
            NamedNodePattern::NamedNode(node) => Term::Iri(node.as_str().to_owned()),
            NamedNodePattern::Variable(variable) => self.value(variable)?,
        };
        let is_rdf = !matches!(subject, Term::Literal(_)) && matches!(predicate, Term::Iri(_));
        let object = self.term(&triple.object)?;
        is_rdf.then_some([subject, predicate, object])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frozen::FrozenKg;
    use crate::sparql::parse_query;
    use crate::term::Literal;

    #[test]
    fn a_template_is_filled_with_every_row_and_invalid_triples_are_left_out() {
        let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
        let name = Term::Literal(Literal::plain("A"));
        let kg = FrozenKg::from_triples([
            [iri("a"), iri("p"), iri("b")],
            [iri("c"), iri("p"), iri("b")],
            [iri("a"), iri("name"), name.clone()],
        ]);
        let made = |text: &str| construct(&kg, &parse_query(text).unwrap(), QueryLimits::default());
        assert_eq!(
            made("CONSTRUCT { ?y <http://e/q> ?x . ?n <http://e/of> ?x . ?x <http://e/n> ?n } { ?x <http://e/p> ?y OPTIONAL { ?x <http://e/name> ?n } }")
                .unwrap()
                .unwrap(),
            [
                [iri("a"), iri("n"), name.clone()],
                [iri("b"), iri("q"), iri("a")],
                [iri("b"), iri("q"), iri("c")],
            ]
        );
        let whole = made("CONSTRUCT WHERE { ?a ?p ?b }").unwrap().unwrap();
        assert_eq!(whole.len(), 3);
        assert_eq!(
            made("CONSTRUCT { _:x <http://e/i> ?x } { ?x <http://e/p> ?y } LIMIT 1")
                .unwrap()
                .unwrap()
                .len(),
            1
        );
        assert_eq!(made("ASK {}").unwrap(), None);
        let of_a = [
            [iri("a"), iri("name"), name.clone()],
            [iri("a"), iri("p"), iri("b")],
        ];
        let one = made("DESCRIBE <http://e/a>").unwrap().unwrap();
        assert_eq!(one, of_a);
        let two = "DESCRIBE ?x <http://e/c> { ?x <http://e/name> \"A\" }";
        let two = made(two).unwrap().unwrap();
        assert_eq!(two[..2], of_a);
        assert_eq!(two[2..], [[iri("c"), iri("p"), iri("b")]]);
        assert_eq!(made("DESCRIBE <http://e/none>").unwrap().unwrap().len(), 0);
        assert_eq!(made("DESCRIBE * {}").unwrap().unwrap().len(), 0);
    }
}
