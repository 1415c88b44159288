//! Language tags compare without case (RDF 1.1, section 3.3). The graph keeps them in lower case, and
//! so does the parser for constants such as `"colour"@en-GB`. What is left are texts that a query
//! compares with a tag: `LANG(?l) = "en-GB"`.

use std::collections::BTreeSet;

use oxigraph::model::Literal as OxLiteral;
use spargebra::algebra::{AggregateExpression, Expression, Function, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, Variable};

use super::functions::{FOLD, folded};
use super::growth::call;
use super::parts::{PatternPart, operands, parts};

/// Writes the texts that are compared with language tags in lower case.
pub(super) fn fold(p: &mut GraphPattern) {
    let mut tags = Tags::default();
    // A variable may take the tag of another one.
    loop {
        let before = tags.variables.len();
        tags.find(p);
        if tags.variables.len() == before {
            break;
        }
    }
    tags.pattern(p);
}

/// The variables whose values are language tags.
#[derive(Default)]
struct Tags {
    variables: BTreeSet<Variable>,
    /// The variables of triples: their values are terms of the graph.
    of_triples: BTreeSet<Variable>,
}

impl Tags {
    fn find(&mut self, p: &mut GraphPattern) {
        match p {
            GraphPattern::Bgp { patterns } => {
                for triple in patterns {
                    let mut own = |term: &TermPattern| {
                        if let TermPattern::Variable(variable) = term {
                            self.of_triples.insert(variable.clone());
                        }
                    };
                    own(&triple.subject);
                    own(&triple.object);
                    if let NamedNodePattern::Variable(variable) = &triple.predicate {
                        self.of_triples.insert(variable.clone());
                    }
                }
            }
            GraphPattern::Extend {
                variable,
                expression,
                ..
            } if self.is_tag(expression) => {
                self.variables.insert(variable.clone());
            }
            GraphPattern::Group { aggregates, .. } => {
                for (variable, aggregate) in aggregates {
                    if let AggregateExpression::FunctionCall { expr, .. } = aggregate
                        && self.is_tag(expr)
                    {
                        self.variables.insert(variable.clone());
                    }
                }
            }
            _ => {}
        }
        for part in parts(p) {
            match part {
                PatternPart::Pattern(inner) => self.find(inner),
                PatternPart::Expression(inner) => self.find_in(inner),
            }
        }
    }

    fn find_in(&mut self, e: &mut Expression) {
        match e {
            Expression::Exists(inner) => self.find(inner),
            _ => operands(e)
                .into_iter()
                .for_each(|inner| self.find_in(inner)),
        }
    }

    /// Whether the value of an expression is a language tag or a part of one.
    fn is_tag(&self, e: &Expression) -> bool {
        match e {
            Expression::Variable(variable) => {
                self.variables.contains(variable) && !self.of_triples.contains(variable)
            }
            Expression::FunctionCall(function, arguments) => match function {
                Function::Lang => true,
                Function::Str
                | Function::LCase
                | Function::UCase
                | Function::SubStr
                | Function::StrBefore
                | Function::StrAfter
                | Function::Replace => arguments.first().is_some_and(|e| self.is_tag(e)),
                _ => false,
            },
            Expression::If(_, a, b) => self.is_tag(a) || self.is_tag(b),
            Expression::Coalesce(list) => list.iter().any(|e| self.is_tag(e)),
            _ => false,
        }
    }

    fn pattern(&self, p: &mut GraphPattern) {
        if let GraphPattern::Values {
            variables,
            bindings,
        } = p
        {
            for (at, variable) in variables.iter().enumerate() {
                if !self.is_tag(&Expression::Variable(variable.clone())) {
                    continue;
                }
                for value in bindings
                    .iter_mut()
                    .filter_map(|row| row.get_mut(at)?.as_mut())
                {
                    if let GroundTerm::Literal(literal) = value {
                        *literal = folded(literal);
                    }
                }
            }
        }
        for part in parts(p) {
            match part {
                PatternPart::Pattern(inner) => self.pattern(inner),
                PatternPart::Expression(inner) => self.expression(inner),
            }
        }
    }

    fn expression(&self, e: &mut Expression) {
        if let Expression::Exists(inner) = e {
            return self.pattern(inner);
        }
        operands(e)
            .into_iter()
            .for_each(|operand| self.expression(operand));
        match e {
            Expression::Equal(a, b)
            | Expression::SameTerm(a, b)
            | Expression::Greater(a, b)
            | Expression::GreaterOrEqual(a, b)
            | Expression::Less(a, b)
            | Expression::LessOrEqual(a, b) => self.together([a.as_mut(), b.as_mut()]),
            Expression::In(a, list) => {
                self.together(std::iter::once(a.as_mut()).chain(list.iter_mut()));
            }
            Expression::FunctionCall(
                Function::Contains
                | Function::StrStarts
                | Function::StrEnds
                | Function::StrBefore
                | Function::StrAfter,
                arguments,
            ) => self.together(arguments.iter_mut()),
            Expression::FunctionCall(Function::Regex, arguments) => self.any_case(arguments, 2),
            Expression::FunctionCall(Function::Replace, arguments) => self.any_case(arguments, 3),
            _ => {}
        }
    }

    /// Folds texts that are compared, if one of them is a tag.
    fn together<'e>(&self, texts: impl IntoIterator<Item = &'e mut Expression>) {
        let texts: Vec<&mut Expression> = texts.into_iter().collect();
        if !texts.iter().any(|e| self.is_tag(e)) {
            return;
        }
        for text in texts {
            match text {
                Expression::Literal(literal) => *literal = folded(literal),
                // A tag of the graph is in lower case.
                Expression::FunctionCall(Function::Lang, _) => {}
                other => {
                    let inner = std::mem::replace(other, Expression::Coalesce(Vec::new()));
                    *other = call(FOLD, vec![inner]);
                }
            }
        }
    }

    /// Lets a regular expression on a tag ignore case; `flags` is the place of its flags.
    fn any_case(&self, arguments: &mut Vec<Expression>, flags: usize) {
        if !arguments.first().is_some_and(|e| self.is_tag(e)) {
            return;
        }
        let any = Expression::Literal(OxLiteral::new_simple_literal("i"));
        match arguments.get_mut(flags) {
            None => arguments.push(any),
            Some(Expression::Literal(literal)) => {
                let both = format!("{}i", literal.value().replace('i', ""));
                *literal = OxLiteral::new_simple_literal(both);
            }
            Some(other) => {
                let own = std::mem::replace(other, Expression::Coalesce(Vec::new()));
                *other = Expression::FunctionCall(Function::Concat, vec![own, any]);
            }
        }
    }
}
