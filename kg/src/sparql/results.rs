//! Answers of queries in the formats of the SPARQL 1.1 Protocol.

use std::io::{self, Write};

use oxigraph::model::{BlankNode, Literal as OxLiteral, NamedNode, Term as OxTerm, Variable};
use oxigraph::sparql::results::{QueryResultsFormat, QueryResultsSerializer};

use super::query::QueryAnswer;
use super::xml::{self, Returns};
use crate::term::{Literal, Term};

common::worded! {
    /// A format of results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ResultsFormat, fn media_type() {
        /// SPARQL 1.1 Query Results JSON.
        Json = "application/sparql-results+json",
        /// SPARQL Query Results XML.
        Xml = "application/sparql-results+xml",
        /// CSV: values without their types.
        Csv = "text/csv",
        /// TSV: terms as in Turtle.
        Tsv = "text/tab-separated-values",
    }
}

impl ResultsFormat {
    /// Other names of the format in an `Accept` header.
    #[must_use]
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["application/json", "text/json"],
            Self::Xml => &["application/xml", "text/xml"],
            Self::Csv => &[],
            Self::Tsv => &[],
        }
    }

    fn serializer(self) -> QueryResultsSerializer {
        QueryResultsSerializer::from_format(match self {
            Self::Json => QueryResultsFormat::Json,
            Self::Xml => QueryResultsFormat::Xml,
            Self::Csv => QueryResultsFormat::Csv,
            Self::Tsv => QueryResultsFormat::Tsv,
        })
    }
}

impl QueryAnswer {
    /// Writes the answer.
    ///
    /// # Errors
    /// Those of the writer, and [`io::ErrorKind::InvalidData`] if XML cannot write a value.
    pub fn write(&self, format: ResultsFormat, mut to: impl Write) -> io::Result<()> {
        let Self::Rows { rows, .. } = self else {
            return self.write_as(format, &Returns::none(), to);
        };
        if format != ResultsFormat::Xml {
            return self.write_as(format, &Returns::none(), to);
        }
        let terms = rows.iter().flatten().flatten();
        xml::check_text(terms.clone())?;
        let returns = Returns::of(&terms);
        let mut document = Vec::new();
        self.write_as(format, &returns, &mut document)?;
        to.write_all(&returns.restored(document))
    }

    fn write_as(&self, format: ResultsFormat, returns: &Returns, to: impl Write) -> io::Result<()> {
        let serializer = format.serializer();
        match self {
            Self::Bool(truth) => {
                serializer.serialize_boolean_to_writer(to, *truth)?;
            }
            Self::Rows { variables, rows } => {
                let names = variables.iter().map(Variable::new_unchecked);
                let names: Vec<Variable> = names.collect();
                let mut writer = serializer.serialize_solutions_to_writer(to, names.clone())?;
                for row in rows {
                    let terms: Vec<Option<OxTerm>> = row
                        .iter()
                        .map(|term| Some(ox_term(&returns.hidden(term.as_ref()?))))
                        .collect();
                    let bound = names.iter().zip(&terms);
                    writer
                        .serialize(bound.filter_map(|(name, term)| Some((name, term.as_ref()?))))?;
                }
                writer.finish()?;
            }
        }
        Ok(())
    }
}

pub(super) fn ox_term(term: &Term) -> OxTerm {
    match term {
        Term::Iri(iri) => NamedNode::new_unchecked(iri).into(),
        Term::Blank(label) => BlankNode::new_unchecked(label).into(),
        Term::Literal(literal) => algebra_literal(literal).into(),
    }
}

/// A literal of the graph as a literal of the algebra.
#[must_use]
pub fn algebra_literal(literal: &Literal) -> OxLiteral {
    let lexical = &literal.lexical;
    match (&literal.lang, &literal.datatype) {
        (Some(lang), _) => OxLiteral::new_language_tagged_literal_unchecked(lexical, lang),
        (None, Some(datatype)) => {
            OxLiteral::new_typed_literal(lexical, NamedNode::new_unchecked(datatype))
        }
        (None, None) => OxLiteral::new_simple_literal(lexical),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(answer: &QueryAnswer, format: ResultsFormat) -> String {
        let mut bytes = Vec::new();
        answer.write(format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_answer_is_written_in_every_format() {
        let answer = QueryAnswer::Rows {
            variables: vec!["x".to_owned(), "n".to_owned()],
            rows: vec![
                vec![
                    Some(Term::Iri("http://e/a".to_owned())),
                    Some(Term::Literal(Literal::xsd("2", "integer"))),
                ],
                vec![Some(Term::Literal(Literal::plain("a, \"b\""))), None],
            ],
        };
        assert_eq!(
            written(&answer, ResultsFormat::Csv),
            "x,n\r\nhttp://e/a,2\r\n\"a, \"\"b\"\"\",\r\n"
        );
        assert_eq!(
            written(&answer, ResultsFormat::Tsv),
            "?x\t?n\n<http://e/a>\t2\n\"a, \\\"b\\\"\"\t\n"
        );
        let json = written(&answer, ResultsFormat::Json);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["results"]["bindings"][0]["x"]["value"], "http://e/a");
        assert!(json["results"]["bindings"][1].get("n").is_none());
        assert!(written(&answer, ResultsFormat::Xml).contains("<uri>http://e/a</uri>"));
        let yes = QueryAnswer::Bool(true);
        assert_eq!(
            written(&yes, ResultsFormat::Json),
            "{\"head\":{},\"boolean\":true}"
        );
    }
}
