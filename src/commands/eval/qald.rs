//! Predictions in QALD's JSON format, for the evaluators of that challenge.

use kg::term::Term;
use serde_json::{Value, json};
use toolbox::answer::{AnswerValue, Member};

use super::result::Prediction;

const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";

/// The predictions of one agent.
pub(super) fn document(name: &str, predictions: &[Prediction]) -> Value {
    let one = |prediction: &Prediction| {
        json!({
            "id": prediction.id,
            "question": [{ "language": "en", "string": prediction.question }],
            "answers": [answer(&prediction.value)],
        })
    };
    json!({ "dataset": { "id": name }, "questions": predictions.iter().map(one).collect::<Vec<_>>() })
}

fn answer(value: &AnswerValue) -> Value {
    let rows = |bindings: Vec<Value>| json!({ "head": { "vars": ["x"] }, "results": { "bindings": bindings } });
    match value {
        AnswerValue::Truth(truth) => json!({ "head": {}, "boolean": truth }),
        AnswerValue::Number(number) => rows(vec![
            json!({ "x": { "type": "literal", "datatype": INTEGER, "value": number.to_string() } }),
        ]),
        AnswerValue::Set(members) => rows(
            members
                .iter()
                .map(|member| json!({ "x": term(&member.term) }))
                .collect(),
        ),
        AnswerValue::Table(table) => {
            let names: Vec<String> = (0..table.columns.len()).map(|i| format!("k{i}")).collect();
            let binding = |row: &Vec<Member>| -> Value {
                let cells = names.iter().zip(row);
                let cells = cells.map(|(name, member)| (name.clone(), term(&member.term)));
                Value::Object(cells.collect())
            };
            let bindings: Vec<Value> = table.rows.iter().map(binding).collect();
            json!({ "head": { "vars": names }, "results": { "bindings": bindings } })
        }
    }
}

/// A term in the SPARQL JSON results format.
fn term(term: &Term) -> Value {
    match term {
        Term::Iri(iri) => json!({ "type": "uri", "value": iri }),
        Term::Blank(name) => json!({ "type": "bnode", "value": name }),
        Term::Literal(literal) => {
            let mut value = json!({ "type": "literal", "value": literal.lexical });
            if let Some(language) = &literal.lang {
                value["xml:lang"] = json!(language);
            }
            if let Some(datatype) = &literal.datatype {
                value["datatype"] = json!(datatype);
            }
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kg::term::Literal;

    #[test]
    fn booleans_numbers_and_terms_have_their_forms() {
        assert_eq!(
            answer(&AnswerValue::Truth(true)),
            json!({ "head": {}, "boolean": true })
        );
        assert_eq!(
            answer(&AnswerValue::Number(3))["results"]["bindings"][0]["x"]["value"],
            "3"
        );
        let member = |term: Term| Member {
            term,
            name: String::new(),
            label: String::new(),
        };
        let set = answer(&AnswerValue::Set(vec![
            member(Term::Iri("http://e/a".to_owned())),
            member(Term::Literal(Literal::plain("b"))),
        ]));
        assert_eq!(
            set["results"]["bindings"],
            json!([{ "x": { "type": "uri", "value": "http://e/a" } }, { "x": { "type": "literal", "value": "b" } }])
        );
        assert_eq!(
            answer(&AnswerValue::Set(Vec::new()))["results"]["bindings"],
            json!([])
        );
    }
}
