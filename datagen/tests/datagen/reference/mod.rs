//! The answers of a query, ties included, and how a program's answer compares with them.
#![allow(dead_code)]

use std::collections::BTreeSet;

use datagen::convert::{Context, GoldProgram, convert};
use datagen::to_sparql::program_to_query;
use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, GraphPattern, OrderExpression};
use kg::spargebra::term::Variable;
use kg::term::{Literal, Term};
use kg::value::sort_key;
use kg::{FrozenKg, Kg, QueryAnswer, QueryLimits};
use toolbox::call::{Call, Tool};
use toolbox::exec::{Exclude, ExcludeWhen, ExecOptions, Session, Value, run_program};
use toolbox::link::Linked;

/// Answers of a query.
pub(crate) struct Reference {
    /// The query's result.
    pub(crate) given: BTreeSet<Term>,
    /// With LIMIT: further answers that are possible if ties, or rows without an order, are decided
    /// differently.
    pub(crate) tied: BTreeSet<Term>,
}

impl Reference {
    pub(crate) fn of(kg: &FrozenKg, query: &Query) -> Option<Self> {
        let given = answers(kg, query)?;
        let tied = match query {
            Query::Select { pattern, .. } => ties(kg, pattern).unwrap_or_else(|| given.clone()),
            _ => given.clone(),
        };
        Some(Self { given, tied })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}

/// The first column of a query's rows, or `true` or `false` for ASK.
pub(crate) fn answers(kg: &FrozenKg, query: &Query) -> Option<BTreeSet<Term>> {
    match kg.query(query, QueryLimits::default()) {
        Ok(QueryAnswer::Rows { rows, .. }) => Some(
            rows.into_iter()
                .filter_map(|row| row.into_iter().next().flatten())
                .collect(),
        ),
        Ok(QueryAnswer::Bool(truth)) => Some(BTreeSet::from([Term::Literal(Literal::plain(
            truth.to_string(),
        ))])),
        Err(_) => None,
    }
}

/// All answers of `ORDER BY … LIMIT`, including ties with the last one.
fn ties(kg: &FrozenKg, pattern: &GraphPattern) -> Option<BTreeSet<Term>> {
    let (mut at, mut slice, mut project) = (pattern, None, None);
    loop {
        match at {
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                slice = Some((*start, (*length)?));
                at = inner;
            }
            GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => at = inner,
            GraphPattern::Project { inner, variables } => {
                project = variables.first().cloned();
                at = inner;
            }
            GraphPattern::OrderBy { inner, expression } => {
                let ((start, length), [key]) = (slice?, expression.as_slice()) else {
                    return None;
                };
                let (expression, descending) = match key {
                    OrderExpression::Asc(key) => (key, false),
                    OrderExpression::Desc(key) => (key, true),
                };
                let mut rows = keyed(kg, inner, project?, expression)?;
                rows.sort_by(|a, b| {
                    if descending {
                        b.0.cmp(&a.0)
                    } else {
                        a.0.cmp(&b.0)
                    }
                });
                rows.dedup();
                let first = rows.get(start)?.0.clone();
                let last = rows.get((start + length).min(rows.len()) - 1)?.0.clone();
                let between = |key: &Option<String>| {
                    if descending {
                        *key <= first && *key >= last
                    } else {
                        *key >= first && *key <= last
                    }
                };
                return Some(
                    rows.into_iter()
                        .filter(|(key, _)| between(key))
                        .map(|(_, term)| term)
                        .collect(),
                );
            }
            _ => break,
        }
    }
    // LIMIT without an order: any answers.
    let ((start, _), project) = (slice?, project?);
    (start == 0).then(|| {
        let project = GraphPattern::Project {
            inner: Box::new(at.clone()),
            variables: vec![project],
        };
        answers(
            kg,
            &Query::Select {
                dataset: None,
                pattern: project,
                base_iri: None,
            },
        )
    })?
}

/// Answers with the text by which their row is sorted.
fn keyed(
    kg: &FrozenKg,
    inner: &GraphPattern,
    answer: Variable,
    key: &Expression,
) -> Option<Vec<(Option<String>, Term)>> {
    let sorted = Variable::new_unchecked("sortedBy");
    let extend = GraphPattern::Extend {
        inner: Box::new(inner.clone()),
        variable: sorted.clone(),
        expression: key.clone(),
    };
    let pattern = GraphPattern::Project {
        inner: Box::new(extend),
        variables: vec![answer, sorted],
    };
    let query = Query::Select {
        dataset: None,
        pattern,
        base_iri: None,
    };
    let Ok(QueryAnswer::Rows { rows, .. }) = kg.query(&query, QueryLimits::default()) else {
        return None;
    };
    let text = |term: &Term| match term {
        Term::Blank(label) => format!("a{label}"),
        Term::Iri(iri) => format!("b{iri}"),
        Term::Literal(literal) => format!("c{}", sort_key(literal)),
    };
    Some(
        rows.into_iter()
            .filter_map(|row| Some((row.get(1)?.as_ref().map(text), row.first()?.clone()?)))
            .collect(),
    )
}

/// The result of a comparison.
pub(crate) enum Outcome {
    Same {
        tied: bool,
        trip: RoundTrip,
    },
    Refused(String),
    /// The program fails because a value to compare with is not unique.
    Failed(String),
    Differs(String),
}

/// The program's answer, as terms like those of the query.
pub(crate) fn run(kg: &FrozenKg, program: &GoldProgram) -> Result<BTreeSet<Term>, String> {
    run_calls(kg, &program.calls, &program.exclude)
}

/// The answer of calls, without relation lists.
pub(crate) fn run_calls(
    kg: &FrozenKg,
    calls: &[Call],
    exclude: &[Term],
) -> Result<BTreeSet<Term>, String> {
    let nodes: Vec<_> = exclude.iter().filter_map(|term| kg.find(term)).collect();
    let calls: Vec<_> = calls
        .iter()
        .filter(|call| call.tool != Tool::GetRelation)
        .cloned()
        .collect();
    let exclude = Exclude {
        nodes,
        when: ExcludeWhen::Answer,
    };
    let options = ExecOptions {
        exclude,
        max_steps: calls.len(),
        ..ExecOptions::default()
    };
    let mut session = Session::new(kg, "", Linked::default(), &[], options).unwrap();
    match run_program(&mut session, &calls) {
        Ok(Value::Set(set)) => Ok(set.iter().map(|&node| kg.term(node)).collect()),
        Ok(Value::Int(n)) => Ok(BTreeSet::from([Term::Literal(Literal::xsd(
            n.to_string(),
            "integer",
        ))])),
        Ok(Value::Bool(truth)) => Ok(BTreeSet::from([Term::Literal(Literal::plain(
            truth.to_string(),
        ))])),
        Ok(Value::Table(_)) => Err("a table".to_owned()),
        Err((step, error)) => Err(format!("step {step}, {}: {error}", calls[step])),
    }
}

/// The result of a round trip.
#[derive(Default)]
pub(crate) struct RoundTrip {
    /// No query expresses the program.
    pub(crate) inexpressible: Option<String>,
    /// The query converts again.
    pub(crate) converted: bool,
    /// It converts, but the program fails.
    pub(crate) fails: bool,
    /// The difference.
    pub(crate) wrong: Option<String>,
}

/// The law of `program_to_query`: the query has the program's answers, and if the query converts,
/// the converted program has them too.
pub(crate) fn round_trip(
    kg: &FrozenKg,
    calls: &[Call],
    exclude: &[Term],
    answer: &BTreeSet<Term>,
) -> RoundTrip {
    let calls: Vec<_> = calls
        .iter()
        .filter(|call| call.tool != Tool::GetRelation)
        .cloned()
        .collect();
    let text = || {
        calls
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let query = match program_to_query(kg, &calls, exclude) {
        Ok(query) => query,
        Err(why) => {
            return RoundTrip {
                inexpressible: Some(why.to_string()),
                ..RoundTrip::default()
            };
        }
    };
    let given = answers(kg, &query);
    if given.as_ref() != Some(answer) {
        let wrong = format!("program {answer:?}\nquery {given:?}\n{}\n{query}", text());
        return RoundTrip {
            wrong: Some(wrong),
            ..RoundTrip::default()
        };
    }
    let Ok(again) = convert(
        &query,
        &Context {
            kg: Some(kg),
            ..Context::default()
        },
    ) else {
        return RoundTrip::default();
    };
    let wrong = match run(kg, &again) {
        Ok(got) if got == *answer => None,
        // A set whose members lack the relation, or a value to compare with that is not unique: the
        // program has no answer.
        Err(_) => {
            return RoundTrip {
                fails: true,
                ..RoundTrip::default()
            };
        }
        got => {
            let again = again
                .calls
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n");
            Some(format!(
                "program {answer:?}\nagain {got:?}\n{}\n{query}\n{again}",
                text()
            ))
        }
    };
    RoundTrip {
        converted: true,
        wrong,
        ..RoundTrip::default()
    }
}

/// Converts a query on a graph and compares the answers.
pub(crate) fn compare(kg: &FrozenKg, query: &Query, reference: &Reference) -> Outcome {
    let program = match convert(
        query,
        &Context {
            kg: Some(kg),
            ..Context::default()
        },
    ) {
        Ok(program) => program,
        Err(reason) => return Outcome::Refused(reason.name()),
    };
    let calls = || {
        program
            .calls
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    };
    match run(kg, &program) {
        Err(error) if !error.contains("a value to compare with is one") => {
            Outcome::Differs(format!("{error}\n{}", calls()))
        }
        Err(error) => Outcome::Failed(format!("{error}\n{}", calls())),
        Ok(got) if got == reference.tied => {
            let trip = round_trip(kg, &program.calls, &program.exclude, &got);
            Outcome::Same {
                tied: reference.tied != reference.given,
                trip,
            }
        }
        Ok(got) => Outcome::Differs(format!(
            "gold {:?}\ntied {:?}\ngot  {got:?}\n{}",
            reference.given,
            reference.tied,
            calls()
        )),
    }
}

/// A graph as text.
pub(crate) fn triples(kg: &FrozenKg) -> String {
    kg.triples()
        .map(|(s, p, o)| format!("{} {} {} .", kg.term(s), kg.term(p.node()), kg.term(o)))
        .collect::<Vec<_>>()
        .join("\n")
}
