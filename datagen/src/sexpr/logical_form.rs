//! The logical form that both front ends read, and its algebra.

use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateFunction, Expression, GraphPattern};
use kg::term::{Literal, Term};
use kg::value::{Extreme, Op};

use crate::algebra::{
    aggregate, compare, distinct, extreme_function, filter, filter_all, iri, join, literal,
    nothing, select, triple, values, variable, xsd,
};

/// Freebase's namespace.
const NS: &str = "http://rdf.freebase.com/ns/";
/// Freebase's relation to a class.
const TYPE: &str = "http://rdf.freebase.com/ns/type.object.type";
/// The time zone of dates in GrailQA's SPARQL (and in its Freebase dump). Its other forms have no
/// time zone.
const ZONE: &str = "-08:00";

/// How a node's value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeFunction {
    /// The value equals the literal; any value if there is no literal.
    None,
    /// The value compares with the literal.
    Compare(Op),
    /// The value is the greatest or smallest.
    Extreme(Extreme),
}

/// A node of a logical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FormNode {
    /// Any node of these classes.
    Any(Vec<String>),
    /// An entity.
    Entity(String),
    /// A literal, or a value that compares with it.
    Value(Option<Literal>, NodeFunction),
}

/// Nodes and edges; one node is the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogicalForm {
    pub nodes: Vec<FormNode>,
    /// From, relation, to.
    pub edges: Vec<(usize, String, usize)>,
    pub answer: usize,
    pub count: bool,
}

impl LogicalForm {
    /// The algebra of the whole form.
    pub(crate) fn query(&self) -> Query {
        let mut body = self.body("x");
        if let Some((node, extreme)) = self.extreme() {
            let inner = aggregate(
                self.body("y"),
                extreme_function(extreme),
                false,
                &format!("y{node}"),
                &format!("x{node}"),
            );
            body = match body {
                // The condition that all nodes differ also applies to the extreme.
                GraphPattern::Filter { expr, inner: outer } => filter(join(inner, *outer), expr),
                other => join(inner, other),
            };
        }
        let answer = format!("x{}", self.answer);
        let set = distinct(body, &answer);
        select(if self.count {
            aggregate(set, AggregateFunction::Count, false, &answer, "value")
        } else {
            set
        })
    }

    fn extreme(&self) -> Option<(usize, Extreme)> {
        self.nodes
            .iter()
            .enumerate()
            .find_map(|(i, node)| match node {
                FormNode::Value(_, NodeFunction::Extreme(extreme)) => Some((i, *extreme)),
                _ => None,
            })
    }

    /// Everything except the extreme. The variables begin with `letter`.
    fn body(&self, letter: &str) -> GraphPattern {
        let name = |node: usize| format!("{letter}{node}");
        let mut triples = Vec::new();
        let mut given = nothing();
        let mut conditions = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            match node {
                FormNode::Any(classes) => {
                    triples.extend(classes.iter().map(|class| {
                        triple(variable(&name(i)), TYPE, iri(&format!("{NS}{class}")))
                    }));
                }
                FormNode::Entity(id) => {
                    given = join(given, values(&name(i), &[Term::Iri(format!("{NS}{id}"))]));
                }
                FormNode::Value(Some(value), NodeFunction::None) => {
                    given = join(given, values(&name(i), &[Term::Literal(value.clone())]));
                }
                FormNode::Value(Some(value), NodeFunction::Compare(op)) => {
                    conditions.push(compare(
                        Expression::Variable(variable(&name(i))),
                        *op,
                        Expression::Literal(literal(value)),
                    ));
                }
                FormNode::Value(..) => {}
            }
        }
        for (from, relation, to) in &self.edges {
            triples.push(triple(
                variable(&name(*from)),
                &format!("{NS}{relation}"),
                variable(&name(*to)),
            ));
        }
        for a in 0..self.nodes.len() {
            for b in a + 1..self.nodes.len() {
                let of = |node| Expression::Variable(variable(&name(node)));
                conditions.push(compare(of(a), Op::Ne, of(b)));
            }
        }
        filter_all(
            join(GraphPattern::Bgp { patterns: triples }, given),
            conditions,
        )
    }
}

/// Whether a text may be the IRI of a datatype, which a query can contain.
fn is_datatype(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"<>\"{}|^`\\%[]".contains(&byte);
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    text.bytes().all(fits)
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A literal written `value^^datatype`, quoted or not; without a datatype a number or a text.
pub(crate) fn literal_of(text: &str) -> Literal {
    let (lexical, datatype) = text
        .rsplit_once("^^")
        .map(|(lexical, datatype)| (lexical, datatype.trim_matches(['<', '>'])))
        .filter(|(_, datatype)| is_datatype(datatype))
        .map_or((text, None), |(lexical, datatype)| {
            (lexical, Some(datatype))
        });
    let lexical = lexical
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or(lexical);
    match datatype {
        Some(datatype) => {
            let dated = datatype == xsd("date")
                && !lexical.contains('T')
                && lexical.len() == "2008-05-08".len();
            let lexical = if dated {
                format!("{lexical}{ZONE}")
            } else {
                lexical.to_owned()
            };
            Literal {
                lexical,
                datatype: Some(datatype.to_owned()),
                lang: None,
            }
        }
        None if lexical.parse::<i64>().is_ok() => Literal::xsd(lexical, "integer"),
        None if lexical.parse::<f64>().is_ok() => Literal::xsd(lexical, "float"),
        None => Literal::plain(lexical),
    }
}
