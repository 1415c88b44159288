//! Gold answers in a form that can be compared with predictions.

use std::collections::BTreeMap;

use datagen::question::{GoldQuery, GoldQuestion};
use datagen::verify;
use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, GraphPattern, OrderExpression};
use kg::spargebra::term::Variable;
use kg::term::{Literal, Term};
use kg::{Kg, QueryAnswer, QueryLimits, fold};
use toolbox::answer::{Answer, AnswerValue, CELL_SEPARATOR, Member};
use toolbox::metrics::{Answers, Reading};

/// The gold answers of a question.
pub(super) struct GoldAnswers {
    pub(super) answers: Answers,
    /// Whether answers are compared as folded labels (published answers) or as terms (all others).
    by_label: bool,
}

impl GoldAnswers {
    /// The published answers if the program must give them or if there is no gold query; else the
    /// result of the gold query.
    ///
    /// # Errors
    /// If the query cannot be parsed or evaluated, with the reason.
    pub(super) fn of(graph: &dyn Kg, question: &GoldQuestion) -> Result<Self, String> {
        let only = matches!(question.query, GoldQuery::AnswersOnly { .. });
        if let Some(labels) = question
            .answers
            .as_ref()
            .filter(|_| question.answers_bind || only)
        {
            let readings = labels
                .iter()
                .map(|text| vec![Reading::of_text(&fold(text))]);
            let answers = Answers::of_readings(readings.collect(), labels.clone());
            // Aliases belong to a single answer.
            let only_one = labels.first().filter(|_| answers.ids.len() == 1);
            let aliases = match (&question.query, only_one) {
                (GoldQuery::AnswersOnly { aliases }, Some(answer)) => aliases
                    .iter()
                    .map(|alias| (alias.clone(), answer.clone()))
                    .collect(),
                _ => BTreeMap::new(),
            };
            return Ok(Self {
                answers: Answers {
                    rows: labels.iter().map(|answer| vec![fold(answer)]).collect(),
                    aliases,
                    ..answers
                },
                by_label: true,
            });
        }
        let query = verify::parsed(question)
            .map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))?;
        let answers = match graph
            .query(&query, QueryLimits::default())
            .map_err(|error| error.to_string())?
        {
            QueryAnswer::Bool(truth) => Answers::of_truth(truth),
            QueryAnswer::Rows { rows, .. } => {
                let ranks = ranks(graph, &query, rows.len());
                if rows.first().is_some_and(|row| row.len() > 1) {
                    return Ok(Self::of_rows(graph, &rows, ranks));
                }
                let values = rows.iter().map(|row| cells(row, &value));
                let bound =
                    |(row, _): &(&Vec<Option<Term>>, usize)| row.iter().any(Option::is_some);
                let ranks = rows.iter().zip(ranks).filter(bound).map(|(_, rank)| rank);
                let terms = rows.iter().filter_map(|row| row.first()?.as_ref());
                let labels: BTreeMap<String, String> = terms
                    .clone()
                    .map(|term| (comparable(term), label(graph, term)))
                    .collect();
                let readings = terms.map(|term| vec![reading(term)]).collect();
                Answers {
                    rows: values.collect(),
                    ranks: ranks.collect(),
                    ..Answers::of_readings(readings, labels.into_values().collect())
                }
            }
        };
        Ok(Self {
            answers,
            by_label: false,
        })
    }

    /// The rows of a gold query with several variables, each as one answer.
    fn of_rows(graph: &dyn Kg, rows: &[Vec<Option<Term>>], ranks: Vec<usize>) -> Self {
        let labels = rows
            .iter()
            .map(|row| cells(row, &|term| label(graph, term)).join(CELL_SEPARATOR));
        let read = |cell: &Option<Term>| cell.as_ref().map_or_else(no_value, reading);
        let readings = rows.iter().map(|row| row.iter().map(read).collect());
        Self {
            answers: Answers {
                rows: rows.iter().map(|row| cells(row, &value)).collect(),
                ranks,
                ..Answers::of_readings(readings.collect(), labels.collect())
            },
            by_label: false,
        }
    }

    /// No gold answers: the right prediction is to abstain.
    pub(super) fn none() -> Self {
        Self {
            answers: Answers::default(),
            by_label: false,
        }
    }

    /// A prediction in the form of the gold answers.
    pub(super) fn comparable(&self, answer: &Answer) -> Answers {
        let read = |member: &Member| self.reading(member);
        let readings: Vec<Vec<Reading>> = match &answer.value {
            AnswerValue::Set(members) => members.iter().map(|one| vec![read(one)]).collect(),
            AnswerValue::Table(table) => {
                let rows = table.rows.iter();
                rows.map(|row| row.iter().map(read).collect()).collect()
            }
            AnswerValue::Number(number) => return Answers::of_number(*number),
            AnswerValue::Truth(truth) => return Answers::of_truth(*truth),
        };
        let cell = |member: &Member| {
            if self.by_label {
                fold(&member.label)
            } else {
                value(&member.term)
            }
        };
        let rows = match &answer.value {
            AnswerValue::Set(members) => members.iter().map(|one| vec![cell(one)]).collect(),
            AnswerValue::Table(table) => {
                let rows = table.rows.iter();
                rows.map(|row| row.iter().map(cell).collect()).collect()
            }
            AnswerValue::Number(_) | AnswerValue::Truth(_) => Vec::new(),
        };
        Answers {
            rows,
            ..Answers::of_readings(readings, answer.texts())
        }
    }

    /// A member in the form of the gold answers. A data set may also list an entity by its name or IRI.
    fn reading(&self, member: &Member) -> Reading {
        if member.is_empty_cell() {
            return no_value();
        }
        if !self.by_label {
            return reading(&member.term);
        }
        let mut others = vec![fold(&member.name)];
        if let Term::Iri(iri) = &member.term {
            others.push(fold(iri));
        }
        let label = fold(&member.label);
        let text = match self.answers.ids.contains(&label) {
            true => label,
            false => (others.into_iter())
                .find(|other| self.answers.ids.contains(other))
                .unwrap_or(label),
        };
        Reading::named(&member.term, &text)
    }
}

/// An empty cell.
fn no_value() -> Reading {
    Reading::of_text("")
}

fn reading(term: &Term) -> Reading {
    Reading::of_term(term, comparable(term))
}

/// The cells of a row as texts. An empty cell is an empty text.
fn cells(row: &[Option<Term>], text: &dyn Fn(&Term) -> String) -> Vec<String> {
    row.iter()
        .map(|cell| cell.as_ref().map_or_else(String::new, text))
        .collect()
}

/// A term as the results of SPARQL queries write its value: the IRI, or the text of a literal.
fn value(term: &Term) -> String {
    match term {
        Term::Iri(iri) => iri.clone(),
        Term::Literal(literal) => written(literal),
        Term::Blank(_) => term.to_string(),
    }
}

/// For a query with ORDER BY, the rank of each of its rows: rows with equal keys have the same. If
/// the keys cannot be read beside the rows, every row has a rank of its own.
fn ranks(graph: &dyn Kg, query: &Query, rows: usize) -> Vec<usize> {
    let Query::Select {
        pattern, dataset, ..
    } = query
    else {
        return Vec::new();
    };
    let mut keys = Vec::new();
    let Some(keyed) = with_keys(pattern, &mut keys) else {
        return Vec::new();
    };
    let each: Vec<usize> = (0..rows).collect();
    if keys.is_empty() {
        return each;
    }
    let keyed = Query::Select {
        dataset: dataset.clone(),
        pattern: keyed,
        base_iri: None,
    };
    let Ok(QueryAnswer::Rows { rows: found, .. }) = graph.query(&keyed, QueryLimits::default())
    else {
        return each;
    };
    if found.len() != rows {
        return each;
    }
    let mut ranks = Vec::with_capacity(rows);
    let mut before: Option<&[Option<Term>]> = None;
    for row in &found {
        let own = &row[row.len().saturating_sub(keys.len())..];
        let last = ranks.last().copied().unwrap_or_default();
        ranks.push(last + usize::from(before.is_some_and(|before| before != own)));
        before = Some(own);
    }
    ranks
}

/// The pattern with the keys of its ORDER BY as further columns; `None` if it has no order. `keys`
/// stays empty if the keys cannot be columns.
fn with_keys(pattern: &GraphPattern, keys: &mut Vec<Variable>) -> Option<GraphPattern> {
    match pattern {
        GraphPattern::Slice {
            inner,
            start,
            length,
        } => Some(GraphPattern::Slice {
            inner: Box::new(with_keys(inner, keys)?),
            start: *start,
            length: *length,
        }),
        GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => {
            // More columns would keep more rows apart.
            let ordered = with_keys(inner, keys)?;
            keys.clear();
            Some(ordered)
        }
        GraphPattern::Project { inner, variables } => {
            let ordered = with_keys(inner, keys)?;
            let mut variables = variables.clone();
            variables.extend(keys.iter().cloned());
            Some(GraphPattern::Project {
                inner: Box::new(ordered),
                variables,
            })
        }
        GraphPattern::OrderBy { inner, expression } => {
            let mut inner = inner.as_ref().clone();
            for (number, key) in expression.iter().enumerate() {
                let (OrderExpression::Asc(key) | OrderExpression::Desc(key)) = key;
                let name = Variable::new_unchecked(format!("kgagent_order_key_{number}"));
                inner = GraphPattern::Extend {
                    inner: Box::new(inner),
                    variable: name.clone(),
                    expression: Expression::clone(key),
                };
                keys.push(name);
            }
            Some(GraphPattern::OrderBy {
                inner: Box::new(inner),
                expression: expression.clone(),
            })
        }
        _ => None,
    }
}

/// The labels of the gold answers.
///
/// # Errors
/// Those of [`GoldAnswers::of`].
pub(in crate::commands) fn gold_labels(
    graph: &dyn Kg,
    question: &GoldQuestion,
) -> Result<Vec<String>, String> {
    Ok(GoldAnswers::of(graph, question)?.answers.labels)
}

fn label(graph: &dyn Kg, term: &Term) -> String {
    if let Some(literal) = term.as_literal() {
        return literal.lexical.clone();
    }
    let node = graph.find(term);
    node.map_or_else(
        || term.to_string(),
        |node| graph.label(node).unwrap_or_else(|| graph.name(node)),
    )
}

/// The text of a literal, of a decimal without zeros at its end: `18.00` is the number that a query computes as `18`.
/// Doubles are written in one way.
fn written(literal: &Literal) -> String {
    let is =
        |name: &str| (literal.datatype.as_deref()).is_some_and(|datatype| datatype.ends_with(name));
    match literal.lexical.parse::<f64>() {
        Ok(number) if is("#double") => number.to_string(),
        _ if is("#decimal") && literal.lexical.contains('.') => {
            let shorter = literal.lexical.trim_end_matches('0');
            shorter.trim_end_matches('.').to_owned()
        }
        _ => literal.lexical.clone(),
    }
}

/// The exact form of a term. An integer is its digits, as a computed number is.
fn comparable(term: &Term) -> String {
    match term.as_literal() {
        Some(literal)
            if literal
                .datatype
                .as_deref()
                .is_some_and(|datatype| datatype.ends_with("#integer")) =>
        {
            literal.lexical.clone()
        }
        Some(literal) => {
            let lexical = written(literal);
            Term::Literal(Literal {
                lexical,
                ..literal.clone()
            })
            .to_string()
        }
        None => term.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use toolbox::answer::Provenance;
    use toolbox::exec::ExcludeWhen;
    use toolbox::metrics::score;

    #[test]
    fn an_alias_counts_as_its_answer() {
        let graph = kg::FrozenKg::from_triples(Vec::new());
        let question = GoldQuestion {
            id: "1".to_owned(),
            source: "trex".to_owned(),
            question: "Arvel Tower [SEP] architect".to_owned(),
            query: GoldQuery::AnswersOnly {
                aliases: vec!["M. Sol".to_owned()],
            },
            topics: Vec::new(),
            answers: Some(vec!["Mira Sol".to_owned()]),
            answers_bind: false,
            hops: None,
            kind: None,
            exclude: ExcludeWhen::Never,
        };
        let gold = GoldAnswers::of(&graph, &question).unwrap();
        let answer = |labels: &[&str]| {
            let member = |label: &&str| {
                let term = Term::Literal(Literal::plain((*label).to_owned()));
                Member {
                    term,
                    name: String::new(),
                    label: (*label).to_owned(),
                }
            };
            let value = AnswerValue::Set(labels.iter().map(member).collect());
            Answer {
                value,
                provenance: Provenance::Kg,
                ..Answer::default()
            }
        };
        let scores = |labels: &[&str]| {
            let scores = score(&gold.comparable(&answer(labels)), &gold.answers);
            [
                scores.exact,
                scores.em_strict,
                scores.exact_alias,
                scores.em_alias,
            ]
        };
        assert_eq!(scores(&["m. sol"]), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(scores(&["Mira Sol", "M. Sol"]), [0.0, 0.5, 1.0, 1.0]);
        assert_eq!(scores(&["mira sol"]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&["Ivo Sol"]), [0.0; 4]);
    }

    #[test]
    fn rows_with_equal_keys_have_the_same_rank() {
        let iri = |name: &str| Term::Iri(format!("http://e/{name}"));
        let height = |name: &str, height: &str| {
            let height = Term::Literal(Literal::xsd(height.to_owned(), "integer"));
            [iri(name), iri("height"), height]
        };
        let graph = kg::FrozenKg::from_triples(vec![
            height("a", "3"),
            height("b", "1"),
            height("c", "3"),
            height("d", "2"),
        ]);
        let of = |text: &str| {
            let query = kg::parse_query(text).unwrap();
            ranks(&graph, &query, 4)
        };
        let all = "SELECT ?x WHERE { ?x <http://e/height> ?h }";
        assert_eq!(of(all), Vec::<usize>::new());
        assert_eq!(of(&format!("{all} ORDER BY ?h")), [0, 1, 2, 2]);
        assert_eq!(of(&format!("{all} ORDER BY DESC(?h)")), [0, 0, 1, 2]);
        let distinct = all.replace("SELECT", "SELECT DISTINCT");
        assert_eq!(of(&format!("{distinct} ORDER BY ?h")), [0, 1, 2, 3]);
    }
}
