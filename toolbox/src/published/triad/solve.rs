//! Running the queries of a template (rules C.5): the product of its candidates, those with a
//! result, and their answers.

use super::template::{SlotPattern, SlotQuery, proof};
use super::{Attempt, Replies};
use crate::answer::{Answer, AnswerValue, EvidenceTriple, Member, Provenance};
use crate::limits::{ANSWER_MEMBERS, EVIDENCE_TRIPLES};
use crate::rank::RankError;
use crate::triad::{Pattern, products};
use kg::spargebra::Query;
use kg::term::Term;
use kg::{Kg, QueryAnswer, QueryLimits};

/// Queries with a result that the decision maker chooses from.
const OFFERED: usize = 10;

/// A query with its result.
#[derive(Clone, Debug)]
pub(super) struct Matched {
    pub(super) query: Query,
    result: QueryAnswer,
}

impl Attempt<'_, '_> {
    fn limits(&self, rows: usize) -> QueryLimits {
        QueryLimits {
            deadline: self.deadline,
            rows,
            ..QueryLimits::default()
        }
    }

    /// The filled queries that return a row or a truth value. If no query does, the reason.
    pub(super) fn run_all<E: From<RankError>>(
        &mut self,
        query: &SlotQuery,
        replies: &mut Replies<'_, E>,
    ) -> Result<Result<Vec<Matched>, String>, E> {
        let kg = self.session.kg();
        let mut candidates: Vec<Vec<Option<Pattern>>> = Vec::new();
        for pattern in query.patterns() {
            let SlotPattern::Open(triple) = pattern else {
                candidates.push(vec![None]);
                continue;
            };
            let found = self.linker.patterns(&triple, self.bounds, replies)?;
            if found.is_empty() {
                return Ok(Err(format!("nothing of the graph fits {triple}")));
            }
            candidates.push(found.into_iter().map(Some).collect());
        }
        let mut conditions = Vec::new();
        for mention in query.conditions() {
            match self.linker.entities(&mention, replies)?.first() {
                Some(&node) => conditions.push(kg.term(node)),
                None => return Ok(Err(format!("nothing of the graph is called {mention}"))),
            }
        }
        let sizes: Vec<usize> = candidates.iter().map(Vec::len).collect();
        let mut found: Vec<Matched> = Vec::new();
        let mut failure = None;
        for picks in products(&sizes, self.options.products) {
            let links: Vec<Option<Pattern>> = candidates
                .iter()
                .zip(picks)
                .map(|(here, pick)| here[pick].clone())
                .collect();
            let Some(query) = query.filled(kg, &links, &conditions) else {
                continue;
            };
            match kg.query(&query, self.limits(self.options.rows)) {
                Ok(result) if has_result(&result) => found.push(Matched { query, result }),
                Ok(_) => {}
                Err(error) => failure = Some(error.to_string()),
            }
            if found.len() == OFFERED {
                break;
            }
        }
        if found.is_empty() {
            let why = failure.unwrap_or_else(|| "no query has a result".to_owned());
            return Ok(Err(why));
        }
        Ok(Ok(found))
    }

    /// The result of a query as an answer: all its values, or its one number.
    pub(super) fn graph_answer(&self, matched: Matched) -> Answer {
        let kg = self.session.kg();
        let value = match matched.result {
            QueryAnswer::Bool(truth) => AnswerValue::Truth(truth),
            QueryAnswer::Rows { rows, .. } => values(kg, rows),
        };
        // More triples than an answer writes out are no evidence that anyone reads.
        let triples = proof(kg, &matched.query, self.limits(EVIDENCE_TRIPLES)).unwrap_or_default();
        let evidence = triples.iter().filter_map(|[s, p, o]| {
            let (s, p, o) = (kg.find(s)?, kg.find(p)?, kg.find(o)?);
            Some(EvidenceTriple::of(kg, (s, p.relation(), o)))
        });
        Answer {
            value,
            program: vec![matched.query.to_string()],
            evidence: evidence.collect(),
            provenance: Provenance::Kg,
            ..Answer::default()
        }
    }
}

fn has_result(result: &QueryAnswer) -> bool {
    match result {
        QueryAnswer::Bool(_) => true,
        QueryAnswer::Rows { rows, .. } => rows.iter().flatten().any(Option::is_some),
    }
}

/// The values of a result: a number that the graph does not hold is one that the query counted.
fn values(kg: &dyn Kg, rows: Vec<Vec<Option<Term>>>) -> AnswerValue {
    let terms: Vec<Term> = rows.into_iter().flatten().flatten().collect();
    if let [Term::Literal(one)] = terms.as_slice()
        && let Ok(number) = one.lexical.parse()
        && one.datatype.as_deref() == Some("http://www.w3.org/2001/XMLSchema#integer")
    {
        return AnswerValue::Number(number);
    }
    let member = |term: Term| match kg.find(&term) {
        Some(node) => Member {
            name: kg.name(node),
            label: kg.label(node).unwrap_or_else(|| kg.name(node)),
            term,
        },
        None => {
            let text = match &term {
                Term::Literal(literal) => literal.lexical.clone(),
                other => other.to_string(),
            };
            Member {
                name: text.clone(),
                label: text,
                term,
            }
        }
    };
    let mut members: Vec<Member> = terms.into_iter().take(ANSWER_MEMBERS).map(member).collect();
    members.sort();
    members.dedup();
    AnswerValue::Set(members)
}
