//! Gold answers in the form in which predictions are compared with them.

use std::collections::{BTreeMap, BTreeSet};

use datagen::question::{GoldQuery, GoldQuestion};
use datagen::verify;
use toolbox::answer::{Answer, AnswerValue};
use toolbox::kg::{Kg, QueryAnswer, QueryLimits, fold};

/// Gold answers as comparable texts.
pub(super) struct Gold {
    pub(super) texts: BTreeSet<String>,
    /// Other texts of an answer, and the one that stands for it.
    aliases: BTreeMap<String, String>,
    /// Published labels are compared as folded labels; everything else as terms.
    labels: bool,
}

impl Gold {
    pub(super) fn of(graph: &dyn Kg, question: &GoldQuestion) -> Result<Self, String> {
        let only = matches!(question.query, GoldQuery::AnswersOnly { .. });
        if let Some(answers) = question.answers.as_ref().filter(|_| question.answers_bind || only) {
            let texts: BTreeSet<String> = answers.iter().map(|answer| fold(answer)).collect();
            // Aliases belong to the one answer there is.
            let aliases = match (&question.query, texts.first().filter(|_| texts.len() == 1)) {
                (GoldQuery::AnswersOnly { aliases }, Some(answer)) => aliases.iter().map(|alias| (fold(alias), answer.clone())).collect(),
                _ => BTreeMap::new(),
            };
            return Ok(Self { texts, aliases, labels: true });
        }
        let query = verify::parsed(question).map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))?;
        let texts = match graph.query(&query, QueryLimits::default()).map_err(|error| error.to_string())? {
            QueryAnswer::Bool(truth) => BTreeSet::from([truth.to_string()]),
            QueryAnswer::Rows { rows, .. } => rows.iter().filter_map(|row| row.first()?.as_ref()).map(comparable).collect(),
        };
        Ok(Self { texts, aliases: BTreeMap::new(), labels: false })
    }

    pub(super) fn comparable(&self, answer: &Answer) -> BTreeSet<String> {
        match &answer.value {
            AnswerValue::Set(members) if self.labels => {
                let own = |text: String| self.aliases.get(&text).cloned().unwrap_or(text);
                members.iter().map(|member| own(fold(&member.label))).collect()
            }
            AnswerValue::Set(members) => members.iter().map(|member| comparable(&member.term)).collect(),
            AnswerValue::Number(number) => BTreeSet::from([number.to_string()]),
            AnswerValue::Truth(truth) => BTreeSet::from([truth.to_string()]),
        }
    }
}

/// A term as it is compared; whole numbers by value, so that a computed count equals ours.
fn comparable(term: &toolbox::term::Term) -> String {
    match term.as_literal() {
        Some(literal) if literal.datatype.as_deref().is_some_and(|datatype| datatype.ends_with("#integer")) => literal.lexical.clone(),
        _ => term.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use toolbox::answer::{Member, Provenance};
    use toolbox::exec::ExcludeWhen;
    use toolbox::metrics::score;
    use toolbox::term::{Literal, Term};

    #[test]
    fn an_alias_counts_as_the_answer_it_stands_for() {
        let graph = toolbox::kg::MemoryKg::from_triples(Vec::new());
        let question = GoldQuestion {
            id: "1".to_owned(),
            source: "trex".to_owned(),
            question: "Arvel Tower [SEP] architect".to_owned(),
            query: GoldQuery::AnswersOnly { aliases: vec!["M. Sol".to_owned()] },
            topics: Vec::new(),
            answers: Some(vec!["Mira Sol".to_owned()]),
            answers_bind: false,
            hops: None,
            kind: None,
            exclude: ExcludeWhen::Never,
        };
        let gold = Gold::of(&graph, &question).unwrap();
        let answer = |labels: &[&str]| {
            let member = |label: &&str| {
                let term = Term::Literal(Literal::plain((*label).to_owned()));
                Member { term, name: String::new(), label: (*label).to_owned() }
            };
            let value = AnswerValue::Set(labels.iter().map(member).collect());
            Answer { value, program: Vec::new(), evidence: Vec::new(), provenance: Provenance::Kg, emptied: None }
        };
        let exact = |labels: &[&str]| score(&gold.comparable(&answer(labels)), &gold.texts).exact;
        assert_eq!([exact(&["m. sol"]), exact(&["Mira Sol", "M. Sol"]), exact(&["Ivo Sol"])], [1.0, 1.0, 0.0]);
    }
}
