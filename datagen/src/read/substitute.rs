//! Replaces variables by constants in a query's algebra, so that filling a template never touches
//! SPARQL text.

use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::{GroundTerm, Literal, NamedNodePattern, TermPattern, Variable};
use kg::term::Term;
use kg::{PatternPart, operands, parts};

use crate::algebra::ground;

/// The query with constants in place of variables, by name. `None` if a constant is not allowed
/// where the variable is: a literal as a subject, a blank node anywhere, a variable that the query
/// assigns.
pub(super) fn substitute(query: &Query, constants: &[(String, Term)]) -> Option<Query> {
    let constants = constants
        .iter()
        .map(|(name, term)| Some((name.clone(), ground(term)?)))
        .collect::<Option<Vec<_>>>()?;
    let constants = Constants(constants);
    let mut query = query.clone();
    match &mut query {
        Query::Select { pattern, .. } | Query::Ask { pattern, .. } => constants.pattern(pattern)?,
        Query::Construct { .. } | Query::Describe { .. } => return None,
    }
    Some(query)
}

struct Constants(Vec<(String, GroundTerm)>);

impl Constants {
    fn get(&self, variable: &Variable) -> Option<&GroundTerm> {
        self.0
            .iter()
            .find(|(name, _)| name == variable.as_str())
            .map(|(_, constant)| constant)
    }

    fn subject(&self, term: &mut TermPattern) -> Option<()> {
        if let TermPattern::Variable(variable) = term {
            match self.get(variable) {
                Some(GroundTerm::NamedNode(node)) => *term = node.clone().into(),
                Some(GroundTerm::Literal(_)) => return None,
                None => {}
            }
        }
        Some(())
    }

    fn object(&self, term: &mut TermPattern) {
        if let TermPattern::Variable(variable) = term {
            match self.get(variable) {
                Some(GroundTerm::NamedNode(node)) => *term = node.clone().into(),
                Some(GroundTerm::Literal(literal)) => *term = literal.clone().into(),
                None => {}
            }
        }
    }

    fn name(&self, name: &mut NamedNodePattern) -> Option<()> {
        if let NamedNodePattern::Variable(variable) = name {
            match self.get(variable) {
                Some(GroundTerm::NamedNode(node)) => *name = node.clone().into(),
                Some(GroundTerm::Literal(_)) => return None,
                None => {}
            }
        }
        Some(())
    }

    fn pattern(&self, pattern: &mut GraphPattern) -> Option<()> {
        let assigns = |variable: &Variable| self.get(variable).is_some();
        match pattern {
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    self.subject(&mut triple.subject)?;
                    self.name(&mut triple.predicate)?;
                    self.object(&mut triple.object);
                }
            }
            GraphPattern::Path {
                subject, object, ..
            } => {
                self.subject(subject)?;
                self.object(object);
            }
            GraphPattern::Graph { name, .. } | GraphPattern::Service { name, .. } => {
                self.name(name)?;
            }
            GraphPattern::Extend { variable, .. } if assigns(variable) => return None,
            GraphPattern::Group { aggregates, .. }
                if aggregates.iter().any(|(variable, _)| assigns(variable)) =>
            {
                return None;
            }
            GraphPattern::Values {
                variables,
                bindings,
            } => self.values(variables, bindings),
            GraphPattern::Project { variables, .. } | GraphPattern::Group { variables, .. } => {
                variables.retain(|variable| !assigns(variable));
            }
            _ => {}
        }
        parts(pattern).into_iter().try_for_each(|part| match part {
            PatternPart::Pattern(inner) => self.pattern(inner),
            PatternPart::Expression(inner) => self.expression(inner),
        })
    }

    /// Keeps the rows of VALUES that agree with the constants, without the columns of the
    /// constants.
    fn values(&self, variables: &mut Vec<Variable>, bindings: &mut Vec<Vec<Option<GroundTerm>>>) {
        let fixed: Vec<(usize, GroundTerm)> = variables
            .iter()
            .enumerate()
            .filter_map(|(column, variable)| Some((column, self.get(variable)?.clone())))
            .collect();
        if fixed.is_empty() {
            return;
        }
        // An unbound cell (UNDEF) agrees with everything.
        bindings.retain(|row| {
            fixed
                .iter()
                .all(|(column, term)| row[*column].as_ref().is_none_or(|cell| cell == term))
        });
        let is_fixed = |column: usize| fixed.iter().any(|(fixed, _)| *fixed == column);
        for row in &mut *bindings {
            let mut column = 0;
            row.retain(|_| {
                column += 1;
                !is_fixed(column - 1)
            });
        }
        variables.retain(|variable| self.get(variable).is_none());
    }

    fn expression(&self, expression: &mut Expression) -> Option<()> {
        match expression {
            Expression::Variable(variable) => match self.get(variable) {
                Some(GroundTerm::NamedNode(node)) => *expression = node.clone().into(),
                Some(GroundTerm::Literal(literal)) => *expression = literal.clone().into(),
                None => {}
            },
            Expression::Bound(variable) if self.get(variable).is_some() => {
                *expression = Literal::from(true).into();
            }
            Expression::Exists(inner) => self.pattern(inner)?,
            _ => {}
        }
        operands(expression)
            .into_iter()
            .try_for_each(|operand| self.expression(operand))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use kg::parse_query;

    use super::*;

    fn filled(query: &str, constants: &[(&str, Term)]) -> Option<String> {
        let constants: Vec<(String, Term)> = constants
            .iter()
            .map(|(name, term)| ((*name).to_owned(), term.clone()))
            .collect();
        substitute(&parse_query(query).unwrap(), &constants).map(|query| query.to_string())
    }

    fn iri(text: &str) -> Term {
        Term::Iri(text.to_owned())
    }

    #[test]
    fn constants_reach_patterns_filters_and_values() {
        let text = filled(
            "SELECT ?x WHERE { VALUES (?f ?y) { (<a:f> <a:y>) (<a:g> <a:z>) } ?x <a:p> ?f . ?x <a:q> ?y FILTER(?x != ?f && BOUND(?f)) }",
            &[("f", iri("a:f"))],
        )
        .unwrap();
        assert!(!text.contains("?f") && !text.contains("a:g"), "{text}");
        assert!(
            text.contains("?x <a:p> <a:f>") && text.contains("<a:y>"),
            "{text}"
        );
    }

    #[test]
    fn constants_that_the_query_cannot_contain_give_no_question() {
        let year = Term::Literal(kg::term::Literal::xsd("1990", "gYear"));
        assert!(filled("SELECT ?x { ?f <a:p> ?x }", &[("f", year.clone())]).is_none());
        assert!(
            filled("SELECT ?x { ?x <a:p> ?f }", &[("f", year.clone())])
                .unwrap()
                .contains("1990")
        );
        assert!(filled("SELECT ?x { ?x <a:p> ?y BIND(?y AS ?f) }", &[("f", year)]).is_none());
        assert!(
            filled(
                "SELECT ?x { ?x <a:p> ?f }",
                &[("f", Term::Blank("b".to_owned()))]
            )
            .is_none()
        );
    }

    #[test]
    fn constants_are_never_parsed() {
        let text = "\" } ; DROP ALL #";
        let filled = filled(
            "SELECT ?x { ?x <a:p> ?f }",
            &[("f", Term::Literal(kg::term::Literal::plain(text)))],
        )
        .unwrap();
        // It is still one text, and the query still has one pattern.
        let literal = Term::Literal(kg::term::Literal::plain(text)).to_string();
        let expected = parse_query(&format!("SELECT ?x {{ ?x <a:p> {literal} }}"));
        assert_eq!(parse_query(&filled).unwrap(), expected.unwrap(), "{filled}");
    }
}
